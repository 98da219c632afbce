"""LDA with a background switch in plain Python, to be checked by reading docs/models/lda.md.

The joint is told as an urn: message by message, token by token, each drawn given all before.
The twin of a sweep recounts everything for every token; it takes the same uniforms as the
compiled sweep and, because both invert a cumulative sum, puts the outcomes in the same order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from palaver.kernels.lda import sweep_collapsed, sweep_parallel
from palaver.kernels.states import count_classes
from palaver.kernels.switch import SWITCH_CORPUS, SWITCH_MESSAGE, SWITCH_OFF
from support.forests import Forest

SWITCHES = [SWITCH_OFF, SWITCH_CORPUS, SWITCH_MESSAGE]
NOTHING_RECORDED = np.zeros((0, 1))


@dataclass(frozen=True)
class Model:
    """What a sweep is given. With `word_weights` it is the parallel one, else the collapsed."""

    alpha: np.ndarray
    omega: float
    switch: int
    switch_prior: np.ndarray
    word_weights: np.ndarray | None = None
    class_probability: float = 0.5

    @property
    def n_classes(self) -> int:
        return len(self.alpha)

    @property
    def n_outcomes(self) -> int:
        return self.n_classes + (self.switch != SWITCH_OFF)


def random_model(
    rng: np.random.Generator, n_classes: int, n_words: int, switch: int, parallel: bool
) -> Model:
    word_weights = None
    if parallel:
        word_weights = rng.dirichlet(np.full(n_words, 0.7), n_classes + 1).T.copy()
    return Model(
        alpha=rng.uniform(0.05, 1.5, n_classes),
        omega=float(rng.uniform(0.05, 1.0)),
        switch=switch,
        switch_prior=rng.uniform(0.5, 3.0, 2),
        word_weights=word_weights,
        class_probability=float(rng.uniform(0.2, 0.8)),
    )


def random_classes(rng: np.random.Generator, forest: Forest, model: Model) -> np.ndarray:
    """Classes of all tokens; where there is a background, some messages are all background."""
    classes = rng.integers(0, model.n_outcomes, forest.n_tokens).astype(np.int16)
    if model.switch != SWITCH_OFF:
        gone = np.flatnonzero(rng.random(forest.n_messages) < 0.2)
        classes[np.isin(forest.token_messages, gone)] = model.n_classes
    return classes


def count(forest: Forest, classes: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Word counts (W, K+1) and their column sums."""
    word_class_counts = np.zeros((forest.n_words, n_classes + 1), np.int32)
    count_classes(forest.tokens, classes, word_class_counts)
    return word_class_counts, word_class_counts.sum(axis=0, dtype=np.int64)


