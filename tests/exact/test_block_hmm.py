"""Collapsed block HMM: conditionals against the enumerated joint, twin, long runs, edge cases."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy.special import gammaln
from support.block_hmm_reference import (
    SWITCHES,
    Priors,
    all_classes,
    all_switches,
    count,
    normalize,
    plain_class_weights,
    random_priors,
    random_state,
    twin_collapsed_sweep,
    urn_log_joint,
)
from support.forests import Forest, forests, make_forest, random_forest
from support.geweke import batch_means_variance, bonferroni_threshold

from palaver.kernels.random import uniforms
from palaver.kernels.states import log_message_switches
from palaver.kernels.switch import SWITCH_CORPUS, SWITCH_MESSAGE, SWITCH_OFF
from palaver.kernels.trees import link_children
from palaver.models.block_hmm.engine import BlockHMMEngine
from palaver.models.block_hmm.kernels.collapsed import (
    _move_edges,
    collapsed_class_weights,
    collapsed_sweep,
    collapsed_token_weights,
    count_assignments,
)
from palaver.models.block_hmm.kernels.prior import log_transitions, transition_prior_step
from palaver.models.words.engine import ThreadSettings
from palaver.parallel.executor import Globals

NO_LABELS = np.empty(0, np.int16)

# parent, message and most children share one class: the corrections [a=k=c] and [a=k] matter
SELF_TRANSITIONS = make_forest(
    [[0, 1], [1, 1, 0], [0], [], [2, 0], [1]], [-1, 0, 1, 1, 1, 1], n_words=3
)
SELF_CLASSES = np.array([1, 1, 1, 1, 0, 1], np.int16)


def class_weights(forest: Forest, classes, background, priors: Priors, message: int) -> np.ndarray:
    """The weights that the sweep itself would use, with its scratch; counts must come back."""
    words, totals, edges = count(forest, classes, background, priors.n_classes)
    rows = edges.sum(axis=1)
    links = np.empty((2, forest.n_messages + 1), np.int32)
    link_children(forest.parents, 0, forest.n_messages, links[0], links[1])
    occurrences = np.zeros(forest.n_words, np.int32)
    earlier = np.zeros(priors.n_classes, np.int64)
    weights = np.empty(priors.n_classes)
    words_before = words.copy()
    _move_edges(message, -1, forest.parents, links[0], links[1], classes, edges, rows)
    collapsed_class_weights(
        message, forest.tokens, forest.message_offsets, forest.parents, links[0], links[1],
        classes, background, words, totals, edges, rows, priors.transition_prior, priors.omega,
        occurrences, earlier, np.empty((3, priors.n_classes)),
        np.empty((2, priors.n_classes), np.int64), weights,
    )  # fmt: skip
    assert (words == words_before).all()
    assert not occurrences.any()
    assert not earlier.any()
    return weights


def token_weights(forest: Forest, classes, background, priors: Priors, i: int) -> np.ndarray:
    """(class, background) weights of one token's switch."""
    words, totals, _ = count(forest, classes, background, priors.n_classes)
    message = forest.token_messages[i]
    scope = np.ones(forest.n_tokens, bool)
    if priors.switch == SWITCH_MESSAGE:
        scope = forest.token_messages == message
    in_background = float(background[i])
    mass = totals + forest.n_words * priors.omega
    pair = collapsed_token_weights(
        words[forest.tokens[i], priors.n_classes], words[forest.tokens[i], classes[message]],
        priors.omega, mass[priors.n_classes], mass[classes[message]],
        background[scope].sum() + priors.switch_prior[0],
        (1 - background[scope].astype(int)).sum() + priors.switch_prior[1],
        in_background, 1.0 - in_background,
    )  # fmt: skip
    return np.array(pair[::-1])


def enumerated_class_posterior(forest, classes, background, priors, message) -> np.ndarray:
    logs = []
    for k in range(priors.n_classes):
        other = classes.copy()
        other[message] = k
        logs.append(urn_log_joint(forest, other, background, priors))
    return normalize(logs)


@njit
def sweeps(
    n_sweeps, tokens, offsets, parents, alpha, omega, switch, switch_prior, classes, background,
    words, totals, edges, codes,
):  # fmt: skip
    """Sweep many times; codes[s] is the state as one number: classes, then switches in binary."""
    key = np.array([20240229, 0], np.uint64)
    for s in range(n_sweeps):
        key[1] = s
        collapsed_sweep(
            tokens, offsets, parents, np.empty(0, np.int16), alpha, omega, switch, switch_prior,
            key, classes, background, words, totals, edges,
        )  # fmt: skip
        code = 0
        for b in range(len(classes)):
            code = code * len(alpha) + classes[b]
        for i in range(len(background)):
            code = code * 2 + background[i]
        codes[s] = code


