"""The Gibbs sampler that variational models of documents begin with, against enumeration."""

from itertools import product
from math import lgamma

import numpy as np
import pytest

import palaver as pv
from palaver import rng
from palaver.encoding.documents import cut_documents, documents_of
from palaver.models.documents.engine import TOKEN_ALPHA

N_TOPICS, BETA = 2, 0.4
COUNTS = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
N_SWEEPS = 30_000


def log_joint(words, owners, topics):
    """Of words and topics, with all distributions integrated out."""
    alpha = TOKEN_ALPHA / N_TOPICS
    total = 0.0
    for d in range(len(COUNTS)):
        own = topics[owners == d]
        total += sum(lgamma(alpha + (own == k).sum()) for k in range(N_TOPICS))
    for k in range(N_TOPICS):
        own = words[topics == k]
        total += sum(lgamma(BETA + (own == w).sum()) for w in range(COUNTS.shape[1]))
        total -= lgamma(COUNTS.shape[1] * BETA + len(own))
    return total


def exact_posterior(words, owners):
    """Of every table of words by topics, as a dictionary of probabilities."""
    logs = {}
    for given in product(range(N_TOPICS), repeat=len(words)):
        topics = np.array(given)
        logs.setdefault(table_of(words, topics), []).append(log_joint(words, owners, topics))
    top = max(max(values) for values in logs.values())
    weights = {key: np.exp(np.array(values) - top).sum() for key, values in logs.items()}
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


def table_of(words, topics):
    table = np.zeros((COUNTS.shape[1], N_TOPICS), int)
    np.add.at(table, (words, topics), 1)
    return tuple(table.ravel().tolist())


@pytest.mark.parametrize("model", [pv.OnlineLDA, pv.MarkovM3, pv.NestedHDP])
def test_first_sweeps_sample_the_posterior_of_lda(model):
    documents = documents_of(COUNTS)
    words = np.repeat(np.tile(np.arange(3), 3), COUNTS.ravel().astype(int))
    owners = np.repeat(np.arange(3), COUNTS.sum(axis=1).astype(int))
    engine = model(N_TOPICS, word_prior=BETA, start_sweeps=N_SWEEPS + 1)._make_engine(3)
    (shard,) = cut_documents(documents)
    shared = engine.start(rng.generator(0, "start"))
    state = engine.open(shared, shard, rng.key(0, "open"))
    found = {}
    for sweep in range(N_SWEEPS):
        assert shared.phase == "tokens"
        statistics = engine.sweep(shared, shard, state, rng.key(0, "sweep", 0, sweep))
        table = np.zeros((3, N_TOPICS), int)
        table[statistics["word_ids"]] = statistics["word_topics"]
        key = tuple(table.ravel().tolist())
        found[key] = found.get(key, 0) + 1
        generator = rng.generator(0, "update", 0, sweep)
        shared, _ = engine.update(shared, statistics, generator)
    expected = exact_posterior(words, owners)
    distance = sum(abs(found.get(key, 0) / N_SWEEPS - p) for key, p in expected.items()) / 2
    assert set(found) <= set(expected)
    assert distance < 0.02, "total variation; so many dependent draws leave 0.01"


def test_streams_begin_with_expected_word_distributions():
    engine = pv.OnlineLDA(N_TOPICS, word_prior=BETA, start_sweeps=3)._make_engine(4)
    counted = np.array([[2.0, 0.0], [1.0, 3.0]])
    shared = engine.start(rng.generator(0, "start"))
    found = engine.expect_words(shared, {"word_ids": np.array([0, 2]), "word_topics": counted})
    expected = np.full((4, N_TOPICS), BETA)
    expected[[0, 2]] += counted
    np.testing.assert_allclose(found.arrays["topics"], expected)
    np.testing.assert_allclose(found.arrays["word_weights"][:, :-1], expected / expected.sum(0))
    assert found.phase == "tokens"
