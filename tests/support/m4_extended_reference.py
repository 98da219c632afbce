"""M4 with all that can be added to it in plain Python, to be checked by reading.

The joint is told as an urn, every token in turn; conditionals are ratios of joints. Features are
dense vectors: the mean of the parents' histograms, then what the case says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from palaver.models.m4.kernels.arguments import Parameters, State, Threads, Variant
from palaver.models.m4.kernels.sweep import sweep_shard
from support.forests import Forest

NO_RECORD = np.empty((0, 0, 0))


@dataclass
class Case:
    """A shard and everything a sweep is given."""

    forest: Forest
    parents: list[list[int]]
    weights: np.ndarray
    features: np.ndarray  # (n_messages, F), beyond the histograms
    is_dirichlet: bool
    segments: list[int] | None  # tokens of each segment; None: tokens bear classes
    fixed: np.ndarray  # (n_messages,), -1 where free
    omega: float
    alpha: np.ndarray
    is_message_switch: bool
    switch_prior: np.ndarray
    switch_probabilities: np.ndarray
    word_weights: np.ndarray | None  # of the parallel sampler
    classes: np.ndarray = field(init=False)
    segment_classes: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.classes = np.zeros(self.forest.n_tokens, np.int16)
        self.segment_classes = np.zeros(len(self.segments or ()), np.int16)

    @property
    def n_classes(self) -> int:
        return self.weights.shape[1]

    @property
    def n_columns(self) -> int:
        return self.n_classes + 1 + len(self.alpha)

    @property
    def segment_offsets(self) -> np.ndarray:
        return np.cumsum([0, *(self.segments or ())], dtype=np.int64)

    @property
    def unit_offsets(self) -> np.ndarray:
        if self.segments is None:
            return self.forest.message_offsets
        return np.searchsorted(self.segment_offsets, self.forest.message_offsets).astype(np.int64)

    def kind(self, outcome: int) -> int:
        return 1 if outcome < self.n_classes else int(2 * (outcome > self.n_classes))

    def possible(self) -> list[int]:
        """Outcomes that the switch allows."""
        return [o for o in range(self.n_columns) if self.switch_prior[self.kind(o)] > 0]


def random_case(
    rng: np.random.Generator,
    *,
    is_dirichlet: bool = True,
    n_topics: int = 0,
    background: bool = True,
    is_message_switch: bool = False,
    segmented: bool = False,
    parallel: bool = False,
    several_parents: bool = False,
    parents_last: bool = False,
    n_extra: int = 0,
    guided: bool = False,
    n_classes: int = 3,
    n_tokens: int = 12,
    n_words: int = 4,
) -> Case:
    """A forest whose messages may have several parents, with random everything."""
    cuts = [0, 3, 6]
    parents: list[list[int]] = []
    for start, end in ((0, 3), (3, 6)):
        for b in range(start, end):
            earlier = list(range(start, b))
            n = min(len(earlier), 1 + int(several_parents and rng.random() < 0.7))
            chosen = sorted(rng.choice(earlier, n, replace=False).tolist()) if earlier else []
            parents.append(chosen if rng.random() < 0.9 else [])
    if parents_last:  # as while replies are rebuilt: siblings around the message they answer
        parents = [[1], [], [1], [4], [], [4]]
    lengths = rng.multinomial(n_tokens, np.full(6, 1 / 6))
    forest = Forest(
        tokens=rng.integers(0, n_words, n_tokens).astype(np.int32),
        message_offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        parents=np.array([p[0] if p else -1 for p in parents], np.int32),
        conversation_offsets=np.array(cuts, np.int64),
        n_words=n_words,
        first_conversation=int(rng.integers(0, 50)),
    )
    features = np.zeros((6, 2 + n_extra))
    features[:, 0] = [not p for p in parents]
    features[:, 1] = 1.0
    features[:, 2:] = rng.integers(-1, 2, (6, n_extra))
    segments = None
    if segmented:
        segments = []
        for length in lengths:
            left = int(length)
            while left:
                segments.append(int(rng.integers(1, left + 1)))
                left -= segments[-1]
    prior = rng.uniform(0.5, 3.0, 3) * [background, True, n_topics > 0]
    n_columns = n_classes + 1 + n_topics
    probabilities = rng.dirichlet([2.0, 2.0, 2.0]) * (prior > 0)
    case = Case(
        forest, parents, rng.normal(0, 1.2, (n_classes + 2 + n_extra, n_classes)), features,
        is_dirichlet, segments,
        np.where(rng.random(6) < 0.3, rng.integers(0, n_classes, 6), -1).astype(np.int16)
        if guided else np.full(6, -1, np.int16),
        float(rng.uniform(0.05, 1.0)), rng.uniform(0.1, 2.0, n_topics), is_message_switch, prior,
        probabilities / probabilities.sum(),
        rng.dirichlet(np.full(n_words, 0.7), n_columns).T.copy() if parallel else None,
    )  # fmt: skip
    shuffle(case, rng)
    return case


def shuffle(case: Case, rng: np.random.Generator) -> None:
    """Draw any legal state."""
    forest = case.forest
    owner = np.repeat(np.arange(len(case.segments or ())), case.segments or [])
    for b in range(forest.n_messages):
        for s in range(case.unit_offsets[b], case.unit_offsets[b + 1]):
            if case.segments is not None:
                free = case.fixed[b] < 0
                case.segment_classes[s] = rng.integers(case.n_classes) if free else case.fixed[b]
        for i in forest.message_tokens(b):
            outcome = rng.choice(case.possible())
            if outcome < case.n_classes and case.fixed[b] >= 0:
                outcome = case.fixed[b]
            if outcome < case.n_classes and case.segments is not None:
                outcome = case.segment_classes[owner[i]]
            case.classes[i] = outcome


def histogram(case: Case, message: int) -> np.ndarray:
    """Class-bearing units of a message by class."""
    units = case.classes if case.segments is None else case.segment_classes
    own = units[case.unit_offsets[message] : case.unit_offsets[message + 1]]
    return np.array([(own == k).sum() for k in range(case.n_classes)], float)


def feature_vector(case: Case, message: int) -> np.ndarray:
    """The mean of the parents' histograms, each summing to one, then the other features."""
    parents = case.parents[message]
    mean = np.zeros(case.n_classes)
    for parent in parents:
        counts = histogram(case, parent)
        mean += counts / max(counts.sum(), 1) / len(parents)
    return np.append(mean, case.features[message])