def run_sweeps(forest, classes, background, priors: Priors, n_sweeps: int) -> np.ndarray:
    words, totals, edges = count(forest, classes, background, priors.n_classes)
    codes = np.empty(n_sweeps, np.int64)
    sweeps(
        n_sweeps, forest.tokens, forest.message_offsets, forest.parents, priors.transition_prior,
        priors.omega, priors.switch, priors.switch_prior, classes, background,
        words, totals, edges, codes,
    )  # fmt: skip
    after = count(forest, classes, background, priors.n_classes)
    for kept, recounted in zip((words, totals, edges), after, strict=True):
        np.testing.assert_array_equal(kept, recounted)
    return codes


def one_sweep(forest, classes, background, priors: Priors, key, fixed=NO_LABELS) -> None:
    words, totals, edges = count(forest, classes, background, priors.n_classes)
    collapsed_sweep(
        forest.tokens, forest.message_offsets, forest.parents, fixed, priors.transition_prior,
        priors.omega, priors.switch, priors.switch_prior, key, classes, background,
        words, totals, edges,
    )  # fmt: skip
    after = count(forest, classes, background, priors.n_classes)
    for kept, recounted in zip((words, totals, edges), after, strict=True):
        np.testing.assert_array_equal(kept, recounted)


def traced_log_joint(forest: Forest, classes, background, priors: Priors) -> float:
    """What the trace of a fit shows for a state."""
    words, _, edges = count(forest, classes, background, priors.n_classes)
    name = {SWITCH_OFF: "off", SWITCH_CORPUS: "corpus", SWITCH_MESSAGE: "message"}[priors.switch]
    settings = ThreadSettings(
        n_words=forest.n_words, n_classes=priors.n_classes, switch=name,
        switch_prior=priors.switch_prior, word_prior=priors.omega, sampler="collapsed",
    )  # fmt: skip
    engine = BlockHMMEngine(settings, transition_prior=1.0)
    arrays = {"omega": np.array(priors.omega), "transition_prior": priors.transition_prior}
    statistics = {"word_class_counts": words, "transition_counts": edges}
    if priors.switch == SWITCH_MESSAGE:
        statistics["log_switches"] = log_message_switches(
            forest.message_offsets, background, 1, priors.switch_prior
        )
    _, trace = engine.update(Globals("sweep", arrays), statistics, np.random.default_rng(0))
    return trace["log_joint"]


@pytest.mark.parametrize("switch", SWITCHES)
def test_log_joint_is_the_urn(switch):
    rng = np.random.default_rng(11)
    for _ in range(40):
        forest = random_forest(rng, n_tokens=12, n_messages=7)
        priors = random_priors(rng, 3, switch)
        state = random_state(rng, forest, 3, switch)
        got = traced_log_joint(forest, *state, priors)
        assert got == pytest.approx(urn_log_joint(forest, *state, priors), abs=1e-10)


def test_log_joint_beyond_its_table_of_small_counts():
    forest = make_forest([[0] * 700 + [1] * 3], [-1], n_words=2)
    priors = random_priors(np.random.default_rng(12), 2, SWITCH_OFF)
    state = np.zeros(1, np.int16), np.zeros(703, np.uint8)
    got = traced_log_joint(forest, *state, priors)
    assert got == pytest.approx(urn_log_joint(forest, *state, priors), abs=1e-9)


@pytest.mark.parametrize("switch", SWITCHES)
def test_class_conditional_is_the_enumerated_one(switch):
    rng = np.random.default_rng(13)
    for _ in range(60):
        n_classes = int(rng.integers(1, 5))
        forest = random_forest(rng, n_tokens=8, n_messages=7, n_conversations=2)
        priors = random_priors(rng, n_classes, switch)
        classes, background = random_state(rng, forest, n_classes, switch)
        for message in range(forest.n_messages):
            weights = class_weights(forest, classes, background, priors, message)
            assert 0.5 < weights.max() < 2
            exact = enumerated_class_posterior(forest, classes, background, priors, message)
            np.testing.assert_allclose(weights / weights.sum(), exact, rtol=0, atol=1e-12)


