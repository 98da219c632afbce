"""Geweke tests of M4 through its engine: classes, switches, words and transition weights sampled.

``weight_step="metropolis"`` makes M4 fully Bayesian, so the chain has every update of a fit: sweep,
proposal of weights, decision, and for the parallel sampler the draws of word weights and of the
switch probability. Omega is held fixed (its step has its own test). False alarms 1e-6 per test.
"""

import numpy as np
import pytest
from support.geweke import assert_geweke_catches, assert_geweke_passes, geweke

from palaver import rng
from palaver.kernels.states import count_classes
from palaver.models.m4.engine import M4Engine, M4Shard
from palaver.models.m4.weight_steps import NormalPrior
from palaver.models.m4.weights import WeightLearner
from palaver.models.words.engine import ThreadSettings
from palaver.parallel import Globals

N_CLASSES, N_WORDS, OMEGA, VARIANCE = 2, 3, 0.6, 1.5
PRIOR = np.array([1.5, 2.5])
OFFSETS = np.array([0, 3, 5, 5, 7, 9], np.int64)
PARENTS = np.array([-1, 0, 0, 1, -1], np.int32)
LIMITS = np.array([0, 4, 5], np.int64)
N_TOKENS = int(OFFSETS[-1])
MESSAGES = np.repeat(np.arange(5), np.diff(OFFSETS))
N_DRAWS = 8000
NAMES = [
    "class 0", "class 0 squared", "alike in a message", "alike with the parent",
    "background squared", "word 0 squared", "word and class squared",
    "self weights", "weights squared", "start weight squared", "likelier as weighted",
]  # fmt: skip


def draw_classes(weights, class_probability, generator, switch, is_dirichlet):
    """Classes by the generative story; the background is class K."""
    z = np.full(N_TOKENS, N_CLASSES)
    histograms = np.zeros((5, N_CLASSES))
    for b, parent in enumerate(PARENTS):
        scores = weights[-1].copy()
        if parent < 0:
            scores += weights[N_CLASSES]
        elif histograms[parent].sum():
            scores += histograms[parent] / histograms[parent].sum() @ weights[:N_CLASSES]
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        if is_dirichlet:
            shares = generator.dirichlet(np.exp(scores))
        p = class_probability
        if switch == "message":
            p = generator.beta(PRIOR[1], PRIOR[0])
        for i in range(OFFSETS[b], OFFSETS[b + 1]):
            if switch == "off" or generator.random() < p:
                z[i] = generator.choice(N_CLASSES, p=shares)
                histograms[b, z[i]] += 1
    return z


def draw_words(z, word_weights, generator):
    limits = np.cumsum(word_weights, axis=0)
    draws = generator.random(N_TOKENS)
    words = (draws[:, None] > limits[:, z].T).sum(axis=1)
    return np.minimum(words, N_WORDS - 1).astype(np.int32)


def prior_words(generator):
    return generator.dirichlet(np.full(N_WORDS, OMEGA), N_CLASSES + 1).T


def statistics(tokens, z, weights):
    counts = np.zeros((N_WORDS, N_CLASSES + 1))
    np.add.at(counts, (tokens, z), 1)
    same = z[:, None] == z[None]
    in_message = MESSAGES[:, None] == MESSAGES[None]
    with_parent = PARENTS[MESSAGES][:, None] == MESSAGES[None]
    classed = (z < N_CLASSES)[:, None] & (z < N_CLASSES)[None]
    n_self = (same & with_parent & classed).sum()
    self_weights = np.trace(weights[:N_CLASSES]) - weights[:N_CLASSES].sum() / N_CLASSES
    return np.array([
        counts[:, 0].sum(), counts[:, 0].sum() ** 2, (same & in_message).sum(), n_self,
        counts[:, N_CLASSES].sum() ** 2, counts[0].sum() ** 2, (counts**2).sum(),
        self_weights, (weights**2).sum(), (weights[N_CLASSES] ** 2).sum(), n_self * self_weights,
    ])  # fmt: skip


def marginal_draws(switch, is_dirichlet, generator):
    while True:
        weights = generator.normal(0, np.sqrt(VARIANCE), (N_CLASSES + 2, N_CLASSES))
        probability = generator.beta(PRIOR[1], PRIOR[0])
        z = draw_classes(weights, probability, generator, switch, is_dirichlet)
        yield statistics(draw_words(z, prior_words(generator), generator), z, weights)


