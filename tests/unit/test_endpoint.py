"""The client of language models, against a server that misbehaves."""

import json
import time

import pytest
from support import endpoints
from support.endpoints import completion, saying, send, serving

from palaver.endpoint import Answers, Endpoint, key_from_environment
from palaver.errors import EndpointError, PalaverWarning, ParameterError

ASKED = [{"role": "user", "content": "hello"}]
KEY = "sk-very-secret-4711"


def endpoint(url, **more):
    return Endpoint(url, "tiny", **{"seconds": 5.0, "pause": 0.01, **more})


def error_of(answer, **more):
    with serving(answer) as (url, _), pytest.raises(EndpointError) as caught:
        endpoint(url, **more).complete(ASKED)
    assert caught.value.__cause__ is None
    return str(caught.value)


def test_a_question_and_its_answer():
    with serving(saying("hi")) as (url, requests):
        assert endpoint(url, key=KEY).complete(ASKED) == "hi"
        assert endpoint(url + "/chat/completions").complete(ASKED) == "hi"
    (path, headers, body), (_, plain, _) = requests
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert "Authorization" not in plain
    assert json.loads(body) == {"model": "tiny", "messages": ASKED, "temperature": 0,
                                "stream": False}  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda h, b, n: send(h, b"<html>hello"), "OpenAI-compatible"),
        (lambda h, b, n: send(h, b'{"choices": []}'), "OpenAI-compatible"),
        (lambda h, b, n: send(h, b'{"choices": {"0": 1}}'), "OpenAI-compatible"),
        (lambda h, b, n: send(h, b"[" * 100_000), "OpenAI-compatible"),
        (lambda h, b, n: send(h, b"\xff\xfe\x00"), "OpenAI-compatible"),
        (lambda h, b, n: send(h, b""), "OpenAI-compatible"),
        (lambda h, b, n: send(h, completion(None)), "answers with nothing"),
        (lambda h, b, n: send(h, completion(["x"])), "answers with nothing"),
        (lambda h, b, n: send(h, b"no\x1b[2J model", 404), "404 Not Found (no [2J model)"),
        (lambda h, b, n: send(h, b"", 401), "401 Unauthorized"),
        (lambda h, b, n: send(h, b"", 503), "503 Service Unavailable, 3 times"),
        (lambda h, b, n: send(h, b"", 302, Location="/v1/chat/completions"), "302"),
        (endpoints.endless, "more than 1,000,000 bytes"),
        (endpoints.cut_short, "early"),
        (endpoints.hanging_up, "broke off|cannot be asked"),
        (endpoints.no_http, "broke off"),
    ],
)  # fmt: skip
def test_bad_answers_are_one_error(answer, words):
    message = error_of(answer, key=KEY)
    assert any(word in message for word in words.split("|")), message
    assert "nothing was changed" in message
    assert KEY not in message
    assert message.isprintable()


@pytest.mark.parametrize("answer", [endpoints.dripping, lambda h, b, n: time.sleep(3)])
def test_slow_servers_get_their_time_and_no_more(answer):
    start = time.monotonic()
    assert "in time" in error_of(answer, seconds=0.3)
    assert time.monotonic() - start < 2.5


def test_nobody_there():
    with serving(saying("x")) as (url, _):
        pass
    with pytest.raises(EndpointError, match="cannot be asked"):
        endpoint(url).complete(ASKED)


def test_a_busy_server_is_asked_again():
    def later(handler, body, count):
        send(handler, completion("done") if count == 3 else b"", 200 if count == 3 else 429)

    with serving(later) as (url, requests):
        assert endpoint(url).complete(ASKED) == "done"
    assert len(requests) == 3