@settings(max_examples=150, deadline=None)
@given(forests(max_tokens=10, max_messages=8), st.integers(0, 2**32 - 1), st.sampled_from(SWITCHES))
def test_conditionals_of_any_forest(forest, seed, switch):
    rng = np.random.default_rng(seed)
    priors = random_priors(rng, 3, switch)
    classes, background = random_state(rng, forest, 3, switch)
    for message in range(forest.n_messages):
        weights = class_weights(forest, classes, background, priors, message)
        exact = enumerated_class_posterior(forest, classes, background, priors, message)
        np.testing.assert_allclose(weights / weights.sum(), exact, rtol=0, atol=1e-12)


@pytest.mark.parametrize("switch", SWITCHES)
def test_self_transitions_with_several_children(switch):
    rng = np.random.default_rng(14)
    priors = random_priors(rng, 2, switch)
    background = np.zeros(SELF_TRANSITIONS.n_tokens, np.uint8)
    weights = class_weights(SELF_TRANSITIONS, SELF_CLASSES, background, priors, 1)
    exact = enumerated_class_posterior(SELF_TRANSITIONS, SELF_CLASSES, background, priors, 1)
    np.testing.assert_allclose(weights / weights.sum(), exact, rtol=0, atol=1e-12)
    # planted bugs: without the corrections, or repeats in turn, enumeration is far off
    for planted in ({"self_corrected": False}, {"repeats_in_turn": False}):
        wrong = plain_class_weights(
            1, SELF_TRANSITIONS, SELF_CLASSES, background, priors, **planted
        )
        assert np.abs(wrong - exact).max() > 0.01


@pytest.mark.parametrize("switch", [SWITCH_CORPUS, SWITCH_MESSAGE])
def test_switch_conditional_is_the_enumerated_one(switch):
    rng = np.random.default_rng(15)
    for _ in range(60):
        forest = random_forest(rng, n_tokens=8, n_messages=5)
        priors = random_priors(rng, 3, switch)
        classes, background = random_state(rng, forest, 3, switch)
        for i in range(forest.n_tokens):
            weights = token_weights(forest, classes, background, priors, i)
            logs = []
            for outcome in (0, 1):
                other = background.copy()
                other[i] = outcome
                logs.append(urn_log_joint(forest, classes, other, priors))
            exact = normalize(logs)
            np.testing.assert_allclose(weights / weights.sum(), exact, rtol=0, atol=1e-12)


@pytest.mark.parametrize("switch", SWITCHES)
def test_sweep_equals_its_naive_twin(switch):
    rng = np.random.default_rng(16)
    moved = 0
    for case in range(12):
        n_classes = 1 + case % 4
        forest = random_forest(rng, n_tokens=40, n_messages=14, n_conversations=3, n_words=6)
        priors = random_priors(rng, n_classes, switch)
        classes, background = random_state(rng, forest, n_classes, switch)
        twin = classes.copy(), background.copy()
        for s in range(3):
            key = np.array([case, s], np.uint64)
            before = classes.copy()
            one_sweep(forest, classes, background, priors, key)
            draws = uniforms(key, 0, forest.n_messages + forest.n_tokens)
            twin_collapsed_sweep(forest, *twin, priors, draws)
            np.testing.assert_array_equal(classes, twin[0])
            np.testing.assert_array_equal(background, twin[1])
            moved += (classes != before).sum()
    assert moved > 50
    assert background.any() == (switch != SWITCH_OFF)


