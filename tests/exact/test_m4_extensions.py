"""M4 beyond the paper: conditionals against the joint, the posterior, weights, the filter."""

from __future__ import annotations

import copy
import itertools
import math

import numpy as np
import pytest
from scipy.special import logsumexp
from support.m4_extended_reference import (
    Case,
    arguments,
    counts_of,
    log_joint,
    log_units,
    random_case,
    run_sweep,
    shares_of,
    threads_of,
)

from palaver.models.m4.kernels.heldout import filter_log_likelihoods
from palaver.models.m4.kernels.replies import log_rising
from palaver.models.m4.kernels.shares import message_shares
from palaver.models.m4.kernels.weight_statistics import rises, weight_statistics
from palaver.models.m4.weight_steps import NormalPrior, bound_step, dirichlet_step

PRIOR = NormalPrior(10.0)
#: Every extension alone and some together, with either transition and both kinds of words.
SETTINGS = [
    {},
    {"n_topics": 2, "is_message_switch": True},
    {"n_topics": 9, "background": False},
    {"segmented": True, "n_topics": 2},
    {"several_parents": True, "n_extra": 1},
    {"guided": True},
    {"segmented": True, "several_parents": True, "guided": True, "is_message_switch": True},
]
CASES = [
    pytest.param({**settings, "is_dirichlet": is_dirichlet, "parallel": parallel})
    for settings in SETTINGS
    for is_dirichlet, parallel in ((False, False), (True, False), (True, True))
]


def normalize(logs):
    weights = np.exp(np.asarray(logs) - np.max(logs))
    return weights / weights.sum()


def legal_outcomes(case: Case, i: int) -> list[int]:
    """Outcomes that a token may have: known classes and segments bind it."""
    b = int(np.searchsorted(case.forest.message_offsets, i, side="right")) - 1
    outcomes = case.possible()
    if case.fixed[b] >= 0:
        outcomes = [o for o in outcomes if o >= case.n_classes or o == case.fixed[b]]
    if case.segments is not None:
        s = int(np.searchsorted(case.segment_offsets, i, side="right")) - 1
        own = case.segment_classes[s]
        outcomes = [o for o in outcomes if o >= case.n_classes or o == own]
    return outcomes


def token_conditional(case: Case, i: int) -> np.ndarray:
    """Distribution of a token's outcome from joints."""
    logs = np.full(case.n_columns, -np.inf)
    other = copy.deepcopy(case)
    for outcome in legal_outcomes(case, i):
        other.classes[i] = outcome
        logs[outcome] = log_joint(other)
    return normalize(logs)


def set_segment(case: Case, s: int, k: int) -> None:
    own = case.classes[case.segment_offsets[s] : case.segment_offsets[s + 1]]
    own[own < case.n_classes] = k
    case.segment_classes[s] = k


def segment_conditional(case: Case, s: int, fixed: int) -> np.ndarray:
    """Distribution of a segment's class, which its class-bearing tokens follow, from joints."""
    logs = np.full(case.n_classes, -np.inf)
    for k in range(case.n_classes) if fixed < 0 else [fixed]:
        other = copy.deepcopy(case)
        set_segment(other, s, k)
        logs[k] = log_joint(other)
    return normalize(logs)


