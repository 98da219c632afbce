"""``palaver name``: decisions about classes, applied by the other verbs."""

import json

import pytest
from support.verbs import call, fails

import palaver as pv


@pytest.fixture
def run(tmp_path):
    pv.LDA(n_classes=4, n_sweeps=4).fit(pv.sample(20)).save(tmp_path / "run")
    return tmp_path / "run"


def test_name_merge_hide_undo_redo(run):
    assert "asks & waits" in call("name", run, "A", "asks & waits")
    number = int(pv.load(run).summary().order[0])
    assert pv.load(run).summary().class_names[number] == "asks & waits"
    call("name", run, "asks & waits", "--describe", "what people want")
    assert "what people want" in (run / "curation.json").read_text()
    before = pv.load(run).class_shares_
    letters = {row["letter"]: row["class"] for row in json.loads(call("name", run, "--json"))}
    call("name", run, "--merge", "A,C")
    merged = pv.load(run)
    assert len(merged.class_shares_) == 3
    assert merged.class_shares_.max() == pytest.approx(before[[letters["A"], letters["C"]]].sum())
    assert "asks & waits" in call("classes", run)
    call("name", run, "--undo")
    assert len(pv.load(run).class_shares_) == 4
    call("name", run, "--redo")
    assert len(pv.load(run).class_shares_) == 3
    rows = json.loads(call("name", run, "--hide", "B", "--json"))
    assert [row["hidden"] for row in rows] == [False, False, True]
    assert "Hidden, but counted: C" in call("classes", run)


def test_mistakes_are_explained(run):
    assert "no class 'Z'" in fails("name", run, "Z", "x")
    assert "say what to call" in fails("name", run, "A")
    assert "nothing to undo" in fails("name", run, "--undo")
    assert "go alone" in fails("name", run, "A", "x", "--undo")
    assert not (run / "curation.json").exists()
