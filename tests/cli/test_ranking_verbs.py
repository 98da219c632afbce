"""``summarize``, ``rank`` and ``people``."""

import json

import numpy as np
import polars as pl
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
    found = json.loads(call("people", threads, "--top", 4, "--json"))
    assert [{name: row[name] for name in table.columns} for row in found] == table.to_dicts()
    assert {row["role"] for row in found} <= {"asks", "helps", "both"}
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


def test_summarize_several_texts(tmp_path):
    (tmp_path / "d1").mkdir()
    (tmp_path / "d2").mkdir()
    first, second = tmp_path / "d1" / "a.txt", tmp_path / "d2" / "b.txt"
    first.write_text("Cats sleep all day. Cats sleep and eat.")
    second.write_text("Dogs bark at cats. Dogs bark at night.")
    texts = [first.read_text(), second.read_text()]
    options = ["--sentences", 2, "--stemmed", "--threshold", 0.2, "--binary"]
    expected = pv.summarize(texts, 2, stemmed=True, threshold=0.2, weighted=False)
    assert call("summarize", first, second, *options).strip() == str(expected)
    assert call("summarize", tmp_path, *options).strip() == str(expected)
    rows = json.loads(call("summarize", tmp_path, "--words", 4, "--json"))["summary"]
    assert rows[0]["source"] in ("d1/a.txt", "d2/b.txt")
    shown = call("summarize", tmp_path, "--sets", "--sentences", 1)
    assert shown.split("\n")[0] == "d1: 1 text"
    assert "d2: 1 text" in shown
    found = json.loads(call("summarize", tmp_path, "--sets", "--sentences", 1, "--json"))
    assert [part["summary"][0]["source"] for part in found] == ["d1/a.txt", "d2/b.txt"]
    assert "not texts" in fails("summarize", first, second, "--longest", 1)
    assert "no such file" in fails("summarize", first, tmp_path / "c.txt")


def test_sets_are_of_texts(threads):
    assert "--sets is for folders of texts" in fails("summarize", threads, "--sets")


def test_rank(tmp_path):
    path, prior, out = tmp_path / "edges.csv", tmp_path / "prior.csv", tmp_path / "ranked.csv"
    path.write_text("source,target,weight\na,b,2\nb,a,1\nb,c,1\nd,e,3\ne,d,1\n")
    prior.write_text("item,value\na,1\nb,2\nc,1\nd,1\ne,4\n")
    names = list("abcde")
    edges = np.zeros((5, 5))
    edges[[0, 1, 1, 3, 4], [1, 0, 2, 4, 3]] = [2, 1, 1, 3, 1]
    ranking = pv.grasshopper(edges + np.eye(5), [1, 2, 1, 1, 4], 0.9, 3)
    options = ["--prior", prior, "--weight", 0.9, "--loops", 1, "--top", 3]
    found = json.loads(call("rank", path, *options, "--json", "--out", out))
    assert [row["item"] for row in found["ranking"]] == [names[i] for i in ranking.order]
    assert [row["score"] for row in found["ranking"]] == pytest.approx(ranking.scores.tolist())
    assert (found["items"], found["edges"]) == (5, 10)
    saved = pl.read_csv(out)
    assert saved["absorbed_by"].to_list() == [names[i] for i in ranking.absorbed_by]
    assert saved["rank"].drop_nulls().sort().to_list() == [1, 2, 3]
    assert "nearby" in call("rank", path, *options)
    degree = json.loads(call("rank", path, "--method", "degree", "--top", 1, "--json"))
    assert degree["ranking"][0]["item"] == "e"


def test_rank_draws(tmp_path):
    path, groups = tmp_path / "edges.csv", tmp_path / "groups.csv"
    path.write_text("source,target\na,b\nb,c\nc,a\nd,e\n")
    groups.write_text("item,group\na,x\nb,x\nc,x\nd,y\n")
    for more in ([], ["--groups", groups]):
        picture = tmp_path / f"p{len(more)}.svg"
        said = call("rank", path, "--undirected", "--top", 2, "--picture", picture, *more)
        assert picture.read_text().startswith("<svg")
    assert "Groups among the first 2: grasshopper 2" in said
    assert "--picture takes" in fails("rank", path, "--picture", tmp_path / "p.doc")
    assert "no such file" in fails("rank", tmp_path / "none.csv")


def test_outlines(threads):
    rows = json.loads(call("summarize", threads, "--outline", "--longest", 2, "--json"))
    assert len({row["conversation"] for row in rows}) == 2
    shown = call("summarize", threads, "--outline", "--conversation", rows[0]["conversation"])
    assert rows[0]["speaker"] in shown
    assert "question" in shown or "problem" in shown
    assert "--outline" in fails("summarize", threads, "--acts", "run")
    assert "own length" in fails("summarize", threads, "--outline", "--words", 10)
