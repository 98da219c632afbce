"""Geweke tests of the block HMM's samplers: collapsed and parallel, each kind of switch.

Priors are fixed; classes, switches, words and (parallel) rows, word weights and the corpus'
switch probability are random. False alarms 1e-6 for each test, seeds fixed.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numba import njit
from support.block_hmm_reference import SWITCHES
from support.forests import make_forest
from support.geweke import (
    GewekeTable,
    assert_geweke_catches,
    assert_geweke_passes,
    compare_samples,
)

from palaver.kernels.random import open_stream, uniform
from palaver.kernels.switch import SWITCH_CORPUS, SWITCH_MESSAGE, SWITCH_OFF
from palaver.models.block_hmm.kernels.collapsed import collapsed_sweep, count_assignments
from palaver.models.block_hmm.kernels.trees import fill_emission_logs, parallel_sweep

# branching, a second root, an empty message, a chain; words are redrawn all the time
FOREST = make_forest(
    [[0, 0, 0], [0, 0], [], [0, 0, 0, 0], [0, 0], [0], [0, 0], [0, 0]],
    [-1, 0, 0, 1, 1, 1, -1, 6],
    [6, 2],
    n_words=3,
)
ALPHA = np.array([0.3, 0.7])
OMEGA = 0.4
SWITCH_PRIOR = np.array([1.5, 2.5])
NAMES = [
    "class 0", "class 0 squared", "child as parent", "class 0 at start", "siblings alike",
    "same words in message", "same words in column", "class 0 and word 0", "word 0 squared",
    "background", "background squared", "background in message", "background and word 0",
]  # fmt: skip
N_DRAWS = 150_000
N_LATENT = 9  # of the names; the rest need a switch

# planted bugs
(
    NONE, WRONG_OMEGA, SWITCH_PRIOR_SWAPPED, COUNTS_NOT_CLEARED, SWITCH_NOT_SUMMED_OUT,
    ROWS_TRANSPOSED, NAIVE, NAIVE_SELF_NOT_CORRECTED, NAIVE_REPEATS_NOT_IN_TURN,
) = range(9)  # fmt: skip


@njit
def draw_index(weights, threshold):
    target = threshold * weights.sum()
    index = 0
    cumulative = weights[0]
    while cumulative <= target and index < len(weights) - 1:
        index += 1
        cumulative += weights[index]
    return index


@njit
def draw_dirichlet(concentrations):
    draws = np.empty(len(concentrations))
    for k in range(len(concentrations)):
        draws[k] = max(np.random.gamma(concentrations[k], 1.0), 1e-300)  # noqa: NPY002
    return draws / draws.sum()


@njit
def draw_classes_and_switches(offsets, parents, alpha, switch, switch_prior, stream, z, x):
    """From the prior, as an urn: all probabilities integrated out."""
    n_classes = len(alpha)
    edges = np.zeros((n_classes + 1, n_classes))
    seen = np.zeros(2)
    for message in range(len(parents)):
        source = n_classes if parents[message] < 0 else z[parents[message]]
        z[message] = draw_index(edges[source] + alpha, uniform(stream))
        edges[source, z[message]] += 1
        if switch == SWITCH_MESSAGE:
            seen[:] = 0
        for i in range(offsets[message], offsets[message + 1]):
            x[i] = 0
            if switch != SWITCH_OFF:
                x[i] = 1 - draw_index(seen + switch_prior, uniform(stream))
                seen[1 - x[i]] += 1


@njit
def draw_words(offsets, n_words, n_classes, omega, stream, z, x, tokens):
    """Given classes and switches, as an urn."""
    counts = np.zeros((n_classes + 1, n_words))
    for message in range(len(z)):
        for i in range(offsets[message], offsets[message + 1]):
            column = n_classes if x[i] else z[message]
            tokens[i] = draw_index(counts[column] + omega, uniform(stream))
            counts[column, tokens[i]] += 1


@njit
def describe(offsets, parents, n_classes, z, x, tokens, out):
    out[:] = 0
    for b in range(len(z)):
        out[0] += z[b] == 0
        if parents[b] >= 0:
            out[2] += z[b] == z[parents[b]]
            for c in range(b):
                out[4] += parents[c] == parents[b] and z[b] == z[c]
        else:
            out[3] += z[b] == 0
        n_background = 0
        for i in range(offsets[b], offsets[b + 1]):
            n_background += x[i]
            out[7] += x[i] == 0 and z[b] == 0 and tokens[i] == 0
            out[8] += tokens[i] == 0
            out[12] += x[i] == 1 and tokens[i] == 0
            for c in range(b + 1):
                for j in range(offsets[c], min(i, offsets[c + 1])):
                    column = n_classes if x[i] else z[b]
                    other = n_classes if x[j] else z[c]
                    out[5] += b == c and tokens[i] == tokens[j]
                    out[6] += column == other and tokens[i] == tokens[j]
        out[9] += n_background
        out[11] += n_background**2
    out[1] = out[0] ** 2
    out[8] = out[8] ** 2
    out[10] = out[9] ** 2


@njit
def naive_sweep(tokens, offsets, parents, alpha, omega, n_words, bug, stream, z):
    """The class conditional from fresh counts, no switch; two bugs of the author's code."""
    n_classes, n_messages = len(alpha), len(parents)
    for b in range(n_messages):
        edges = np.zeros((n_classes + 1, n_classes))
        counts = np.zeros((n_classes, n_words))
        for c in range(n_messages):
            if c != b:
                if parents[c] != b:
                    edges[n_classes if parents[c] < 0 else z[parents[c]], z[c]] += 1
                for i in range(offsets[c], offsets[c + 1]):
                    counts[z[c], tokens[i]] += 1
        a = n_classes if parents[b] < 0 else z[parents[b]]
        weights = edges[a] + alpha
        for k in range(n_classes):
            if a == k and bug != NAIVE_SELF_NOT_CORRECTED:
                edges[a, k] += 1  # the edge from the parent
            for c in range(n_messages):
                if parents[c] == b:
                    weights[k] *= (edges[k, z[c]] + alpha[z[c]]) / (edges[k] + alpha).sum()
                    edges[k, z[c]] += 1
            for i in range(offsets[b], offsets[b + 1]):
                weights[k] *= (counts[k, tokens[i]] + omega) / (counts[k] + omega).sum()
                if bug != NAIVE_REPEATS_NOT_IN_TURN:
                    counts[k, tokens[i]] += 1
        z[b] = draw_index(weights, uniform(stream))


