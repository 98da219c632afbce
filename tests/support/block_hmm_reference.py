"""The block HMM in plain Python, to be checked by reading docs/models/block_hmm.md.

The joint is told as an urn: message by message, token by token, each drawn given all before.
The twins of the samplers take the same uniforms as the compiled sweeps, in the same order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from palaver.kernels.switch import SWITCH_CORPUS, SWITCH_MESSAGE, SWITCH_OFF
from palaver.models.block_hmm.kernels.collapsed import count_assignments
from support.forests import Forest

SWITCHES = [SWITCH_OFF, SWITCH_CORPUS, SWITCH_MESSAGE]


@dataclass(frozen=True)
class Priors:
    """What the collapsed model is given."""

    transition_prior: np.ndarray
    omega: float
    switch: int
    switch_prior: np.ndarray

    @property
    def n_classes(self) -> int:
        return len(self.transition_prior)


@dataclass(frozen=True)
class Parameters:
    """What the parallel sampler and fold-in are given."""

    rows: np.ndarray
    word_weights: np.ndarray
    class_probability: float
    switch: int
    switch_prior: np.ndarray

    @property
    def n_classes(self) -> int:
        return self.rows.shape[1]


def random_priors(rng: np.random.Generator, n_classes: int, switch: int) -> Priors:
    return Priors(
        transition_prior=rng.uniform(0.2, 1.5, n_classes),
        omega=float(rng.uniform(0.1, 1.0)),
        switch=switch,
        switch_prior=rng.uniform(0.5, 3.0, 2),
    )


def random_parameters(
    rng: np.random.Generator, n_classes: int, n_words: int, switch: int
) -> Parameters:
    return Parameters(
        rows=rng.dirichlet(np.full(n_classes, 0.7), n_classes + 1),
        word_weights=np.ascontiguousarray(rng.dirichlet(np.full(n_words, 0.7), n_classes + 1).T),
        class_probability=float(rng.uniform(0.2, 0.8)),
        switch=switch,
        switch_prior=rng.uniform(0.5, 3.0, 2),
    )


def random_state(
    rng: np.random.Generator, forest: Forest, n_classes: int, switch: int
) -> tuple[np.ndarray, np.ndarray]:
    """Classes and switches in the kernels' dtypes; some messages are all background."""
    classes = rng.integers(0, n_classes, forest.n_messages).astype(np.int16)
    background = np.zeros(forest.n_tokens, np.uint8)
    if switch != SWITCH_OFF:
        background[:] = rng.random(forest.n_tokens) < 0.5
        background[np.isin(forest.token_messages, np.flatnonzero(rng.random(20) < 0.2))] = 1
    return classes, background


