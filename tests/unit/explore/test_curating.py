"""Curating through the server: what it writes, what it refuses."""

import shutil
from functools import partial

import numpy as np
import pytest
from support.workbench import Client, opened, pretended_fit

import palaver as pv
from palaver.explore.build import build
from palaver.explore.question import Question
from palaver.explore.refits import Refits
from palaver.explore.serve import running
from palaver.explore.stored import origin_of


@pytest.fixture
def bench(run):
    workbench = opened(run, who="max")
    with running(workbench) as address:
        yield workbench, Client(address)
    workbench.close()
    (run / "curation.json").unlink(missing_ok=True)


def do(client, revision, *actions, status=200):
    return client.post("/api/curate", {"revision": revision, "actions": list(actions)}, status)


def test_merged_acts_have_the_shares_of_the_model(bench, run, corpus):
    workbench, client = bench
    one, other = (act.number for act in workbench.answers.classified.acts[:2])
    found = do(client, 0, {"do": "merge", "classes": [one, other]})
    assert found["revision"] == 1
    model = pv.load(run)
    shares = model.message_shares(corpus)[:, model.summary().order]
    known = workbench.index.speaking
    own = workbench.answers.classified
    np.testing.assert_allclose(own.shares[known], shares[known], atol=1e-5)
    assert [act.letter for act in own.acts] == [act["letter"] for act in found["acts"]]
    assert client.get("/api/search", act=other)["messages"] == (own.main == 0).sum()
    assert workbench.is_stale


def test_names_leave_what_was_found_and_merging_leaves_words(bench):
    workbench, client = bench
    number = workbench.answers.classified.acts[0].number
    words, act, sequence = (
        Question(q="the "), Question(q="the ", act=number), Question(seq=f"{number} > *"),
    )  # fmt: skip
    asked = (words, act, sequence)
    before = [workbench.answers.passing(one) for one in asked]
    acts = do(client, 0, {"do": "name", "class": number, "name": "asks"})["acts"]
    assert acts[0]["name"] == "asks"
    after = [workbench.answers.passing(one) for one in asked]
    assert [one is other for one, other in zip(before, after, strict=True)] == [True] * 3
    other = acts[1]["number"]
    do(client, 1, {"do": "merge", "classes": [number, other]})
    after = [workbench.answers.passing(one) for one in asked]
    assert [one is other for one, other in zip(before, after, strict=True)] == [True, False, False]
    main = workbench.answers.classified.main
    assert after[1].tolist() == (after[0] & (main == 0)).tolist()


def test_marks_count_as_they_do_for_the_model(bench, run, corpus):
    workbench, client = bench
    main = workbench.answers.classified.main
    row = int(np.flatnonzero(main == 0)[0])
    numbers = [act.number for act in workbench.answers.classified.acts]
    do(client, 0, {"do": "mark", "class": numbers[0], "row": row, "right": False})
    wrong = workbench.answers.classified.main[row]
    assert wrong != 0
    do(client, 1, {"do": "mark", "class": numbers[2], "row": row, "right": True})
    assert workbench.answers.classified.main[row] == 2
    assert workbench.answers.classified.untouched(np.array([row])).tolist() == [0]
    from palaver.models.views.marks import with_marks

    model = pv.load(run)
    expected = with_marks(model, corpus, model.message_shares(corpus))[row, numbers]
    np.testing.assert_allclose(workbench.answers.classified.shares[row], expected, atol=1e-5)
    found = client.post("/api/curate", {"revision": 2, "do": "undo"})
    assert workbench.answers.classified.main[row] == wrong
    assert found["can_redo"]


def test_whoever_comes_second_is_told(bench):
    _, client = bench
    do(client, 0, {"do": "hide", "class": 0})
    said = do(client, 0, {"do": "hide", "class": 1}, status=409)
    assert "another window" in said["error"]
    assert client.get("/api/curation")["revision"] == 1


@pytest.mark.parametrize(
    "actions",
    [[], ["x"], [{"do": "explode"}], [{"do": "name", "class": 999, "name": "x"}],
     [{"do": "mark", "class": 0, "row": 10**9}], [{"do": "mark", "class": 0, "row": "1"}],
     [{"do": "merge", "classes": [0]}], "no list"],
)  # fmt: skip
def test_nonsense_is_refused_and_not_written(bench, run, actions):
    _, client = bench
    client.post("/api/curate", {"revision": 0, "actions": actions}, 400)
    assert not (run / "curation.json").exists()


