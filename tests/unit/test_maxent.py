"""The supervised tagger learns labels, and benefits from context where only context helps."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import palaver as pv
from palaver.encoding import encode
from palaver.errors import (
    CorpusError,
    DamagedStoreError,
    NotFittedError,
    ParameterError,
    StoreError,
)
from palaver.models.taggers.maxent.inputs import neighbours, word_pairs


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


@pytest.mark.parametrize("inputs", ["words", "vectors", "both"])
@pytest.mark.parametrize("context", [False, True])
def test_the_sample(inputs, context, tmp_path):
    train, test = pv.sample(80).split(test=0.25, random_state=0)
    tagger = pv.MaxEntTagger(context, inputs, whiten=20, max_iter=30).fit(train)
    most = test.table["act"].value_counts()["count"].max() / test.n_messages
    assert tagger.score(test) > most + 0.1
    tagger.save(tmp_path)
    np.testing.assert_array_equal(pv.load(tmp_path).predict_proba(test), tagger.predict_proba(test))


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
    with pytest.raises(ParameterError, match="no column 'kind'"):
        tagger.score(corpus)
    with pytest.raises(CorpusError, match="no message has a label"):
        tagger.score(corpus.with_columns(kind=act.set(act.is_not_null(), None)))


def test_pairs_have_ends():
    corpus = pv.Corpus.from_polars(pl.DataFrame({"conversation": ["a"] * 3,
                                                 "text": ["x y x", "", "y"]}))  # fmt: skip
    encoded = encode(corpus, min_count=1)
    x, y = encoded.vocabulary.index["x"], encoded.vocabulary.index["y"]
    messages, pairs = word_pairs(encoded)
    assert messages.tolist() == [0, 0, 0, 0, 1, 2, 2]
    end = 2
    exact = [(end, x), (x, y), (y, x), (x, end), (end, end), (end, y), (y, end)]
    assert pairs.tolist() == [left * 3 + right for left, right in exact]


def around_in(corpus, shares):
    speakers = encode(corpus, min_count=1).speakers.codes
    return neighbours(shares, np.asarray(corpus.conversation_offsets), speakers).toarray()


def test_neighbours_stop_at_the_ends_of_conversations():
    around = around_in(talk(2), np.eye(16, 5))
    assert not around[0, :7].any()
    assert not around[8, :7].any()  # the first of the second conversation
    assert not around[7, 7:].any()
    np.testing.assert_array_equal(around[1, :5], np.eye(5)[0])
    assert around[1, 5:7].tolist() == [0, 1]  # another speaker


def test_speakers_who_are_not_known_are_not_the_same():
    table = talk(1).table.with_columns(speaker=pl.lit(None, pl.String))
    around = around_in(pv.Corpus.from_polars(table), np.zeros((8, 1)))
    assert around[1:, 1].tolist() == [0] * 7
    assert around[1:, 2].tolist() == [1] * 7


def test_mistakes_are_explained():
    corpus = talk(3)
    with pytest.raises(ParameterError, match=r"no column 'dialogue'.*act"):
        pv.MaxEntTagger().fit(corpus, "dialogue")
    with pytest.raises(ParameterError, match="inputs must be one of"):
        pv.MaxEntTagger(inputs="letters").fit(corpus)
    with pytest.raises(CorpusError, match="min_count"):
        pv.MaxEntTagger(min_count=1000).fit(corpus)
    with pytest.raises(NotFittedError, match="call fit"):
        pv.MaxEntTagger().predict(corpus)
    tagger = pv.MaxEntTagger(context=True, penalty=3.0)
    assert clone(tagger).get_params() == tagger.get_params()


def test_one_label_is_always_right():
    corpus = talk(3)
    one = corpus.with_columns(one=pl.Series(["x"] * 24))
    for context in (False, True):
        tagger = pv.MaxEntTagger(context).fit(one, "one")
        np.testing.assert_array_equal(tagger.predict_proba(corpus), np.ones((24, 1)))


@pytest.mark.parametrize("n_tags", [2, 4])
@pytest.mark.parametrize("context", [False, True])
def test_the_numbers_are_scikit_learns(n_tags, context):
    """The first round is one regression on counts of words and pairs, and the last one agrees."""
    corpus = talk(30)
    if n_tags == 2:
        act = corpus.table["act"].is_in(["question", "answer"])
        corpus = corpus.with_columns(act=act.cast(pl.String))
    tagger = pv.MaxEntTagger(context, penalty=2.0).fit(corpus)
    encoded = encode(corpus, min_count=2)
    table = tagger._inputs(encoded)
    assert table.shape[1] == len(encoded.vocabulary) + len(tagger.chains_[0]["pairs"])
    gold = corpus.table["act"].to_numpy()
    twin = LogisticRegression(C=0.5, tol=1e-3, max_iter=100)
    with threadpool_limits(1):
        twin.fit(table, gold)
    np.testing.assert_array_equal(tagger.chains_[0]["first_weights"], twin.coef_)
    np.testing.assert_array_equal(tagger.chains_[0]["first_intercepts"], twin.intercept_)
    assert tagger.rounds_["iterations"][0] == twin.n_iter_[0]
    assert tagger.rounds_.height == 1 + context
    logs = twin.predict_log_proba(table)[np.arange(len(gold)), np.searchsorted(twin.classes_, gold)]
    joint = logs.sum() - 2.0 / 2 * np.square(twin.coef_).sum()
    assert tagger.rounds_["log_joint"][0] == pytest.approx(joint)
    if not context:
        np.testing.assert_array_equal(tagger.predict_proba(corpus), twin.predict_proba(table))


def test_vectors_that_are_given_to_fit():
    corpus = talk(20)
    words = encode(corpus, min_count=1).vocabulary.words
    vectors = pv.WordVectors(words, np.eye(len(words), dtype=np.float32))
    tagger = pv.MaxEntTagger(inputs="vectors").fit(corpus, vectors=vectors)
    assert tagger.chains_[0]["word_vectors"].shape[1] == len(words)
    assert tagger.score(corpus) > 0.65


def test_a_run_is_not_continued_with_other_vectors_or_speakers(tmp_path):
    corpus = talk(20)
    words = encode(corpus, min_count=1).vocabulary.words
    eye = np.eye(len(words), dtype=np.float32)
    tagger = pv.MaxEntTagger(context=True, inputs="both")
    tagger.fit(corpus, vectors=pv.WordVectors(words, eye), folder=tmp_path)
    with pytest.raises(StoreError, match="word vectors of the data"):
        tagger.fit(corpus, vectors=pv.WordVectors(words, eye[::-1]), folder=tmp_path)
    same = pv.Corpus.from_polars(corpus.table.with_columns(speaker=pl.lit("A")))
    with pytest.raises(StoreError, match="speakers of the data"):
        tagger.fit(same, vectors=pv.WordVectors(words, eye), folder=tmp_path)


@pytest.mark.parametrize("array", ["first_weights", "second_intercepts", "pairs"])
def test_a_damaged_folder_is_refused(array, tmp_path):
    tagger = pv.MaxEntTagger(context=True).fit(talk(20))
    tagger.chains_[0][array] = tagger.chains_[0][array][:-1]
    tagger.save(tmp_path)
    with pytest.raises(DamagedStoreError, match="complete model"):
        pv.load(tmp_path)