def count(
    forest: Forest, classes: np.ndarray, background: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Word counts (W, K+1), their column sums, transition counts (K+1, K)."""
    word_class_counts = np.zeros((forest.n_words, n_classes + 1), np.int32)
    transition_counts = np.zeros((n_classes + 1, n_classes), np.int64)
    count_assignments(
        forest.tokens, forest.message_offsets, forest.parents, classes, background,
        0, forest.n_messages, word_class_counts, transition_counts,
    )  # fmt: skip
    return word_class_counts, word_class_counts.sum(axis=0, dtype=np.int64), transition_counts


def urn_log_joint(forest: Forest, classes, background, priors: Priors) -> float:
    """log p(words, classes, switches), the parameters integrated out."""
    n_classes, alpha = priors.n_classes, priors.transition_prior
    edges = np.zeros((n_classes + 1, n_classes))
    words = np.zeros((forest.n_words, n_classes + 1))
    corpus_switches = np.zeros(2)
    result = 0.0
    for message in range(forest.n_messages):
        parent = forest.parents[message]
        source = n_classes if parent == -1 else classes[parent]
        label = classes[message]
        result += math.log((edges[source, label] + alpha[label]) / (edges[source] + alpha).sum())
        edges[source, label] += 1
        message_switches = np.zeros(2)
        for i in forest.message_tokens(message):
            if priors.switch != SWITCH_OFF:
                seen = corpus_switches if priors.switch == SWITCH_CORPUS else message_switches
                outcome = 0 if background[i] else 1
                mass = seen + priors.switch_prior
                result += math.log(mass[outcome] / mass.sum())
                seen[outcome] += 1
            column = n_classes if background[i] else label
            mass = words[:, column] + priors.omega
            result += math.log(mass[forest.tokens[i]] / mass.sum())
            words[forest.tokens[i], column] += 1
    return result


def log_likelihood(forest: Forest, classes, background, parameters: Parameters) -> float:
    """log p(words, classes, switches) given rows, word weights and the corpus' probability."""
    n_classes = parameters.n_classes
    result = 0.0
    for message in range(forest.n_messages):
        parent = forest.parents[message]
        source = n_classes if parent == -1 else classes[parent]
        result += math.log(parameters.rows[source, classes[message]])
        seen = np.zeros(2)
        for i in forest.message_tokens(message):
            outcome = 0 if background[i] else 1
            if parameters.switch == SWITCH_CORPUS:
                p = parameters.class_probability
                result += math.log([1 - p, p][outcome])
            elif parameters.switch == SWITCH_MESSAGE:
                mass = seen + parameters.switch_prior
                result += math.log(mass[outcome] / mass.sum())
                seen[outcome] += 1
            column = n_classes if background[i] else classes[message]
            result += math.log(parameters.word_weights[forest.tokens[i], column])
    return result


def all_classes(forest: Forest, n_classes: int) -> Iterator[np.ndarray]:
    for classes in itertools.product(range(n_classes), repeat=forest.n_messages):
        yield np.array(classes, np.int16)


def all_switches(forest: Forest, switch: int) -> Iterator[np.ndarray]:
    outcomes = (0,) if switch == SWITCH_OFF else (0, 1)
    for background in itertools.product(outcomes, repeat=forest.n_tokens):
        yield np.array(background, np.uint8)


def normalize(log_weights) -> np.ndarray:
    weights = np.exp(np.asarray(log_weights) - np.max(log_weights))
    return weights / weights.sum()


def plain_class_weights(
    message: int,
    forest: Forest,
    classes,
    background,
    priors: Priors,
    self_corrected: bool = True,
    repeats_in_turn: bool = True,
) -> np.ndarray:
    """Conditional of one message's class, factor by factor, from counts without it.

    Equations (a) to (c) of `palaver.models.block_hmm.kernels.collapsed`. The two flags plant the
    bugs of the paper author's public code.
    """
    n_classes, alpha = priors.n_classes, priors.transition_prior
    edges = np.zeros((n_classes + 1, n_classes))
    for b in range(forest.n_messages):
        parent = forest.parents[b]
        if message not in (b, parent):
            edges[n_classes if parent == -1 else classes[parent], classes[b]] += 1
    words = np.zeros((forest.n_words, n_classes))
    for b in range(forest.n_messages):
        for i in forest.message_tokens(b):
            if b != message and not background[i]:
                words[forest.tokens[i], classes[b]] += 1
    parent = forest.parents[message]
    a = n_classes if parent == -1 else classes[parent]
    log_weights = np.zeros(n_classes)
    for k in range(n_classes):
        log_weights[k] += math.log(edges[a, k] + alpha[k])
        earlier = np.zeros(n_classes)
        for child in forest.children(message):
            c = classes[child]
            both = 1 if self_corrected and a == k == c else 0
            same = 1 if self_corrected and a == k else 0
            log_weights[k] += math.log(edges[k, c] + both + earlier[c] + alpha[c])
            log_weights[k] -= math.log(edges[k].sum() + same + earlier.sum() + alpha.sum())
            earlier[c] += 1
        in_turn = words[:, k] + priors.omega
        for i in forest.message_tokens(message):
            if not background[i]:
                log_weights[k] += math.log(in_turn[forest.tokens[i]] / in_turn.sum())
                in_turn[forest.tokens[i]] += 1 if repeats_in_turn else 0
    return normalize(log_weights)


def draw(weights, u: float) -> int:
    cumulative = np.cumsum(weights)
    return int(np.searchsorted(cumulative, u * cumulative[-1], side="right"))


def twin_collapsed_sweep(
    forest: Forest, classes, background, priors: Priors, uniforms, **planted: bool
) -> None:
    """One collapsed sweep: each message's class, then its switches given the class."""
    stream = iter(uniforms)
    n_classes = priors.n_classes
    for message in range(forest.n_messages):
        weights = plain_class_weights(message, forest, classes, background, priors, **planted)
        classes[message] = draw(weights, next(stream))
        if priors.switch == SWITCH_OFF:
            continue
        for i in forest.message_tokens(message):
            columns = [
                n_classes if background[j] else classes[forest.token_messages[j]]
                for j in range(forest.n_tokens)
            ]
            weights = []
            for outcome, column in ((1, classes[message]), (0, n_classes)):
                in_scope = [
                    j
                    for j in range(forest.n_tokens)
                    if j != i
                    and (
                        priors.switch == SWITCH_CORPUS
                        or forest.token_messages[j] == forest.token_messages[i]
                    )
                ]
                same_switch = sum((0 if background[j] else 1) == outcome for j in in_scope)
                same_column = [j for j in range(forest.n_tokens) if j != i and columns[j] == column]
                same_word = sum(forest.tokens[j] == forest.tokens[i] for j in same_column)
                weights.append(
                    (same_switch + priors.switch_prior[outcome])
                    * (same_word + priors.omega)
                    / (len(same_column) + forest.n_words * priors.omega)
                )
            background[i] = draw(weights, next(stream))


def twin_parallel_sweep(
    forest: Forest, classes, background, parameters: Parameters, conversation: int, uniforms
) -> None:
    """Resample one conversation: filter up, sample down, then the switches of each message."""
    stream = iter(uniforms)
    n_classes, switch = parameters.n_classes, parameters.switch
    p, phi = parameters.class_probability, parameters.word_weights
    first, last = forest.conversation_offsets[conversation : conversation + 2]

    def emission(message: int, k: int) -> float:
        result = 1.0
        for i in forest.message_tokens(message):
            word = forest.tokens[i]
            if switch == SWITCH_CORPUS:
                result *= p * phi[word, k] + (1 - p) * phi[word, n_classes]
            elif not background[i]:
                result *= phi[word, k]
        return result

    def below(message: int, k: int) -> float:
        """Probability of the words of a message and all below it, given its class."""
        result = emission(message, k)
        for child in forest.children(message):
            result *= sum(parameters.rows[k, j] * filtered[child][j] for j in range(n_classes))
        return result

    filtered: dict[int, list[float]] = {}
    for message in reversed(range(first, last)):
        filtered[message] = [below(message, k) for k in range(n_classes)]
    for message in range(first, last):
        parent = forest.parents[message]
        source = n_classes if parent == -1 else classes[parent]
        classes[message] = draw(parameters.rows[source] * filtered[message], next(stream))
        if switch == SWITCH_OFF:
            continue
        tokens = forest.message_tokens(message)
        for i in tokens:
            others = [j for j in tokens if j != i]
            n_background = sum(background[j] for j in others)
            if switch == SWITCH_CORPUS:
                switch_weights = [1 - p, p]
            else:
                n_class = len(others) - n_background
                switch_weights = np.array([n_background, n_class]) + parameters.switch_prior
            word = forest.tokens[i]
            weights = [
                switch_weights[1] * phi[word, classes[message]],
                switch_weights[0] * phi[word, n_classes],
            ]
            background[i] = draw(weights, next(stream))
