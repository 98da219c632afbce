"""Block HMM given its parameters: filtering and sampling of trees against enumeration and twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy import stats
from scipy.special import logsumexp
from support.block_hmm_reference import (
    SWITCHES,
    Parameters,
    all_classes,
    all_switches,
    count,
    log_likelihood,
    normalize,
    random_parameters,
    random_state,
    twin_parallel_sweep,
)
from support.forests import Forest, forests, make_forest, random_forest
from support.geweke import batch_means_variance, bonferroni_threshold

from palaver.kernels.random import uniforms
from palaver.kernels.switch import SWITCH_CORPUS, SWITCH_MESSAGE, SWITCH_OFF
from palaver.models.block_hmm.kernels.trees import (
    fill_emission_logs,
    filter_conversation,
    floored_columns,
    parallel_sweep,
    tree_class_weights,
)

NO_LABELS = np.empty(0, np.int16)


def emission_logs_of(parameters: Parameters) -> np.ndarray:
    logs = np.empty((len(parameters.word_weights), parameters.n_classes))
    fill_emission_logs(
        parameters.word_weights, parameters.switch, parameters.class_probability, logs
    )
    return logs


def sweep(forest: Forest, classes, background, parameters: Parameters, key, fixed=NO_LABELS):
    """One parallel sweep; returns log-likelihood and statistics."""
    n_classes = parameters.n_classes
    words = np.zeros((forest.n_words, n_classes + 1), np.int32)
    edges = np.zeros((n_classes + 1, n_classes), np.int64)
    likelihood = parallel_sweep(
        forest.tokens, forest.message_offsets, forest.parents, fixed, forest.conversation_offsets,
        forest.first_conversation, parameters.rows, parameters.word_weights,
        emission_logs_of(parameters), parameters.switch, parameters.class_probability,
        parameters.switch_prior, key, classes, background, words, edges,
    )  # fmt: skip
    return likelihood, words, edges


def posteriors_of(forest: Forest, background, parameters: Parameters):
    """What the filter says of each message's class, by a plain pass down, and its likelihoods."""
    n_classes = parameters.n_classes
    columns = floored_columns(parameters.rows)
    posteriors = np.empty((forest.n_messages, n_classes))
    sums = np.empty((forest.n_messages, n_classes + 1))
    likelihoods = np.empty(forest.n_conversations)
    for conversation, first in enumerate(forest.conversation_offsets[:-1]):
        last = forest.conversation_offsets[conversation + 1]
        likelihoods[conversation] = filter_conversation(
            first, last, forest.tokens, forest.message_offsets, forest.parents, NO_LABELS,
            background, emission_logs_of(parameters), parameters.switch, columns,
            posteriors[first:last], sums[first:last],
        )  # fmt: skip
    for message, parent in enumerate(forest.parents):
        above = np.append(np.zeros(n_classes), 1.0)
        if parent >= 0:
            above = np.append(posteriors[parent], 0.0)
        posteriors[message] *= columns @ (above / sums[message])
    return posteriors, likelihoods


def enumerate_classes(forest: Forest, background, parameters: Parameters) -> np.ndarray:
    """log p(words, classes [, switches]) of all class assignments (K^M,).

    A corpus-wide switch is summed out; with one for each message the switches are given.
    """
    logs = []
    for classes in all_classes(forest, parameters.n_classes):
        if parameters.switch == SWITCH_CORPUS:
            outcomes = list(all_switches(forest, parameters.switch))
        else:
            outcomes = [background]
        logs.append(logsumexp([log_likelihood(forest, classes, x, parameters) for x in outcomes]))
    return np.array(logs)


def switch_share(forest: Forest, background, parameters: Parameters) -> float:
    """What the enumerated joint has in addition to the words with a class: switches, background."""
    if parameters.switch != SWITCH_MESSAGE:
        return 0.0
    flat = np.full_like(parameters.rows, 1.0)
    weights = parameters.word_weights.copy()
    weights[:, :-1] = 1.0
    free = Parameters(flat, weights, 0.5, SWITCH_MESSAGE, parameters.switch_prior)
    return log_likelihood(forest, np.zeros(forest.n_messages, int), background, free)


@settings(max_examples=100, deadline=None)
@given(forests(max_tokens=5, max_messages=5), st.integers(0, 2**32 - 1), st.sampled_from(SWITCHES))
def test_posteriors_and_likelihood_are_the_enumerated_ones(forest, seed, switch):
    rng = np.random.default_rng(seed)
    parameters = random_parameters(rng, 2, forest.n_words, switch)
    _, background = random_state(rng, forest, 2, switch)
    logs = enumerate_classes(forest, background, parameters)
    joint = normalize(logs)
    expected = np.zeros((forest.n_messages, 2))
    for classes, probability in zip(all_classes(forest, 2), joint, strict=True):
        expected[np.arange(forest.n_messages), classes] += probability
    got, likelihoods = posteriors_of(forest, background, parameters)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
    share = switch_share(forest, background, parameters)
    assert likelihoods.sum() + share == pytest.approx(logsumexp(logs), abs=1e-10)


