"""M4 with a background switch in plain Python, to be checked against spec 1 by reading.

The joint is told as an urn. The twins of the samplers recount everything for every token; they
take the same uniforms as the compiled sweep and put the outcomes in the same order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from palaver.kernels.random import uniforms
from palaver.kernels.switch import SWITCH_CORPUS, SWITCH_MESSAGE, SWITCH_OFF
from palaver.models.m4.kernels.paper_sweep import sweep_collapsed, sweep_parallel
from palaver.models.m4.kernels.paper_tokens import HOPELESS, MAX_TRIES
from support.forests import Forest

SWITCHES = [SWITCH_OFF, SWITCH_CORPUS, SWITCH_MESSAGE]


@dataclass(frozen=True)
class Model:
    """What a sweep is given. With `word_weights` it is the parallel one, else the collapsed."""

    weights: np.ndarray
    omega: float
    switch: int
    switch_prior: np.ndarray
    is_metropolis: bool
    word_weights: np.ndarray | None = None
    class_probability: float = 0.5

    @property
    def n_classes(self) -> int:
        return self.weights.shape[1]

    @property
    def n_outcomes(self) -> int:
        return self.n_classes + (self.switch != SWITCH_OFF)


def random_model(
    rng: np.random.Generator,
    n_classes: int,
    n_words: int,
    switch: int,
    parallel: bool,
    is_metropolis: bool = False,
    scale: float = 1.5,
) -> Model:
    word_weights = None
    if parallel:
        word_weights = rng.dirichlet(np.full(n_words, 0.7), n_classes + 1).T.copy()
    return Model(
        weights=rng.normal(0, scale, (n_classes + 2, n_classes)),
        omega=float(rng.uniform(0.05, 1.0)),
        switch=switch,
        switch_prior=rng.uniform(0.5, 3.0, 2),
        is_metropolis=is_metropolis,
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
    np.add.at(word_class_counts, (forest.tokens, classes), 1)
    return word_class_counts, word_class_counts.sum(axis=0, dtype=np.int64)


def run_sweep(
    forest: Forest,
    classes: np.ndarray,
    model: Model,
    key: np.ndarray,
    recorded: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """One compiled sweep over `classes` in place; returns its counts and their column sums."""
    if recorded is None:
        recorded = np.zeros((0, 0, 0))
    words, totals = count(forest, classes, model.n_classes)
    if model.word_weights is None:
        sweep_collapsed(
            forest.tokens, forest.message_offsets, forest.parents, forest.conversation_offsets,
            classes, words, totals, model.weights, model.omega, model.switch, model.switch_prior,
            model.is_metropolis, key, recorded,
        )  # fmt: skip
        return words, totals
    words[:] = 0
    sweep_parallel(
        forest.tokens, forest.message_offsets, forest.parents, forest.conversation_offsets,
        forest.first_conversation, classes, model.word_weights, model.weights, model.switch,
        model.switch_prior, model.class_probability, model.is_metropolis, key, words, recorded,
    )  # fmt: skip
    return words, words.sum(axis=0, dtype=np.int64)


# ---------------------------------------------------------------- the joint


def histogram(forest: Forest, classes: np.ndarray, message: int, n_classes: int) -> np.ndarray:
    """Counts per class; the background is in no histogram."""
    own = [classes[i] for i in forest.message_tokens(message)]
    return np.array([own.count(k) for k in range(n_classes)], dtype=float)


def log_softmax(scores: np.ndarray) -> np.ndarray:
    highest = scores.max()
    return scores - highest - math.log(np.exp(scores - highest).sum())


def log_transition(
    forest: Forest, classes: np.ndarray, message: int, weights: np.ndarray
) -> np.ndarray:
    """log pi of a message: softmax of the weights times its parent's features."""
    n_classes = weights.shape[1]
    features = np.zeros(n_classes + 2)
    features[n_classes + 1] = 1.0
    parent = forest.parents[message]
    if parent < 0:
        features[n_classes] = 1.0
    else:
        counts = histogram(forest, classes, parent, n_classes)
        if counts.sum() > 0:
            features[:n_classes] = counts / counts.sum()
    return log_softmax(features @ weights)


