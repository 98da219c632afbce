"""The paper's M4 with a background switch in plain Python, to be checked by reading.

The joint is told as an urn. The twin of the sweep recounts everything for every token; it takes
the same uniforms as the compiled sweep and puts the outcomes in the same order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from palaver.kernels.random import uniforms
from palaver.kernels.switch import SWITCH_CORPUS, SWITCH_MESSAGE, SWITCH_OFF
from palaver.models.m4.kernels.arguments import Parameters, State, Threads, Variant
from palaver.models.m4.kernels.sweep import sweep_shard
from support.forests import Forest

SWITCHES = [SWITCH_OFF, SWITCH_CORPUS, SWITCH_MESSAGE]


@dataclass(frozen=True)
class Model:
    """What a sweep is given. With `word_weights` it is the parallel one, else the collapsed."""

    weights: np.ndarray
    omega: float
    switch: int
    switch_prior: np.ndarray
    word_weights: np.ndarray | None = None
    class_probability: float = 0.5

    @property
    def n_classes(self) -> int:
        return self.weights.shape[1]

    @property
    def n_outcomes(self) -> int:
        return self.n_classes + (self.switch != SWITCH_OFF)

    @property
    def kinds_prior(self) -> np.ndarray:
        """The switch's prior of background, class and topic: zero where there is none."""
        return np.append(self.switch_prior * [self.switch != SWITCH_OFF, True], 0.0)

    @property
    def kinds(self) -> np.ndarray:
        """Probabilities of the same, of the parallel sweep."""
        p = 1.0 if self.switch == SWITCH_OFF else self.class_probability
        return np.array([1 - p, p, 0.0])


def random_model(
    rng: np.random.Generator,
    n_classes: int,
    n_words: int,
    switch: int,
    parallel: bool,
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


def threads_of(forest: Forest) -> Threads:
    """The forest as the kernels have it: features are start and bias, tokens bear classes."""
    has_parent = forest.parents >= 0
    offsets = np.concatenate(([0], np.cumsum(has_parent))).astype(np.int64)
    return Threads(
        forest.tokens, forest.message_offsets, forest.conversation_offsets,
        forest.first_conversation, offsets, forest.parents[has_parent],
        (~has_parent).astype(np.int32), np.array([[0.0, 1.0], [1.0, 1.0]]),
        np.full(forest.n_messages, -1, np.int16), np.zeros(1, np.int64), forest.message_offsets,
    )  # fmt: skip


def arguments(model: Model) -> tuple[Variant, Parameters]:
    """The model as the kernels have it."""
    words = np.zeros((0, 0)) if model.word_weights is None else model.word_weights
    return (
        Variant(model.word_weights is None, False, False, model.switch == SWITCH_MESSAGE),
        Parameters(model.weights, model.omega, words, np.zeros(0), model.kinds_prior, model.kinds),
    )


def sweep_arguments(
    forest: Forest, classes: np.ndarray, model: Model, words: np.ndarray, totals: np.ndarray
) -> tuple[Variant, Threads, Parameters, State]:
    """What the compiled sweep is given, without a key and what it is to record."""
    variant, parameters = arguments(model)
    state = State(classes, np.zeros(0, np.int16), words, totals)
    return variant, threads_of(forest), parameters, state


def run_sweep(
    forest: Forest,
    classes: np.ndarray,
    model: Model,
    key: np.ndarray,
    recorded: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """One compiled sweep over `classes` in place; returns its counts and their column sums."""
    nothing = np.zeros((0, 0, 0))
    words, totals = count(forest, classes, model.n_classes)
    if model.word_weights is not None:
        words[:] = 0
    given = sweep_arguments(forest, classes, model, words, totals)
    sweep_shard(*given, key, nothing if recorded is None else recorded, nothing)
    return words, words.sum(axis=0, dtype=np.int64) if model.word_weights is not None else totals


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


# ---------------------------------------------------------------- the twins


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


def draw_outcome(weights: np.ndarray, old: int, draw: float) -> int:
    """Classes by k mod 8, then k, and the background; the old outcome comes last."""
    n_classes = len(weights) - 1
    order = [*sorted(range(n_classes), key=lambda k: (k % 8, k)), n_classes]
    order = [outcome for outcome in order if outcome != old] + [old]
    cumulative = np.cumsum(weights[order])
    return order[int(np.searchsorted(cumulative, draw * cumulative[-1], side="right"))]


def twin_sweep(
    forest: Forest, classes, model: Model, key: np.ndarray, with_children: bool = True
) -> dict[str, int]:
    """Propose and accept all tokens in turn; `with_children=False` is a planted bug.

    Returns how often each way was taken.
    """
    taken = {"no replies": 0, "the same": 0, "accepted": 0, "refused": 0}
    n_draws = 2 * forest.n_tokens + 1
    stream = iter(uniforms(key, 0, n_draws))
    for c in range(forest.n_conversations):
        if model.word_weights is not None:
            stream = iter(uniforms(key, forest.first_conversation + c, n_draws))
        for b in range(*forest.conversation_offsets[c : c + 2]):
            has_replies = any(
                histogram(forest, classes, child, model.n_classes).any()
                for child in forest.children(b)
            )
            for i in forest.message_tokens(b):
                old = int(classes[i])
                new = draw_outcome(plain_weights(i, forest, classes, model), old, next(stream))
                way = "the same" if new == old else "no replies"
                if has_replies and new != old:
                    logs = child_factors(i, forest, classes, model) * with_children
                    is_accepted = next(stream) < math.exp(min(logs[new] - logs[old], 0.0))
                    way = "accepted" if is_accepted else "refused"
                    new = new if is_accepted else old
                taken[way] += 1
                classes[i] = new
    return taken
