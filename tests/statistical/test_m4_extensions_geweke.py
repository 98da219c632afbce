"""Geweke tests of M4's sweep with all that can be added to the paper's model at once.

Weights, alpha and omega are held fixed, for they are optimized or have tests of their own; words,
switches, topics, shares of messages and segments are drawn. False alarms 1e-6 a test.
"""

import numpy as np
import pytest
from support.geweke import assert_geweke_catches, assert_geweke_passes, geweke
from support.m4_extended_reference import feature_vector, random_case, run_sweep, shares_of

from palaver import rng

N_DRAWS = 5000
NAMES = [
    "class 0", "class 0 squared", "background squared", "topics squared", "topic 0 squared",
    "alike in a message", "alike with the parent", "word 0 squared", "word and outcome squared",
]  # fmt: skip


def make(segmented, parallel):
    case = random_case(
        np.random.default_rng(11), n_topics=2, n_classes=2, n_words=3, n_tokens=14,
        segmented=segmented, parallel=parallel, several_parents=True, n_extra=1,
        is_dirichlet=not segmented,
    )  # fmt: skip
    case.switch_prior = np.array([1.0, 6.0, 5.0])  # enough of classes and topics to see bugs
    case.switch_probabilities = np.array([0.1, 0.5, 0.4])
    case.weights -= 0.7  # small Dirichlet weights: the words of a message go together
    case.alpha = np.array([0.4, 0.3])
    return case


def draw_state(case, generator, concentration=1.0):
    """Outcomes by the generative story; units of messages before those of their replies."""
    forest, n_classes = case.forest, case.n_classes
    case.classes[:] = n_classes
    case.segment_classes[:] = n_classes
    switch = case.switch_probabilities
    if case.word_weights is None:
        switch = generator.dirichlet(case.switch_prior)
    for start, end in zip(
        forest.conversation_offsets[:-1], forest.conversation_offsets[1:], strict=True
    ):
        theta = generator.dirichlet(case.alpha)
        for b in range(start, end):
            shares = shares_of(case, b)
            if case.is_dirichlet:
                shares = generator.dirichlet(weights_of(case, b) * concentration)
            for s in range(case.unit_offsets[b], case.unit_offsets[b + 1]):
                if case.segments is not None:
                    case.segment_classes[s] = generator.choice(n_classes, p=shares)
            for i in forest.message_tokens(b):
                kind = generator.choice(3, p=switch)
                if kind == 2:
                    case.classes[i] = n_classes + 1 + generator.choice(len(theta), p=theta)
                elif kind == 1 and case.segments is None:
                    case.classes[i] = generator.choice(n_classes, p=shares)
                elif kind == 1:
                    s = int(np.searchsorted(case.segment_offsets, i, side="right")) - 1
                    case.classes[i] = case.segment_classes[s]


def weights_of(case, b):
    return np.exp(feature_vector(case, b) @ case.weights)


def draw_words(case, generator):
    weights = case.word_weights
    if weights is None:
        prior = np.full(case.forest.n_words, case.omega)
        weights = generator.dirichlet(prior, case.n_columns).T
    limits = np.cumsum(weights, axis=0)[:, case.classes].T
    draws = generator.random(len(limits))
    words = (draws[:, None] > limits).sum(axis=1)
    case.forest.tokens[:] = np.minimum(words, case.forest.n_words - 1)


def statistics(case):
    z, messages = case.classes.astype(int), case.forest.token_messages
    counts = np.zeros((case.forest.n_words, case.n_columns))
    np.add.at(counts, (case.forest.tokens, z), 1)
    totals = counts.sum(axis=0)
    same = (z[:, None] == z[None]) & (z < case.n_classes)[:, None]
    with_parent = case.forest.parents[messages][:, None] == messages[None]
    in_message = messages[:, None] == messages[None]
    k = case.n_classes
    return np.array([
        totals[0], totals[0] ** 2, totals[k] ** 2, totals[k + 1 :].sum() ** 2, totals[k + 1] ** 2,
        (same & in_message).sum(), (same & with_parent).sum(), counts[0].sum() ** 2,
        (counts**2).sum(),
    ])  # fmt: skip


def table_of(segmented, parallel, concentration=1.0, alpha=1.0):
    generator = rng.generator(3, "geweke")
    one, other = make(segmented, parallel), make(segmented, parallel)
    draw_state(other, generator)
    draw_words(other, generator)
    truth = other.alpha
    other.alpha = truth * alpha  # what the sweep believes; the planted bug if it is not one

    def marginal():
        draw_state(one, generator, concentration)
        draw_words(one, generator)
        return statistics(one)

    def successive():
        run_sweep(other, generator.integers(2**64, size=2, dtype=np.uint64))
        draw_words(other, generator)
        return statistics(other)

    return geweke(marginal, successive, N_DRAWS, NAMES)


@pytest.mark.parametrize("parallel", [False, True], ids=["collapsed", "parallel"])
@pytest.mark.parametrize("segmented", [False, True], ids=["tokens", "segments"])
def test_geweke(segmented, parallel):
    assert_geweke_passes(table_of(segmented, parallel))


@pytest.mark.parametrize(
    "bug", [{"concentration": 50.0}, {"alpha": 50.0}], ids=["dirichlet", "topics"]
)
def test_a_wrong_prior_is_caught(bug):
    assert_geweke_catches(table_of(False, False, **bug))