def log_joint(forest: Forest, classes: np.ndarray, model: Model) -> float:
    """log p(words, classes, switches) of the urn; word weights and probability if given."""
    n_classes = model.n_classes
    words = np.zeros((forest.n_words, n_classes + 1))
    corpus_switches = np.zeros(2)
    result = 0.0
    for message in range(forest.n_messages):
        log_pi = log_transition(forest, classes, message, model.weights)
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
                result += log_pi[column]
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


def normalise(log_weights) -> np.ndarray:
    weights = np.exp(np.asarray(log_weights) - np.max(log_weights))
    return weights / weights.sum()


def enumerated_conditional(i: int, forest: Forest, classes, model: Model) -> np.ndarray:
    """Distribution of one token's outcome from the joint of all K+1 assignments; shape (K+1,)."""
    logs = []
    for outcome in range(model.n_outcomes):
        other = classes.copy()
        other[i] = outcome
        logs.append(log_joint(forest, other, model))
    return np.append(normalise(logs), np.zeros(model.n_classes + 1 - model.n_outcomes))


# ---------------------------------------------------------------- the twins


def visited_messages(forest: Forest, conversation: int) -> list[int]:
    """Roots first, then the children of each message in turn."""
    messages = range(*forest.conversation_offsets[conversation : conversation + 2])
    roots = [b for b in messages if forest.parents[b] < 0]
    return roots + [b for a in messages for b in messages if forest.parents[b] == a]


def visited_tokens(forest: Forest) -> list[int]:
    return [
        i
        for c in range(forest.n_conversations)
        for b in visited_messages(forest, c)
        for i in forest.message_tokens(b)
    ]


def plain_weights(i: int, forest: Forest, classes, model: Model) -> np.ndarray:
    """Conditional (K+1,) without child factor, by the formulas, from recounted counts."""
    n_classes = model.n_classes
    messages = forest.token_messages
    message = messages[i]
    others = [j for j in range(forest.n_tokens) if j != i]
    beside = [j for j in others if messages[j] == message]
    log_pi = log_transition(forest, classes, message, model.weights)
    weights = np.zeros(n_classes + 1)
    for outcome in range(model.n_outcomes):
        is_class = outcome < n_classes
        if model.word_weights is not None:
            word = model.word_weights[forest.tokens[i], outcome]
        else:
            column = [j for j in others if classes[j] == outcome]
            same = sum(forest.tokens[j] == forest.tokens[i] for j in column)
            word = (same + model.omega) / (len(column) + forest.n_words * model.omega)
        switch = 1.0
        if model.switch == SWITCH_CORPUS and model.word_weights is not None:
            switch = model.class_probability if is_class else 1 - model.class_probability
        elif model.switch != SWITCH_OFF:
            scope = others if model.switch == SWITCH_CORPUS else beside
            alike = sum((classes[j] < n_classes) == is_class for j in scope)
            switch = alike + model.switch_prior[1 if is_class else 0]
        weights[outcome] = switch * word * (math.exp(log_pi[outcome]) if is_class else 1.0)
    return weights


def child_factors(i: int, forest: Forest, classes, model: Model) -> np.ndarray:
    """log of the children's probability for each outcome (K+1,): one child after the other."""
    logs = np.full(model.n_classes + 1, -np.inf)
    for outcome in range(model.n_outcomes):
        other = classes.copy()
        other[i] = outcome
        logs[outcome] = 0.0
        for child in forest.children(forest.token_messages[i]):
            counts = histogram(forest, classes, child, model.n_classes)
            logs[outcome] += counts @ log_transition(forest, other, child, model.weights)
    return logs


