"""M4's samplers, through the engine that the loop uses, against the enumerated posterior.

Tiny forests with branching, an empty message and repeated words. Every assignment of classes and
background is enumerated; a long run must visit each as often as its probability says.
"""

import itertools

import numpy as np
import pytest
from scipy.special import gammaln, log_softmax, softmax

from palaver import rng
from palaver.kernels.states import count_classes
from palaver.models.m4.engine import M4Engine, M4Shard
from palaver.models.m4.weight_steps import NormalPrior
from palaver.models.m4.weights import WeightLearner
from palaver.models.words.engine import ThreadSettings
from palaver.parallel import Globals

N_CLASSES, N_WORDS, OMEGA = 2, 3, 0.5
PRIOR = np.array([2.0, 3.0])
TOKENS = np.array([0, 1, 2, 0, 0], np.int32)
OFFSETS = np.array([0, 2, 3, 3, 4, 5], np.int64)  # the third message is empty
PARENTS = np.array([-1, 0, 0, 2, -1], np.int32)
SHARD = M4Shard(
    TOKENS, OFFSETS, PARENTS, np.array([0, 4, 5], np.int64), 0, 0, 0, N_WORDS,
    parent_offsets=np.array([0, 0, 1, 2, 3, 3]), parent_list=np.array([0, 0, 2], np.int32),
    base_index=np.array([1, 0, 0, 0, 1], np.int32), designs=np.array([[0.0, 1.0], [1.0, 1.0]]),
    fixed_classes=np.full(5, -1, np.int16), segment_offsets=np.zeros(1, np.int64),
    unit_offsets=OFFSETS,
)  # fmt: skip
WEIGHTS = np.random.default_rng(4).normal(0, 1.5, (N_CLASSES + 2, N_CLASSES))
N_SWEEPS = 60_000


def log_classes(z):
    histograms = [
        np.bincount(z[a:b], minlength=N_CLASSES + 1)[:N_CLASSES]
        for a, b in itertools.pairwise(OFFSETS)
    ]
    result = 0.0
    for b, parent in enumerate(PARENTS):
        x = np.zeros(N_CLASSES + 2)
        x[-1] = 1
        if parent < 0:
            x[N_CLASSES] = 1
        elif histograms[parent].sum():
            x[:N_CLASSES] = histograms[parent] / histograms[parent].sum()
        result += histograms[b] @ log_softmax(x @ WEIGHTS)
    return result


def log_switches(z, switch, class_probability):
    groups = [z] if switch == "corpus" else [z[a:b] for a, b in itertools.pairwise(OFFSETS)]
    if switch == "off":
        return 0.0
    result = 0.0
    for group in groups:
        n_background = (group == N_CLASSES).sum()
        n_class = len(group) - n_background
        if switch == "corpus" and class_probability is not None:
            result += n_class * np.log(class_probability)
            result += n_background * np.log1p(-class_probability)
        else:
            result += gammaln(n_background + PRIOR[0]) + gammaln(n_class + PRIOR[1])
            result -= gammaln(len(group) + PRIOR.sum())
    return result


def log_words(z, word_weights):
    if word_weights is not None:
        return np.log(word_weights[TOKENS, z]).sum()
    result = 0.0
    for k in range(N_CLASSES + 1):
        n = np.bincount(TOKENS[z == k], minlength=N_WORDS)
        result += (gammaln(n + OMEGA) - gammaln(OMEGA)).sum()
        result += gammaln(N_WORDS * OMEGA) - gammaln(N_WORDS * OMEGA + n.sum())
    return result


def posterior(switch, word_weights=None, class_probability=None):
    n_outcomes = N_CLASSES + (switch != "off")
    states = np.array(list(itertools.product(range(n_outcomes), repeat=len(TOKENS))))
    log_joint = [
        log_classes(z) + log_switches(z, switch, class_probability) + log_words(z, word_weights)
        for z in states
    ]
    return states, softmax(log_joint)


def engine_of(sampler, switch):
    return M4Engine(
        ThreadSettings(N_WORDS, N_CLASSES, switch, PRIOR, OMEGA, sampler),
        learner=WeightLearner("bound", NormalPrior(10.0), 0.1), n_topics=0, is_segmented=False,
        n_features=2,
    )  # fmt: skip


def globals_of(weights=WEIGHTS, **arrays):
    fixed = {"weights": weights, "omega": np.array(OMEGA), "alpha": np.zeros(0)}
    return Globals("sweep", fixed | arrays)


def frequencies(engine, shared, states):
    """Run the engine's sweeps and count how often each state is visited, in batches."""
    state = engine.open(shared, SHARD, rng.key(1, "open"))
    base = engine.n_classes + 1
    powers = base ** np.arange(len(TOKENS))[::-1]
    codes = np.empty(N_SWEEPS, np.int64)
    for sweep in range(N_SWEEPS):
        engine._resample(
            shared, SHARD, state,
            state["word_class_counts"] if engine.collapsed else engine.empty_counts(),
            rng_key(sweep),
        )  # fmt: skip
        codes[sweep] = state["classes"] @ powers
    if engine.collapsed:  # the counts in the state are still those of its classes
        again = engine.empty_counts()
        count_classes(TOKENS, state["classes"], again)
        np.testing.assert_array_equal(state["word_class_counts"], again)
        np.testing.assert_array_equal(state["class_totals"], again.sum(axis=0))
    numbers = {int(z @ powers): i for i, z in enumerate(states)}
    visited = np.array([numbers[int(code)] for code in codes])
    batches = visited.reshape(50, -1)
    return np.array([np.bincount(batch, minlength=len(states)) for batch in batches]) / (
        N_SWEEPS / 50
    )


KEYS = np.random.default_rng(9).integers(2**64, size=(N_SWEEPS, 2), dtype=np.uint64)


def rng_key(sweep):
    return KEYS[sweep]


def check(found, expected):
    """Compare expectations of every token's class and of every pair, by batch means."""
    assert found.shape[1] == len(expected)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    likely = expected > 1e-3
    z = (found.mean(axis=0) - expected)[likely] / np.maximum(error[likely], 1e-6)
    # up to 243 states, 49 degrees of freedom: a false alarm in about 1e-4 of seeds; fixed seed
    assert np.abs(z).max() < 6.0
    assert np.abs(found.mean(axis=0) - expected).sum() / 2 < 0.03


@pytest.mark.parametrize("switch", ["off", "corpus", "message"])
def test_collapsed_runs_match_the_enumerated_posterior(switch):
    states, expected = posterior(switch)
    check(frequencies(engine_of("collapsed", switch), globals_of(), states), expected)


@pytest.mark.parametrize("switch", ["off", "corpus", "message"])
def test_parallel_runs_match_the_enumerated_posterior(switch):
    generator = np.random.default_rng(2)
    word_weights = generator.dirichlet(np.ones(N_WORDS), N_CLASSES + 1).T.copy()
    states, expected = posterior(switch, word_weights, 0.6)
    kinds = np.array([0.0, 1.0, 0.0] if switch == "off" else [0.4, 0.6, 0.0])
    shared = globals_of(word_weights=word_weights, switch_probabilities=kinds)
    check(frequencies(engine_of("parallel", switch), shared, states), expected)


def test_a_wrong_target_is_noticed():
    states, expected = posterior("corpus")
    shared = globals_of(WEIGHTS * 0.7)
    with pytest.raises(AssertionError):
        check(frequencies(engine_of("collapsed", "corpus"), shared, states), expected)
