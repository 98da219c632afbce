"""LDA: conditionals against the enumerated joint, twins, long runs, statistics, edge cases."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy import stats
from support.forests import Forest, forests, make_forest, random_forest
from support.geweke import batch_means_variance
from support.lda_reference import (
    NOTHING_RECORDED,
    SWITCHES,
    Model,
    all_assignments,
    count,
    enumerated_conditional,
    log_joint,
    normalize,
    plain_conditional,
    random_classes,
    random_model,
    run_sweep,
    twin_sweep,
)

from palaver.kernels.dirichlet import log_classes, log_dirichlet_multinomial
from palaver.kernels.lda import message_histograms, sweep_collapsed, sweep_parallel
from palaver.kernels.random import uniforms
from palaver.kernels.simd.instructions import LANES
from palaver.kernels.simd.lanes import aligned, choose_outcome, n_lane_blocks, outcome_order
from palaver.kernels.states import add_message_counts, log_message_switches, start_classes
from palaver.kernels.switch import SWITCH_CORPUS, SWITCH_MESSAGE, SWITCH_OFF, log_switch

FALSE_ALARM_RATE = 1e-6
BOTH = pytest.mark.parametrize("parallel", [False, True], ids=["collapsed", "parallel"])
EACH_SWITCH = pytest.mark.parametrize("switch", SWITCHES, ids=["off", "corpus", "message"])


def key_of(seed: int) -> np.ndarray:
    return np.array([seed, 77], np.uint64)


def stream_of(forest: Forest, key: np.ndarray, parallel: bool) -> np.ndarray:
    """The uniforms that a sweep uses, one for each token."""
    if not parallel:
        return uniforms(key, 0, forest.n_tokens)
    sizes = np.diff(forest.message_offsets[forest.conversation_offsets])
    parts = [uniforms(key, forest.first_conversation + c, n) for c, n in enumerate(sizes)]
    return np.concatenate(parts)


# ---------------------------------------------------------------- the draw itself


@njit
def _choose(rows, start, spare, offset, factors, skipped, n_blocks, background, old, draw):
    running = aligned(LANES * n_blocks)
    rank = choose_outcome(
        rows, start, spare, offset, factors, skipped, running, n_blocks, background, old, draw
    )
    return rank, running


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=200, deadline=None)
def test_choose_outcome_is_its_numpy_line(seed):
    rng = np.random.default_rng(seed)
    n_outcomes = int(rng.integers(1, 40))
    n_blocks = n_lane_blocks(n_outcomes)
    n = LANES * n_blocks
    factors = aligned(n)
    factors[:n_outcomes] = rng.uniform(0, 1, n_outcomes) * (rng.random(n_outcomes) < 0.8)
    row_length = n_outcomes + 1
    counts = rng.integers(0, 5, (3, row_length)).astype(np.int32)
    word = int(rng.integers(0, 3))
    skipped = int(rng.integers(0, n + 1))
    background, old, draw = rng.random(3) * [rng.random() < 0.5, 1, 1]
    padded = np.zeros(n)
    padded[:n_outcomes] = counts[word, :n_outcomes]
    for rows in (counts, counts.astype(np.float64)):
        spare = np.zeros(n, rows.dtype)
        spare[:n_outcomes] = rows[word, :n_outcomes]
        rank, running = _choose(
            rows.ravel(), word * row_length, spare, 0.3, factors, skipped, n_blocks,
            background, old, draw,
        )  # fmt: skip
        weights = (padded + 0.3) * factors
        weights[skipped : skipped + 1] = 0.0
        np.testing.assert_allclose(
            np.diff(running.reshape(n_blocks, LANES), axis=0, prepend=0.0).ravel(), weights,
            rtol=0, atol=1e-13,
        )  # fmt: skip
        lane_by_lane = weights.reshape(n_blocks, LANES).T.ravel()
        cumulative = np.cumsum([*lane_by_lane, background, old])
        assert rank == np.searchsorted(cumulative, draw * cumulative[-1], side="right")


@pytest.mark.parametrize("n_outcomes", [1, 7, 8, 9, 20])
@pytest.mark.parametrize("has_background", [False, True])
def test_every_rank_has_a_safe_slot(n_outcomes, has_background):
    order = outcome_order(n_outcomes, has_background)
    padded = LANES * n_lane_blocks(n_outcomes)
    assert len(order) == padded + 2
    assert sorted(order[order < n_outcomes]) == list(range(n_outcomes))
    others = order[order >= n_outcomes].tolist()
    assert others.count(padded) == has_background
    assert others.count(padded + 1) == len(others) - has_background
    assert order[-1] == padded + 1
    assert (order[padded] == padded) == has_background


def test_rounding_and_zero_totals_stay_inside():
    factors = aligned(8)
    rows = np.zeros(9, np.int32)
    spare = np.zeros(8, np.int32)
    last = 1.0 - 2.0**-53
    # nothing has weight: the old outcome stays
    assert _choose(rows, 0, spare, 1.0, factors, 8, 1, 0.0, 0.0, last)[0] == 9
    factors[:] = 0.1
    assert _choose(rows, 0, spare, 1.0, factors, 8, 1, 0.0, 0.0, last)[0] in (7, 8, 9)
    assert _choose(rows, 0, spare, 1.0, factors, 8, 1, 0.0, 1e-30, last)[0] in (7, 8, 9)
    assert _choose(rows, 0, spare, 1.0, factors, 8, 1, 0.0, 0.0, 0.0)[0] == 0


# ---------------------------------------------------------------- conditionals


def check_recorded_conditionals(forest: Forest, model: Model, classes: np.ndarray, key) -> None:
    """Each token's recorded distribution is the enumerated one, at the moment it was drawn."""
    before = classes.copy()
    recorded = np.full((forest.n_tokens, model.n_classes + 1), np.nan)
    words, totals = run_sweep(forest, classes, model, key, recorded)
    for kept, recounted in zip(
        (words, totals), count(forest, classes, model.n_classes), strict=True
    ):
        np.testing.assert_array_equal(kept, recounted)
    for i in range(forest.n_tokens):
        moment = np.concatenate([classes[:i], before[i:]])
        exact = enumerated_conditional(i, forest, moment, model)
        np.testing.assert_allclose(recorded[i], exact, rtol=0, atol=1e-10)
        np.testing.assert_allclose(
            plain_conditional(i, forest, moment, model), exact, rtol=0, atol=1e-10
        )


