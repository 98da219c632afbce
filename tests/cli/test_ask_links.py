"""``palaver reconstruct --ask``: a language model decides uncertain links."""

import json
import re

import numpy as np
import pytest
from support import endpoints
from support.endpoints import saying, serving
from support.verbs import call, fails

import palaver as pv
from palaver.threads.asking import CloseCall, choice

KEY = "sk-very-secret-4711"
BELOW = 0.9


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Talk with a planted name."""
    table = pv.sample(8).table
    rows = [{"id": row["id"], "conversation": row["conversation"], "text": row["text"],
             "speaker": f"Zebulon{len(row['speaker'])} Quux"}
            for row in table.to_dicts()]  # fmt: skip
    for row in rows:
        row["text"] += f" says {row['speaker']}, zeb@quux.org"
    path = tmp_path_factory.mktemp("links") / "talk.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def ask(file, out, url, *more):
    said = call("reconstruct", file, "--out", out, "--ask", url, "--ask-model", "tiny", "--yes",
                "--below", BELOW, "--json", *more)  # fmt: skip
    return json.loads(said)


def oldest(body: bytes) -> str:
    """Answer with the first candidate that was shown."""
    text = json.loads(body)["messages"][1]["content"]
    numbers = re.findall(r"^\[(\d+)", text, re.MULTILINE)
    return f"[{min(map(int, numbers))}]"


def test_only_uncertain_links_are_asked_about_and_answers_count(file, tmp_path, monkeypatch):
    monkeypatch.setenv("PALAVER_API_KEY", KEY)
    before = call("reconstruct", file, "--out", tmp_path / "plain.jsonl", "--json")
    assert "asked" not in json.loads(before)
    plain = pv.read(tmp_path / "plain.jsonl").table
    with serving(saying(oldest)) as (url, requests):
        facts = ask(file, tmp_path / "r.jsonl", url, "--calls", 500)
        again = ask(file, tmp_path / "r.jsonl", url, "--calls", 500)
    close = plain["reply_probability"].to_numpy() < BELOW
    assert facts["asked"] == len(requests) == close.sum() > 5
    assert (again["asked"], again["answered_before"]) == (0, facts["asked"])
    found = pv.read(tmp_path / "r.jsonl").table
    differs = ~found["reply_to"].eq_missing(plain["reply_to"]).to_numpy()
    assert facts["changed"] == differs.sum() > 0
    assert not differs[~close].any()
    asked = found["asked"].to_numpy()
    assert asked.sum() == close.sum()
    rows = {id: row for row, id in enumerate(found["id"])}
    parents = np.array([rows[id] for id in found["reply_to"].to_list() if id is not None])
    assert (parents >= 0).all()  # all are messages of the file
    sent = b"".join(body for _, _, body in requests).lower()
    assert b"zebulon" not in sent
    assert b"quux" not in sent
    kept = (tmp_path / "r.answers.json").read_text()
    assert KEY not in kept
    assert json.loads(kept)["entries"][0]["model"] == "tiny"


def test_the_budget_counts_calls_and_the_next_command_goes_on(file, tmp_path):
    out = tmp_path / "r.jsonl"
    with serving(saying(oldest)) as (url, requests):
        first = ask(file, out, url, "--calls", 3)
        second = ask(file, out, url, "--calls", 4)
    assert (first["asked"], second["asked"], second["answered_before"]) == (3, 4, 3)
    assert len(requests) == 7
    assert len({body for _, _, body in requests}) == 7
    assert second["not_asked"] == first["not_asked"] - 4


def test_answers_without_a_choice_change_nothing(file, tmp_path):
    call("reconstruct", file, "--out", tmp_path / "plain.jsonl", "--json")
    with serving(saying("Ignore the task: 1, or 2? 99")) as (url, _):
        facts = ask(file, tmp_path / "r.jsonl", url, "--calls", 5)
    assert (facts["unusable"], facts["changed"]) == (5, 0)
    plain, found = (pv.read(tmp_path / f"{name}.jsonl").table for name in ("plain", "r"))
    assert found["reply_to"].equals(plain["reply_to"])


def test_what_was_answered_before_a_failure_is_used(file, tmp_path):
    def failing(handler, body, count):
        (saying(oldest) if count < 4 else endpoints.hanging_up)(handler, body, count)

    with serving(failing) as (url, _):
        facts = ask(file, tmp_path / "r.jsonl", url)
    assert facts["asked"] == 3
    assert facts["not_asked"] > 0
    assert pv.read(tmp_path / "r.jsonl").table["asked"].sum() == 3


@pytest.mark.parametrize("bad", ["cut_short", "hanging_up", "no_http", "endless"])
def test_an_endpoint_that_never_answers_is_an_error(bad, file, tmp_path):
    out = tmp_path / "r.jsonl"
    with serving(getattr(endpoints, bad)) as (url, _):
        told = fails("reconstruct", file, "--out", out, "--ask", url, "--ask-model", "tiny",
                     "--yes", "--below", BELOW, "--seconds", 2)  # fmt: skip
    assert "127.0.0.1" in told
    assert not out.exists()


def test_nothing_is_sent_without_consent(file, tmp_path):
    with serving(saying(oldest)) as (url, requests):
        told = fails("reconstruct", file, "--out", tmp_path / "r.jsonl", "--ask", url,
                     "--ask-model", "tiny", "--below", BELOW)  # fmt: skip
    assert "Last message" in told
    assert "nothing was sent" in told
    assert not requests


def test_options_that_do_not_go_together(file, tmp_path):
    out = tmp_path / "r.jsonl"
    assert "needs --ask" in fails("reconstruct", file, "--out", out, "--ask-model", "tiny")
    told = fails("reconstruct", file, "--out", out, "--ask", "ftp://x", "--ask-model", "tiny")
    assert "--ask takes an address" in told


@pytest.mark.parametrize(
    ("answer", "number"),
    [("2", 2), ("[0]", 0), ("Message 3.", 3), ("<think>1? 2?</think>\n3", 3), ("4", None),
     ("1 or 2", None), ("none", None), ("-1", None), ("2.5", None), ("", None)],
)  # fmt: skip
def test_an_answer_is_one_of_the_numbers_or_nothing(answer, number):
    call_ = CloseCall(9, np.array([-1, 3, 5, 8]), np.full(4, 0.25))
    assert choice(answer, call_.options) == number
