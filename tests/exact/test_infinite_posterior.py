"""The infinite HMM's samplers against the exact posterior over all partitions of a few words.

Chains are long; a difference is judged by its standard error from the chain's autocorrelation.
False alarms 1e-6 for each test, seeds fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.geweke import autocorrelation_variance, batch_means_variance, bonferroni_threshold
from support.infinite_reference import (
    DirectAssignment,
    canonical,
    log_prior,
    partitions,
    posterior,
)

from palaver import rng
from palaver.encoding import encode_sentences
from palaver.encoding.shards import cut_sentences
from palaver.models.states.emissions.words import WordEmissions
from palaver.models.states.engine import StateEngine
from palaver.models.states.tags import Tags

WORDS, OFFSETS, N_WORDS = np.array([0, 1, 0, 2, 1, 0]), np.array([0, 4, 6]), 3
ALPHA, GAMMA, ETA = 0.7, 1.4, 0.4
N_SWEEPS = 5_000


def chain(engine: StateEngine, words, lengths, n_sweeps: int, seed: int = 0):
    """Sample states by sweeps and updates of the engine, without the loop."""
    data = encode_sentences(words, lengths)
    shards = cut_sentences(data)
    shared = engine.start(rng.generator(seed, "start"))
    states = [engine.open(shared, shard, rng.key(seed, "open")) for shard in shards]
    for sweep in range(n_sweeps):
        merged = None
        for shard, state in zip(shards, states, strict=True):
            found = engine.sweep(shared, shard, state, rng.key(seed, "sweep", 0, sweep))
            merged = found if merged is None else engine.merge(merged, found)
        yield np.concatenate([state["states"] for state in states])
        shared, _ = engine.update(shared, merged, rng.generator(seed, "update", 0, sweep))


def make(discount=0.0, n_states=None, dense=False, alpha=ALPHA, gamma=GAMMA, eta=ETA):
    emissions = WordEmissions(N_WORDS, eta, eta)
    return StateEngine(emissions, n_states, alpha, gamma, discount, 2, 5000, dense, Tags.none())


def together(labels) -> np.ndarray:
    """Which pairs of words share a state, and how many states there are."""
    labels = np.asarray(labels)
    pairs = np.triu_indices(len(labels), 1)
    n_states = len(set(labels.tolist()))
    shares = (labels[:, None] == labels)[pairs]
    return np.append(shares, [n_states, n_states == 1, n_states == 3]).astype(float)


def expected(exact) -> np.ndarray:
    return sum(probability * together(labels) for labels, probability in exact.items())


def worst(samples: np.ndarray, mean: np.ndarray, error=0.0) -> float:
    """Largest difference in units of its threshold."""
    variance = np.maximum(autocorrelation_variance(samples), batch_means_variance(samples))
    z = (samples.mean(axis=0) - mean) / np.sqrt(variance + error)
    return float(np.abs(z).max() / bonferroni_threshold(len(mean)))


def sampled(engine, n_sweeps=N_SWEEPS, seed=0) -> np.ndarray:
    found = chain(engine, WORDS, np.diff(OFFSETS), n_sweeps, seed)
    return np.array([together(states) for states in found])


@pytest.mark.parametrize("discount", [0.0, 0.3])
def test_the_prior_sums_to_one_over_all_partitions(discount):
    logs = [log_prior(labels, OFFSETS, ALPHA, GAMMA, discount) for labels in partitions(6)]
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("discount", [0.0, 0.3])
def test_beam_sampler_has_the_exact_posterior(discount):
    exact = posterior(WORDS, OFFSETS, ALPHA, GAMMA, discount, ETA, N_WORDS)
    assert worst(sampled(make(discount)), expected(exact)) < 1


def test_a_wrong_concentration_is_caught():
    exact = posterior(WORDS, OFFSETS, ALPHA, GAMMA, 0.0, ETA, N_WORDS)
    assert worst(sampled(make(gamma=1.6 * GAMMA)), expected(exact)) > 1
    assert worst(sampled(make(discount=0.3)), expected(exact)) > 1


def finite_posterior(n_states: int):
    """All state sequences of a finite model, by partition."""
    from itertools import product as sequences

    from support.infinite_reference import log_words, rising, transitions

    weights: dict[tuple[int, ...], float] = {}
    for states in sequences(range(n_states), repeat=len(WORDS)):
        counts = transitions(states, OFFSETS)
        log_weight = log_words(WORDS, states, ETA, N_WORDS)
        for row in counts:
            log_weight += sum(rising(ALPHA / n_states, n) for n in row) - rising(ALPHA, row.sum())
        place = canonical(states)
        weights[place] = weights.get(place, 0.0) + np.exp(log_weight)
    total = sum(weights.values())
    return {place: weight / total for place, weight in weights.items()}


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "beam"])
def test_finite_samplers_have_the_exact_posterior(dense):
    samples = sampled(make(n_states=3, dense=dense), N_SWEEPS // 2)
    assert worst(samples, expected(finite_posterior(3))) < 1


def test_beam_sampler_agrees_with_direct_assignment():
    words = np.array([0, 1, 2, 0, 1, 1, 0, 2, 3, 0, 1, 3])
    offsets = np.array([0, 5, 8, 12])
    twin = DirectAssignment(words, offsets, ALPHA, GAMMA, ETA, 4, np.random.default_rng(3))
    theirs = np.array([together(twin.sweep()) for _ in range(1500)])
    engine = make()
    engine.emissions = WordEmissions(4, ETA, ETA)
    found = chain(engine, words, np.diff(offsets), 4000)
    ours = np.array([together(states) for states in found])
    error = np.maximum(autocorrelation_variance(theirs), batch_means_variance(theirs))
    assert worst(ours, theirs.mean(axis=0), error) < 1
