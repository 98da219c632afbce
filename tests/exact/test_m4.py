"""The sweep of the paper's M4: conditionals of the joint, a twin, long runs, numbers, edges."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy import stats
from scipy.special import logsumexp
from support.forests import Forest, forests, make_forest, random_forest
from support.geweke import batch_means_variance
from support.m4_reference import (
    SWITCHES,
    Model,
    all_assignments,
    child_factors,
    count,
    enumerated_conditional,
    histogram,
    log_joint,
    log_transition,
    normalize,
    plain_weights,
    random_classes,
    random_model,
    run_sweep,
    sweep_arguments,
    threads_of,
    twin_sweep,
)

from palaver.kernels.switch import SWITCH_CORPUS, SWITCH_MESSAGE, SWITCH_OFF
from palaver.models.m4.kernels.shares import message_shares
from palaver.models.m4.kernels.sweep import sweep_shard

FALSE_ALARM_RATE = 1e-6
BOTH = pytest.mark.parametrize("parallel", [False, True], ids=["collapsed", "parallel"])
EACH_SWITCH = pytest.mark.parametrize("switch", SWITCHES, ids=["off", "corpus", "message"])

# a long root, an empty message between two others, siblings, a second root
FAMILY = make_forest(
    [[0, 1, 0, 2], [1, 1], [], [2], [0]], [-1, 0, 0, 2, -1], [4, 1], n_words=3
)  # fmt: skip


def key_of(seed: int) -> np.ndarray:
    return np.array([seed, 78], np.uint64)


# ---------------------------------------------------------------- conditionals


def recorded_conditional(recorded: np.ndarray) -> np.ndarray:
    """What a token moves towards: the weights of its proposal times the replies' probability."""
    proposal, logs = recorded
    with np.errstate(divide="ignore"):
        return normalize(np.log(proposal) + np.nan_to_num(logs))


def check_recorded(forest: Forest, model: Model, classes: np.ndarray, key) -> int:
    """Every recorded distribution is the enumerated one; returns how many had replies."""
    moment = classes.copy()
    recorded = np.full((forest.n_tokens, 2, model.n_classes + 1), np.nan)
    words, totals = run_sweep(forest, classes, model, key, recorded)
    for kept, recounted in zip(
        (words, totals), count(forest, classes, model.n_classes), strict=True
    ):
        np.testing.assert_array_equal(kept, recounted)
    n_answered = 0
    for i in range(forest.n_tokens):
        exact = enumerated_conditional(i, forest, moment, model)
        np.testing.assert_allclose(recorded_conditional(recorded[i]), exact, rtol=0, atol=1e-10)
        n_answered += not np.isnan(recorded[i, 1]).any()
        moment[i] = classes[i]
    np.testing.assert_array_equal(moment, classes)
    return n_answered


@BOTH
@EACH_SWITCH
@pytest.mark.parametrize("n_classes", [1, 2, 3, 8, 9, 20])
def test_conditionals_are_those_of_the_joint(parallel, switch, n_classes):
    rng = np.random.default_rng([41, parallel, switch, n_classes])
    n_answered = 0
    for trial in range(6):
        forest = random_forest(rng, n_tokens=6, n_words=3, first_conversation=trial)
        model = random_model(rng, n_classes, 3, switch, parallel)
        classes = random_classes(rng, forest, model)
        n_answered += check_recorded(forest, model, classes, key_of(trial))
    for trial in range(10):
        model = random_model(rng, n_classes, 3, switch, parallel, scale=0.5)
        classes = random_classes(rng, FAMILY, model)
        n_answered += check_recorded(FAMILY, model, classes, key_of(trial))
    assert n_answered > 8


@BOTH
@EACH_SWITCH
def test_conditionals_with_wide_weights(parallel, switch):
    rng = np.random.default_rng([42, parallel, switch])
    for trial in range(6):
        model = dataclasses.replace(
            random_model(rng, 3, 3, switch, parallel),
            weights=rng.choice([-30.0, 0.0, 30.0], (5, 3)),
        )
        classes = random_classes(rng, FAMILY, model)
        check_recorded(FAMILY, model, classes, key_of(trial))


@pytest.mark.parametrize("parallel", [False, True])
def test_a_parent_of_background_only_is_no_start(parallel):
    rng = np.random.default_rng(43)
    forest = make_forest([[0, 1], [1], [0, 2]], [-1, 0, 1], n_words=3)
    model = random_model(rng, 3, 3, SWITCH_CORPUS, parallel)
    for trial in range(10):
        classes = np.array([3, 3, 3, 0, 1], np.int16)
        check_recorded(forest, model, classes, key_of(trial))