@pytest.mark.parametrize("switch", SWITCHES)
def test_downward_conditionals_multiply_to_the_enumerated_joint(switch):
    rng = np.random.default_rng(31)
    n_classes = 3
    for _ in range(8):
        forest = random_forest(rng, n_tokens=4, n_messages=4, n_conversations=1)
        parameters = random_parameters(rng, n_classes, forest.n_words, switch)
        _, background = random_state(rng, forest, n_classes, switch)
        beliefs = np.empty((4, n_classes))
        columns = floored_columns(parameters.rows)
        filter_conversation(
            0, 4, forest.tokens, forest.message_offsets, forest.parents, NO_LABELS, background,
            emission_logs_of(parameters), switch, columns, beliefs, np.empty((4, n_classes + 1)),
        )  # fmt: skip
        weights = np.empty(n_classes)
        got = []
        for classes in all_classes(forest, n_classes):
            probability = 1.0
            for message in range(4):
                parent = forest.parents[message]
                source = n_classes if parent < 0 else classes[parent]
                tree_class_weights(source, beliefs[message], columns, weights)
                probability *= weights[classes[message]] / weights.sum()
            got.append(probability)
        expected = normalize(enumerate_classes(forest, background, parameters))
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("switch", SWITCHES)
def test_sweep_equals_its_naive_twin(switch):
    rng = np.random.default_rng(32)
    for case in range(15):
        n_classes = 1 + case % 4
        forest = random_forest(
            rng, n_tokens=50, n_messages=20, n_conversations=5, n_words=6, first_conversation=case
        )
        parameters = random_parameters(rng, n_classes, 6, switch)
        classes, background = random_state(rng, forest, n_classes, switch)
        twin = classes.copy(), background.copy()
        for s in range(3):
            key = np.array([case, s], np.uint64)
            _, words, edges = sweep(forest, classes, background, parameters, key)
            for conversation in range(forest.n_conversations):
                draws = uniforms(key, forest.first_conversation + conversation, 70)
                twin_parallel_sweep(forest, *twin, parameters, conversation, draws)
            np.testing.assert_array_equal(classes, twin[0])
            np.testing.assert_array_equal(background, twin[1])
            recounted = count(forest, *twin, n_classes)
            np.testing.assert_array_equal(words, recounted[0])
            np.testing.assert_array_equal(edges, recounted[2])
    assert background.any() == (switch != SWITCH_OFF)


@njit
def many_sweeps(
    n_sweeps, tokens, offsets, parents, conversations, first, rows, weights, logs, switch,
    probability, switch_prior, classes, background, words, edges, codes,
):  # fmt: skip
    key = np.array([20240301, 0], np.uint64)
    for s in range(n_sweeps):
        key[1] = s
        parallel_sweep(
            tokens, offsets, parents, np.empty(0, np.int16), conversations, first, rows, weights,
            logs, switch, probability, switch_prior, key, classes, background, words, edges,
        )  # fmt: skip
        code = 0
        for b in range(len(classes)):
            code = code * rows.shape[1] + classes[b]
        for i in range(len(background)):
            code = code * 2 + background[i]
        codes[s] = code