@pytest.mark.parametrize("switch", SWITCHES)
def test_long_run_has_the_enumerated_posterior(switch):
    """Frequencies of all likely states, false alarms 1e-6 (Bonferroni, batch means)."""
    forest = make_forest(
        [[0, 1], [1, 1], [], [0]], [-1, 0, 0, 1], n_words=2
    )  # a root, two replies, one of them empty, a reply to a reply
    priors = random_priors(np.random.default_rng(17), 2, switch)
    n_sweeps = 300_000

    def enumerate_posterior(priors: Priors) -> np.ndarray:
        return normalize(
            [
                urn_log_joint(forest, classes, background, priors)
                for classes in all_classes(forest, 2)
                for background in all_switches(forest, switch)
            ]
        )

    codes = run_sweeps(forest, np.zeros(4, np.int16), np.zeros(5, np.uint8), priors, n_sweeps)
    if switch == SWITCH_OFF:
        codes = codes // 2**5  # switches are all zero
    posterior = enumerate_posterior(priors)
    likely = np.flatnonzero(posterior > 0.002)
    assert len(likely) > 10
    indicators = (codes[:, None] == likely).astype(float)
    errors = np.sqrt(batch_means_variance(indicators, n_batches=300))
    z = (indicators.mean(axis=0) - posterior[likely]) / errors
    assert np.abs(z).max() < bonferroni_threshold(len(likely))
    # and the run is long enough to tell a posterior that is a little off
    wrong = enumerate_posterior(dataclasses.replace(priors, omega=priors.omega * 1.1))
    z = (indicators.mean(axis=0) - wrong[likely]) / errors
    assert np.abs(z).max() > bonferroni_threshold(len(likely))


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize(
    "forest",
    [
        make_forest([[0]], [-1]),
        make_forest([[]], [-1], n_words=1),
        make_forest([[], []], [-1, 0], n_words=2),
        make_forest([[0, 0, 0], [0]], [-1, 0], n_words=1),
        make_forest([[0], [1], []], [-1, -1, -1], [1, 1, 1], n_words=2),
    ],
    ids=["one word", "one empty message", "all empty", "one word type", "no replies"],
)
@pytest.mark.parametrize("n_classes", [1, 2])
def test_edge_cases_run_and_match_the_twin(forest, n_classes, switch):
    priors = random_priors(np.random.default_rng(18), n_classes, switch)
    classes = np.zeros(forest.n_messages, np.int16)
    background = np.full(forest.n_tokens, switch != SWITCH_OFF, np.uint8)  # all background
    twin = classes.copy(), background.copy()
    for s in range(5):
        key = np.array([7, s], np.uint64)
        one_sweep(forest, classes, background, priors, key)
        twin_collapsed_sweep(
            forest, *twin, priors, uniforms(key, 0, forest.n_messages + forest.n_tokens)
        )
        np.testing.assert_array_equal(classes, twin[0])
        np.testing.assert_array_equal(background, twin[1])
    if switch == SWITCH_OFF:
        assert not background.any()


def test_message_without_class_bearing_tokens_follows_its_neighbours_only():
    forest = make_forest([[0, 1], [1, 0, 1], [0]], [-1, 0, 1], n_words=2)
    priors = random_priors(np.random.default_rng(19), 3, SWITCH_CORPUS)
    classes = np.array([0, 2, 1], np.int16)
    silent = np.array([0, 0, 1, 1, 1, 0], np.uint8)
    empty = make_forest([[0, 1], [], [0]], [-1, 0, 1], n_words=2)
    np.testing.assert_allclose(
        class_weights(forest, classes, silent, priors, 1),
        class_weights(empty, classes, np.zeros(3, np.uint8), priors, 1),
    )


@pytest.mark.parametrize("omega", [1e-9, 0.01, 30.0])
def test_weights_of_a_message_of_50000_tokens(omega):
    rng = np.random.default_rng(20)
    n_words, n_classes = 300, 4
    shares = rng.dirichlet(np.full(n_words, 2.0))
    long = rng.choice(n_words, 50_000, p=shares).tolist()
    other = [rng.choice(n_words, 30_000, p=shares).tolist() for _ in range(6)]
    forest = make_forest([long, *other], [-1, 0, 0, 1, 2, 0, 1], n_words=n_words)
    priors = Priors(rng.uniform(0.5, 1, n_classes), omega, SWITCH_OFF, np.ones(2))
    classes = np.array([0, 0, 1, 2, 3, 1, 0], np.int16)
    background = np.zeros(forest.n_tokens, np.uint8)
    got = class_weights(forest, classes, background, priors, 0)
    own = np.bincount(long, minlength=n_words)
    counts = np.zeros((n_classes, n_words))
    for message, label in enumerate(classes[1:]):
        counts[label] += np.bincount(other[message], minlength=n_words)
    logs = (gammaln(counts + own + omega) - gammaln(counts + omega)).sum(axis=1)
    mass = counts.sum(axis=1) + n_words * omega
    logs -= gammaln(mass + 50_000) - gammaln(mass)
    silent = class_weights(forest, classes, np.ones_like(background), priors, 0)
    logs += np.log(silent)
    assert np.isfinite(got).all()
    expected = logs - logs.max()
    seen = got > 0
    assert seen[expected > -600].all()
    np.testing.assert_allclose(np.log(got[seen] / got.max()), expected[seen], rtol=1e-9, atol=1e-5)


def test_star_of_thousands_of_children_does_not_overflow():
    n_children = 5000
    forest = make_forest([[]] * (n_children + 1), [-1] + [0] * n_children, n_words=1)
    rng = np.random.default_rng(21)
    priors = random_priors(rng, 3, SWITCH_OFF)
    classes = rng.integers(0, 3, n_children + 1).astype(np.int16)
    got = class_weights(forest, classes, np.zeros(0, np.uint8), priors, 0)
    alpha = priors.transition_prior
    per_class = np.bincount(classes[1:], minlength=3)
    # the rows are empty but for these edges, so only the start edge tells classes apart
    np.testing.assert_allclose(got / got.sum(), alpha / alpha.sum(), rtol=1e-9)
    assert per_class.min() > 1000


