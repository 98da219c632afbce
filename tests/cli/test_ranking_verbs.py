"""``summarize`` and ``people``."""

import json

import pytest
from support.verbs import call, fails

import palaver as pv


@pytest.fixture(scope="module")
def threads(tmp_path_factory):
    return pv.sample(20).write(tmp_path_factory.mktemp("data") / "threads.jsonl")


def test_summarize(threads):
    corpus = pv.read(threads)
    expected = pv.summarize(corpus, sentences=3)
    assert call("summarize", threads, "--sentences", 3).strip() == str(expected)
    found = json.loads(call("summarize", threads, "--sentences", 3, "--json"))
    assert [row["text"] for row in found["summary"]] == expected.sentences
    assert found["n_sentences"] == expected.n_sentences
    row = found["summary"][0]
    assert corpus.table["conversation"][row["message"]] == row["conversation"]
    assert len(json.loads(call("summarize", threads, "--json"))["summary"]) == 5


def test_summarize_one_conversation(threads):
    name = pv.read(threads).table["conversation"][-1]
    rows = json.loads(call("summarize", threads, "--conversation", name, "--json"))["summary"]
    assert {row["conversation"] for row in rows} == {name}
    message = fails("summarize", threads, "--conversation", "nope")
    assert "there is no conversation 'nope'" in message


def test_summarize_the_longest_conversations(threads):
    corpus = pv.read(threads)
    lengths = corpus.table["conversation"].value_counts(sort=True)["count"].to_list()
    shown = call("summarize", threads, "--longest", 2, "--sentences", 2)
    assert f": {lengths[0]} messages by " in shown
    assert len(shown.split("\n\n")) == 3
    found = json.loads(call("summarize", threads, "--longest", 2, "--sentences", 2, "--json"))
    row = found[0]["summary"][0]
    assert f"{row['speaker']}: {row['text']}" in shown
    assert [len({row["conversation"] for row in part["summary"]}) for part in found] == [1, 1]
    message = fails("summarize", threads, "--longest", 2, "--conversation", "t001")
    assert "--conversation or --longest" in message


def test_summarize_a_plain_text(tmp_path):
    path = tmp_path / "note.txt"
    path.write_text("Cats sleep all day. [b]Cats sleep[/b] and eat. Dogs bark at the :moon:.")
    assert call("summarize", path, "--words", 4).split() == ["Cats", "sleep", "all", "day."]
    assert len(call("summarize", path, "--bytes", 10).strip().encode()) <= 10
    assert ":moon:" in call("summarize", path)
    other = tmp_path / "note.bin"
    other.write_bytes(b"\x00\x01\x02")
    fails("summarize", other)


def test_people(threads):
    table = pv.people(pv.read(threads), top=4)
    assert json.loads(call("people", threads, "--top", 4, "--json")) == table.to_dicts()
    assert table["speaker"][0] in call("people", threads, "--top", 4)
    chained = json.loads(call("people", threads, "--chain", "--direction", "answered", "--json"))
    assert len(chained) > 4


def test_people_says_whom_it_leaves_out(tmp_path):
    path = tmp_path / "talk.jsonl"
    lines = [
        {"id": "1", "speaker": "ann", "text": "hi"},
        {"id": "2", "speaker": "dan", "text": "x"},
    ]
    lines += [{"id": "3", "reply_to": "1", "speaker": "bob", "text": "hi", "conversation": "c"}]
    lines += [{"id": f"b{i}", "speaker": "beep", "text": "done", "bot": True} for i in range(5)]
    rows = [{"conversation": "c", "bot": False, **line} for line in lines]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = call("people", path)
    assert "Left out: 1 person without any reply and 1 bot; --all" in " ".join(said.split())
    assert "beep" not in said
    assert "beep" in call("people", path, "--all")


@pytest.mark.parametrize("verb", ["summarize", "people"])
def test_help_has_examples(verb):
    assert f"palaver {verb} threads.jsonl" in " ".join(call(verb, "--help").split())
