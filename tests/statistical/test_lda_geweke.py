"""Geweke tests of LDA's samplers: collapsed and parallel, each kind of switch.

Alpha is held fixed: it is optimized, not sampled. In the compiled chains omega is fixed too and
classes, switches, words and (parallel) word weights and the corpus' switch probability are
random. A second, slower pair of chains samples omega ~ Gamma(1, 1) and draws the word weights by
the functions that a fit uses. False alarms 1e-6 for each test, seeds fixed; planted bugs, some
of them in a naive sampler that passes without them, must be caught.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numba import njit
from support.forests import make_forest
from support.geweke import (
    GewekeTable,
    assert_geweke_catches,
    assert_geweke_passes,
    compare_samples,
    geweke,
)
from support.lda_reference import NOTHING_RECORDED, SWITCHES, Model, count, run_sweep

from palaver.kernels.dirichlet import count_histogram, sample_concentration
from palaver.kernels.lda import sweep_collapsed, sweep_parallel
from palaver.kernels.switch import SWITCH_CORPUS, SWITCH_MESSAGE, SWITCH_OFF
from palaver.kernels.word_weights import draw_word_weights, word_key

FOREST = make_forest([[0, 0, 0, 0], [], [0, 0], [0, 0, 0]], [-1, 0, 0, -1], [3, 1], n_words=3)
ALPHA = np.array([0.4, 1.1])
N_CLASSES = len(ALPHA)
OMEGA = 0.5
SWITCH_PRIOR = np.array([1.5, 2.5])
NAMES = [
    "class 0", "class 0 squared", "alike in message", "alike across messages", "word 0 squared",
    "same word and class", "background", "background squared", "background in message squared",
    "background and word 0",
]  # fmt: skip
N_WITHOUT_BACKGROUND = 6
N_DRAWS = 100_000

# what is resampled how: the first two must pass, the others must be caught
(
    COMPILED, NAIVE, NAIVE_NOT_LEFT_OUT, NAIVE_LENGTH_WITH_BACKGROUND, SYMMETRIC_ALPHA,
    SWITCH_PRIOR_SWAPPED, OTHER_OMEGA, COUNTS_NOT_RENEWED,
) = range(8)  # fmt: skip


@njit
def draw_index(weights):
    target = np.random.random() * weights.sum()  # noqa: NPY002
    index = 0
    while index < len(weights) - 1 and target >= weights[index]:
        target -= weights[index]
        index += 1
    return index


@njit
def draw_dirichlet(concentrations):
    draws = np.empty(len(concentrations))
    for k in range(len(concentrations)):
        draws[k] = max(np.random.gamma(concentrations[k], 1.0), 1e-300)  # noqa: NPY002
    return draws / draws.sum()


@njit
def draw_word_columns(counts, omega):
    """Word weights, one Dirichlet a column."""
    weights = np.empty(counts.shape)
    for k in range(counts.shape[1]):
        weights[:, k] = draw_dirichlet(counts[:, k] + omega)
    return weights


@njit
def draw_classes(offsets, alpha, switch, p_class, switch_prior, classes):
    """From the prior, with explicit shares and probabilities; the corpus' one is given."""
    for b in range(len(offsets) - 1):
        shares = draw_dirichlet(alpha)
        p = 1.0
        if switch == SWITCH_CORPUS:
            p = p_class
        elif switch == SWITCH_MESSAGE:
            p = np.random.beta(switch_prior[1], switch_prior[0])  # noqa: NPY002
        for i in range(offsets[b], offsets[b + 1]):
            is_class = np.random.random() < p  # noqa: NPY002
            classes[i] = draw_index(shares) if is_class else len(alpha)


@njit
def draw_words(classes, weights, tokens):
    for i in range(len(tokens)):
        tokens[i] = draw_index(weights[:, classes[i]])