def check_conditionals(case: Case, seed: int) -> None:
    """Record a sweep and compare every draw's distribution, in the order of the draws."""
    n_segments = len(case.segments or ())
    recorded = np.zeros((case.forest.n_tokens, 2, case.n_columns))
    of_segments = np.zeros((n_segments, 2, case.n_classes))
    after = copy.deepcopy(case)
    counts, totals = run_sweep(after, np.array([seed, 7], np.uint64), recorded, of_segments)
    np.testing.assert_array_equal(counts, counts_of(after)[0])
    if case.word_weights is None:
        np.testing.assert_array_equal(totals, counts_of(after)[1])

    def check_token(i: int) -> None:
        assert after.classes[i] in legal_outcomes(case, i)
        found = recorded[i, 0] * np.exp(recorded[i, 1] - recorded[i, 1].max())
        np.testing.assert_allclose(found / found.sum(), token_conditional(case, i), atol=1e-10)
        case.classes[i] = after.classes[i]

    for b in range(case.forest.n_messages):
        if case.segments is None:
            for i in case.forest.message_tokens(b):
                check_token(i)
            continue
        for s in range(case.unit_offsets[b], case.unit_offsets[b + 1]):
            expected = segment_conditional(case, s, case.fixed[b])
            np.testing.assert_allclose(normalize(of_segments[s].sum(0)), expected, atol=1e-10)
            set_segment(case, s, int(after.segment_classes[s]))
            for i in range(case.segment_offsets[s], case.segment_offsets[s + 1]):
                check_token(i)


@pytest.mark.parametrize("settings", CASES)
def test_every_draw_is_from_the_conditional_of_the_joint(settings):
    for seed in range(2):
        check_conditionals(random_case(np.random.default_rng(seed), **settings), seed)


@pytest.mark.parametrize("is_dirichlet", [False, True])
def test_parents_may_come_after_their_replies(is_dirichlet):
    for seed in range(4):
        generator = np.random.default_rng(seed)
        case = random_case(generator, is_dirichlet=is_dirichlet, parents_last=True, n_tokens=18)
        check_conditionals(case, seed)


@pytest.mark.parametrize("is_dirichlet", [False, True])
def test_long_runs_have_the_posterior(is_dirichlet):
    """Proposals and acceptance together: shares of states of two conversations of few tokens.

    False-alarm rate below 1e-6: shares of 20,000 correlated states within 0.035.
    """
    case = random_case(
        np.random.default_rng(5), is_dirichlet=is_dirichlet, n_classes=2, n_tokens=5, n_topics=1
    )
    states = list(itertools.product(case.possible(), repeat=5))
    logs = []
    for state in states:
        case.classes[:] = state
        logs.append(log_joint(case))
    exact = normalize(logs)
    number = {state: i for i, state in enumerate(states)}
    seen = np.zeros(len(states))
    for sweep in range(20_000):
        run_sweep(case, np.array([sweep, 1], np.uint64))
        seen[number[tuple(case.classes.tolist())]] += 1
    assert np.abs(seen / seen.sum() - exact).max() < 0.035
    for i in range(5):
        share = sum(p for state, p in zip(states, exact, strict=True) if state[i] == 0)
        found = sum(n for state, n in zip(states, seen, strict=True) if state[i] == 0)
        assert abs(found / seen.sum() - share) < 0.035


def test_rising_factorials():
    for start in (1e-8, 0.3, 9.99, 10.0, 12.5, 1e6, 1e130):
        for n in (0, 1, 2, 12, 13, 40, 1000):
            expected = sum(math.log(start + m) for m in range(n))
            assert log_rising(start, n) == pytest.approx(expected, rel=1e-12, abs=1e-10)
            slope = sum(1 / (start + m) for m in range(n))
            found = rises(start, n)
            assert found[0] == pytest.approx(expected, rel=1e-12, abs=1e-10)
            assert n > 40 or found[1] == pytest.approx(slope, rel=1e-12)
            assert found[1] == pytest.approx(slope, rel=1e-9, abs=1e-9)


# ---------------------------------------------------------------- weights


def units_of(case: Case):
    return case.classes if case.segments is None else case.segment_classes


def statistics_of(case: Case, weights):
    return weight_statistics(case.is_dirichlet, threads_of(case), units_of(case), weights)