def test_a_workbench_that_only_shows_changes_nothing(run):
    workbench = opened(run, read_only=True)
    with running(workbench) as address:
        client = Client(address)
        origin = f"http://{client.host}:{client.port}"
        body = {"revision": 0, "actions": [{"do": "hide", "class": 0}]}
        status, _, _ = client.ask("POST", "/api/curate", body, Origin=origin)
        assert status == 403
        status, _, _ = client.ask("POST", "/api/curate", body, Origin="http://evil.example")
        assert status == 403
    workbench.close()
    assert not (run / "curation.json").exists()


def test_the_overview_is_made_again_with_what_was_decided(run, corpus, tmp_path):
    own = tmp_path / "run"
    shutil.copytree(run, own)

    def rebuild():
        build(own, pv.load(own), corpus, origin_of(own, "a table"))

    workbench = opened(own, rebuild=rebuild)
    numbers = [act.number for act in workbench.answers.classified.acts]
    with running(workbench) as address:
        client = Client(address)
        do(client, 0, {"do": "merge", "classes": numbers[:2]})
        shares = workbench.answers.classified.shares.copy()
        assert workbench.is_stale
        client.post("/api/rebuild", {})
        assert not workbench.is_stale
        np.testing.assert_allclose(workbench.answers.classified.shares, shares, atol=1e-5)
        listed = workbench.overview_data()["acts"]
        assert len(listed) == len(numbers) - 1
        assert sorted(numbers[:2]) in [sorted(act["members"]) for act in listed]
        client.post("/api/curate", {"revision": 1, "do": "undo"})
        assert workbench.is_stale
    workbench.close()


def test_after_a_new_fit_was_taken_none_is_under_way(run, tmp_path):
    own = tmp_path / "run"
    shutil.copytree(run, own)
    pv.load(run).save(own / "refit")
    (own / "refit/progress.json").write_text("{}")  # goes on, and is done at once
    refits = Refits(own, partial(pretended_fit, own))
    refits.start()
    refits._process.join()
    assert refits.status()["state"] == "done"
    refits.take()
    assert refits.status()["state"] == "none"
    assert (own / "versions/1").is_dir()


def test_an_act_is_divided_after_its_parts_were_shown(run, corpus):
    workbench = opened(run, corpus=lambda: corpus)
    with running(workbench) as address:
        client = Client(address)
        largest = workbench.answers.classified.acts[0].number
        whole = client.get("/api/search", act=largest)["messages"]
        tried = client.post("/api/split", {"class": largest, "parts": 2})
        assert client.get("/api/curation")["revision"] == 0  # nothing is kept yet
        assert all(part["words"] and part["examples"] for part in tried["parts"])
        found = do(client, 0, *tried["actions"])
        parts = workbench.state.splits[0].parts
        assert {act["number"] for act in found["acts"]} >= set(parts)
        hits = [client.get("/api/search", act=part)["messages"] for part in parts]
        assert min(hits) > 0
        assert sum(hits) == pytest.approx(whole, rel=0.5)  # a part alone may lose to another act
        model = pv.load(run)
        shares = model.message_shares(corpus)[:, model.summary().order]
        known, own = workbench.index.speaking, workbench.answers.classified
        np.testing.assert_allclose(own.shares[known], shares[known], atol=1e-5)
        assert client.get("/api/thread", thread=0)["a"]
        client.post("/api/curate", {"revision": 1, "do": "undo"})
        assert "2 to 100" in client.post("/api/split", {"class": largest, "parts": 1}, 400)["error"]
    workbench.close()
    (run / "curation.json").unlink(missing_ok=True)


def test_the_index_of_a_divided_act_is_made_again(run, corpus):
    workbench = opened(run, corpus=lambda: corpus)
    largest = workbench.answers.classified.acts[0].number
    workbench.change(workbench.try_split(largest, 2)["actions"], 0)
    before = workbench.answers.classified.shares.copy()
    workbench.close()
    for path in (run / "explore").glob("split-*"):
        path.unlink()
    build(run, pv.load(run), corpus, origin_of(run, "a table"))
    again = opened(run)
    np.testing.assert_array_equal(again.answers.classified.shares, before)
    assert len(again.overview_data()["acts"]) == len(again.answers.classified.acts)
    again.close()
    (run / "curation.json").unlink(missing_ok=True)
    build(run, pv.load(run), corpus, origin_of(run, "a table"))