@njit
def simulate_collapsed(
    n_draws, successive, bug, seed, offsets, parents, n_words, alpha, omega, switch, switch_prior
):
    """Statistics (n_draws, 13) of independent draws, or of the chain with the sampler."""
    n_classes, n_tokens = len(alpha), offsets[-1]
    stream = np.empty(4, np.uint64)
    open_stream(np.array([seed, 0], np.uint64), 0, stream)
    z, x = np.zeros(len(parents), np.int16), np.zeros(n_tokens, np.uint8)
    tokens = np.zeros(n_tokens, np.int32)
    key = np.array([seed, 0], np.uint64)
    out = np.empty((n_draws, 13))
    words = np.zeros((n_words, n_classes + 1), np.int32)
    given_prior = switch_prior[::-1].copy() if bug == SWITCH_PRIOR_SWAPPED else switch_prior
    given_omega = 2.0 * omega if bug == WRONG_OMEGA else omega
    for draw in range(n_draws):
        if draw == 0 or not successive:
            draw_classes_and_switches(offsets, parents, alpha, switch, switch_prior, stream, z, x)
        elif bug >= NAIVE:
            naive_sweep(tokens, offsets, parents, alpha, omega, n_words, bug, stream, z)
        else:
            key[1] = draw
            if bug != COUNTS_NOT_CLEARED or draw % 4 == 1:
                words[:] = 0
            edges = np.zeros((n_classes + 1, n_classes), np.int64)
            count_assignments(
                tokens, offsets, parents, z, x, np.int64(0), len(parents), words, edges
            )
            totals = words.sum(axis=0)
            collapsed_sweep(
                tokens, offsets, parents, np.empty(0, np.int16), alpha, given_omega, switch,
                given_prior, key, z, x, words, totals, edges,
            )  # fmt: skip
        draw_words(offsets, n_words, n_classes, omega, stream, z, x, tokens)
        describe(offsets, parents, n_classes, z, x, tokens, out[draw])
    return out


@njit
def simulate_parallel(
    n_draws, bug, seed, offsets, parents, conversations, n_words, alpha, omega, switch,
    switch_prior,
):  # fmt: skip
    """The chain with the parallel sampler: rows, word weights, switch probability drawn."""
    np.random.seed(seed)  # noqa: NPY002 (numba's own generator)
    n_classes, n_tokens = len(alpha), offsets[-1]
    stream = np.empty(4, np.uint64)
    open_stream(np.array([seed, 1], np.uint64), 0, stream)
    z, x = np.zeros(len(parents), np.int16), np.zeros(n_tokens, np.uint8)
    tokens = np.zeros(n_tokens, np.int32)
    rows, logs = np.empty((n_classes + 1, n_classes)), np.empty((n_words, n_classes))
    phi = np.empty((n_words, n_classes + 1))
    key = np.array([seed, 1], np.uint64)
    out = np.empty((n_draws, 13))
    words = np.zeros((n_words, n_classes + 1), np.int32)
    edges = np.zeros((n_classes + 1, n_classes), np.int64)
    for draw in range(n_draws):
        if draw == 0:
            draw_classes_and_switches(offsets, parents, alpha, switch, switch_prior, stream, z, x)
            draw_words(offsets, n_words, n_classes, omega, stream, z, x, tokens)
            describe(offsets, parents, n_classes, z, x, tokens, out[draw])
            count_assignments(
                tokens, offsets, parents, z, x, np.int64(0), len(parents), words, edges
            )
            continue
        key[1] = draw
        for source in range(n_classes + 1):
            rows[source] = draw_dirichlet(edges[source] + alpha)
            phi[:, source] = draw_dirichlet(words[:, source] + omega)
        totals = words.sum(axis=0)
        probability = np.random.beta(  # noqa: NPY002
            totals[:n_classes].sum() + switch_prior[1], totals[n_classes] + switch_prior[0]
        )
        if bug == ROWS_TRANSPOSED:
            rows[:n_classes] = rows[:n_classes].T.copy()
        summed_out = SWITCH_OFF if bug == SWITCH_NOT_SUMMED_OUT else switch
        fill_emission_logs(phi, summed_out, probability, logs)
        if bug != COUNTS_NOT_CLEARED or draw % 3 == 1:
            words[:] = 0
            edges[:] = 0
        parallel_sweep(
            tokens, offsets, parents, np.empty(0, np.int16), conversations, np.int64(0), rows, phi,
            logs, switch, probability, switch_prior, key, z, x, words, edges,
        )  # fmt: skip
        # new words given everything; only the words' counts change
        if bug != COUNTS_NOT_CLEARED:
            words[:] = 0
        for message in range(len(parents)):
            for i in range(offsets[message], offsets[message + 1]):
                column = n_classes if x[i] else z[message]
                tokens[i] = draw_index(phi[:, column].copy(), uniform(stream))
                words[tokens[i], column] += 1
        describe(offsets, parents, n_classes, z, x, tokens, out[draw])
    return out


