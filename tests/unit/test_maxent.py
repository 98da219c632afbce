"""The supervised tagger: learns labels, profits from context where only context tells."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import palaver as pv
from palaver.encode import encode
from palaver.errors import CorpusError, NotFittedError, ParameterError
from palaver.models.taggers.maxent import _around, _pairs


def talk(n=150, seed=0):
    """A yes is an answer after a question and a backchannel after a statement."""
    rng = np.random.default_rng(seed)
    rows = []
    for conversation in range(n):
        for _ in range(4):
            asked = rng.random() < 0.5
            rows.append((conversation, "A", "did you go" if asked else "we went home",
                         "question" if asked else "statement"))  # fmt: skip
            rows.append((conversation, "B", "yes", "answer" if asked else "backchannel"))
    table = pl.DataFrame(rows, schema=["conversation", "speaker", "text", "act"], orient="row")
    return pv.Corpus.from_polars(table.with_columns(pl.col("conversation").cast(pl.String)))


def test_context_tells_what_words_do_not():
    train, test = talk(seed=1), talk(60, seed=2)
    plain = pv.MaxEntTagger().fit(train)
    context = pv.MaxEntTagger(context=True).fit(train)
    assert 0.65 < plain.score(test) < 0.85  # a yes is a guess
    assert context.score(test) == 1
    assert context.tags_ == ["answer", "backchannel", "question", "statement"]
    shares = context.predict_proba(test)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(
        np.array(context.tags_)[shares.argmax(axis=1)], context.predict(test)
    )


@pytest.mark.parametrize("features", ["words", "vectors", "both"])
@pytest.mark.parametrize("context", [False, True])
def test_the_sample(features, context):
    train, test = pv.sample(80).split(test=0.25, random_state=0)
    tagger = pv.MaxEntTagger(context, features, whiten=20, max_iter=30).fit(train)
    most = test.table["act"].value_counts()["count"].max() / test.n_messages
    assert tagger.score(test) > most + 0.1


def test_messages_without_a_label_are_context_only():
    corpus = talk(40)
    act = corpus.table["act"]
    hidden = corpus.with_columns(kind=act.set(pl.Series(np.arange(len(act)) % 3 == 0), None))
    tagger = pv.MaxEntTagger(context=True).fit(hidden, labels="kind")
    assert len(tagger.predict(hidden)) == corpus.n_messages
    assert tagger.label_ == "kind"
    assert tagger.score(hidden) == tagger.score(hidden, "kind") > 0.95
    wrong = hidden.with_columns(act=act.reverse())  # which it was not trained on
    assert tagger.score(wrong) > 0.95
    assert tagger.score(wrong, "act") < 0.95
    with pytest.raises(ParameterError, match="no column 'kind'; it has"):
        tagger.score(corpus)
    with pytest.raises(CorpusError, match="no message has a label"):
        tagger.score(corpus.with_columns(kind=act.set(act.is_not_null(), None)))


def test_pairs_have_ends():
    corpus = pv.Corpus.from_polars(pl.DataFrame({"conversation": ["a"] * 3,
                                                 "text": ["x y x", "", "y"]}))  # fmt: skip
    encoded = encode(corpus, min_count=1)
    x, y = encoded.vocabulary.index["x"], encoded.vocabulary.index["y"]
    messages, pairs = _pairs(encoded)
    assert messages.tolist() == [0, 0, 0, 0, 1, 2, 2]
    end = 2
    exact = [(end, x), (x, y), (y, x), (x, end), (end, end), (end, y), (y, end)]
    assert pairs.tolist() == [left * 3 + right for left, right in exact]


def test_neighbours_stop_at_the_ends_of_conversations():
    corpus = talk(2)
    around = _around(corpus, np.eye(16, 5)).toarray()
    assert not around[0, :7].any()
    assert not around[8, :7].any()  # the first of the second conversation
    assert not around[7, 7:].any()
    np.testing.assert_array_equal(around[1, :5], np.eye(5)[0])
    assert around[1, 5:7].tolist() == [0, 1]  # another speaker


def test_speakers_who_are_not_known_are_not_the_same():
    table = talk(1).table.with_columns(speaker=pl.lit(None, pl.String))
    around = _around(pv.Corpus.from_polars(table), np.zeros((8, 1))).toarray()
    assert around[1:, 1].tolist() == [0] * 7
    assert around[1:, 2].tolist() == [1] * 7


def test_mistakes_are_explained():
    corpus = talk(3)
    with pytest.raises(ParameterError, match="no column 'dialogue'; it has"):
        pv.MaxEntTagger().fit(corpus, "dialogue")
    with pytest.raises(ParameterError, match="features must be one of"):
        pv.MaxEntTagger(features="letters").fit(corpus)
    with pytest.raises(CorpusError, match="fewer than two labels"):
        pv.MaxEntTagger().fit(corpus.with_columns(one=pl.Series(["x"] * 24)), "one")
    with pytest.raises(NotFittedError, match="call fit"):
        pv.MaxEntTagger().predict(corpus)
    tagger = pv.MaxEntTagger(context=True, penalty=3.0)
    assert clone(tagger).get_params() == tagger.get_params()