@pytest.mark.parametrize("switch", SWITCHES)
def test_long_run_has_the_enumerated_posterior(switch):
    """Off and corpus-wide: independent draws, chi-squared; else a chain, batch means. 1e-6."""
    forest = make_forest([[0, 1], [1, 2], [], [0]], [-1, 0, 0, 1], n_words=3)
    parameters = random_parameters(np.random.default_rng(33), 2, 3, switch)
    n_sweeps = 200_000
    posterior = normalize(
        [
            log_likelihood(forest, classes, background, parameters)
            for classes in all_classes(forest, 2)
            for background in all_switches(forest, switch)
        ]
    )
    codes = np.empty(n_sweeps, np.int64)
    many_sweeps(
        n_sweeps, forest.tokens, forest.message_offsets, forest.parents,
        forest.conversation_offsets, forest.first_conversation, parameters.rows,
        parameters.word_weights, emission_logs_of(parameters), switch,
        parameters.class_probability,
        parameters.switch_prior, np.zeros(4, np.int16), np.zeros(5, np.uint8),
        np.zeros((3, 3), np.int32), np.zeros((3, 2), np.int64), codes,
    )  # fmt: skip
    if switch == SWITCH_OFF:
        codes = codes // 2**5
    if switch == SWITCH_MESSAGE:
        likely = np.flatnonzero(posterior > 0.002)
        indicators = (codes[:, None] == likely).astype(float)
        errors = np.sqrt(batch_means_variance(indicators, n_batches=300))
        z = (indicators.mean(axis=0) - posterior[likely]) / errors
        assert np.abs(z).max() < bonferroni_threshold(len(likely))
        assert np.abs(errors / posterior[likely]).min() < 0.01  # the run is long enough
        return
    observed = np.bincount(codes, minlength=len(posterior))
    common = posterior * n_sweeps > 20
    expected = posterior * n_sweeps

    def chi_squared(expected: np.ndarray) -> float:
        cells = [(observed[common], expected[common])]
        if not common.all():
            cells.append((observed[~common].sum()[None], expected[~common].sum()[None]))
        statistic = sum(((o - e) ** 2 / e).sum() for o, e in cells)
        return float(stats.chi2.sf(statistic, common.sum() - int(common.all())))

    assert chi_squared(expected) > 1e-6
    # and the run is long enough to tell probabilities that are 3 % off
    tilted = expected * np.where(np.arange(len(expected)) % 3 == 0, 0.97, 1.03)
    assert chi_squared(tilted / tilted.sum() * n_sweeps) < 1e-6


@pytest.mark.parametrize("switch", SWITCHES)
def test_shards_give_the_same_bytes_as_the_whole(switch):
    rng = np.random.default_rng(34)
    forest = random_forest(rng, n_tokens=80, n_messages=30, n_conversations=6, n_words=9)
    parameters = random_parameters(rng, 3, 9, switch)
    classes, background = random_state(rng, forest, 3, switch)
    parts = classes.copy(), background.copy()
    key = np.array([9, 9], np.uint64)
    likelihood, words, edges = sweep(forest, classes, background, parameters, key)
    totals = [0.0, np.zeros_like(words), np.zeros_like(edges)]
    for first, last in ((0, 2), (2, 3), (3, 6)):
        low, high = forest.conversation_offsets[[first, last]]
        start, end = forest.message_offsets[[low, high]]
        parents = forest.parents[low:high]
        shard = Forest(
            tokens=forest.tokens[start:end],
            message_offsets=forest.message_offsets[low : high + 1] - start,
            parents=np.where(parents < 0, -1, parents - low).astype(np.int32),
            conversation_offsets=forest.conversation_offsets[first : last + 1] - low,
            n_words=9,
            first_conversation=first,
        )
        state = parts[0][low:high], parts[1][start:end]
        for i, statistic in enumerate(sweep(shard, *state, parameters, key)):
            totals[i] = totals[i] + statistic
    np.testing.assert_array_equal(parts[0], classes)
    np.testing.assert_array_equal(parts[1], background)
    np.testing.assert_array_equal(totals[1], words)
    np.testing.assert_array_equal(totals[2], edges)
    assert totals[0] == pytest.approx(likelihood)


@pytest.mark.parametrize("switch", [SWITCH_OFF, SWITCH_CORPUS])
def test_new_state_does_not_depend_on_the_old_one(switch):
    """The joint draw: not even on a state of garbage, so fold-in needs no start."""
    rng = np.random.default_rng(35)
    forest = random_forest(rng, n_tokens=30, n_messages=10)
    parameters = random_parameters(rng, 3, 3, switch)
    ends = []
    for label, flag in ((0, 0), (2, 1)):
        classes = np.full(10, label, np.int16)
        background = np.full(30, flag if switch else 0, np.uint8)
        sweep(forest, classes, background, parameters, np.array([1, 2], np.uint64))
        ends.append(classes.tobytes() + background.tobytes())
    assert ends[0] == ends[1]


