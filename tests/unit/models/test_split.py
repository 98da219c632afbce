"""Splitting a topic: parts are found, counts stay exact."""

import numpy as np
import pytest

import palaver as pv
from palaver.errors import ParameterError
from palaver.models.documents.split import _split_steps


def subjects(n_documents=120, n_words=10, seed=0):
    """Return counts of documents about one of three subjects, and these subjects."""
    draws = np.random.default_rng(seed)
    about = draws.integers(0, 3, n_documents)
    counts = np.zeros((n_documents, 3 * n_words))
    for row, subject in enumerate(about):
        words = draws.integers(0, n_words, 40) + n_words * subject
        np.add.at(counts[row], words, 1)
    return counts, about


@pytest.fixture(scope="module", params=[pv.OnlineLDA, pv.MarkovM3, pv.NestedHDP])
def fitted(request):
    counts, about = subjects()
    model = request.param(2, start_sweeps=20, n_sweeps=10).fit(counts)
    wide = int((model.class_words_ > 0.02).sum(axis=1).argmax())  # two subjects in one topic
    return model, counts, about, wide


def test_parts_are_found_and_the_others_stay(fitted):
    model, counts, about, wide = fitted
    made = model.split(counts, wide)
    assert made.get_params()["n_topics"] == 3
    assert model.get_params()["n_topics"] == 2
    found = made.transform(counts).argmax(axis=1)
    table = np.zeros((3, 3))
    np.add.at(table, (about, found), 1)
    assert (table.max(axis=1) > 0.95 * table.sum(axis=1)).all()
    assert len(set(table.argmax(axis=1))) == 3
    other = 1 - wide
    np.testing.assert_array_equal(made.class_words_[other], model.class_words_[other])


def test_counts_add_up(fitted):
    model, counts, _, wide = fitted
    made = model.split(counts, wide)
    old, new = model.chains_[model.best_chain_], made.chains_[0]
    beta = float(old["beta"])
    parts = new["topics"][:, [wide, 2]] - beta
    np.testing.assert_allclose(parts.sum(axis=1), old["topics"][:, wide] - beta, atol=1e-9)


def test_steps_add_up():
    draws = np.random.default_rng(1)
    prior, shares, topic = 0.2, np.array([0.5, 0.3, 0.2]), 1
    old = {"alpha": np.array(4 * prior), "start": prior + draws.random(4),
           "transitions": prior + 10 * draws.random((4, 4))}  # fmt: skip
    new = _split_steps(old, topic, shares)
    groups = np.eye(4)[[0, 1, 2, 3, 1, 1]]
    walked = groups.T @ (new["transitions"] - prior) @ groups
    np.testing.assert_allclose(walked, old["transitions"] - prior)
    np.testing.assert_allclose((new["start"] - prior) @ groups, old["start"] - prior)
    into = (new["transitions"] - prior)[0, [1, 4, 5]]
    np.testing.assert_allclose(into / into.sum(), shares)
    assert float(new["alpha"]) == pytest.approx(6 * prior)


def test_a_split_model_is_stored_and_merged_again(fitted, tmp_path):
    model, counts, _, wide = fitted
    made = model.split(counts, wide)
    made.save(tmp_path / "model")
    again = pv.load(tmp_path / "model")
    np.testing.assert_array_equal(again.class_words_, made.class_words_)
    merged = again.merge([[wide, 2]])
    np.testing.assert_allclose(merged.class_shares_, model.class_shares_, atol=0.01)
    assert again.trace_.equals(made.trace_)


def test_wrong_questions(fitted):
    model, counts, *_ = fitted
    with pytest.raises(ParameterError, match="topic"):
        model.split(counts, 2)
    with pytest.raises(ParameterError, match="into"):
        model.split(counts, 0, into=1)