@BOTH
@EACH_SWITCH
@pytest.mark.parametrize("n_classes", [1, 2, 3, 8, 9, 20])
def test_conditionals_are_those_of_the_joint(parallel, switch, n_classes):
    rng = np.random.default_rng([31, parallel, switch, n_classes])
    for trial in range(5):
        forest = random_forest(rng, n_tokens=6, n_words=3, first_conversation=trial)
        model = random_model(rng, n_classes, forest.n_words, switch, parallel)
        classes = random_classes(rng, forest, model)
        check_recorded_conditionals(forest, model, classes, key_of(trial))


@BOTH
@EACH_SWITCH
def test_conditionals_with_extreme_priors(parallel, switch):
    rng = np.random.default_rng([32, parallel, switch])
    forest = random_forest(rng, n_tokens=6, n_words=2)
    model = dataclasses.replace(
        random_model(rng, 3, forest.n_words, switch, parallel),
        alpha=np.array([1e-4, 50.0, 1e-2]), omega=1e-4,
    )  # fmt: skip
    for trial in range(5):
        classes = random_classes(rng, forest, model)
        check_recorded_conditionals(forest, model, classes, key_of(trial))


# ---------------------------------------------------------------- twins


@BOTH
@EACH_SWITCH
@given(forest=forests(max_tokens=12), n_classes=st.integers(1, 19), seed=st.integers(0, 2**20))
@settings(max_examples=60, deadline=None)
def test_twin_gives_the_same_states(parallel, switch, forest, n_classes, seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n_classes, forest.n_words, switch, parallel)
    classes = random_classes(rng, forest, model)
    twin = classes.copy()
    for sweep in range(3):
        key = key_of(seed + sweep)
        run_sweep(forest, classes, model, key, NOTHING_RECORDED)
        twin_sweep(forest, twin, model, stream_of(forest, key, parallel))
        np.testing.assert_array_equal(classes, twin)