def compare(independent, chain, switch: int) -> GewekeTable:
    n = N_LATENT if switch == SWITCH_OFF else len(NAMES)
    return compare_samples(independent[:, :n], chain[:, :n], NAMES[:n])


def run_collapsed(n_draws: int, successive: bool, bug: int, seed: int, switch: int):
    return simulate_collapsed(
        n_draws, successive, bug, seed, FOREST.message_offsets, FOREST.parents,
        FOREST.n_words, ALPHA, OMEGA, switch, SWITCH_PRIOR,
    )  # fmt: skip


@cache
def independent_draws(switch: int):
    """The prior does not know the sampler: one table for both."""
    return run_collapsed(N_DRAWS, False, NONE, 101, switch)


def collapsed_table(switch: int, bug: int = NONE, n_draws: int = N_DRAWS) -> GewekeTable:
    chain = run_collapsed(n_draws, True, bug, 102, switch)
    return compare(independent_draws(switch), chain, switch)


def parallel_table(switch: int, bug: int = NONE, n_draws: int = N_DRAWS) -> GewekeTable:
    chain = simulate_parallel(
        n_draws, bug, 104, FOREST.message_offsets, FOREST.parents, FOREST.conversation_offsets,
        FOREST.n_words, ALPHA, OMEGA, switch, SWITCH_PRIOR,
    )  # fmt: skip
    return compare(independent_draws(switch), chain, switch)


@pytest.mark.parametrize("switch", SWITCHES)
def test_collapsed(switch):
    assert_geweke_passes(collapsed_table(switch))


@pytest.mark.parametrize("switch", SWITCHES)
def test_parallel(switch):
    assert_geweke_passes(parallel_table(switch))


@pytest.mark.parametrize("bug", [WRONG_OMEGA, COUNTS_NOT_CLEARED])
@pytest.mark.parametrize("switch", SWITCHES)
def test_planted_bugs_of_the_collapsed_chain_are_caught(switch, bug):
    n_draws = N_DRAWS if bug == WRONG_OMEGA else N_DRAWS // 2
    assert_geweke_catches(collapsed_table(switch, bug, n_draws))


@pytest.mark.parametrize("switch", [SWITCH_CORPUS, SWITCH_MESSAGE])
def test_swapped_switch_prior_is_caught(switch):
    assert_geweke_catches(collapsed_table(switch, SWITCH_PRIOR_SWAPPED, N_DRAWS // 2))


@pytest.mark.parametrize("bug", [NAIVE_SELF_NOT_CORRECTED, NAIVE_REPEATS_NOT_IN_TURN])
def test_bugs_of_the_public_code_are_caught(bug):
    """Self-transitions not corrected; repeated words not counted in turn."""
    assert_geweke_catches(collapsed_table(SWITCH_OFF, bug, 3 * N_DRAWS))


def test_naive_conditional_without_these_bugs_passes():
    assert_geweke_passes(collapsed_table(SWITCH_OFF, NAIVE))


@pytest.mark.parametrize(
    ("switch", "bug"),
    [
        (SWITCH_CORPUS, SWITCH_NOT_SUMMED_OUT),
        (SWITCH_OFF, ROWS_TRANSPOSED),
        (SWITCH_MESSAGE, ROWS_TRANSPOSED),
        (SWITCH_OFF, COUNTS_NOT_CLEARED),
        (SWITCH_MESSAGE, COUNTS_NOT_CLEARED),
    ],
)
def test_planted_bugs_of_the_parallel_chain_are_caught(switch, bug):
    n_draws = N_DRAWS if bug == COUNTS_NOT_CLEARED else N_DRAWS // 2
    assert_geweke_catches(parallel_table(switch, bug, n_draws))