def test_recorded_conditionals_have_power():
    """The start's weights in place of the bias change the enumerated conditionals."""
    rng = np.random.default_rng(44)
    model = random_model(rng, 3, 3, SWITCH_CORPUS, False)
    swapped = dataclasses.replace(model, weights=model.weights[[0, 1, 2, 4, 3]])
    classes = random_classes(rng, FAMILY, model)
    recorded = np.full((FAMILY.n_tokens, 2, 4), np.nan)
    before = classes.copy()
    run_sweep(FAMILY, classes, model, key_of(1), recorded)
    found = recorded_conditional(recorded[0])
    assert np.abs(found - enumerated_conditional(0, FAMILY, before, model)).max() < 1e-10
    assert np.abs(found - enumerated_conditional(0, FAMILY, before, swapped)).max() > 1e-3


@given(
    seed=st.integers(0, 2**32 - 1), n_classes=st.integers(1, 20), scale=st.sampled_from([0.5, 3])
)
@settings(max_examples=100, deadline=None)
def test_the_replies_factor_is_their_probability(seed, n_classes, scale):
    """Of every outcome of every token, reply by reply, constants included."""
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, n_tokens=8, n_messages=4, n_conversations=1, root_probability=0)
    model = random_model(rng, n_classes, 3, SWITCH_CORPUS, False, scale=scale)
    classes = random_classes(rng, forest, model)
    moment = classes.copy()
    recorded = np.full((forest.n_tokens, 2, n_classes + 1), np.nan)
    run_sweep(forest, classes, model, key_of(seed), recorded)
    for i in range(forest.n_tokens):
        found = np.nan_to_num(recorded[i, 1])  # not set: no reply has a class-bearing token
        expected = child_factors(i, forest, moment, model)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-10)
        moment[i] = classes[i]


# ---------------------------------------------------------------- the twin


@BOTH
@EACH_SWITCH
@given(forest=forests(max_tokens=12), n_classes=st.integers(1, 19), seed=st.integers(0, 2**20))
@settings(max_examples=30, deadline=None)
def test_twin_gives_the_same_states(parallel, switch, forest, n_classes, seed):
    rng = np.random.default_rng(seed)
    scale = float(rng.choice([0.3, 1.5, 5.0]))
    model = random_model(rng, n_classes, forest.n_words, switch, parallel, scale)
    classes = random_classes(rng, forest, model)
    twin = classes.copy()
    for sweep in range(3):
        key = key_of(seed + sweep)
        run_sweep(forest, classes, model, key)
        twin_sweep(forest, twin, model, key)
        np.testing.assert_array_equal(classes, twin)


@BOTH
def test_twin_takes_every_way(parallel):
    """Proposals that are accepted, refused, or the old outcome all occur, and agree."""
    rng = np.random.default_rng([45, parallel])
    forest = make_forest([[0, 1, 2] * 4, [1, 2] * 8, [0] * 6], [-1, 0, 0], n_words=3)
    taken: dict[str, int] = {}
    for trial in range(40):
        scale = [1.0, 4.0, 12.0][trial % 3]
        model = random_model(rng, 3, 3, SWITCHES[trial % 3], parallel, scale=scale)
        classes = random_classes(rng, forest, model)
        twin = classes.copy()
        run_sweep(forest, classes, model, key_of(trial))
        for way, n in twin_sweep(forest, twin, model, key_of(trial)).items():
            taken[way] = taken.get(way, 0) + n
        np.testing.assert_array_equal(classes, twin)
    assert min(taken.values()) >= 10, taken


def test_twin_is_sensitive():
    """A twin that forgets the children disagrees: the comparison has power."""
    rng = np.random.default_rng(46)
    model = random_model(rng, 3, 3, SWITCH_MESSAGE, False)
    differs = False
    for sweep in range(20):
        classes = random_classes(rng, FAMILY, model)
        twin = classes.copy()
        run_sweep(FAMILY, classes, model, key_of(sweep))
        twin_sweep(FAMILY, twin, model, key_of(sweep), with_children=False)
        differs |= bool((classes != twin).any())
    assert differs


# ---------------------------------------------------------------- long runs


@njit
def _sweep_codes(arguments, classes, n_classes, nothing, codes):
    """Sweep many times; codes[s] is the state as a number with n_classes + 1 as its base."""
    key = np.array([20240302, 0], np.uint64)
    for s in range(len(codes)):
        key[1] = s
        sweep_shard(*arguments, key, nothing, nothing)
        code = 0
        for i in range(len(classes)):
            code = code * (n_classes + 1) + classes[i]
        codes[s] = code