def test_twin_is_sensitive():
    """A twin that forgets to leave the token out disagrees: the comparison has power."""
    rng = np.random.default_rng(33)
    forest = random_forest(rng, n_tokens=12)
    model = random_model(rng, 3, forest.n_words, SWITCH_MESSAGE, parallel=False)
    classes = random_classes(rng, forest, model)
    twin = classes.copy()
    differs = False
    for sweep in range(20):
        run_sweep(forest, classes, model, key_of(sweep), NOTHING_RECORDED)
        twin_sweep(forest, twin, model, stream_of(forest, key_of(sweep), False), leave_out=False)
        differs |= bool((classes != twin).any())
    assert differs


# ---------------------------------------------------------------- long runs


@njit
def _sweep_codes(
    tokens, offsets, conversations, first, classes, words, totals, alpha, omega, switch,
    switch_prior, word_weights, class_probability, parallel, nothing, codes,
):  # fmt: skip
    """Sweep many times; codes[s] is the state as a number with n_classes + 1 as its base."""
    key = np.array([20240301, 0], np.uint64)
    for s in range(len(codes)):
        key[1] = s
        if parallel:
            sweep_parallel(
                tokens, offsets, conversations, first, classes, word_weights, alpha, switch,
                switch_prior, class_probability, key, words, nothing,
            )  # fmt: skip
        else:
            sweep_collapsed(
                tokens, offsets, classes, words, totals, alpha, omega, switch, switch_prior, key,
                nothing,
            )  # fmt: skip
        code = 0
        for i in range(len(classes)):
            code = code * (len(alpha) + 1) + classes[i]
        codes[s] = code


@BOTH
@EACH_SWITCH
def test_long_run_visits_states_as_often_as_the_posterior_says(parallel, switch):
    n_sweeps = 200_000
    rng = np.random.default_rng([34, parallel, switch])
    forest = make_forest([[0, 1, 0], [], [1, 2]], [-1, 0, 0], n_words=3)
    model = random_model(rng, 2, forest.n_words, switch, parallel)
    classes = random_classes(rng, forest, model)
    words, totals = count(forest, classes, 2)
    codes = np.empty(n_sweeps, np.int64)
    unused = np.full((forest.n_words, 3), np.nan)
    _sweep_codes(
        forest.tokens, forest.message_offsets, forest.conversation_offsets, 5, classes, words,
        totals,
        model.alpha, model.omega, switch, model.switch_prior,
        unused if model.word_weights is None else model.word_weights, model.class_probability,
        parallel, NOTHING_RECORDED, codes,
    )  # fmt: skip
    states = list(all_assignments(forest, model))
    posterior = normalize([log_joint(forest, state, model) for state in states])
    powers = 3 ** np.arange(forest.n_tokens)[::-1]
    visits = codes[:, None] == np.array([state @ powers for state in states])
    assert visits.sum() == n_sweeps  # no state outside of the enumeration
    often = posterior > 2e-3
    assert posterior[often].sum() > 0.5
    samples = visits[:, often].astype(np.float64)
    errors = np.sqrt(batch_means_variance(samples))
    t = (samples.mean(axis=0) - posterior[often]) / errors
    # Student's t with 49 degrees of freedom (50 batches), Bonferroni over the states
    limit = stats.t.isf(FALSE_ALARM_RATE / (2 * often.sum()), 49)
    assert np.abs(t).max() < limit
    assert errors.max() < 0.01  # it had the power to fail


