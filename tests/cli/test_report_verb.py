"""``palaver report`` from a run folder."""

import html
import json
import re
import shlex

import pytest
from support.verbs import call, fails

import palaver as pv
from palaver.cli import report
from palaver.cli.commands import _parameters, fit_command
from palaver.errors import PalaverWarning
from palaver.page.embed import MAX_MESSAGES


@pytest.fixture(scope="module")
def threads(tmp_path_factory):
    return pv.sample(50).write(tmp_path_factory.mktemp("data") / "threads.jsonl")


@pytest.fixture(scope="module")
def run(threads, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    output = call("fit", "lda", threads, "--classes", 3, "--sweeps", 20, "--out", folder)
    assert f"palaver report {folder}" in output.replace("\n", "")
    return folder


def test_the_verb_and_the_page_mean_the_same_number_of_messages():
    assert report._MAX_MESSAGES == MAX_MESSAGES  # the verb's help is shown without the page's code


def test_page_of_a_run_knows_its_texts_and_its_command(run, threads):
    output = call("report", run)
    page = (run / "report.html").read_text()
    assert str(run / "report.html") in output.replace("\n", "")
    assert f"palaver report {run}" in page
    assert "threads.jsonl" in page
    assert str(threads.parent) not in page
    assert 'id="other-texts"' not in page
    assert 'data-texts="training"' in page


def test_page_says_how_the_run_was_fitted(threads, tmp_path):
    """The command is made from what the run stored, and it makes the same run again."""
    asked = ["--classes", 2, "--sweeps", 6, "--chains", 2, "--seed", 5, "--set", "word_prior=0.25",
             "--set", "background=message", "--min-count", 3, "--chain"]  # fmt: skip
    call("fit", "m4", threads, *asked, "--out", tmp_path / "one")
    call("report", tmp_path / "one", "--out", tmp_path / "page.html")
    page = html.unescape((tmp_path / "page.html").read_text())
    command = shlex.split(re.search(r"^(?:<pre><code>)?palaver (fit .*)$", page, re.M)[1])
    assert command[:3] == ["fit", "m4", "threads.jsonl"]
    assert command[-2:] == ["--out", "one"]
    call(*command[:2], threads, *command[3:-1], tmp_path / "again")
    one, again = pv.load(tmp_path / "one"), pv.load(tmp_path / "again")
    assert {**one.get_params(), "n_jobs": 1} == {**again.get_params(), "n_jobs": 1}
    assert one.class_words_.tobytes() == again.class_words_.tobytes()
    hidden = fit_command(tmp_path / "one", one.get_params(), anonymize=True)
    assert "threads" not in hidden
    assert fit_command(tmp_path / "nothing", {}) is None


def test_a_number_of_states_that_is_left_open_is_no_option_of_its_own():
    params = pv.GaussianHMM(n_states=None, random_state=3).get_params()
    assert _parameters("gaussian-hmm", params, is_tagger=False) == [
        "--set", "n_states=null", "--seed", "3"
    ]  # fmt: skip


def check_that_other_verbs_know_the_name(run, name, folder):
    assert name in call("classes", run)
    named = {row["class"]: row.get("name") for row in json.loads(call("classes", run, "--json"))}
    assert named == {0: None, 1: name, 2: None}
    assert name in call("shares", run, "--by", "topic", "--sweeps", 5)
    source = json.loads((run / "settings" / "manifest.json").read_text())["content"]["source"]
    call("annotate", run, source, folder / "tagged.csv", "--sweeps", 5)
    table = pv.read(folder / "tagged.csv").table
    assert table.filter(class_name=name)["class"].unique().to_list() == [1]
    page = folder / "again.html"
    call("report", run, "--out", page)
    assert "asks &amp; waits" in page.read_text()
    kept = json.loads((run / "curation.json").read_text())
    (run / "curation.json").write_text(json.dumps({**kept, "run": "before it went on"}))
    with pytest.warns(PalaverWarning, match="another fit"):
        assert name not in call("classes", run)
    (run / "curation.json").unlink()


def test_names_come_back_and_those_of_other_runs_are_refused(run, tmp_path):
    names = tmp_path / "names.json"
    names.write_text(json.dumps({"names": {"1": "asks & waits"}}))
    out = tmp_path / "named.html"
    facts = json.loads(call("report", run, "--out", out, "--names", names, "--json"))
    assert facts["out"] == str(out)
    assert facts["bytes"] == out.stat().st_size
    assert "asks &amp; waits" in out.read_text()
    check_that_other_verbs_know_the_name(run, "asks & waits", tmp_path)
    names.write_text(json.dumps({"run": "other", "names": {"1": "x"}}))
    assert "another run" in fails("report", run, "--names", names)


def test_other_texts_held_out_texts_and_titles(run, tmp_path):
    other = pv.sample(12, random_state=5).write(tmp_path / "other.jsonl")
    out = tmp_path / "other.html"
    call("report", run, other, "--out", out)
    assert 'data-texts="page"' in out.read_text()
    output = call("report", run, other, "--out", out, "--test", other, "--title", "Two <b>")
    assert "not the texts that the run was fitted on" in output
    page = out.read_text()
    assert "Two &lt;b&gt;" in page
    assert 'data-texts="test"' in page
    assert 'id="other-texts"' in page


def test_anonymized_page_has_neither_speakers_nor_folders(run, threads, tmp_path):
    out = tmp_path / "anonymous.html"
    call("report", run, "--out", out, "--anonymize")
    page = out.read_text()
    assert str(tmp_path) not in page
    assert str(run.parent) not in page
    for speaker in pv.read(threads).table["speaker"].unique():
        assert f">{speaker}<" not in page
        assert f'"{speaker}"' not in page


def test_texts_that_are_gone_can_be_given(tmp_path):
    data = pv.sample(12).write(tmp_path / "threads.jsonl")
    call("fit", "lda", data, "--classes", 2, "--sweeps", 4, "--out", tmp_path / "run")
    moved = data.rename(tmp_path / "moved.jsonl")
    assert "give a FILE" in fails("report", tmp_path / "run")
    call("report", tmp_path / "run", moved)
    assert (tmp_path / "run" / "report.html").is_file()


def test_a_bar_of_the_page_ends_where_the_page_does(run, threads, tmp_path):
    from palaver.fit.fold import progress_listener

    heard = []
    with progress_listener(heard.append):
        pv.report(pv.load(run), pv.read(threads), tmp_path / "page.html")
    assert sum(heard) == pytest.approx(1)


def test_a_page_says_how_many_messages_are_new_to_the_model(tmp_path):
    """By messages, not by files: a part of the training file is nothing new."""
    corpus = pv.sample(30)
    whole = corpus.take(range(20)).write(tmp_path / "whole.jsonl")
    call("fit", "lda", whole, "--classes", 2, "--sweeps", 6, "--out", tmp_path / "run")
    parts = {"part": corpus.take(range(5)), "mixed": corpus.take(range(15, 25)),
             "new": corpus.take(range(20, 30))}  # fmt: skip
    found = {}
    for name, part in parts.items():
        file = part.write(tmp_path / f"{name}.jsonl")
        call("report", tmp_path / "run", file, "--out", tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        found[name] = " ".join(re.search(r'id="other-texts">(.*?)</p>', page, re.S)[1].split())
        assert "never seen" not in page
    assert found["part"].startswith("These are some of the texts that the model learned")
    n_new = corpus.take(range(20, 25)).n_messages
    assert f"{n_new} messages of {parts['mixed'].n_messages} are new to it" in found["mixed"]
    assert found["new"].startswith("The model learned its topics from other texts and finds")


def test_hidden_classes_are_folded_away_and_said_to_count(threads, tmp_path):
    pv.LDA(n_classes=4, n_sweeps=5).fit(pv.read(threads)).save(tmp_path / "run")
    call("name", tmp_path / "run", "A", "<i>noise</i>")
    assert "hidden-said" not in _page(tmp_path / "run", threads)
    call("name", tmp_path / "run", "--hide", "A")
    page = _page(tmp_path / "run", threads)
    shown, folded = page.split('<details class="empty hidden-acts">')
    assert "1 hidden " in folded.split("</summary>")[0]
    assert shown.count('<article class="card') == 3
    assert folded.count('<article class="card') == 1
    assert 'id="act-D"' in folded  # hidden classes come last
    assert "&lt;i&gt;noise" in folded
    said = shown.split('id="hidden-said"')[1].split("</span>.")[0]
    assert "Hidden, but counted" in said
    assert "&lt;i&gt;noise" in said


def _page(run, threads):
    call("report", run, threads)
    return (run / "report.html").read_text()