def log_units(case: Case, message: int) -> float:
    """Log probability of the classes of a message's units, one after the other."""
    scores = feature_vector(case, message) @ case.weights
    counts = histogram(case, message)
    if not case.is_dirichlet:
        return float(counts @ (scores - np.log(np.exp(scores).sum())))
    a = np.exp(scores)
    result, seen = 0.0, np.zeros(case.n_classes)
    for k in range(case.n_classes):
        for _ in range(int(counts[k])):
            result += math.log((a[k] + seen[k]) / (a.sum() + seen.sum()))
            seen[k] += 1
    return result


def log_joint(case: Case) -> float:
    """Log probability of words, outcomes and segment classes."""
    forest, n_classes = case.forest, case.n_classes
    words = np.zeros((forest.n_words, case.n_columns))
    corpus_switches = np.zeros(3)
    result = 0.0
    for start, end in zip(
        forest.conversation_offsets[:-1], forest.conversation_offsets[1:], strict=True
    ):
        topics = np.zeros(len(case.alpha))
        for b in range(start, end):
            result += log_units(case, b)
            message_switches = np.zeros(3)
            for i in forest.message_tokens(b):
                outcome = int(case.classes[i])
                kind = case.kind(outcome)
                if case.word_weights is not None and not case.is_message_switch:
                    result += math.log(case.switch_probabilities[kind])
                else:
                    seen = message_switches if case.is_message_switch else corpus_switches
                    mass = seen + case.switch_prior
                    result += math.log(mass[kind] / mass.sum())
                    seen[kind] += 1
                if kind == 2:
                    mass = topics + case.alpha
                    topic = outcome - n_classes - 1
                    result += math.log(mass[topic] / mass.sum())
                    topics[topic] += 1
                word = forest.tokens[i]
                if case.word_weights is not None:
                    result += math.log(case.word_weights[word, outcome])
                else:
                    mass = words[:, outcome] + case.omega
                    result += math.log(mass[word] / mass.sum())
                    words[word, outcome] += 1
    return result


def counts_of(case: Case) -> tuple[np.ndarray, np.ndarray]:
    counts = np.zeros((case.forest.n_words, case.n_columns), np.int32)
    np.add.at(counts, (case.forest.tokens, case.classes), 1)
    return counts, counts.sum(axis=0, dtype=np.int64)


def threads_of(case: Case) -> Threads:
    """The case's conversations as the kernels have them."""
    forest = case.forest
    designs, base_index = np.unique(case.features, axis=0, return_inverse=True)
    return Threads(
        forest.tokens, forest.message_offsets, forest.conversation_offsets,
        forest.first_conversation, np.cumsum([0, *map(len, case.parents)], dtype=np.int64),
        np.array([a for p in case.parents for a in p], np.int32), base_index.astype(np.int32),
        designs, case.fixed, case.segment_offsets, case.unit_offsets,
    )  # fmt: skip


def arguments(case: Case) -> tuple[Variant, Parameters]:
    """The case's model as the kernels have it."""
    collapsed = case.word_weights is None
    words = np.empty((0, 0)) if case.word_weights is None else case.word_weights
    return (
        Variant(collapsed, case.segments is not None, case.is_dirichlet, case.is_message_switch),
        Parameters(
            case.weights, case.omega, words, case.alpha, case.switch_prior,
            case.switch_probabilities,
        ),
    )  # fmt: skip


def run_sweep(case, key, recorded=NO_RECORD, recorded_segments=NO_RECORD):
    """One compiled sweep, which changes the case's state; returns counts and their totals."""
    counts, totals = counts_of(case)
    if case.word_weights is not None:
        counts[:] = 0
    variant, parameters = arguments(case)
    state = State(case.classes, case.segment_classes, counts, totals)
    sweep_shard(variant, threads_of(case), parameters, state, key, recorded, recorded_segments)
    return counts, totals


def shares_of(case: Case, message: int) -> np.ndarray:
    """Expected class shares of a message given its parents' classes."""
    weights = np.exp(feature_vector(case, message) @ case.weights)
    return weights / weights.sum()
