"""Learning the default numbers from corpora with known replies; see :mod:`palaver.threads.places`.

``python -m benchmarks.threads --defaults`` does this for all available corpora and writes
``defaults.json``; to evaluate the defaults on a corpus, they are learned without it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from palaver import rng
from palaver.corpus.table import Corpus
from palaver.models.views.reconstruct import order_of
from palaver.threads.evidence import gather_evidence
from palaver.threads.kernels import features as columns
from palaver.threads.kernels.features import FEATURES
from palaver.threads.pairs import CandidatePairs, joined, pairs_of
from palaver.threads.places import (
    CONTENT,
    CONVENTIONS,
    KINDS,
    Defaults,
    infer_tilt,
    place_scores,
    sort_places,
    tilted,
)
from palaver.threads.ranker import fit_temperature, fit_weights, scores_of
from palaver.threads.training import known_pairs, known_parents

#: Features fitted along with the weights of content, so that these do not stand in for them.
_BESIDE = (
    "previous", "second", "log distance", "far", "log time", "first", "first, log place",
    "first, newcomer", "same speaker", "newcomer, previous", "asker, previous", "spoken since",
    "after mine", "another mentioned", "mentions another", "question", "question, no question",
    "log length", *CONTENT,
)  # fmt: skip
_MESSAGES = 2000  # per corpus, so that all have the same weight
_PENALTY, _FIXED = 3.0, 1e6
_WINDOW = 100


def sample_pairs(
    corpus: Corpus, n_messages: int, seed: int
) -> tuple[CandidatePairs, NDArray[np.bool_]]:
    """Return some messages of a corpus with several candidates, and their true parents."""
    gathered = gather_evidence(corpus, order_of(corpus, "time"))
    parents = known_parents(corpus, gathered)
    whole, right = known_pairs(
        pairs_of(gathered, _WINDOW, True),
        parents,
        lambda pairs: (np.diff(pairs.offsets) > 2) & (parents[pairs.messages] >= 0),
    )
    chosen = np.zeros(len(whole.messages), bool)
    chosen[rng.generator(seed, "defaults").permutation(len(chosen))[:n_messages]] = True
    return whole.only(chosen), right[np.repeat(chosen, np.diff(whole.offsets))]


def learn_defaults(corpora: Sequence[Corpus], random_state: rng.RandomState = 0) -> Defaults:
    """Learn the default numbers from corpora with known replies, giving all the same weight.

    Parameters
    ----------
    corpora : sequence of Corpus
    random_state : int, numpy.random.Generator or None
        Determines the messages drawn from each corpus.
    """
    seed = rng.resolve_seed(random_state)
    samples = [sample_pairs(corpus, _MESSAGES, seed) for corpus in corpora]
    content = _learn_content([_without_turns(*sample) for sample in samples])
    raw = Defaults(content, _count_places([_without_turns(*sample) for sample in samples]))
    scores, lengths, right = [], [], []
    for pairs, truth in samples:
        tilt = infer_tilt(pairs, scores_of(pairs, raw.weights))
        scores.append(place_scores(pairs, raw, tilted(raw, tilt), False))
        lengths.append(np.diff(pairs.offsets))
        right.append(truth)
    offsets = np.concatenate(([0], np.cumsum(np.concatenate(lengths))))
    temperature = fit_temperature(np.concatenate(scores), offsets, np.concatenate(right))
    return Defaults(content, raw.shares, temperature)


def _without_turns(
    pairs: CandidatePairs, right: NDArray[np.bool_]
) -> tuple[CandidatePairs, NDArray[np.bool_]]:
    """Drop messages whose speaker also spoke just before, since corpora treat these differently."""
    same = pairs.features[:, columns.SAME_PREVIOUS] > 0
    kept = np.add.reduceat(same, pairs.offsets[:-1]) == 0
    return pairs.only(kept), right[np.repeat(kept, np.diff(pairs.offsets))]


def _learn_content(samples: list[tuple[CandidatePairs, NDArray[np.bool_]]]) -> dict[str, float]:
    """Fit the weights of shared content along with those of places and speakers."""
    centre, precision = np.zeros(len(FEATURES)), np.full(len(FEATURES), _FIXED)
    precision[[FEATURES.index(name) for name in _BESIDE]] = _PENALTY
    for name, weight in CONVENTIONS.items():
        centre[FEATURES.index(name)] = weight
    right = np.concatenate([truth for _, truth in samples])
    targets = np.where(right, 0.0, -np.inf)
    weights = fit_weights(joined([pairs for pairs, _ in samples]), targets, centre, precision)
    return {name: float(weights[FEATURES.index(name)]) for name in CONTENT}


def _count_places(samples: list[tuple[CandidatePairs, NDArray[np.bool_]]]) -> NDArray[np.float64]:
    """Return where parents are, by kind of speaker, (4, 6); all corpora have the same weight."""
    total = np.zeros((len(KINDS), 7))
    for pairs, right in samples:
        found = sort_places(pairs, False)
        kinds = np.repeat(found.kinds, np.diff(pairs.offsets))
        cells = np.bincount(kinds[right] * 7 + found.places[right], minlength=total.size)
        total += cells.reshape(total.shape) / max(right.sum(), 1)
    total = total[:, :6]
    newcomers = total[2] / max(total[2].sum(), 1e-9)
    total[0] += 0.01 * newcomers  # if no corpus lacks speakers, treat unknown ones as newcomers
    total += 0.01 * total.sum(axis=1, keepdims=True) / 6 + 1e-9
    return np.asarray(total / total.sum(axis=1, keepdims=True))
