"""``palaver transitions``."""

import json
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from support.verbs import call, fails

import palaver as pv
from palaver.cli.output import console
from palaver.cli.transitions import _show


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("follow")
    pv.sample(60).write(folder / "threads.jsonl")
    call("fit", "block-hmm", folder / "threads.jsonl", "--classes", 3, "--sweeps", 60,
         "--out", folder / "run")  # fmt: skip
    return folder / "run"


def test_the_table_is_the_model(run, tmp_path):
    output = call("transitions", run, "--out", tmp_path / "x.csv", "--least", 1)
    assert "(start)" in output
    table = pl.read_csv(tmp_path / "x.csv", schema_overrides={"source": pl.String})
    model = pv.load(run)
    following = model.summary().next_shares()
    assert table.filter(source="start")["after"].unique().to_list() == ["(start)"]
    for source, target, share, usual, times, replies in table.drop("after", "comes").iter_rows():
        row = 3 if source == "start" else int(source)
        assert share == pytest.approx(following[row, target])
        assert times == pytest.approx(share / usual)
        assert (replies is None) == (source == "start")
    judged = table.filter(pl.col("source") != "start")
    counted = judged.group_by("source").agg(pl.col("replies").first())["replies"].sum()
    assert counted <= (pv.read(run.parent / "threads.jsonl").parents >= 0).sum() + 1e-6
    # usual is the average over what is answered
    weights = judged.group_by("source", maintain_order=True).agg(pl.col("replies").first())
    assert weights.height == 3
    order = weights["source"].cast(int).to_numpy()
    mean = np.average(following[order], axis=0, weights=weights["replies"])
    usual = judged.filter(source=judged["source"][0]).sort("target")["usual"]
    np.testing.assert_allclose(usual, mean)
    assert json.loads(call("transitions", run, "--json"))[0]["source"] == "start"
    assert "x.svg" in call("transitions", run, "--out", tmp_path / "x.svg").replace("\n", "")
    few = (tmp_path / "x.svg").read_text()
    call("transitions", run, "--out", tmp_path / "new" / "x.svg", "--least", 9)
    assert (tmp_path / "new" / "x.svg").read_text() != few
    assert ElementTree.fromstring((tmp_path / "x.svg").read_text()).tag.endswith("svg")


def test_it_fits_a_narrow_terminal(run, monkeypatch):
    monkeypatch.setattr("palaver.cli.output.console.width", 60)
    output = call("transitions", run, "--top", 1, "--least", 1)
    assert all(len(line) <= 60 for line in output.splitlines())


def test_models_and_files_that_cannot(run, tmp_path):
    call("fit", "lda", run.parent / "threads.jsonl", "--classes", 2, "--sweeps", 2,
         "--out", tmp_path / "lda")  # fmt: skip
    assert "lda does not learn what follows what" in fails("transitions", tmp_path / "lda")
    assert "x.csv, x.parquet, x.svg, x.png or x.pdf" in fails(
        "transitions", run, "--out", tmp_path / "x.txt"
    )
    output = call("transitions", run, "--least", 99)
    assert "at least 99 times as often as usual" in " ".join(output.split())


def test_talk_has_steps_instead_of_replies(tmp_path):
    pv.sample(30).write(tmp_path / "threads.jsonl")
    talk = pl.read_ndjson(tmp_path / "threads.jsonl").drop("reply_to")
    talk.write_ndjson(tmp_path / "talk.jsonl")
    call("fit", "gaussian-hmm", tmp_path / "talk.jsonl", "--set", "n_states=3", "--sweeps", 5,
         "--out", tmp_path / "run")  # fmt: skip
    rows = json.loads(call("transitions", tmp_path / "run", "--json"))
    assert len({row["source"] for row in rows}) > 1
    followed = {row["source"]: row["replies"] for row in rows}
    assert followed.pop("start") is None
    # those with too few are left out
    assert 0.9 * (len(talk) - 30) < sum(followed.values()) <= len(talk) - 30 + 1e-6


def test_what_hardly_ever_happens_has_no_endless_number():
    rows = {"source": ["start", "0"], "target": [1, 1], "share": [0.1, 0.5], "usual": [0.0, 0.25],
            "times": [2.5e306, 2.0], "replies": [None, 9.0], "after": ["(start)", "A a"],
            "comes": ["B b", "B b"]}  # fmt: skip
    with console.capture() as capture:
        _show(pl.DataFrame(rows), 3, 1.2)
    shown = capture.get()
    assert "> 1000×" in shown
    assert " 2.0×" in shown
    assert max(map(len, shown.splitlines())) <= 80