@njit
def naive_sweep(tokens, offsets, classes, alpha, omega, n_words, switch, switch_prior, mode):
    """The collapsed conditional by recounting, with room for bugs."""
    n_classes = len(alpha)
    for b in range(len(offsets) - 1):
        for i in range(offsets[b], offsets[b + 1]):
            same_word = np.zeros(n_classes + 1)
            column = np.zeros(n_classes + 1)
            in_message = np.zeros(n_classes + 1)
            for j in range(len(tokens)):
                if j != i or mode == NAIVE_NOT_LEFT_OUT:
                    column[classes[j]] += 1
                    same_word[classes[j]] += tokens[j] == tokens[i]
                    if offsets[b] <= j < offsets[b + 1]:
                        in_message[classes[j]] += 1
            scope = column if switch == SWITCH_CORPUS else in_message
            n_class = in_message[:n_classes].sum()
            if mode == NAIVE_LENGTH_WITH_BACKGROUND:
                n_class = in_message.sum()
            weights = (same_word + omega) / (column + n_words * omega)
            for k in range(n_classes):
                weights[k] *= (in_message[k] + alpha[k]) / (n_class + alpha.sum())
                if switch != SWITCH_OFF:
                    weights[k] *= scope[:n_classes].sum() + switch_prior[1]
            weights[n_classes] *= switch != SWITCH_OFF
            weights[n_classes] *= scope[n_classes] + switch_prior[0]
            classes[i] = draw_index(weights)


@njit
def fill_statistics(tokens, offsets, classes, n_classes, n_words, row):
    row[:] = 0.0
    messages = np.zeros(len(tokens), np.int64)
    in_message = np.zeros(len(offsets))
    words = np.zeros((n_words, n_classes + 1))
    for b in range(len(offsets) - 1):
        messages[offsets[b] : offsets[b + 1]] = b
    for i in range(len(tokens)):
        words[tokens[i], classes[i]] += 1
        in_message[messages[i]] += classes[i] == n_classes
        for j in range(i):
            row[2 if messages[i] == messages[j] else 3] += classes[i] == classes[j]
    row[0] = words[:, 0].sum()
    row[1] = row[0] ** 2
    row[4] = words[0].sum() ** 2
    row[5] = (words**2).sum()
    row[6] = words[:, n_classes].sum()
    row[7] = row[6] ** 2
    row[8] = (in_message**2).sum()
    row[9] = words[0, n_classes]


@njit
def marginal_chain(seed, tokens, offsets, alpha, omega, n_words, switch, switch_prior, samples):
    np.random.seed(seed)  # noqa: NPY002
    classes = np.zeros(len(tokens), np.int16)
    nothing = np.zeros((n_words, len(alpha) + 1))
    for s in range(len(samples)):
        p_class = np.random.beta(switch_prior[1], switch_prior[0])  # noqa: NPY002
        draw_classes(offsets, alpha, switch, p_class, switch_prior, classes)
        draw_words(classes, draw_word_columns(nothing, omega), tokens)
        fill_statistics(tokens, offsets, classes, len(alpha), n_words, samples[s])


