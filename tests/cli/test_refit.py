"""Fitting a run again with what people decided: on the command line and from the workbench."""

import json
import shutil
import time
from pathlib import Path

import pytest
from support.verbs import call, fails
from support.workbench import Client

import palaver as pv
from palaver.cli.explore import _opened
from palaver.explore.serve import running


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refit")
    pv.sample(30).table.write_ndjson(folder / "talk.jsonl")
    sweeps = ("--sweeps", 12, "--chains", 2)
    call("fit", folder / "talk.jsonl", "--classes", 5, *sweeps, "--out", folder / "run")
    return folder / "run"


@pytest.fixture
def run(fitted, tmp_path):
    return Path(shutil.copytree(fitted, tmp_path / "run"))


def names(run):
    return {row["name"] for row in json.loads(call("name", run, "--json"))}


def test_a_new_fit_is_compared_then_left_or_taken(run):
    call("name", run, "A", "mine")
    call("name", run, "--merge", "B,C")
    found = json.loads(call("refit", run, "--json"))
    assert 0 < found["same"] <= 1
    assert {row["old"] for row in found["classes"]} >= {"mine"}
    call("refit", run, "--take")
    assert "no new fit" in fails("refit", run, "--take")
    assert len(pv.load(run).class_shares_) == 4
    assert "mine" in names(run)
    assert pv.load(run / "versions" / "1").curation_.classes


def test_names_survive_more_sweeps(run):
    call("name", run, "A", "mine")
    call("fit", "--resume", run, "--sweeps", 14)
    assert "mine" in names(run)
    assert len(list(run.glob("curation-*.json"))) == 1


def wait_for(client, *states):
    end = time.monotonic() + 120
    while (now := client.get("/api/refit"))["state"] not in states:
        assert time.monotonic() < end, now
        assert now["state"] != "failed" or "failed" in states, now
        time.sleep(0.1)
    return now


def test_the_workbench_starts_stops_goes_on_and_takes(run):
    call("name", run, "A", "mine")
    workbench = _opened(run, None, (None, None, False, None), False, False)
    with running(workbench) as address:
        client = Client(address)
        assert client.get("/api/refit")["state"] == "none"
        assert "no new fit" in client.post("/api/refit", {"do": "take"}, 400)["error"]
        client.post("/api/refit", {"do": "start", "classes": 4})
        assert "under way" in client.post("/api/refit", {"do": "start"}, 400)["error"]
        client.post("/api/refit", {"do": "stop"})
        wait_for(client, "stopped", "done")
        client.post("/api/refit", {"do": "start"})
        found = wait_for(client, "done")
        assert found["plan"]["classes"] == 4
        assert found["comparison"]["classes"]
        client.post("/api/refit", {"do": "take"})
        acts = client.get("/api/curation")["acts"]
        assert len(acts) == 4
        assert "mine" in {act["name"] for act in acts}
        assert client.get("/api/search", act=acts[0]["number"])["messages"] > 0
    workbench.close()
