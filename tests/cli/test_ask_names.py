"""``palaver name --ask``: names by a language model, as suggestions."""

import json

import pytest
from support import endpoints
from support.endpoints import completion, good_names, letters_asked, saying, send, serving
from support.verbs import call, fails

import palaver as pv

KEY = "sk-very-secret-4711"


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A run on a file with a planted name."""
    place = tmp_path_factory.mktemp("ask")
    table = pv.sample(12).table
    names = [f"Zebulon{i % 3} Quux" for i in range(len(table))]
    rows = [{"id": row["id"], "conversation": row["conversation"], "reply_to": row["reply_to"],
             "speaker": who, "text": f"{row['text']} says {who} zeb@quux.org"}
            for row, who in zip(table.to_dicts(), names, strict=True)]  # fmt: skip
    file = place / "talk.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    call("fit", "lda", file, "--classes", 4, "--sweeps", 4, "--out", place / "run")
    return place / "run"


@pytest.fixture
def run(fitted):
    yield fitted
    for name in ("curation.json", "answers.json"):
        (fitted / name).unlink(missing_ok=True)


def ask(run, url, *more):
    return call("name", run, "--ask", url, "--model", "tiny", "--yes", *more)


def test_suggestions_are_kept_marked_and_cached(run, monkeypatch):
    monkeypatch.setenv("PALAVER_API_KEY", KEY)
    with serving(saying(good_names)) as (url, requests):
        shown = ask(run, url)
        again = ask(run, url)
    assert len(requests) == 1  # the second one was answered by the cache
    sent = requests[0][2].decode().lower()
    assert "zebulon" not in sent
    assert "quux" not in sent
    assert "message:" in sent
    assert "asks people" in shown
    assert "asks people" in again
    summary = pv.load(run).summary()
    assert summary.proposed == {0, 1, 2, 3}
    assert not summary.named
    assert "model tiny" in (run / "curation.json").read_text()
    kept = json.loads((run / "answers.json").read_text())["entries"][0]
    assert kept["model"] == "tiny"
    assert kept["messages"][0]["role"] == "system"
    for path in run.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()
    assert KEY not in shown
    assert not pv.load(run).summary().named
    call("name", run, "--undo")
    assert not pv.load(run).summary().class_names
    assert "nothing to undo" in fails("name", run, "--undo")  # the second one changed nothing
    call("name", run, "--redo")
    assert pv.load(run).summary().proposed == {0, 1, 2, 3}
    call("name", run, "--undo")


def test_a_persons_name_stays(run):
    call("name", run, "A", "my own")
    with serving(saying(good_names)) as (url, requests):
        ask(run, url)
    assert letters_asked(requests[0][2]) == ["B", "C", "D"]
    summary = pv.load(run).summary()
    assert summary.class_names[int(summary.order[0])] == "my own"


def test_a_name_given_while_the_model_thinks_stays(run):
    def slow(handler, body, count):
        call("name", run, "B", "was faster")
        send(handler, completion(good_names(body)))

    with serving(slow) as (url, _):
        ask(run, url)
    assert "was faster" in pv.load(run).summary().class_names.values()
    assert len(pv.load(run).summary().proposed) == 3


def test_bad_names_are_asked_for_again_then_left_out(run):
    answer = json.dumps(
        {"A": "thanks", "B": "Thanks", "C": "x" * 99, "D": "asks Zebulon0", "Z": "no"}
    )
    with serving(saying(f"<think>{{}}</think> ```json\n{answer}\n```")) as (url, requests):
        message = fails("name", run, "--ask", url, "--model", "tiny", "--yes")
    assert len(requests) == 2
    assert "no group 'Z'" in requests[1][2].decode()
    for words in ("another group", "too long", "person's", "no name that can be used"):
        assert words in message
    assert not (run / "curation.json").exists()

    with serving(saying(lambda body: '{"A": "thanks", "B": "thanks", "C": "asks"}')) as (url, _):
        shown = ask(run, url)
    assert "D: has no name" in shown
    assert list(pv.load(run).summary().class_names.values()) == ["asks"]


@pytest.mark.parametrize(
    "answer",
    [
        saying("I am sorry."), saying("[1, 2]"), saying('{"A": 1, "B": {"C": 2}}'),
        saying('{"A": "class A", "B": "?!", "C": "\\u202e", "D": ""}'), saying("{" * 9000),
        endpoints.dripping, endpoints.endless, endpoints.cut_short, endpoints.hanging_up,
        lambda h, b, n: send(h, b"", 500),
        lambda h, b, n: send(h, b"", 307, Location="http://127.0.0.1:9/v1"),
    ],
)  # fmt: skip
def test_nothing_is_lost_whatever_comes_back(run, answer):
    call("name", run, "A", "my own")
    before = (run / "curation.json").read_bytes()
    with serving(answer) as (url, _):
        arguments = ("--ask", url, "--model", "tiny", "--yes", "--seconds", 1)
        assert "nothing was changed" in fails("name", run, *arguments)
    assert (run / "curation.json").read_bytes() == before


def test_consent(run, monkeypatch):
    with serving(saying(good_names)) as (url, requests):
        asked = ("name", run, "--ask", url, "--model", "tiny")
        message = fails(*asked)
        assert "--yes is needed" in message
        assert "Words:" in message  # what would be sent
        assert "ask" in fails(*asked, "--undo")
        assert "which model" in fails("name", run, "--ask", url)
        assert requests == []
    assert "needs --ask" in fails("name", run, "--model", "tiny")