@njit
def successive_chain(
    seed, tokens, offsets, conversations, first, alpha, omega, n_words, switch, switch_prior,
    parallel, mode, not_recorded, samples,
):  # fmt: skip
    np.random.seed(seed)  # noqa: NPY002
    n_classes = len(alpha)
    classes = np.zeros(len(tokens), np.int16)
    nothing = np.zeros((n_words, n_classes + 1))
    p_class = np.random.beta(switch_prior[1], switch_prior[0])  # noqa: NPY002
    weights = draw_word_columns(nothing, omega)
    draw_classes(offsets, alpha, switch, p_class, switch_prior, classes)
    draw_words(classes, weights, tokens)
    swept_alpha = np.full(n_classes, alpha.mean()) if mode == SYMMETRIC_ALPHA else alpha.copy()
    swept_prior = switch_prior.copy()
    if mode == SWITCH_PRIOR_SWAPPED:
        swept_prior[0], swept_prior[1] = switch_prior[1], switch_prior[0]
    swept_omega = 1.3 * omega if mode == OTHER_OMEGA else omega
    key = np.array([seed, 0], np.uint64)
    counts = np.zeros((n_words, n_classes + 1), np.int32)
    for s in range(len(samples)):
        key[1] = s
        if s == 0 or mode != COUNTS_NOT_RENEWED:
            counts[:] = 0
        if parallel:
            sweep_parallel(
                tokens, offsets, conversations, first, classes, weights, swept_alpha, switch,
                swept_prior, p_class, key, counts, not_recorded,
            )  # fmt: skip
            total = counts.sum()
            n_background = counts[:, n_classes].sum()
            p_class = np.random.beta(  # noqa: NPY002
                total - n_background + switch_prior[1], n_background + switch_prior[0]
            )
            weights = draw_word_columns(counts, swept_omega)
        else:
            if mode in (NAIVE, NAIVE_NOT_LEFT_OUT, NAIVE_LENGTH_WITH_BACKGROUND):
                naive_sweep(
                    tokens, offsets, classes, alpha, omega, n_words, switch, switch_prior, mode
                )
            else:
                for i in range(len(tokens)):
                    counts[tokens[i], classes[i]] += 1
                totals = counts.sum(axis=0)
                sweep_collapsed(
                    tokens, offsets, classes, counts, totals, swept_alpha, swept_omega, switch,
                    swept_prior, key, not_recorded,
                )  # fmt: skip
            weights = draw_word_columns(nothing, omega)
        draw_words(classes, weights, tokens)
        fill_statistics(tokens, offsets, classes, n_classes, n_words, samples[s])


def run_compiled(switch: int, parallel: bool, mode: int = COMPILED) -> GewekeTable:
    n_names = len(NAMES) if switch != SWITCH_OFF else N_WITHOUT_BACKGROUND
    samples = np.empty((2, N_DRAWS, len(NAMES)))
    tokens = FOREST.tokens.copy()
    marginal_chain(
        20_240_310, tokens, FOREST.message_offsets, ALPHA, OMEGA, FOREST.n_words, switch,
        SWITCH_PRIOR, samples[0],
    )  # fmt: skip
    successive_chain(
        20_240_311, tokens, FOREST.message_offsets, FOREST.conversation_offsets, 0, ALPHA, OMEGA,
        FOREST.n_words, switch, SWITCH_PRIOR, parallel, mode, NOTHING_RECORDED, samples[1],
    )  # fmt: skip
    return compare_samples(samples[0, :, :n_names], samples[1, :, :n_names], NAMES[:n_names])


@pytest.mark.parametrize("parallel", [False, True], ids=["collapsed", "parallel"])
@pytest.mark.parametrize("switch", SWITCHES, ids=["off", "corpus", "message"])
def test_geweke(switch, parallel):
    assert_geweke_passes(run_compiled(switch, parallel))


@pytest.mark.parametrize(
    ("mode", "switch", "parallel"),
    [
        (SYMMETRIC_ALPHA, SWITCH_OFF, False),
        (SYMMETRIC_ALPHA, SWITCH_MESSAGE, True),
        (SWITCH_PRIOR_SWAPPED, SWITCH_CORPUS, False),
        (SWITCH_PRIOR_SWAPPED, SWITCH_MESSAGE, True),
        (OTHER_OMEGA, SWITCH_OFF, False),
        (OTHER_OMEGA, SWITCH_OFF, True),
        (COUNTS_NOT_RENEWED, SWITCH_OFF, True),
        (NAIVE_NOT_LEFT_OUT, SWITCH_OFF, False),
        (NAIVE_NOT_LEFT_OUT, SWITCH_MESSAGE, False),
        (NAIVE_LENGTH_WITH_BACKGROUND, SWITCH_CORPUS, False),
    ],
)
def test_planted_bugs_are_caught(mode, switch, parallel):
    assert_geweke_catches(run_compiled(switch, parallel, mode))


