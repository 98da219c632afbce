"""Marks, weight and estimated word vectors of Gaussian models, from corpora to saved models."""

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.encoding import encode
from palaver.encoding.corpus_vectors import fill_missing
from palaver.encoding.marks import MARKS, message_marks
from palaver.errors import ParameterError


def corpus_of(texts):
    return pv.Corpus.from_polars(pl.DataFrame({"text": texts}))


def test_marks_are_those_of_the_words():
    texts = ["why not ?!", "see https://a.org now please", "no", "at 5 , or 6", "", "really ؟ yes"]
    found = message_marks(encode(corpus_of(texts)), MARKS)
    assert MARKS == ("question", "exclamation", "number", "link", "short")
    np.testing.assert_array_equal(
        found,
        [[1, 1, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [0, 0, 1, 0, 0], [0, 0, 0, 0, 1],
         [1, 0, 0, 0, 0]],
    )  # fmt: skip
    np.testing.assert_array_equal(message_marks(encode(corpus_of(texts)), ["number"])[:, 0],
                                  found[:, 2])  # fmt: skip


@pytest.fixture(scope="module")
def talk():
    """Messages whose words say nothing of the act: half of them are questions."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(12)])
    asks = rng.random(400) < 0.5
    texts = [" ".join(rng.choice(words, 6)) + (" ?" if q else " .") for q in asks]
    return corpus_of(texts), asks


@pytest.mark.parametrize("kind", [pv.GaussianHMM, pv.GaussianMixture])
def test_questions_are_found_by_their_mark(kind, talk, tmp_path):
    corpus, asks = talk
    model = kind(n_states=2, n_sweeps=60, weight=0.05).fit(corpus)
    assert model.marks_ == ["question"]
    assert pv.evaluate.v_measure(model.states_, asks.astype(int)) > 0.95
    assert np.sort(model.mark_probabilities_[:, 0]).round(1).tolist() == [0.0, 1.0]
    model.save(tmp_path / "model")
    loaded = pv.load(tmp_path / "model")
    assert (loaded.marks_, loaded.weight_) == (["question"], 0.05)
    assert loaded.predict_proba(corpus).tobytes() == model.predict_proba(corpus).tobytes()
    np.testing.assert_array_equal(loaded.predict(corpus_of(["w1 w2 ?", "w1 w2 ."])),
                                  model.states_[[np.argmax(asks), np.argmin(asks)]])  # fmt: skip


@pytest.mark.parametrize("covariance", ["tied", "full", "diag"])
def test_an_open_number_of_states_has_marks_too(covariance, talk):
    corpus, _ = talk
    model = pv.GaussianHMM(None, covariance=covariance, whiten=3, n_sweeps=8).fit(corpus)
    assert model.mark_probabilities_.shape == (model.n_states_, 1)
    assert model.trace_["log_joint"].is_finite().all()
    np.testing.assert_allclose(model.predict_proba(corpus).sum(axis=1), 1)


def test_what_auto_stands_for(talk):
    corpus, _ = talk
    X, lengths = pv.utterance_vectors(corpus, whiten=3)
    settings = {"n_states": 2, "n_sweeps": 3, "whiten": 3}
    for given, sampler, marks, weight in (
        ((corpus,), "auto", ["question"], 0.5),
        ((encode(corpus),), "blocked", ["question"], 0.5),
        ((corpus,), "collapsed", [], 1.0),
        ((X, lengths), "auto", [], 1.0),
    ):
        model = pv.GaussianHMM(**settings, sampler=sampler).fit(*given)
        assert (model.marks_, model.weight_) == (marks, weight)
        assert model.sampler_ == ("blocked" if marks else "collapsed")
    for wrong in ({"marks": ["question"]}, {"weight": 0.5}):
        with pytest.raises(ParameterError, match="marks=None and weight=1"):
            pv.GaussianHMM(**settings, sampler="collapsed", **wrong).fit(corpus)
    for wrong in ({"marks": ["smile"]}, {"weight": 2.0}, {"weight": 0}):
        with pytest.raises(ParameterError, match="must be"):
            pv.GaussianHMM(**wrong).fit(corpus)
    with pytest.raises(ParameterError, match="3 dimensions and 1 marks, got 3"):
        pv.GaussianHMM(**settings).fit(corpus).predict(X, lengths)


def test_words_without_a_vector_get_one_from_the_corpus():
    rng = np.random.default_rng(1)
    kinds = [[f"a{i}" for i in range(8)], [f"b{i}" for i in range(8)]]
    texts = [" ".join(rng.choice(kinds[i % 2], 5)) for i in range(300)] + ["mmhmm"] * 20
    encoded = encode(corpus_of(texts))
    given = {w: [1.0, 0.1 * i] for i, w in enumerate(kinds[0][1:])}
    given |= {w: [-1.0, 0.1 * i] for i, w in enumerate(kinds[1][1:])}
    known = pv.WordVectors(list(given), np.array(list(given.values()), np.float32))
    filled = fill_missing(encoded, known)
    table, there = filled.look_up(["a0", "b0", "a3", "mmhmm"])
    assert there.all()
    assert table[0, 0] > 0.3 > -0.3 > table[1, 0], "each is like its neighbours"
    np.testing.assert_allclose(table[2], given["a3"], rtol=1e-6)
    np.testing.assert_allclose(table[3], 0, atol=1e-6)
    assert fill_missing(encoded, filled) is filled
    model = pv.GaussianHMM(3, n_sweeps=20, marks=None).fit(corpus_of([*texts, ""]), vectors=known)
    assert (model.states_ >= 0).sum() == 320, "mmhmm is not left out"
    assert model.summary().facts["left_out"] == 1
    assert model.coverage_ < 0.9
