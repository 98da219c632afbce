"""Messages without a vector: a model of vectors is the same, bit by bit, as if they were not there.

So they are no act of their own, and count nowhere.
"""

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.errors import CorpusError
from palaver.trials import judge


def corpora():
    """Some conversations, and the same with messages that say nothing in between."""
    spoken = (
        pv.sample(12)
        .table.select("conversation", "id", "text", "act")
        .sort("conversation", maintain_order=True)
    )
    empty = spoken.gather_every(3).with_columns(
        id=pl.col("id") + "-silent", text=pl.lit(""), act=pl.lit("nothing")
    )
    blank = empty.head(2).with_columns(id=pl.col("id") + "2", text=pl.lit("  \n"))
    alone = pl.DataFrame(
        {"conversation": ["zz"], "id": ["m"], "text": [" "], "act": ["nothing"]}, spoken.schema
    )
    mixed = pl.concat([spoken, empty, blank, alone])
    mixed = mixed.sort("conversation", maintain_order=True)
    return tuple(pv.Corpus.from_polars(table).chained() for table in (spoken, mixed))


def models():
    quick = {"n_sweeps": 6, "weighting": "even"}  # idf counts all messages
    return {
        "one at a time": pv.GaussianHMM(3, sampler="collapsed", **quick),
        "whole conversations": pv.GaussianHMM(3, sampler="blocked", **quick),
        "no number": pv.GaussianHMM(None, **quick),
        "mixture": pv.GaussianMixture(3, **quick),
    }


@pytest.mark.parametrize("case", models())
def test_silent_messages_do_not_shape_the_fit(case):
    spoken, mixed = corpora()
    plain, model = (models()[case].fit(corpus) for corpus in (spoken, mixed))
    heard = mixed.table["act"].to_numpy() != "nothing"
    for name in ("means_", "covariances_", "transitions_", "class_shares_", "class_words_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(plain, name))
    np.testing.assert_array_equal(model.states_[heard], plain.states_)
    assert (model.states_[~heard] == -1).all()
    assert model.score(mixed) == plain.score(spoken)
    np.testing.assert_array_equal(model.predict(mixed), model.states_)
    shares = model.predict_proba(mixed)
    np.testing.assert_array_equal(shares[heard], plain.predict_proba(spoken))
    np.testing.assert_array_equal(
        shares[~heard], np.broadcast_to(model.class_shares_, ((~heard).sum(), model.n_states_))
    )


def test_silent_messages_count_nowhere():
    spoken, mixed = corpora()
    model = models()["one at a time"].fit(mixed)
    table = model.annotate(mixed).table
    of_silent = table.filter(pl.col("act") == "nothing").select("class", "^share_.*$")
    assert of_silent.null_count().row(0) == (of_silent.height,) * of_silent.width
    assert table.filter(pl.col("act") != "nothing").select("class", "^share_.*$").null_count(
    ).sum_horizontal().item() == 0  # fmt: skip
    assert model.shares(mixed, "act").equals(model.shares(spoken, "act"))
    assert judge(model, mixed, "act").scores.equals(judge(model, spoken, "act").scores)


def test_a_sentence_encoder_is_not_asked_about_nothing():
    _, mixed = corpora()

    def encoder(texts):
        return np.array([[len(text), text.count("?")] for text in texts], float)

    with_text = mixed.table["text"].str.strip_chars() != ""
    model = pv.GaussianHMM(2, n_sweeps=5).fit(mixed, vectors=encoder)
    np.testing.assert_array_equal(model.states_ >= 0, with_text)
    np.testing.assert_array_equal(model.annotate(mixed).table["class"].is_not_null(), with_text)


def test_no_word_has_a_vector():
    vectors = pv.WordVectors(["xyzzy"], np.ones((1, 2), np.float32))
    with pytest.raises(CorpusError, match="there are no vectors; no word"):
        pv.GaussianHMM(2).fit(corpora()[0], vectors=vectors)


def test_nothing_but_silence_is_answered():
    _, mixed = corpora()
    model = models()["whole conversations"].fit(mixed)
    silent = pv.Corpus.from_polars(mixed.table.filter(pl.col("act") == "nothing"))
    assert (model.predict(silent) == -1).all()
    assert model.annotate(silent).table["class"].null_count() == silent.n_messages