def test_the_naive_sampler_passes_without_its_bugs():
    assert_geweke_passes(run_compiled(SWITCH_CORPUS, False, NAIVE))


# ---------------------------------------------------------------- omega and the word weights


@njit
def _seed(seed):
    np.random.seed(seed)  # noqa: NPY002


@njit
def _new_words(classes, omega, n_words, n_classes, tokens):
    draw_words(classes, draw_word_columns(np.zeros((n_words, n_classes + 1)), omega), tokens)


class FullChain:
    """Classes, words, omega and (parallel) word weights, without background."""

    def __init__(self, parallel: bool, seed: int, bug: str):
        self.rng = np.random.default_rng(seed)
        self.parallel, self.bug = parallel, bug
        _seed(seed)
        self.draw_all()

    def draw_all(self) -> np.ndarray:
        # truncated where a column's gammas would underflow in the simple simulator
        omega = 0.0
        while omega < 0.05:
            omega = self.rng.gamma(1.0)
        self.classes = np.zeros(FOREST.n_tokens, np.int16)
        self.tokens = FOREST.tokens.copy()
        draw_classes(FOREST.message_offsets, ALPHA, SWITCH_OFF, 1.0, SWITCH_PRIOR, self.classes)
        weights = draw_word_columns(np.zeros((FOREST.n_words, N_CLASSES + 1)), omega)
        draw_words(self.classes, weights, self.tokens)
        self.model = Model(
            ALPHA, omega, SWITCH_OFF, SWITCH_PRIOR, weights if self.parallel else None
        )
        return self.statistics()

    def step(self) -> np.ndarray:
        forest = FOREST.with_tokens(self.tokens)
        key = self.rng.integers(2**64, size=2, dtype=np.uint64)
        run_sweep(forest, self.classes, self.model, key, NOTHING_RECORDED)
        words, totals = count(forest, self.classes, N_CLASSES)
        # a prior with its shape one lower is the acceptance without the proposal's factor
        shape = 0.0 if self.bug == "no factor of the proposal" else 1.0
        facts = (*count_histogram(words), totals, FOREST.n_words)
        old = self.model.omega
        omega = sample_concentration(old, *facts, self.rng, (1.5,), shape)
        omega = omega if omega >= 0.05 else old  # the truncated prior rejects
        self.model = dataclasses.replace(self.model, omega=omega)
        if self.parallel:
            concentration = 1.5 * omega if self.bug == "weights of another omega" else omega
            weights = draw_word_weights(words, concentration, word_key(self.rng))
            self.model = dataclasses.replace(self.model, word_weights=weights)
            draw_words(self.classes, weights, self.tokens)
        else:
            _new_words(self.classes, omega, FOREST.n_words, N_CLASSES, self.tokens)
        return self.statistics()

    def statistics(self) -> np.ndarray:
        row = np.empty(len(NAMES))
        fill_statistics(
            self.tokens, FOREST.message_offsets, self.classes, N_CLASSES, FOREST.n_words, row
        )
        return np.append(row[:N_WITHOUT_BACKGROUND], [self.model.omega, np.log(self.model.omega)])


def run_full(parallel: bool, bug: str = "", n_draws: int = 12_000) -> GewekeTable:
    names = [*NAMES[:N_WITHOUT_BACKGROUND], "omega", "log omega"]
    marginal = FullChain(parallel, 20_240_312, "")
    successive = FullChain(parallel, 20_240_313, bug)
    return geweke(marginal.draw_all, successive.step, n_draws, names)


@pytest.mark.parametrize("parallel", [False, True], ids=["collapsed", "parallel"])
def test_geweke_with_sampled_omega(parallel):
    assert_geweke_passes(run_full(parallel))


@pytest.mark.parametrize(
    ("parallel", "bug"),
    [(False, "no factor of the proposal"), (True, "weights of another omega")],
)
def test_planted_bugs_with_sampled_omega_are_caught(parallel, bug):
    assert_geweke_catches(run_full(parallel, bug))
