"""``fit``, ``classes``, ``annotate`` and ``demo``."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.verbs import call, fails

import palaver as pv
from palaver.cli.classes import show
from palaver.cli.options import n_threads
from palaver.cli.output import console
from palaver.encoding import encode
from palaver.models import MODELS, model_class


@pytest.fixture(scope="module")
def threads(tmp_path_factory):
    return pv.sample(40).write(tmp_path_factory.mktemp("data") / "threads.jsonl")


@pytest.mark.parametrize("name", MODELS)
def test_fit_classes_annotate(name, threads, tmp_path):
    run = tmp_path / "run"
    kind = model_class(name)
    prior = "word_prior" if "word_prior" in kind.limits else "transition_prior"
    report = json.loads(
        call("fit", name, threads, "--classes", 4, "--sweeps", 20, "--chains", 2, "--seed", 3,
             "--out", run, "--set", f"{prior}=0.1", "--json")
    )  # fmt: skip
    assert report["model"] == name
    assert len(report["classes"]) == 4
    model = pv.load(run)
    straight = kind(**kind.sized(4), n_sweeps=20, n_chains=2, random_state=3, **{prior: 0.1}).fit(
        pv.read(threads), show_progress=False
    )
    np.testing.assert_array_equal(model.class_words_, straight.class_words_)
    shown = call("classes", run, "--words", 5)
    assert "% of " in shown
    assert "states found" not in " ".join(shown.split()), "the number was given"
    rows = json.loads(call("classes", run, "--json"))
    assert {row["class"] for row in rows} == {0, 1, 2, 3}
    assert [row["letter"] for row in rows] == ["A", "B", "C", "D"]
    out = tmp_path / "tagged.parquet"
    assert "messages with their classes" in call("annotate", run, threads, out)
    assert pv.read(out).table["class"].is_between(0, 3).all()


def test_the_model_of_acts_needs_no_name_and_proposes_names(threads, tmp_path):
    run, names, tagged = tmp_path / "run", tmp_path / "names.json", tmp_path / "tagged.csv"
    options = ("--classes", 4, "--sweeps", 10, "--chains", 2)
    shown = " ".join(call("fit", threads, *options, "--out", run).split())
    model = pv.load(run)
    assert model.name == "acts"
    assert "acts: 10 sweeps" in shown
    assert "4 acts of sentences" in shown
    assert "found by: of 2 searches" in shown
    assert "* a proposed name" in shown
    rows = json.loads(call("classes", run, "--json"))
    assert {row["class"]: row["name"] for row in rows} == dict(enumerate(model.act_names_))
    assert all(row["name_is_proposed"] and 0 <= row["found_by"] <= 2 for row in rows)
    names.write_text(json.dumps({str(k): f"named {k}" for k in range(4)}))
    call("report", run, "--names", names)
    rows = json.loads(call("classes", run, "--json"))
    assert {row["class"]: row["name"] for row in rows} == {k: f"named {k}" for k in range(4)}
    assert not any("name_is_proposed" in row for row in rows)
    assert "proposed" not in call("classes", run)
    call("annotate", run, tagged)
    table = pv.read(tagged).table
    known = table.filter(table["class"].is_not_null())
    assert [f"named {k}" for k in known["class"]] == known["class_name"].to_list()


def test_talk_without_replies_is_warned_of_and_chained_runs_stay_chained(tmp_path):
    turns = ["hello there", "hello you", "how are you", "i am fine", "bye then", "bye you"] * 6
    rows = [{"conversation": f"c{i // 6}", "id": f"m{i}", "text": text}
            for i, text in enumerate(turns)]  # fmt: skip
    talk = tmp_path / "talk.jsonl"
    talk.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ("--classes", 3, "--sweeps", 5, "--set", "burn_in=1")
    warned = call("fit", "block-hmm", talk, *options, "--out", tmp_path / "loose")
    assert "add --chain" in " ".join(warned.split())
    quiet = call("fit", "block-hmm", talk, *options, "--chain", "--out", tmp_path / "run")
    assert "add --chain" not in " ".join(quiet.split())
    asked, unasked = tmp_path / "asked.csv", tmp_path / "unasked.csv"
    call("annotate", tmp_path / "run", talk, asked, "--chain")
    call("annotate", tmp_path / "run", talk, unasked)
    assert asked.read_bytes() == unasked.read_bytes()


def test_resume_with_more_sweeps(threads, tmp_path):
    run = tmp_path / "run"
    call("fit", "lda", threads, "--classes", 3, "--sweeps", 10, "--out", run)
    call("fit", "--resume", run, "--sweeps", 16)
    assert pv.load(run).n_sweeps_ == 16


def test_killed_run_resumes_from_its_folder_alone(tmp_path):
    data = pv.sample(30).write(tmp_path / "threads.jsonl")
    encoded = encode(pv.read(data))
    run = tmp_path / "run"
    script = [sys.executable, "-m", "palaver", "fit", "lda", str(data), "--classes", "3",
              "--sweeps", "2000", "--set", "burn_in=1", "--set", "n_samples=1999",
              "--checkpoint-seconds", "0", "--out", str(run)]  # fmt: skip
    child = subprocess.Popen(script, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (run / "checkpoint" / "manifest.json").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    child.kill()
    child.wait()
    data.unlink()
    reached = json.loads((run / "checkpoint" / "manifest.json").read_text())["content"]["sweep"]
    assert 0 < reached < 2000
    call("fit", "--resume", run, "--sweeps", reached + 5)
    straight = pv.LDA(n_classes=3, n_sweeps=reached + 5, burn_in=1, n_samples=reached + 4)
    straight.fit(encoded)
    np.testing.assert_array_equal(pv.load(run).class_words_, straight.class_words_)


def test_mistakes_are_explained(threads, tmp_path):
    run = tmp_path / "run"
    command = [sys.executable, "-m", "palaver", "fit", "m5", threads, "--out", run]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.startswith("palaver: there is no model 'm5'; there are acts,")
    assert "give FILE (MODEL FILE) and --out" in fails("fit", "lda", threads)
    assert "give FILE (MODEL FILE) and --out" in fails("fit", "lda", "--out", run)
    assert "takes [MODEL] FILE, got 1 more" in fails("fit", "lda", threads, threads, "--out", run)
    message = fails("fit", "lda", threads, "--classes", 0, "--out", run)
    assert "LDA: n_classes must be a whole number >= 1" in message
    assert "holds no run" in fails("fit", "--resume", tmp_path)
    call("fit", "lda", threads, "--classes", 2, "--sweeps", 4, "--out", run)
    assert "already holds a run" in fails("fit", "lda", threads, "--out", run)
    assert "not a folder written by Palaver" in fails("classes", tmp_path)
    assert "there is no parameter 'speed'" in fails(
        "fit", "lda", threads, "--out", tmp_path / "x", "--set", "speed=9"
    )


def test_ctrl_c_says_how_to_go_on_and_an_unfinished_run_says_so(tmp_path):
    data = pv.sample(30).write(tmp_path / "threads.jsonl")
    run = tmp_path / "run"
    script = [sys.executable, "-m", "palaver", "fit", "lda", str(data), "--classes", "3",
              "--sweeps", "100000", "--checkpoint-seconds", "0", "--out", str(run)]  # fmt: skip
    child = subprocess.Popen(script, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (run / "checkpoint" / "manifest.json").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    message = child.communicate()[1]
    assert child.returncode == 130
    assert f": palaver fit --resume {run}" in message
    message = fails("classes", run)
    assert "the run is not finished" in message
    least = re.search(rf"keep .* with `palaver fit --resume {run} --sweeps (\d+)`", message)[1]
    call("fit", "--resume", run, "--sweeps", least)
    assert pv.load(run).n_sweeps_ == int(least)


def test_nothing_is_overwritten_or_left_behind_by_mistake(threads, tmp_path):
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(threads.read_bytes())
    assert f"{copy}: is also the input" in fails("convert", copy, copy)
    assert copy.read_bytes() == threads.read_bytes()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    assert "is not empty" in fails("fit", "lda", copy, "--out", tmp_path / "mine")
    (tmp_path / "empty.jsonl").write_text("")
    empty = ("fit", "lda", tmp_path / "empty.jsonl", "--format", "jsonl", "--out", tmp_path / "run")
    assert "no messages" in fails(*empty)
    assert not (tmp_path / "run").exists()


def test_demo(tmp_path):
    output = call("demo", "--out", tmp_path / "demo", "--sweeps", 10)
    assert pv.load(tmp_path / "demo").name == "acts"
    assert "synthetic" in output
    assert (tmp_path / "demo" / "tagged.jsonl").is_file()
    page = (tmp_path / "demo" / "report.html").read_text()
    assert f"palaver report {tmp_path / 'demo'}" in page
    assert "the name is a proposal" in page
    call("demo", "--out", tmp_path / "demo", "--sweeps", 4)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    thesis = tmp_path / "mine" / "thesis.txt"
    (tmp_path / "mine" / "settings").mkdir()
    call("fit", "lda", pv.sample(20).write(tmp_path / "x.jsonl"), "--classes", 2, "--sweeps", 4,
         "--out", tmp_path / "run")  # fmt: skip
    note = tmp_path / "demo" / "data" / "note.txt"
    note.write_text("x")
    for place in (thesis.parent, thesis, tmp_path / "run", tmp_path / "demo"):
        assert f"{place}: not written by `palaver demo`" in fails("demo", "--out", place)
    assert thesis.is_file()
    assert note.is_file()
    assert pv.load(tmp_path / "run").name == "lda"


def test_topics_are_a_number_of_their_own(threads, tmp_path):
    options = ("--sweeps", 4, "--out")
    shown = call("fit", "m4", threads, "--classes", 4, "--topics", 3, *options, tmp_path / "m4")
    assert f"palaver annotate {tmp_path / 'm4'} tagged.jsonl" in shown
    assert "palaver tag " not in shown, "m4 is not a tagger, though its words have classes"
    model = pv.load(tmp_path / "m4")
    assert (model.n_classes, model.n_topics) == (4, 3)
    call("fit", "lda", threads, "--topics", 3, *options, tmp_path / "lda")
    assert pv.load(tmp_path / "lda").n_classes == 3
    both = fails("fit", "lda", threads, "--topics", 3, "--classes", 3, *options, tmp_path / "x")
    assert "give --classes or --topics, not both" in " ".join(both.replace("│", " ").split())
    none = fails("fit", "block-hmm", threads, "--topics", 3, *options, tmp_path / "x")
    assert "block-hmm has no topics; use --classes" in " ".join(none.split())
    call("classes", tmp_path / "m4", "--words", 30)
    assert json.loads(call("classes", tmp_path / "m4", "--words", 30, "--json"))[0]["words"][29:]


def test_few_messages_more_classes_and_sweeps_that_are_done(threads, tmp_path):
    run = tmp_path / "run"
    few = call("fit", "lda", threads, "--classes", 3, "--sweeps", 10, "--out", run)
    assert "little to learn from 192 messages" in few
    many = call("fit", "lda", threads, "--classes", 193, "--sweeps", 2, "--out", tmp_path / "many")
    assert "more classes (193) than messages (192)" in many
    again = call("fit", "--resume", run, "--sweeps", 6)
    assert "has already done 10 sweeps, more than 6" in again
    more = pv.sample(100).write(tmp_path / "more.jsonl")
    enough = call("fit", "lda", more, "--classes", 3, "--sweeps", 2, "--out", tmp_path / "more")
    assert "little to learn" not in enough


@pytest.mark.parametrize(
    ("convergence", "n_chains", "said"),
    [
        ({"r_hat": 1.5, "late_gain": 0.0}, 1, "The two halves of the search differ (R-hat 1.50"),
        ({"r_hat": 1.5, "late_gain": 0.2}, 1, "The search had not settled"),
        ({"r_hat": 1.5, "late_gain": 0.0}, 3, "3 searches from different starts"),
        ({"r_hat": 1.05, "late_gain": 0.0}, 1, None),
        ({"r_hat": float("nan"), "late_gain": float("nan")}, 1, None),
    ],
)
def test_a_search_that_has_not_settled_is_told_with_the_command_to_go_on(
    convergence, n_chains, said
):
    model = pv.LDA(n_classes=2, n_sweeps=4).fit(pv.sample(5), show_progress=False)
    summary = replace(model.summary(), convergence=convergence, params={"n_chains": n_chains})
    with console.capture() as capture:
        show(summary, Path("my run"))
    words = " ".join(capture.get().split())
    for start in ("The two halves", "The search had", "3 searches"):
        assert (start in words) == (said is not None and said.startswith(start))
    going_on = f"palaver fit --resume 'my run' --sweeps {4 * summary.facts['sweeps']}"
    assert (going_on in words) == (said is not None and n_chains == 1)


@pytest.mark.parametrize("kind", [pv.InfiniteHMM, pv.GaussianHMM])
def test_a_number_of_states_that_nobody_gave_is_told(kind):
    model = pv.LDA(n_classes=2, n_sweeps=4).fit(pv.sample(5), show_progress=False)
    for given, said in ((None, True), (2, False)):
        params = kind(n_states=given).get_params()
        with console.capture() as capture:
            show(replace(model.summary(), params=params), Path("run"))
        assert ("2 states found" in " ".join(capture.get().split())) == said


def test_documents_from_a_bag_of_words_to_the_page(tmp_path):
    bag = Path(__file__).parents[1] / "fixtures" / "bagofwords" / "docword.farm.txt"
    run = tmp_path / "run"
    call("fit", "markov-m3", bag, "--topics", "2", "--sweeps", "3", "--out", run)
    call("classes", run)
    call("annotate", run, bag, tmp_path / "tagged.jsonl")
    call("report", run, "--out", tmp_path / "page.html")
    call("fit", "--resume", run, "--sweeps", "5")
    assert pv.load(run).n_sweeps_ == 5
    assert "class_probability" in (tmp_path / "tagged.jsonl").read_text()


def test_all_cores_unless_told(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5}, raising=False)
    assert [n_threads(None), n_threads(1), n_threads(7)] == [3, 1, 7]
    monkeypatch.delattr(os, "sched_getaffinity")
    assert n_threads(None) == (os.cpu_count() or 1)


def test_bots_and_labels_are_told_with_what_to_do_about_them(tmp_path):
    slack = Path(__file__).parents[1] / "fixtures" / "slack"
    said = call("fit", "lda", slack, "--classes", 2, "--sweeps", 2, "--out", tmp_path / "slack")
    assert "Bots wrote 1 message; --where 'bot!=true' leaves them out." in said
    assert "palaver evaluate" not in said
    pv.sample(5).write(tmp_path / "sample.jsonl")
    few = ["--classes", 2, "--sweeps", 2]
    said = call("fit", "lda", tmp_path / "sample.jsonl", *few, "--out", tmp_path / "judged")
    assert "Bots wrote" not in said
    assert re.search(r"palaver evaluate \S*judged --gold act", said)