def test_same_key_same_bytes():
    rng = np.random.default_rng(22)
    forest = random_forest(rng, n_tokens=60, n_messages=20, n_conversations=4, n_words=8)
    priors = random_priors(rng, 3, SWITCH_CORPUS)
    start = random_state(rng, forest, 3, SWITCH_CORPUS)
    ends = []
    for sweep in (0, 0, 1):
        state = start[0].copy(), start[1].copy()
        one_sweep(forest, *state, priors, np.array([5, sweep], np.uint64))
        ends.append(state[0].tobytes() + state[1].tobytes())
    assert ends[0] == ends[1] != ends[2]


def test_transition_prior_step_climbs_to_a_stationary_point():
    rng = np.random.default_rng(23)
    truth = np.array([0.3, 2.0, 0.8])
    edges = np.array([rng.multinomial(300, p) for p in rng.dirichlet(truth, 4)], np.int64)
    alpha = np.ones(3)
    trace = [log_transitions(edges, alpha)]
    for _ in range(3000):
        alpha = transition_prior_step(edges, alpha)
        trace.append(log_transitions(edges, alpha))
    assert np.diff(trace).min() >= -1e-9
    assert trace[-1] > trace[0] + 0.1
    for k in range(3):
        up, down = alpha.copy(), alpha.copy()
        up[k] *= 1 + 1e-4
        down[k] *= 1 - 1e-4
        assert abs(log_transitions(edges, up) - log_transitions(edges, down)) < 1e-6


def test_transition_prior_step_with_a_gamma_prior_climbs_too():
    edges = np.array([[5, 0, 2], [4, 0, 3], [5, 0, 2], [0, 0, 0]], np.int64)
    shape, rate = 2.0, 0.5

    def objective(alpha):
        return log_transitions(edges, alpha) + ((shape - 1) * np.log(alpha) - rate * alpha).sum()

    alpha = np.full(3, 4.0)
    trace = [objective(alpha)]
    for _ in range(2000):
        alpha = transition_prior_step(edges, alpha, shape, rate)
        trace.append(objective(alpha))
    assert np.diff(trace).min() >= -1e-9
    for k in range(3):
        up, down = alpha.copy(), alpha.copy()
        up[k] *= 1 + 1e-4
        down[k] *= 1 - 1e-4
        assert abs(objective(up) - objective(down)) < 1e-6


def test_transition_prior_step_stays_within_its_limits():
    same = np.array([[50, 0], [50, 0], [50, 0]], np.int64)
    alpha = np.ones(2)
    for _ in range(500):
        alpha = transition_prior_step(same, alpha)
    assert alpha[1] == 1e-4
    assert alpha[0] <= 1e4
    nothing = np.zeros((3, 2), np.int64)
    np.testing.assert_array_equal(transition_prior_step(nothing, alpha), alpha)


def test_all_uses_share_one_signature():
    rng = np.random.default_rng(24)
    forest = random_forest(rng)
    kernels = (collapsed_sweep, count_assignments)
    before = None
    for switch in SWITCHES:
        priors = random_priors(rng, 2 + switch, switch)
        state = random_state(rng, forest, 2 + switch, switch)
        one_sweep(forest, *state, priors, np.zeros(2, np.uint64))
        compiled = [len(kernel.signatures) for kernel in kernels]
        assert before in (None, compiled)
        before = compiled


def test_known_classes_are_kept_and_the_others_drawn_as_ever():
    forest = SELF_TRANSITIONS
    priors = random_priors(np.random.default_rng(18), 3, SWITCH_OFF)
    classes = np.array([0, 1, 2, 0, 1, 2], np.int16)
    background = np.zeros(forest.n_tokens, np.uint8)
    fixed = np.array([-1, 1, -1, -1, -1, 2], np.int16)
    free = 0
    for s in range(20):
        key = np.array([8, s], np.uint64)
        before = classes.copy()
        one_sweep(forest, classes, background, priors, key, fixed)
        np.testing.assert_array_equal(classes[fixed >= 0], fixed[fixed >= 0])
        free += (classes != before).sum()
        twin = before.copy()
        one_sweep(forest, twin, background, priors, key)
        assert classes[0] == twin[0]  # nothing fixed comes before it
    assert free > 10