def test_redirects_stay_on_the_host():
    with serving(saying("stolen")) as (other, seen):
        message = error_of(
            lambda h, b, n: send(h, b"", 307, Location=other + "/chat/completions"), key=KEY
        )
        assert seen == []
    assert "redirects to another place" in message

    def moved(handler, body, count):
        send(handler, b"", 307, Location="/new") if count == 1 else saying("hi")(handler, body, 2)

    with serving(moved) as (url, requests):
        assert endpoint(url, key=KEY).complete(ASKED) == "hi"
    (first, _, body), (second, headers, again) = requests
    assert (first, second, body) == ("/v1/chat/completions", "/new", again)
    assert headers["Authorization"] == f"Bearer {KEY}"


def test_redirects_to_other_schemes_are_refused():
    for place in ("file:///etc/passwd", "ftp://127.0.0.1/x", "https://127.0.0.1/x"):
        message = error_of(lambda h, b, n, to=place: send(h, b"", 307, Location=to))
        assert "redirect" in message.lower()
        assert "root:" not in message


def test_an_echoed_key_is_cut_out():
    echo = lambda h, b, n: send(h, h.headers["Authorization"].encode(), 400)  # noqa: E731
    assert KEY not in error_of(echo, key=KEY)
    back = lambda h, b, n: send(h, completion(h.headers["Authorization"]))  # noqa: E731
    with serving(back) as (url, _):
        assert endpoint(url, key=KEY).complete(ASKED) == "Bearer [key]"
    assert KEY not in repr(Endpoint("https://example.org/v1", "m", KEY))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("localhost:11434", "such as"), ("ftp://x/v1", "such as"), ("http:///v1", "such as"),
        ("http://x:99999/v1", "such as"), ("http://x/v 1", "such as"),
        ("https://me:secret@x/v1", "environment variable"),
        ("https://x/v1?api_key=secret", "environment variable"),
        ("http://example.org/v1", "plain http"), ("http://localhost.evil.org/v1", "plain http"),
    ],
)  # fmt: skip
def test_addresses_that_are_not_asked(url, words):
    with pytest.raises(ParameterError, match=words) as caught:
        Endpoint(url, "m", KEY)
    assert "secret" not in str(caught.value)


def test_the_key_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("PALAVER_API_KEY", f" {KEY}\n")
    assert key_from_environment() == KEY
    monkeypatch.setenv("PALAVER_API_KEY", "a\r\nX-Evil: 1")
    with pytest.raises(ParameterError) as caught:
        key_from_environment()
    assert "Evil" not in str(caught.value)


def test_answers_are_kept_by_question_and_model(tmp_path):
    answers, own = Answers(tmp_path), Endpoint("http://localhost/v1", "tiny", KEY)
    assert answers.get(own, ASKED) is None
    answers.keep(own, ASKED, "hi")
    assert Answers(tmp_path).get(own, ASKED) == "hi"
    assert answers.get(Endpoint("http://localhost/v1", "other"), ASKED) is None
    assert answers.get(own, [*ASKED, *ASKED]) is None
    written = (tmp_path / "answers.json").read_text()
    assert KEY not in written
    assert all(part in written for part in ("tiny", "hello", "http://localhost/v1"))
    (tmp_path / "answers.json").write_text('{"version": 1, "entries": [{}]}')
    with pytest.warns(PalaverWarning, match="started over"):
        assert answers.get(own, ASKED) is None


def test_answers_are_read_again_only_if_the_file_changed(tmp_path, monkeypatch):
    endpoint = Endpoint("http://localhost:1/v1", "tiny")
    one, two = ([{"role": "user", "content": text}] for text in ("one", "two"))
    mine, other = Answers(tmp_path), Answers(tmp_path)
    mine.keep(endpoint, one, "1")
    n_read, read = [], Answers._read
    monkeypatch.setattr(Answers, "_read", lambda self: n_read.append(1) or read(self))
    assert [mine.get(endpoint, one) for _ in range(5)] == ["1"] * 5
    assert len(n_read) == 1
    other.keep(endpoint, two, "2")
    assert mine.get(endpoint, two) == "2"  # somebody else's answer counts
