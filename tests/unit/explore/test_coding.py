"""Coders label a sample through the server: blind, kept, and compared."""

import json

import pytest
from support.workbench import Client, opened

from palaver.explore.serve import running


@pytest.fixture
def bench(run):
    workbench = opened(run)
    with running(workbench) as address:
        yield workbench, Client(address)
    workbench.close()
    (run / "coding.json").unlink(missing_ok=True)


def label(client, coder, choose):
    task = client.get("/api/task", coder=coder)
    seen = []
    while task["place"] is not None:
        seen.append(task)
        given = {"coder": coder, "place": task["place"], "class": choose(task["place"])}
        task = client.post("/api/code", given)
    return seen


def test_coders_agree_with_each_other_and_the_model_as_they_do(bench, run):
    workbench, client = bench
    client.post("/api/code", {"size": 20})
    numbers = [act.number for act in workbench.answers.classified.acts[:2]]
    seen = label(client, "ann", lambda place: numbers[place % 2])
    assert len(seen) == 20
    assert not {"act", "a", "strength", "shares"} & set(seen[0])  # blind
    label(client, "bob", lambda place: numbers[place % 2])
    label(client, "eve", lambda place: -1)
    found = client.get("/api/agreement")
    pairs = {tuple(pair["names"]): pair for pair in found["pairs"]}
    assert pairs["ann", "bob"]["kappa"] == pairs["ann", "bob"]["alpha"] == 1
    assert pairs["ann", "eve"]["same"] == 0
    assert pairs["ann", "the model"]["messages"] == 20
    assert 0 < found["alpha"][0] < 1
    kept = json.loads((run / "coding.json").read_text())
    assert set(kept["coders"]) == {"ann", "bob", "eve"}
    again = client.get("/api/task", coder="ann", place=3)
    assert again["said"] == numbers[1]
    for one in kept["sample"][:5]:
        one["id"] += " of another file"
    (run / "coding.json").write_text(json.dumps(kept))
    pairs = {tuple(pair["names"]): pair for pair in client.get("/api/agreement")["pairs"]}
    assert pairs["ann", "the model"]["messages"] == 15


def test_mistakes_are_said(bench, run):
    _, client = bench
    assert client.post("/api/code", {"size": 10**7}, 400)
    assert client.post("/api/code", {"size": "3"}, 400)
    assert client.post("/api/code", {"coder": "ann", "place": 0, "class": 0}, 400)
    client.post("/api/code", {"size": 3})
    assert "already" in client.post("/api/code", {"size": 3}, 400)["error"]
    assert client.post("/api/code", {"coder": " ", "place": 0, "class": 0}, 400)
    assert client.post("/api/code", {"coder": "ann", "place": 3, "class": 0}, 400)
    assert client.post("/api/code", {"coder": "ann", "place": 0, "class": 999}, 400)
    (run / "coding.json").write_text("{")
    status, _, body = client.ask("GET", "/api/agreement")
    assert status == 500
    assert b"damaged" in body
