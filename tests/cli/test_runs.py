"""Runs remember how their file was read; options that are given take precedence."""

import json
import subprocess
import sys

import polars as pl
import pytest
from support.verbs import call, fails

import palaver as pv
from palaver.cli import options
from palaver.cli.runs import corpus_of


@pytest.fixture(scope="module")
def talk(tmp_path_factory):
    """A table with its own column names, and a run fitted to it."""
    folder = tmp_path_factory.mktemp("runs")
    table = pv.sample(20).table.select(
        said="text", loud=pl.col("text").str.to_uppercase(), nick="speaker", room="conversation"
    )
    table.write_csv(folder / "talk.csv")
    columns = ("--column", "text=said", "--column", "speaker=nick", "--column", "conversation=room")
    call("fit", "lda", folder / "talk.csv", *columns, "--classes", 2, "--sweeps", 4, "--seed", 1,
         "--out", folder / "run")  # fmt: skip
    return folder


def test_what_is_given_goes_before_what_a_run_remembers(talk):
    run = talk / "run"
    own = corpus_of(run, None)
    assert own.columns == {"conversation": "room", "speaker": "nick", "text": "said"}
    loud = corpus_of(run, None, column=["text=loud"])
    assert loud.columns == {"conversation": "room", "speaker": "nick", "text": "loud"}
    assert loud.table["text"].to_list() == own.table["text"].str.to_uppercase().to_list()
    assert not (own.parents >= 0).any()
    assert (corpus_of(run, None, chain=True).parents >= 0).any()
    with pytest.raises(pv.errors.FormatError, match="no format 'x'"):
        corpus_of(run, None, format="x")


def test_other_files_are_read_as_far_as_they_are_alike(talk, tmp_path):
    run = talk / "run"
    table = pl.read_csv(talk / "talk.csv").head(9)
    table.write_csv(tmp_path / "alike.csv")
    assert corpus_of(run, tmp_path / "alike.csv").columns["speaker"] == "nick"
    table.rename({"nick": "user"}).write_csv(tmp_path / "partly.csv")
    partly = corpus_of(run, tmp_path / "partly.csv")
    assert partly.columns == {"conversation": "room", "speaker": "user", "text": "said"}
    ours = pv.sample(3).write(tmp_path / "ours.jsonl")
    assert corpus_of(run, ours).table.equals(pv.read(ours).table)
    with pytest.raises(pv.errors.ColumnError, match="--column text=nothing"):
        corpus_of(run, ours, column=["text=nothing"])
    call("report", run, tmp_path / "alike.csv", "--out", tmp_path / "page.html")


def test_annotate_without_a_file_takes_that_of_the_run(talk, tmp_path):
    run = talk / "run"
    call("annotate", run, talk / "talk.csv", tmp_path / "asked.jsonl")
    call("annotate", run, tmp_path / "unasked.jsonl")
    assert (tmp_path / "asked.jsonl").read_bytes() == (tmp_path / "unasked.jsonl").read_bytes()
    assert "already exists" in fails("annotate", run, tmp_path / "asked.jsonl")
    assert "must end in" in fails("annotate", run, tmp_path / "x.unknown")
    assert "got 1 more" in " ".join(fails("annotate", run, "a", "b", "c").split())


def test_names_of_a_taggers_tags_are_annotated(tmp_path):
    labelled = pv.sample(20).write(tmp_path / "talk.jsonl")
    run, out = tmp_path / "run", tmp_path / "tagged.jsonl"
    call("train-tagger", labelled, "--states", 1, "--out", run)
    tags = pv.load(run).tags_
    (tmp_path / "names.json").write_text(json.dumps({"names": {"0": "the first"}}))
    call("report", run, "--names", tmp_path / "names.json", "--out", tmp_path / "page.html")
    assert "messages with their tags" in call("annotate", run, out)
    table = pv.read(out).table
    assert table.filter(class_name="the first")["tag"].unique().to_list() == tags[:1]
    assert table.filter(pl.col("class_name").is_null())["tag"].n_unique() == len(
        set(table["tag"]) - set(tags[:1])
    )


def test_a_folder_that_is_taken_while_a_file_is_read_is_left_alone(tmp_path, monkeypatch):
    """The folder is checked before the work, and again before anything is written."""
    data = pv.sample(5).write(tmp_path / "talk.jsonl")
    run, read = tmp_path / "run", options.read_corpus

    def slowly(*arguments, **options):
        run.mkdir()
        (run / "other.txt").write_text("mine")
        return read(*arguments, **options)

    monkeypatch.setattr("palaver.cli.options.read_corpus", slowly)
    assert "is not empty" in fails("fit", "lda", data, "--out", run)
    assert [path.name for path in run.iterdir()] == ["other.txt"]


def test_a_folder_that_is_taken_is_refused_before_the_file_is_read(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    for verb in (("fit", "lda"), ("train-tagger",)):
        missing = tmp_path / "nothing.jsonl"
        assert "is not empty" in fails(*verb, missing, "--out", tmp_path / "mine")


def test_a_start_that_was_killed_is_begun_again(tmp_path):
    """Killed at every file that is written before the run has settings."""
    data = pv.sample(5).write(tmp_path / "talk.jsonl")
    run = tmp_path / "run"
    arguments = ("fit", "lda", data, "--classes", 2, "--sweeps", 2, "--out", run)
    code = (
        "import os, signal, sys\nleft = [int(sys.argv.pop())]\n"
        "def hook(event, arguments):\n"
        "    if event == 'open' and isinstance(arguments[0], str) and '/run/' in arguments[0]:\n"
        "        left[0] -= 1\n"
        "        if left[0] < 0:\n            os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.addaudithook(hook)\nfrom palaver.cli import main\nmain()"
    )
    for number in (0, 1, 5, 12):
        words = [sys.executable, "-c", code, *map(str, arguments), str(number)]
        assert subprocess.run(words, check=False, capture_output=True).returncode == -9
    assert run.exists()
    assert "Next:" in call(*arguments)
    assert not list(run.rglob("*.tmp"))


def test_a_folder_with_data_of_its_own_is_no_start_of_a_run(tmp_path):
    data = pv.sample(5).write(tmp_path / "talk.jsonl")
    for name in ("data/mine.txt", "thesis.txt", "settings/x.toml"):
        run = tmp_path / name.replace("/", "-")
        place = run / name
        place.parent.mkdir(parents=True)
        place.write_text("mine")
        assert "is not empty" in fails("fit", "lda", data, "--out", run)
        assert place.read_text() == "mine"
        assert len(list(run.iterdir())) == 1


def test_of_two_starts_in_one_folder_one_wins(tmp_path, monkeypatch):
    """The lock is taken before the first file is written."""
    data = pv.sample(5).write(tmp_path / "talk.jsonl")
    run, write = tmp_path / "run", pv.Encoded.write
    said = []

    def while_another_starts(self, folder):
        if not said:
            said.append(fails("fit", "lda", data, "--classes", 2, "--sweeps", 2, "--out", run))
        write(self, folder)

    monkeypatch.setattr(pv.Encoded, "write", while_another_starts)
    call("fit", "lda", data, "--classes", 2, "--sweeps", 2, "--out", run)
    assert "another process is writing" in said[0]
    assert pv.load(run).n_sweeps_ == 2
