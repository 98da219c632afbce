"""The supervised tagger learns labels, and benefits from context where only context helps."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import palaver as pv
from palaver import rng
from palaver.encoding import encode
from palaver.errors import (
    CorpusError,
    DamagedStoreError,
    NotFittedError,
    ParameterError,
    StoreError,
)
from palaver.models.taggers.maxent.engine import tags_around


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
    bare = {"previous": 0, "features": ["words", "pairs"]}
    plain = pv.MaxEntTagger(**bare).fit(train)
    context = pv.MaxEntTagger(context=True, **bare).fit(train)
    assert 0.65 < plain.score(test) < 0.85  # a yes is a guess
    assert context.score(test) == 1
    assert context.tags_ == ["answer", "backchannel", "question", "statement"]
    shares = context.predict_proba(test)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(
        np.array(context.tags_)[shares.argmax(axis=1)], context.predict(test)
    )


@pytest.mark.parametrize(("features", "vectors"), [(None, None), ([], "corpus"), (None, "corpus")])
@pytest.mark.parametrize("context", [False, True])
def test_the_sample(features, vectors, context, tmp_path):
    train, test = pv.sample(80).split(test=0.25, random_state=0)
    tagger = pv.MaxEntTagger(context, features, vectors=vectors, whiten=20, max_iter=30).fit(train)
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


def around_in(corpus, shares):
    speakers = encode(corpus, min_count=1).speakers.codes
    kinds = np.ones(len(speakers), np.int8)
    kinds[1:] = (speakers[1:] != speakers[:-1]) | (speakers[1:] < 0)
    return tags_around(shares, np.asarray(corpus.conversation_offsets), kinds)


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
    with pytest.raises(ParameterError, match="features must be a list of some of"):
        pv.MaxEntTagger(features=["letters"]).fit(corpus)
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
def test_the_optimum_is_scikit_learns(n_tags):
    """With the same features and penalty, and an intercept that is a feature."""
    corpus = talk(30)
    if n_tags == 2:
        act = corpus.table["act"].is_in(["question", "answer"])
        corpus = corpus.with_columns(act=act.cast(pl.String))
    tagger = pv.MaxEntTagger(penalty=2.0, max_iter=500, tolerance=0.0).fit(corpus)
    table = tagger._features(encode(corpus, min_count=1)).astype(float)
    gold = corpus.table["act"].to_numpy()
    # two columns of weights are a difference: each half is penalized
    twin = LogisticRegression(C=0.5 if n_tags > 2 else 1.0, tol=1e-8, max_iter=5000,
                              fit_intercept=False).fit(table, gold)  # fmt: skip
    np.testing.assert_allclose(tagger.predict_proba(corpus), twin.predict_proba(table), atol=2e-3)
    logs = np.log(twin.predict_proba(table))
    logs = logs[np.arange(len(gold)), np.searchsorted(twin.classes_, gold)]
    squares = np.square(twin.coef_).sum() / (1 if n_tags > 2 else 2)
    assert tagger.rounds_["log_joint"][-1] == pytest.approx(logs.sum() - squares, rel=1e-4)


def test_the_first_round_tags_what_it_has_not_seen():
    """Each half teaches the regression that tags the other; both see their labels only."""
    corpus = talk(40)
    tagger = pv.MaxEntTagger(context=True)
    data = tagger._labelled(corpus, "act")
    shards = tagger._shards(data, tagger._engine(data))
    assert [shard.fold for shard in shards] == [0, 1]
    assert sum(len(shard.tags) for shard in shards) == corpus.n_messages
    fitted = pv.MaxEntTagger(context=True).fit(corpus)
    alone = corpus.take(np.sort(_half(corpus, 1)))
    twin = pv.MaxEntTagger(min_count=1).fit(alone)
    assert fitted.chains_[0]["first_weights"].shape[0] == 2
    np.testing.assert_array_equal(twin.predict(alone), alone.table["act"].to_numpy())


def _half(corpus, half):
    order = rng.generator(0, "halves").permutation(corpus.n_conversations)
    return order[half::2]


def test_search_tries_context(tmp_path):
    train, dev = talk(40, 1), talk(20, 2)
    tagger = pv.MaxEntTagger(previous=0, features=["words"]).search(train, dev, budget=3)
    assert tagger.context
    assert tagger.score(dev) == 1
    assert tagger.search_["setting"].to_list()[:2] == ["", "context"]
    assert "answer before" not in tagger.feature_weights(3)["feature"].to_list()
    assert "question before" in tagger.feature_weights(3)["feature"].to_list()


def test_vectors_that_are_given_to_fit():
    corpus = talk(20)
    words = encode(corpus, min_count=1).vocabulary.words
    vectors = pv.WordVectors(words, np.eye(len(words), dtype=np.float32))
    tagger = pv.MaxEntTagger(features=[], previous=0).fit(corpus, vectors=vectors)
    assert tagger.chains_[0]["word_vectors"].shape[1] == len(words)
    assert tagger.score(corpus) > 0.65


def test_a_run_is_not_continued_with_other_vectors_or_speakers(tmp_path):
    corpus = talk(20)
    words = encode(corpus, min_count=1).vocabulary.words
    eye = np.eye(len(words), dtype=np.float32)
    tagger = pv.MaxEntTagger(context=True)
    tagger.fit(corpus, vectors=pv.WordVectors(words, eye), folder=tmp_path)
    with pytest.raises(StoreError, match="word vectors of the data"):
        tagger.fit(corpus, vectors=pv.WordVectors(words, eye[::-1]), folder=tmp_path)
    same = pv.Corpus.from_polars(corpus.table.with_columns(speaker=pl.lit("A")))
    with pytest.raises(StoreError, match="speakers of the data"):
        tagger.fit(same, vectors=pv.WordVectors(words, eye), folder=tmp_path)


@pytest.mark.parametrize("array", ["first_weights", "second_weights", "known_pairs"])
def test_a_damaged_folder_is_refused(array, tmp_path):
    tagger = pv.MaxEntTagger(context=True).fit(talk(20))
    tagger.chains_[0][array] = tagger.chains_[0][array][:-1]
    tagger.save(tmp_path)
    with pytest.raises(DamagedStoreError, match="complete model"):
        pv.load(tmp_path)