@BOTH
@EACH_SWITCH
def test_long_run_visits_states_as_often_as_the_posterior_says(parallel, switch):
    n_sweeps = 100_000
    rng = np.random.default_rng([47, parallel, switch])
    forest = make_forest([[0, 1, 0], [], [1, 2]], [-1, 0, 0], n_words=3)
    model = random_model(rng, 2, 3, switch, parallel)
    classes = random_classes(rng, forest, model)
    arguments = sweep_arguments(forest, classes, model, *count(forest, classes, 2))
    codes = np.empty(n_sweeps, np.int64)
    _sweep_codes(arguments, classes, 2, np.zeros((0, 0, 0)), codes)
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
    assert errors.max() < 0.02  # it had the power to fail


# ---------------------------------------------------------------- shards, streams, signatures


@EACH_SWITCH
def test_shards_do_not_change_the_parallel_sweep(switch):
    rng = np.random.default_rng([48, switch])
    forest = random_forest(rng, n_tokens=60, n_messages=12, n_conversations=4, n_words=5)
    model = random_model(rng, 9, 5, switch, True)
    classes = random_classes(rng, forest, model)
    whole = classes.copy()
    words, _ = run_sweep(forest, whole, model, key_of(1))
    parts, merged = [], np.zeros_like(words)
    for low, high in ((0, 1), (1, 4)):
        messages = slice(forest.conversation_offsets[low], forest.conversation_offsets[high])
        offsets = forest.message_offsets[messages.start : messages.stop + 1]
        parents = forest.parents[messages]
        part = Forest(
            forest.tokens[offsets[0] : offsets[-1]], offsets - offsets[0],
            np.where(parents < 0, -1, parents - messages.start).astype(np.int32),
            forest.conversation_offsets[low : high + 1] - messages.start, 5,
            forest.first_conversation + low,
        )  # fmt: skip
        state = classes[offsets[0] : offsets[-1]].copy()
        merged += run_sweep(part, state, model, key_of(1))[0]
        parts.append(state)
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(merged, words)


def test_fold_in_counts_nothing_and_draws_the_same():
    rng = np.random.default_rng(49)
    forest = random_forest(rng, n_tokens=40, n_messages=8)
    model = random_model(rng, 5, 3, SWITCH_MESSAGE, True)
    classes = random_classes(rng, forest, model)
    counted = classes.copy()
    run_sweep(forest, counted, model, key_of(2))
    uncounted = np.zeros((0, 6), np.int32), np.zeros(0, np.int64)
    arguments = sweep_arguments(forest, classes, model, *uncounted)
    sweep_shard(*arguments, key_of(2), np.zeros((0, 0, 0)), np.zeros((0, 0, 0)))
    np.testing.assert_array_equal(classes, counted)


def test_recording_changes_no_draw():
    rng = np.random.default_rng(50)
    forest = random_forest(rng, n_tokens=200, n_messages=10)
    model = random_model(rng, 9, 3, SWITCH_CORPUS, False)
    classes = random_classes(rng, forest, model)
    recorded = classes.copy()
    run_sweep(forest, recorded, model, key_of(3), np.zeros((200, 2, 10)))
    run_sweep(forest, classes, model, key_of(3))
    np.testing.assert_array_equal(classes, recorded)


def test_one_compiled_version_serves_all():
    rng = np.random.default_rng(51)
    for parallel in (False, True):
        for switch in SWITCHES:
            model = random_model(rng, 2, 3, switch, parallel)
            run_sweep(FAMILY, random_classes(rng, FAMILY, model), model, key_of(1))
    assert len(sweep_shard.signatures) == 1


