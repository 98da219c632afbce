"""Verbs that ask about talk: what is printed, saved and refused."""

import json
from shutil import copytree

import polars as pl
import pytest
from support.verbs import call, fails

import palaver as pv


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked")
    threads = pv.sample(80).write(folder / "threads.jsonl")
    call("fit", threads, "--classes", 4, "--sweeps", 10, "--chains", 2, "--out", folder / "run")
    return folder / "run"


def words(*arguments):
    return " ".join(call(*arguments).split())


def test_what_changed(run, tmp_path):
    shown = words("compare-groups", run, "--by", "month", "--out", tmp_path / "x.csv")
    assert "comparisons of" in shown
    table = pl.read_csv(tmp_path / "x.csv")
    assert {"first", "second", "difference", "low", "high", "p"} <= set(table.columns)
    two = json.loads(
        call("compare-groups", run, "--between", "time<2024-04", "time>=2024-04", "--json")
    )
    assert {row["first"] for row in two} == {"time<2024-04"}
    assert "give --by COLUMN" in fails("compare-groups", run)
    assert "give --by COLUMN" in fails(
        "compare-groups", run, "--by", "month", "--between", "a=1", "a=2"
    )
    assert "no column 'nothing'" in fails("compare-groups", run, "--by", "nothing")


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_pictures(run, tmp_path, suffix):
    if suffix != "svg":
        pytest.importorskip("cairosvg", reason="needs cairosvg (extra: pictures)")
    start = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}[suffix]
    asked = (("shares", "--by", "topic"), ("compare-groups", "--by", "topic"), ("helpers",),
             ("transitions",))  # fmt: skip
    for verb, *options in asked:
        out = tmp_path / f"{verb}.{suffix}"
        call(verb, run, *options, "--out", out)
        assert out.read_bytes().startswith(start), verb
    assert "--out takes x.csv, x.parquet, x.svg" in fails("shares", run, "--out", "x.txt")


def test_names_work_with_every_verb_that_shows_them(run, tmp_path):
    file = tmp_path / "names.json"
    verbs = {"shares": (), "transitions": ("--json",), "examples": ("--class", "A"), "helpers": (),
             "annotate": (tmp_path / "out.csv",)}  # fmt: skip
    for number, (verb, more) in enumerate(verbs.items()):
        own = tmp_path / verb
        copytree(run, own)
        file.write_text(json.dumps({"A": f"chats a lot {number}"}))
        shown = words(verb, own, *more, "--names", file)
        if verb == "annotate":
            shown = (tmp_path / "out.csv").read_text()
        assert f"chats a lot {number}" in shown, verb
        assert f"chats a lot {number}" in words("classes", own), verb


def test_who_helps_whom(run, tmp_path):
    assert "Who helps whom" in call("helpers", run, "--out", tmp_path / "pairs.csv")
    pairs = pl.read_csv(tmp_path / "pairs.csv")
    found = json.loads(call("helpers", run, "--json"))
    assert len(found["pairs"]) == pairs.height
    assert all(person["messages"] > 1 for person in found["people"])
    call("helpers", run, "--out", tmp_path / "network.svg")
    picture = (tmp_path / "network.svg").read_text()
    assert found["people"][0]["speaker"] in picture
    assert "var(" not in picture
    assert "--out takes" in fails("helpers", run, "--out", tmp_path / "x.txt")


def test_what_is_unanswered(run, tmp_path):
    shown = words("unanswered", run, "--out", tmp_path / "open.csv")
    assert "got no answer from anybody else" in shown
    assert "Without an answer" in shown
    found = json.loads(call("unanswered", run, "--by", "helper", "--json"))
    assert len(found["unanswered"]) == pl.read_csv(tmp_path / "open.csv").height
    assert all(row["answered"] == 1 for row in found["waits"])
    assert "messages" in words("unanswered", run, "--class", "A")
    assert "there is no class 'nothing'" in fails("unanswered", run, "--class", "nothing")


def test_examples(run, tmp_path):
    found = json.loads(call("examples", run, "--class", "B", "--n", 4, "--json"))
    assert 0 < len(found) <= 4
    every = json.loads(call("examples", run, "--json"))
    assert len({row["class"] for row in every}) == 4
    assert "mainly in" in call("examples", run, "--out", tmp_path / "x.parquet")


def test_profile_and_balance(run):
    who = json.loads(call("helpers", run, "--json"))["people"][0]["speaker"]
    assert json.loads(call("profile", run, "--who", who, "--json"))["who"] == who
    assert "everybody" in call("profile", run)
    assert "everybody" in call("profile", run, "--by", "topic", "--who", "router")
    assert "did you mean" in fails("profile", run, "--who", who + "x")
    rows = json.loads(call("balance", run, "--by", "topic", "--json"))
    assert sum(row["words_share"] for row in rows) == pytest.approx(1)
    assert "would be even" in words("balance", run)


def test_crossed_columns_and_quarters(run):
    groups = {
        row["group"] for row in json.loads(call("shares", run, "--by", "topic,quarter", "--json"))
    }
    assert any(" × 2024-Q" in group for group in groups)


def test_parts_and_anonymous_people(run):
    rows = json.loads(call("examples", run, "--where", "topic=router", "--anonymize", "--json"))
    assert all(row["speaker"].startswith("p") for row in rows)
    assert "no message matches" in fails("examples", run, "--where", "topic=nothing")
