"""``palaver FILE``: from a file to a page in one command."""

import json
import re
from pathlib import Path

import polars as pl
import pytest
from support.verbs import call, fails

import palaver as pv
from palaver.cli import run as run_verb
from palaver.cli.runs import corpus_of, settings_of


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("one")


@pytest.fixture
def inside(place, monkeypatch):
    monkeypatch.chdir(place)
    return place


@pytest.fixture(scope="module")
def threads(place):
    return pv.sample(60).write(place / "threads.jsonl")


def test_a_file_becomes_a_run_a_page_and_five_sentences(threads, inside):
    shown = " ".join(call(threads, "--minutes", 0.2).split())
    assert "threads.jsonl:" in shown
    assert "60 conversations (jsonl)" in shown
    assert re.search(r"Mostly, people |Besides .*, people mostly ", shown)
    assert "palaver unanswered threads-run" in shown
    page = (inside / "threads-run" / "report.html").read_text()
    assert "<h1" in page
    assert settings_of(inside / "threads-run")["model"] == "acts"
    assert "messages" in call("shares", "threads-run")


def test_nothing_is_overwritten(threads, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "threads-run").mkdir()
    found = json.loads(call("run", threads, "--minutes", 0.1, "--json"))
    assert found["run"] == "threads-run-2"
    assert len(found["sentences"]) == 5
    assert "already holds a run" in fails("run", threads, "--out", "threads-run-2")


def test_a_command_that_was_stopped_goes_on(tmp_path, monkeypatch):
    """In the same folder; another command, or another file, begins a run of its own."""
    monkeypatch.chdir(tmp_path)
    file = pv.sample(20).write(tmp_path / "talk.jsonl")
    command, page = (file, "--minutes", 0.1, "--json"), run_verb._page
    monkeypatch.setattr(run_verb, "_page", lambda *args, **more: 1 / 0)
    call(*command, code=1)
    monkeypatch.setattr(run_verb, "_page", page)
    assert json.loads(call(*command, "--where", "topic!=router"))["run"] == "talk-run-2"
    assert json.loads(call(*command))["run"] == "talk-run"
    run = tmp_path / "talk-run"
    before = [(run / name).read_bytes() for name in ("manifest.json", "report.html")]
    call(*command, "--out", run.name)
    assert [(run / name).read_bytes() for name in ("manifest.json", "report.html")] == before
    assert "already holds a run" in fails(file, "--out", run.name)
    pv.sample(21).write(file)
    assert "already holds a run" in fails(*command, "--out", run.name)


def test_a_verb_wins_over_a_file_and_slips_are_named(threads, inside):
    (inside / "check").write_text(threads.read_text())
    assert "Missing argument" in fails("check")
    assert "Did you mean `palaver demo`" in " ".join(fails("demmo").split())
    assert "There is no file 'no/such.csv'" in fails("no/such.csv")
    assert "There is no file 'demo.csv'" in fails("demo.csv")
    assert "No such verb or file: 'xyzzy'" in fails("xyzzy")
    assert "No such verb or file" in fails("x" * 5000)


def test_bots_are_left_out_and_that_is_remembered(inside):
    table = pv.sample(40).table.with_columns(
        bot=pl.int_range(pl.len()) % 5 == 4,
        speaker=pl.when(pl.int_range(pl.len()) % 5 == 4).then(pl.lit("robot")).otherwise("speaker"),
    )
    table.select("conversation", "id", "reply_to", "speaker", "text", "bot").write_ndjson(
        "bots.jsonl"
    )
    shown = " ".join(call("bots.jsonl", "--minutes", 0.1, "--out", "nobots").split())
    assert f"Left out {table['bot'].sum()} messages by 1 bot" in shown
    assert not corpus_of(inside / "nobots", None).table["bot"].any()
    Path("seeds.toml").write_text('gratitude = ["thanks"]\n')
    options = ("--keep-bots", "--json", "--out", "all", "--seeds", "seeds.toml")
    kept = json.loads(call("run", "bots.jsonl", "--minutes", 0.1, *options))
    assert len(kept["reading"]) == 1
    assert pv.load(inside / "all").act_names_[0] == "gratitude"


def test_talk_without_replies_is_chained_or_rebuilt(inside):
    talk = pv.sample(40).table.drop("reply_to")
    pair = pl.Series("speaker", ["a", "b"] * talk.height).head(talk.height)
    talk.with_columns(pair).drop("acts", "sentences", "sentence_acts").write_ndjson("two.jsonl")
    assert "each message counts as answering" in " ".join(
        call("two.jsonl", "--minutes", 0.1, "--out", "chained").split()
    )
    assert (corpus_of(inside / "chained", None).parents >= 0).any()
    talk.drop("acts", "sentences", "sentence_acts").write_ndjson("many.jsonl")
    shown = " ".join(call("many.jsonl", "--minutes", 0.1, "--out", "rebuilt").split())
    assert "inferred them for" in shown
    assert "got no answer from anybody else, going by inferred replies." in shown
    page = (inside / "rebuilt" / "report.html").read_text()
    assert "palaver run many.jsonl --seed 0 --out rebuilt" in page
    assert "runner_up" not in page
    first = corpus_of(inside / "rebuilt", None)
    assert Path(first.source).name == "many.jsonl"
    assert (first.parents >= 0).any()
    (inside / "rebuilt").rename(inside / "moved")
    assert (corpus_of(inside / "moved", None).parents == first.parents).all()


def test_a_column_for_the_conversations_is_taken_and_said(inside):
    talk = pv.sample(30).table.select("text", "speaker", dialog_no="conversation")
    talk.write_csv("dialogs.csv")
    shown = " ".join(call("dialogs.csv", "--minutes", 0.1).split())
    assert "30 conversations (csv)" in shown
    assert "“dialog_no” says which conversation" in shown
    assert corpus_of(inside / "dialogs-run", None).n_conversations == 30


def test_documents_get_topics(inside):
    texts = [" ".join(pv.sample(12, random_state=i).table["text"].head(12)) for i in range(12)]
    pl.DataFrame({"text": texts}).write_csv("documents.csv")
    shown = " ".join(call("documents.csv", "--minutes", 0.1).split())
    assert "The most common topics are" in shown
    assert "of the words)" in shown
    page = (inside / "documents-run" / "report.html").read_text()
    assert settings_of(inside / "documents-run")["model"] == "lda"
    assert "Read the documents" in page
    assert "What follows what" not in page


def test_what_the_run_was_told_holds_for_other_verbs(threads, inside):
    options = ("--where", "topic!=router", "--by", "topic", "--title", "Our forum", "--anonymize")
    call(threads, "--minutes", 0.1, "--out", "told", *options)
    corpus = corpus_of(inside / "told", None)
    assert "router" not in corpus.table["topic"]
    assert corpus.table["speaker"].str.contains(r"^p\d+$").all()
    page = (inside / "told" / "report.html").read_text()
    assert "Our forum" in page
    assert page.index("<h3>By topic") < page.index("<h3>By speaker")
    speakers = set(pv.read(threads).table["speaker"])
    assert not any(name in page for name in speakers if len(name) > 5)
    assert "Our forum" in (call("report", "told") and (inside / "told" / "report.html").read_text())
    assert "comparison" in call("compare-groups", "told")


def test_an_empty_file_is_refused(inside):
    (inside / "empty.jsonl").write_text("")
    assert fails("empty.jsonl")
    assert not (inside / "empty-run").exists()