def successive_draws(engine, switch, generator):
    """Alternate the engine's rounds with new words given classes."""
    weights = generator.normal(0, np.sqrt(VARIANCE), (N_CLASSES + 2, N_CLASSES))
    probability = generator.beta(PRIOR[1], PRIOR[0])
    is_dirichlet = engine.learner.is_dirichlet
    z = draw_classes(weights, probability, generator, switch, is_dirichlet)
    word_weights = prior_words(generator)
    tokens = draw_words(z, word_weights, generator)
    shared = Globals("sweep", {
        "weights": weights, "omega": np.array(OMEGA), "sweep": np.array(0),
        "word_weights": np.ascontiguousarray(word_weights),
        "class_probability": np.array(probability), "alpha": np.empty(0),
        "switch_probabilities": np.array([1 - probability, probability, 0.0]),
    })  # fmt: skip
    state = {"classes": z.astype(np.int16), "segment_classes": np.empty(0, np.int16)}
    shard = shard_of(tokens)
    while True:
        for _ in range(2):  # sweep and propose, weigh and decide
            if engine.collapsed:
                counts = engine.empty_counts()
                count_classes(tokens, state["classes"], counts)
                state["word_class_counts"] = counts
                state["class_totals"] = counts.sum(axis=0, dtype=np.int64)
            key = generator.integers(2**64, size=2, dtype=np.uint64)
            merged = engine.sweep(shared, shard, state, key)
            shared, _ = engine.update(shared, merged, generator)
        drawn = prior_words(generator) if engine.collapsed else shared.arrays["word_weights"]
        tokens[:] = draw_words(state["classes"], drawn, generator)
        yield statistics(tokens, state["classes"].astype(int), shared.arrays["weights"])


def shard_of(tokens):
    has_parent = PARENTS >= 0
    return M4Shard(
        tokens, OFFSETS, PARENTS, LIMITS, 0, 0, 0, N_WORDS,
        parent_offsets=np.concatenate(([0], np.cumsum(has_parent))),
        parent_list=PARENTS[has_parent], base_index=(~has_parent).astype(np.int32),
        designs=np.array([[0.0, 1.0], [1.0, 1.0]]), fixed_classes=np.full(5, -1, np.int16),
        segment_offsets=np.zeros(1, np.int64), unit_offsets=OFFSETS,
    )  # fmt: skip


def table_of(sampler, switch, is_dirichlet=False, variance=VARIANCE, prior=PRIOR):
    engine = M4Engine(
        ThreadSettings(N_WORDS, N_CLASSES, switch, prior, OMEGA, sampler),
        learner=WeightLearner("metropolis", NormalPrior(variance), 0.1, is_dirichlet), n_topics=0,
        is_segmented=False, n_features=2,
    )  # fmt: skip
    marginal = marginal_draws(switch, is_dirichlet, rng.generator(1, "marginal"))
    successive = successive_draws(engine, switch, rng.generator(2, "successive"))
    names = NAMES
    keep = np.arange(len(NAMES))
    if switch == "off":  # nothing is background: the statistic would never vary
        keep = np.delete(keep, NAMES.index("background squared"))
        names = [NAMES[i] for i in keep]
    return geweke(lambda: next(marginal)[keep], lambda: next(successive)[keep], N_DRAWS, names)


@pytest.mark.parametrize("switch", ["off", "corpus", "message"])
@pytest.mark.parametrize("sampler", ["collapsed", "parallel"])
def test_geweke(sampler, switch):
    assert_geweke_passes(table_of(sampler, switch))


@pytest.mark.parametrize("sampler", ["collapsed", "parallel"])
def test_geweke_of_dirichlet_transitions(sampler):
    assert_geweke_passes(table_of(sampler, "corpus", is_dirichlet=True))


@pytest.mark.parametrize(
    "bug",
    [{"variance": 3.0}, {"prior": PRIOR[::-1].copy()}, {"variance": 3.0, "is_dirichlet": True}],
    ids=["variance", "switch prior", "variance, dirichlet"],
)
def test_a_wrong_prior_is_caught(bug):
    assert_geweke_catches(table_of("collapsed", "corpus", **bug))