@pytest.mark.parametrize("is_dirichlet", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_weights_climb_by_their_gradient(is_dirichlet, seed):
    case = random_case(
        np.random.default_rng(seed), is_dirichlet=is_dirichlet, several_parents=seed > 0,
        n_extra=1, n_tokens=60, segmented=seed == 2,
    )  # fmt: skip
    case.features = np.abs(case.features)
    weights = case.weights.copy()
    objective, gradient, _ = statistics_of(case, weights)
    expected = sum(log_units(case, b) for b in range(case.forest.n_messages))
    assert objective == pytest.approx(expected, abs=1e-10)
    for place in np.ndindex(gradient.shape):
        moved = [weights.copy(), weights.copy()]
        moved[0][place] += 1e-5
        moved[1][place] -= 1e-5
        slope = (statistics_of(case, moved[0])[0] - statistics_of(case, moved[1])[0]) / 2e-5
        assert gradient[place] == pytest.approx(slope, abs=1e-5)
    reached = []
    for _ in range(60):
        objective, gradient, curvature = statistics_of(case, weights)
        reached.append(objective - (weights**2).sum() / 20)
        if is_dirichlet:
            weights = dirichlet_step(weights, gradient, curvature, PRIOR)
        else:
            weights = bound_step(weights, gradient, curvature[:, :, 0], PRIOR)
    assert np.diff(reached).min() > -1e-9  # not one step lowers the log posterior
    assert reached[-1] > reached[0] + 1


def test_no_step_is_too_long_from_anywhere():
    """Far from the maximum the parabola would promise too much without the limit."""
    generator = np.random.default_rng(8)
    for seed in range(20):
        case = random_case(np.random.default_rng(seed), n_tokens=80)
        weights = generator.normal(0, 4, case.weights.shape)
        before, gradient, curvature = statistics_of(case, weights)
        after_weights = dirichlet_step(weights, gradient, curvature, PRIOR)
        after = statistics_of(case, after_weights)[0]
        assert after - (after_weights**2).sum() / 20 >= before - (weights**2).sum() / 20 - 1e-9


# ---------------------------------------------------------------- held-out conversations


@pytest.mark.parametrize("n_topics", [0, 2])
@pytest.mark.parametrize("segmented", [False, True])
@pytest.mark.parametrize("is_dirichlet", [False, True])
def test_the_particle_filter_is_unbiased(is_dirichlet, segmented, n_topics):
    """Its mean over runs is the sum of the joint over all states, within six errors."""
    case = random_case(
        np.random.default_rng(3), is_dirichlet=is_dirichlet, segmented=segmented, parallel=True,
        n_topics=n_topics, n_classes=2, n_tokens=5, several_parents=True, n_extra=1,
    )  # fmt: skip
    logs = []
    of_segment = np.repeat(np.arange(len(case.segments or ())), case.segments or [])
    for classes in itertools.product(range(2), repeat=len(case.segments or ())):
        case.segment_classes[:] = classes
        outcomes = case.possible()
        for state in itertools.product(outcomes, repeat=5):
            case.classes[:] = state
            if segmented:
                borne = case.classes < 2
                if (case.classes[borne] != case.segment_classes[of_segment[borne]]).any():
                    continue
            logs.append(log_joint(case))
    exact = logsumexp(logs)
    (variant, parameters), threads = arguments(case), threads_of(case)
    result, runs = np.empty(2), []
    for run in range(300):
        filter_log_likelihoods(
            variant, threads, parameters, 20, np.array([run, 3], np.uint64), result
        )
        runs.append(math.exp(result.sum() - exact))
    error = np.std(runs) / math.sqrt(len(runs))
    assert 0 < error < 0.05
    assert abs(np.mean(runs) - 1) < 6 * error


def test_expected_shares():
    case = random_case(np.random.default_rng(4), several_parents=True, n_extra=2)
    shares = np.empty((6, case.n_classes))
    message_shares(threads_of(case), units_of(case), case.weights, shares)
    expected = [shares_of(case, b) for b in range(6)]
    np.testing.assert_allclose(shares, expected, atol=1e-12)
