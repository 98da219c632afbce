"""Summaries and their lengths."""

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.errors import InputError, ParameterError
from palaver.ranking import summarize as module
from palaver.ranking.summarize import shortened

NEWS = [
    "The river flooded the old town on Monday. Rescue teams brought hundreds to safety. "
    "The mayor of the old town asked for help.",
    "Rescue teams brought hundreds of people to safety on Monday. The river had flooded the town. "
    "Schools stay closed this week.",
]


def test_central_and_different():
    summary = pv.summarize(NEWS, sentences=2)
    assert len(summary) == 2
    assert summary.n_sentences == 6
    topics = {("river" in s.lower(), "rescue" in s.lower()) for s in summary.sentences}
    assert topics == {(True, False), (False, True)}
    assert summary.table.columns == ["rank", "document", "position", "message", "score", "text"]
    assert summary.table["message"].null_count() == 2
    assert str(summary).split("\n") == summary.table.sort("document", "position")["text"].to_list()
    assert repr(summary) == "Summary(2 of 6 sentences)"


def test_five_sentences_unless_said_and_never_more_than_there_are():
    assert len(pv.summarize(NEWS)) == 5
    assert len(pv.summarize(NEWS, sentences=50)) == 6
    assert pv.summarize("Only one.").sentences == ["Only one."]


def test_position_prior():
    apart = "Alpha beta gamma. Delta epsilon zeta. Eta theta iota."
    assert pv.summarize(apart, sentences=1).sentences == ["Alpha beta gamma."]
    scores = pv.summarize(apart, sentences=3, weight=0).table
    np.testing.assert_allclose(scores["position"].to_list(), [1, 2, 3])
    prior = np.array([1, 2, 3]) ** -0.25
    np.testing.assert_allclose(scores["score"][0], prior[0] / prior.sum())
    # each document starts over
    both = pv.summarize([apart, "Kappa lambda mu. Nu xi omicron."], sentences=2, weight=0)
    assert both.table["position"].to_list() == [1, 1]


@pytest.mark.parametrize("method", ["lexrank", "mmr", "random", "pagerank", "degree"])
def test_other_methods(method):
    assert len(pv.summarize(NEWS, sentences=3, method=method, random_state=2)) == 3


def test_a_corpus_and_one_conversation():
    corpus = pv.sample(20)
    summary = pv.summarize(corpus, sentences=4)
    for row in summary.table.to_dicts():
        text = " ".join(corpus.table["text"][row["message"]].split())
        assert row["text"] in text or row["text"].startswith("```")
    one = pv.summarize(corpus.take([3]), sentences=2)
    assert set(one.table["document"]) == {0}
    assert set(one.table["message"]) <= set(range(corpus.take([3]).n_messages))


def test_length_in_words_and_bytes():
    words = pv.summarize(NEWS, words=12)
    assert sum(len(s.split()) for s in words.sentences) == 12
    cut = pv.summarize(NEWS, bytes=65)
    assert len("\n".join(cut.sentences).encode()) == 65
    assert len(pv.summarize(NEWS, bytes=6650)) == 6
    assert shortened(["äöü", "x"], bytes=5) == ["äö"]
    assert shortened(["äöü", "x"], bytes=8) == ["äöü", "x"]
    assert shortened(["äöü", "x"], bytes=7) == ["äöü"]
    assert shortened(["a b c", "d e"], words=4) == ["a b c", "d"]


def test_options_change_the_graph():
    text = "Cats chase mice. The cat chased a mouse. Dogs sleep. Cows eat grass all day."
    plain, stemmed = (pv.summarize(text, sentences=4, stemmed=s).table for s in (False, True))
    assert plain["score"].to_list() != stemmed["score"].to_list()
    weighted, binary = (pv.summarize(NEWS, sentences=6, weighted=w).table for w in (True, False))
    assert weighted["score"].to_list() != binary["score"].to_list()
    assert weighted["score"].to_list() == pv.summarize(NEWS, sentences=6).table["score"].to_list()


def test_very_many_sentences(monkeypatch):
    texts = pv.sample(60).table["text"].to_list()
    monkeypatch.setattr(module, "MAX_SENTENCES", 50)
    summary = pv.summarize(texts, sentences=3)
    assert summary.n_sentences > 300
    assert len(summary) == 3


def test_mistakes():
    with pytest.raises(InputError, match="no sentences"):
        pv.summarize("")
    with pytest.raises(InputError, match="no sentences"):
        pv.summarize(pv.Corpus.from_polars(pl.DataFrame({"text": ["", "?"]})))
    with pytest.raises(InputError, match="texts or a Corpus, got int"):
        pv.summarize([1, 2])
    with pytest.raises(ParameterError, match="one of sentences, words and bytes"):
        pv.summarize(NEWS, sentences=3, words=10)
    with pytest.raises(ParameterError, match="summarize: sentences must be a whole number >= 1"):
        pv.summarize(NEWS, sentences=0)
    with pytest.raises(ParameterError, match="method must be one of"):
        pv.summarize(NEWS, method="best")


def test_small_talk_of_a_corpus_is_left_out():
    texts = ["Thanks all the same, Ann.", "thanks all the same: Ann!", "https://x.example/a",
             "#wow", "@ann -- wow", "The printer prints blank pages since the update."]  # fmt: skip
    corpus = pv.Corpus.from_polars(pl.DataFrame({"conversation": ["c"] * 6, "text": texts}))
    assert sorted(pv.summarize(corpus).sentences) == [texts[0], texts[5]]
    only = pv.Corpus.from_polars(pl.DataFrame({"conversation": ["c"], "text": ["#wow"]}))
    assert pv.summarize(only).sentences == ["#wow"]