@pytest.mark.parametrize("n_classes", [1, 3, 8, 11])
def test_message_transitions(n_classes):
    rng = np.random.default_rng([52, n_classes])
    for _ in range(5):
        forest = random_forest(rng, n_tokens=15, n_messages=9)
        model = random_model(rng, n_classes, 3, SWITCH_CORPUS, False, scale=4.0)
        classes = random_classes(rng, forest, model)
        found = np.full((forest.n_messages, n_classes), np.nan)
        message_shares(threads_of(forest), classes, model.weights, found)
        expected = [
            np.exp(log_transition(forest, classes, b, model.weights))
            for b in range(forest.n_messages)
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


# ---------------------------------------------------------------- numbers and edges


def stable_conditional(i: int, forest: Forest, classes, model: Model) -> np.ndarray:
    """(K+1,) in closed form, in logs, for messages too long to enumerate."""
    n_classes = model.n_classes
    message = forest.token_messages[i]
    child_counts = sum(histogram(forest, classes, c, n_classes) for c in forest.children(message))
    without = classes.copy()
    without[i] = n_classes
    others = histogram(forest, without, message, n_classes)
    logs = np.log(plain_weights(i, forest, classes, model)[: model.n_outcomes])
    for outcome in range(model.n_outcomes):
        counts = others + (np.arange(n_classes) == outcome)
        scores = model.weights[-1] + counts / max(counts.sum(), 1) @ model.weights[:n_classes]
        logs[outcome] += child_counts @ (scores - logsumexp(scores))
    return np.append(normalize(logs), np.zeros(n_classes + 1 - model.n_outcomes))


@pytest.mark.parametrize("switch", [SWITCH_OFF, SWITCH_CORPUS])
@pytest.mark.parametrize("lengths", [(50_000, 50_000), (3, 50_000), (50_000, 2)])
def test_long_messages_and_wide_weights(switch, lengths):
    rng = np.random.default_rng([53, *lengths])
    messages = [rng.integers(0, 3, n).tolist() for n in lengths]
    forest = make_forest(messages, [-1, 0], n_words=3)
    for weights in (rng.choice([-30.0, 30.0], (6, 4)), rng.normal(0, 2, (6, 4))):
        model = dataclasses.replace(random_model(rng, 4, 3, switch, True), weights=weights)
        classes = random_classes(rng, forest, model)
        before = classes.copy()
        recorded = np.full((2, 2, 5), np.nan)
        run_sweep(forest, classes, model, key_of(4), recorded)
        exact = stable_conditional(0, forest, before, model)
        np.testing.assert_allclose(recorded_conditional(recorded[0]), exact, rtol=0, atol=1e-7)
        assert ((classes >= 0) & (classes < model.n_outcomes)).all()


@BOTH
@EACH_SWITCH
@pytest.mark.parametrize(
    ("messages", "parents", "sizes"),
    [
        ([[0]], [-1], [1]),
        ([[]], [-1], [1]),
        ([[], []], [-1, 0], [2]),
        ([[], [0], []], [-1, 0, 1], [3]),
        ([[0, 0, 0], [0]], [-1, 0], [2]),
        ([[0], [], [0]], [-1, -1, -1], [1, 1, 1]),
    ],
)
@pytest.mark.parametrize("n_classes", [1, 4])
def test_edges(parallel, switch, messages, parents, sizes, n_classes):
    rng = np.random.default_rng(54)
    forest = make_forest(messages, parents, sizes, n_words=1)
    model = random_model(rng, n_classes, 1, switch, parallel)
    for start in ([n_classes] if switch else []), [0], [n_classes - 1]:
        if not start:
            continue
        classes = np.full(forest.n_tokens, start[0], np.int16)
        check_recorded(forest, model, classes, key_of(5))


def test_a_shard_without_conversations():
    nothing, zero = np.zeros(0, np.int32), np.zeros(1, np.int64)
    forest = Forest(nothing, zero, nothing, zero, 2)
    model = random_model(np.random.default_rng(55), 3, 2, SWITCH_CORPUS, False)
    words, totals = run_sweep(forest, np.zeros(0, np.int16), model, key_of(6))
    assert words.sum() == totals.sum() == 0


@pytest.mark.parametrize("shape", ["star", "chain", "combs", "long star"])
def test_one_huge_conversation_takes_linear_time(shape):
    n_messages = 100_000
    parents = np.arange(-1, n_messages - 1, dtype=np.int32)
    lengths = np.full(n_messages, 2)
    if "star" in shape:
        parents[1:] = 0
    elif shape == "combs":  # every other message answers the first one
        parents[2::2] = 0
    if shape == "long star":
        lengths[0] = 1_000_000
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    tokens = np.random.default_rng(56).integers(0, 50, offsets[-1]).astype(np.int32)
    forest = Forest(tokens, offsets, parents, np.array([0, n_messages], np.int64), 50)
    model = random_model(np.random.default_rng(57), 10, 50, SWITCH_CORPUS, False)
    classes = np.random.default_rng(58).integers(0, 11, len(tokens)).astype(np.int16)
    start = time.process_time()
    words, totals = run_sweep(forest, classes, model, key_of(7))
    assert (
        time.process_time() - start < 20
    )  # well under a second; quadratic time is minutes or hours
    for kept, recounted in zip((words, totals), count(forest, classes, 10), strict=True):
        np.testing.assert_array_equal(kept, recounted)