class Bound:
    """An upper bound of the log child factors, linear in the exponents, tangent at a histogram."""

    def __init__(self, others: np.ndarray, child_counts: np.ndarray, weights: np.ndarray) -> None:
        """others: the message's histogram without the token at hand, where the bound is exact."""
        self.weights = weights[: weights.shape[1]]
        self.bias = weights[-1]
        n = others.sum()
        log_q = log_softmax(self.bias + others / max(n, 1) @ self.weights)
        q = np.exp(log_q)
        self.residual = child_counts - child_counts.sum() * q
        self.constant = child_counts.sum() * (q @ log_q)
        self.reference = 1 / (n + 1)

    def logs(self, others: np.ndarray) -> np.ndarray:
        """Bounds of all outcomes (K+1,) for a message with this histogram, the token left out."""
        n = others.sum()
        slopes = self.weights @ self.residual
        at_others = others @ slopes
        start = self.constant + self.residual @ self.bias
        error = 1 / (n + 1) - self.reference
        classes = start + at_others / (n + 1) + slopes * self.reference + (slopes * error).max()
        return np.append(classes, start + at_others / max(n, 1))


def draw_outcome(weights: np.ndarray, old: int, model: Model, draw: float) -> int:
    """Classes by k mod 8, then k; the background; a collapsed sweep has the old outcome last."""
    order = [*sorted(range(model.n_classes), key=lambda k: (k % 8, k)), model.n_classes]
    if model.word_weights is None:
        order = [outcome for outcome in order if outcome != old] + [old]
    cumulative = np.cumsum(weights[order])
    return order[int(np.searchsorted(cumulative, draw * cumulative[-1], side="right"))]


def twin_sweep(
    forest: Forest, classes, model: Model, key: np.ndarray, with_children: bool = True
) -> dict[str, int]:
    """Resample all tokens in turn; `with_children=False` is a planted bug.

    Returns how often each of the exact sampler's ways was taken.
    """
    taken = {"first try": 0, "later try": 0, "in full": 0}
    stream = iter(uniforms(key, 0, 10 * MAX_TRIES * forest.n_tokens + 1))
    for c in range(forest.n_conversations):
        if model.word_weights is not None:
            n_draws = 10 * MAX_TRIES * forest.n_tokens + 1
            stream = iter(uniforms(key, forest.first_conversation + c, n_draws))
        for b in visited_messages(forest, c):
            child_counts = sum(
                (
                    histogram(forest, classes, child, model.n_classes)
                    for child in forest.children(b)
                ),
                start=np.zeros(model.n_classes),
            )
            bound, is_loose = None, False
            for i in forest.message_tokens(b):
                old = int(classes[i])
                plain = plain_weights(i, forest, classes, model)
                if child_counts.sum() == 0:
                    classes[i] = draw_outcome(plain, old, model, next(stream))
                    continue
                logs = child_factors(i, forest, classes, model) * with_children
                if model.is_metropolis:
                    new = draw_outcome(plain, old, model, next(stream))
                    if new != old and next(stream) < math.exp(min(logs[new] - logs[old], 0.0)):
                        classes[i] = new
                    continue
                without = classes.copy()
                without[i] = model.n_classes
                others = histogram(forest, without, b, model.n_classes)
                new = None
                for attempt in range(MAX_TRIES):
                    if is_loose:
                        break
                    is_fresh = bound is None or attempt == 1
                    if is_fresh:
                        bound = Bound(others, child_counts * with_children, model.weights)
                    limits = bound.logs(others)
                    proposal = plain * np.exp(limits - limits.max())
                    candidate = draw_outcome(proposal, old, model, next(stream))
                    log_acceptance = logs[candidate] - limits[candidate]
                    if next(stream) < math.exp(log_acceptance):
                        new = candidate
                        taken["first try" if attempt == 0 else "later try"] += 1
                        break
                    is_loose = is_fresh and -log_acceptance > HOPELESS
                if new is None:
                    new = draw_outcome(plain * normalise(logs), old, model, next(stream))
                    taken["in full"] += 1
                classes[i] = new
    return taken