# ---------------------------------------------------------------- shards, streams, signatures


@EACH_SWITCH
def test_shards_do_not_change_the_parallel_sweep(switch):
    rng = np.random.default_rng([35, switch])
    forest = random_forest(rng, n_tokens=60, n_messages=12, n_conversations=4, n_words=5)
    model = random_model(rng, 9, forest.n_words, switch, parallel=True)
    classes = random_classes(rng, forest, model)
    whole = classes.copy()
    words, _ = run_sweep(forest, whole, model, key_of(1), NOTHING_RECORDED)
    parts, merged = [], np.zeros_like(words)
    for low, high in ((0, 1), (1, 4)):
        messages = slice(forest.conversation_offsets[low], forest.conversation_offsets[high])
        offsets = forest.message_offsets[messages.start : messages.stop + 1]
        part = classes[offsets[0] : offsets[-1]].copy()
        sweep_parallel(
            forest.tokens[offsets[0] : offsets[-1]], offsets - offsets[0],
            forest.conversation_offsets[low : high + 1] - messages.start, low, part,
            model.word_weights, model.alpha, switch, model.switch_prior, model.class_probability,
            key_of(1), merged, NOTHING_RECORDED,
        )  # fmt: skip
        parts.append(part)
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(merged, words)


def test_fold_in_counts_nothing_and_draws_the_same():
    rng = np.random.default_rng(36)
    forest = random_forest(rng, n_tokens=40, n_messages=8)
    model = random_model(rng, 5, forest.n_words, SWITCH_MESSAGE, parallel=True)
    classes = random_classes(rng, forest, model)
    counted = classes.copy()
    run_sweep(forest, counted, model, key_of(2), NOTHING_RECORDED)
    sweep_parallel(
        forest.tokens, forest.message_offsets, forest.conversation_offsets,
        forest.first_conversation, classes, model.word_weights, model.alpha, model.switch,
        model.switch_prior, model.class_probability, key_of(2), np.zeros((0, 6), np.int32),
        NOTHING_RECORDED,
    )  # fmt: skip
    np.testing.assert_array_equal(classes, counted)