def run_sweep(
    forest: Forest, classes: np.ndarray, model: Model, key: np.ndarray, recorded: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One compiled sweep over `classes` in place; returns its counts and their column sums."""
    words, totals = count(forest, classes, model.n_classes)
    if model.word_weights is None:
        sweep_collapsed(
            forest.tokens, forest.message_offsets, classes, words, totals, model.alpha,
            model.omega, model.switch, model.switch_prior, key, recorded,
        )  # fmt: skip
        return words, totals
    words[:] = 0
    sweep_parallel(
        forest.tokens, forest.message_offsets, forest.conversation_offsets,
        forest.first_conversation, classes, model.word_weights, model.alpha, model.switch,
        model.switch_prior, model.class_probability, key, words, recorded,
    )  # fmt: skip
    return words, words.sum(axis=0, dtype=np.int64)


def log_joint(forest: Forest, classes: np.ndarray, model: Model) -> float:
    """log p(words, classes, switches) of the urn; word weights and probability if given."""
    n_classes = model.n_classes
    words = np.zeros((forest.n_words, n_classes + 1))
    corpus_switches = np.zeros(2)
    result = 0.0
    for message in range(forest.n_messages):
        shares = np.zeros(n_classes)
        message_switches = np.zeros(2)
        for i in forest.message_tokens(message):
            word, column = forest.tokens[i], classes[i]
            outcome = 0 if column == n_classes else 1
            if model.switch == SWITCH_CORPUS and model.word_weights is not None:
                p = model.class_probability
                result += math.log([1 - p, p][outcome])
            elif model.switch != SWITCH_OFF:
                seen = corpus_switches if model.switch == SWITCH_CORPUS else message_switches
                mass = seen + model.switch_prior
                result += math.log(mass[outcome] / mass.sum())
                seen[outcome] += 1
            if outcome == 1:
                mass = shares + model.alpha
                result += math.log(mass[column] / mass.sum())
                shares[column] += 1
            if model.word_weights is not None:
                result += math.log(model.word_weights[word, column])
            else:
                mass = words[:, column] + model.omega
                result += math.log(mass[word] / mass.sum())
                words[word, column] += 1
    return result


def all_assignments(forest: Forest, model: Model) -> Iterator[np.ndarray]:
    for classes in itertools.product(range(model.n_outcomes), repeat=forest.n_tokens):
        yield np.array(classes, np.int16)


def normalize(log_weights) -> np.ndarray:
    weights = np.exp(np.asarray(log_weights) - np.max(log_weights))
    return weights / weights.sum()


def enumerated_conditional(i: int, forest: Forest, classes, model: Model) -> np.ndarray:
    """Distribution of one token's outcome from the joint of all K+1 assignments; shape (K+1,)."""
    logs = []
    for outcome in range(model.n_outcomes):
        other = classes.copy()
        other[i] = outcome
        logs.append(log_joint(forest, other, model))
    return np.append(normalize(logs), np.zeros(model.n_classes + 1 - model.n_outcomes))


def plain_conditional(
    i: int, forest: Forest, classes, model: Model, leave_out: bool = True
) -> np.ndarray:
    """The same by the formulas, from recounted counts; `leave_out=False` is a planted bug."""
    n_classes, omega = model.n_classes, model.omega
    others = [j for j in range(forest.n_tokens) if j != i or not leave_out]
    message = [j for j in others if forest.token_messages[j] == forest.token_messages[i]]
    in_message = [sum(classes[j] == k for j in message) for k in range(n_classes + 1)]
    weights = np.zeros(n_classes + 1)
    for outcome in range(model.n_outcomes):
        if model.word_weights is not None:
            word = model.word_weights[forest.tokens[i], outcome]
        else:
            column = [j for j in others if classes[j] == outcome]
            same = sum(forest.tokens[j] == forest.tokens[i] for j in column)
            word = (same + omega) / (len(column) + forest.n_words * omega)
        is_class = outcome < n_classes
        switch = 1.0
        if model.switch == SWITCH_CORPUS and model.word_weights is not None:
            switch = model.class_probability if is_class else 1 - model.class_probability
        elif model.switch != SWITCH_OFF:
            scope = others if model.switch == SWITCH_CORPUS else message
            alike = sum((classes[j] < n_classes) == is_class for j in scope)
            switch = alike + model.switch_prior[1 if is_class else 0]
        share = 1.0
        if is_class:
            mass = sum(in_message[:n_classes]) + model.alpha.sum()
            share = (in_message[outcome] + model.alpha[outcome]) / mass
        weights[outcome] = switch * share * word
    return weights / weights.sum()


def drawing_order(n_classes: int, old: int) -> list[int]:
    """Classes by k mod 8, then k; then the background; the token's old outcome last."""
    order = [*sorted(range(n_classes), key=lambda k: (k % 8, k)), n_classes]
    return [outcome for outcome in order if outcome != old] + [old]


def twin_sweep(forest: Forest, classes, model: Model, uniforms, leave_out: bool = True) -> None:
    """Resample all tokens in turn; `uniforms` has one for each token."""
    for i in range(forest.n_tokens):
        order = drawing_order(model.n_classes, int(classes[i]))
        weights = plain_conditional(i, forest, classes, model, leave_out)[order]
        cumulative = np.cumsum(weights)
        position = np.searchsorted(cumulative, uniforms[i] * cumulative[-1], side="right")
        classes[i] = order[position]