@pytest.mark.parametrize("switch", SWITCHES)
def test_messages_of_50000_tokens_are_safe(switch):
    rng = np.random.default_rng(36)
    n_words, n_classes = 200, 4
    parameters = random_parameters(rng, n_classes, n_words, switch)
    messages = [rng.integers(0, n_words, n).tolist() for n in (50_000, 50_000, 0, 3)]
    forest = make_forest(messages, [-1, 0, 1, 1], n_words=n_words)
    background = np.zeros(forest.n_tokens, np.uint8)
    classes = np.zeros(4, np.int16)
    got, likelihoods = posteriors_of(forest, background, parameters)
    np.testing.assert_allclose(got.sum(axis=1), 1.0)
    logs = emission_logs_of(parameters)
    emissions = np.array([logs[m].sum(axis=0) for m in messages])
    joint = {}
    for z in all_classes(forest, n_classes):
        sources = [n_classes, z[0], z[1], z[1]]
        joint[tuple(z)] = np.log(parameters.rows[sources, z]).sum() + emissions[range(4), z].sum()
    assert likelihoods[0] == pytest.approx(logsumexp(list(joint.values())), rel=1e-12)
    expected = np.zeros((4, n_classes))
    for z, probability in zip(joint, normalize(list(joint.values())), strict=True):
        expected[range(4), list(z)] += probability
    np.testing.assert_allclose(got, expected, atol=1e-7)
    sweep(forest, classes, background, parameters, np.array([3, 4], np.uint64))
    assert expected[[0, 1], classes[:2]].min() > 0.999


def test_zero_probabilities_are_survived():
    """Dirichlet draws with a small prior underflow: zeros in rows and word weights."""
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    word_weights = np.array([[0.5, 0.0, 0.5], [0.5, 1.0, 0.5], [0.0, 0.0, 0.0]])
    forest = make_forest([[1, 1], [2, 2, 2], [0, 1] * 2000, [1]], [-1, 0, 1, 1], n_words=3)
    for switch in SWITCHES:
        parameters = Parameters(rows, word_weights, 0.5, switch, np.ones(2))
        background = np.zeros(forest.n_tokens, np.uint8)
        classes = np.zeros(4, np.int16)
        got, likelihoods = posteriors_of(forest, background, parameters)
        np.testing.assert_allclose(got.sum(axis=1), 1.0)
        assert np.isfinite(likelihoods).all()
        assert got[2, 0] > 0.999
        sweep(forest, classes, background, parameters, np.array([5, 6], np.uint64))
        assert classes[2] == 0
        assert set(classes.tolist()) <= {0, 1}


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("n_classes", [1, 2])
def test_edge_cases(n_classes, switch):
    rng = np.random.default_rng(37)
    for forest in (
        make_forest([[0]], [-1]),
        make_forest([[]], [-1], n_words=1),
        make_forest([[0, 0], [0]], [-1, 0], n_words=1),
        Forest(np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int32),
               np.zeros(1, np.int64), 1),
    ):  # fmt: skip
        parameters = random_parameters(rng, n_classes, forest.n_words, switch)
        classes, background = random_state(rng, forest, n_classes, switch)
        twin = classes.copy(), background.copy()
        key = np.array([1, 1], np.uint64)
        _, words, edges = sweep(forest, classes, background, parameters, key)
        for conversation in range(forest.n_conversations):
            twin_parallel_sweep(
                forest, *twin, parameters, conversation, uniforms(key, conversation, 10)
            )
        np.testing.assert_array_equal(classes, twin[0])
        np.testing.assert_array_equal(background, twin[1])
        assert words.sum() == forest.n_tokens
        assert edges.sum() == forest.n_messages


def test_all_uses_share_one_signature():
    rng = np.random.default_rng(38)
    forest = random_forest(rng)
    kernels = (parallel_sweep, fill_emission_logs)
    before = None
    for switch in SWITCHES:
        parameters = random_parameters(rng, 2 + switch, 3, switch)
        state = random_state(rng, forest, 2 + switch, switch)
        sweep(forest, *state, parameters, np.zeros(2, np.uint64))
        compiled = [len(kernel.signatures) for kernel in kernels]
        assert before in (None, compiled)
        before = compiled


@pytest.mark.parametrize("switch", [SWITCH_OFF, SWITCH_CORPUS])
def test_known_classes_are_kept_and_counted_in_the_likelihood(switch):
    """The likelihood with a class known, summed over it, is that of the words alone."""
    rng = np.random.default_rng(31)
    for _ in range(4):
        forest = random_forest(rng)
        parameters = random_parameters(rng, 3, forest.n_words, switch)
        classes, background = random_state(rng, forest, 3, switch)
        key = np.array([3, 4], np.uint64)
        whole = sweep(forest, classes, background, parameters, key)[0]
        message = int(rng.integers(forest.n_messages))
        parts = []
        for k in range(3):
            fixed = np.full(forest.n_messages, -1, np.int16)
            fixed[message] = k
            parts.append(sweep(forest, classes, background, parameters, key, fixed)[0])
            assert classes[message] == k
        np.testing.assert_allclose(np.logaddexp.reduce(parts), whole, rtol=1e-12)
        posteriors, _ = posteriors_of(forest, background, parameters)
        np.testing.assert_allclose(np.exp(np.array(parts) - whole), posteriors[message], rtol=1e-9)