@EACH_SWITCH
def test_start_is_uniform_keyed_by_conversation_and_obeys_the_switch(switch):
    n = 40_000
    offsets = np.array([0, n // 2, n // 2, n], np.int64)
    conversations = np.array([0, 2, 3], np.int64)
    prior = np.array([1.0, 3.0])
    classes = np.full(n, -1, np.int16)
    start_classes(offsets, conversations, 4, 5, switch, prior, key_of(3), classes)
    share = 0.0 if switch == SWITCH_OFF else 0.25
    expected = np.append(np.full(5, (1 - share) / 5), share) * n
    found = np.bincount(classes, minlength=6)
    assert found[expected == 0].sum() == 0
    kept = expected > 0
    p_value = stats.chisquare(found[kept], expected[kept]).pvalue
    assert p_value > FALSE_ALARM_RATE
    second = np.empty(n - n // 2, np.int16)
    start_classes(
        offsets[2:] - n // 2, conversations[1:] - 2, 5, 5, switch, prior, key_of(3), second
    )
    np.testing.assert_array_equal(second, classes[n // 2 :])


def test_one_signature_each():
    rng = np.random.default_rng(37)
    for switch in SWITCHES:
        for parallel in (False, True):
            forest = random_forest(rng)
            model = random_model(rng, 3, forest.n_words, switch, parallel)
            run_sweep(
                forest, random_classes(rng, forest, model), model, key_of(0), NOTHING_RECORDED
            )
    assert len(sweep_collapsed.signatures) == 1
    assert len(sweep_parallel.signatures) == 1


# ---------------------------------------------------------------- statistics and the log joint


def naive_message_counts(forest: Forest, classes: np.ndarray, n_classes: int) -> np.ndarray:
    counts = np.zeros((forest.n_messages, n_classes + 1), np.int64)
    for i, message in enumerate(forest.token_messages):
        counts[message, classes[i]] += 1
    return counts


@EACH_SWITCH
@given(forest=forests(max_tokens=30, max_messages=8), n_classes=st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_histograms_counts_and_log_joint(switch, forest, n_classes):
    rng = np.random.default_rng(38)
    model = random_model(rng, n_classes, forest.n_words, switch, parallel=False)
    classes = random_classes(rng, forest, model)
    counts = naive_message_counts(forest, classes, n_classes)
    lengths = counts[:, :n_classes].sum(axis=1)
    longest = int(np.diff(forest.message_offsets).max())

    class_histograms = np.full((n_classes, longest + 1), 3, np.int64)  # it must add
    length_histogram = np.full(longest + 1, 5, np.int64)
    message_histograms(forest.message_offsets, classes, 0, class_histograms, length_histogram)
    class_histograms -= 3
    length_histogram -= 5
    for k in range(n_classes):
        naive = np.bincount(counts[:, k], minlength=longest + 1)
        naive[0] = 0
        np.testing.assert_array_equal(class_histograms[k], naive)
    np.testing.assert_array_equal(length_histogram, np.bincount(lengths, minlength=longest + 1))

    added = np.ones((forest.n_messages, n_classes))
    add_message_counts(forest.message_offsets, classes, added)
    np.testing.assert_array_equal(added - 1.0, counts[:, :n_classes])

    words, totals = count(forest, classes, n_classes)
    total = log_classes(class_histograms, length_histogram, model.alpha)
    total += log_dirichlet_multinomial(words, model.omega).sum()
    if switch == SWITCH_CORPUS:
        total += log_switch(totals[-1], totals[:-1].sum(), model.switch_prior)
    elif switch == SWITCH_MESSAGE:
        total += log_message_switches(
            forest.message_offsets, classes, n_classes, model.switch_prior
        )
    assert total == pytest.approx(log_joint(forest, classes, model), rel=0, abs=1e-9)


# ---------------------------------------------------------------- edge cases


EDGES = {
    "one class": (make_forest([[0, 1], [1]], [-1, 0], n_words=2), 1),
    "one message": (make_forest([[0, 1, 1, 0]], [-1], n_words=2), 3),
    "one word": (make_forest([[0, 0], [0]], [-1, 0], n_words=1), 3),
    "one token": (make_forest([[0]], [-1], n_words=1), 1),
    "no tokens": (make_forest([[], []], [-1, 0], n_words=2), 2),
    "empty first and last": (make_forest([[], [1, 0], []], [-1, 0, 1], n_words=2), 9),
    "unused words": (make_forest([[5, 5], [5]], [-1, 0], n_words=9), 8),
}


@BOTH
@EACH_SWITCH
@pytest.mark.parametrize("name", EDGES)
def test_edge_cases(parallel, switch, name):
    forest, n_classes = EDGES[name]
    rng = np.random.default_rng(39)
    model = random_model(rng, n_classes, forest.n_words, switch, parallel)
    for trial in range(4):
        classes = random_classes(rng, forest, model)
        if trial == 0 and switch != SWITCH_OFF:
            classes[:] = n_classes
        check_recorded_conditionals(forest, model, classes, key_of(trial))
        assert ((classes >= 0) & (classes < model.n_outcomes)).all()


def test_words_without_weight_keep_their_class():
    forest = make_forest([[0, 1, 0, 1]], [-1], n_words=2)
    rng = np.random.default_rng(40)
    model = random_model(rng, 3, forest.n_words, SWITCH_CORPUS, parallel=True)
    model.word_weights[1] = 0.0
    for trial in range(10):
        classes = random_classes(rng, forest, model)
        before = classes.copy()
        run_sweep(forest, classes, model, key_of(trial), NOTHING_RECORDED)
        np.testing.assert_array_equal(classes[[1, 3]], before[[1, 3]])
