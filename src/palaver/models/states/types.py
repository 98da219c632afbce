"""Classes of word types: who stands next to whom, first classes, priors and their moves.

The kernels and the model are in :mod:`palaver.models.states.kernels.types`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from palaver.kernels.random import uniforms
from palaver.models.states import priors as partitions
from palaver.models.states.kernels.settle import dissolve_classes, merge_classes, split_classes
from palaver.models.states.kernels.splits import split_and_merge
from palaver.models.states.kernels.types import (
    Links,
    Tallies,
    TypePriors,
    count_types,
    resample_types,
)
from palaver.models.states.priors import HYPERPRIORS, Hyperpriors

_ROOM = 32  # places for new classes, to begin with
#: For each class, pairs of words that could begin its parts; passes over the words of both parts.
_TRIES, _PASSES = 4, 5
#: By how much a round of the search may lower the log joint with each split.
_SLACK = 100.0
_STEPS = (1.0, 0.3, 0.1)
#: Limits of word and form priors that are learned, uniform in the logarithm.
WORD_PRIORS, FORM_PRIORS = (1e-4, 1e1), (1e-2, 1e5)
#: Priors that are learned unless they are given.
LEARNED = frozenset({"transition", "word", "concentration"})
#: Where the priors of a first clustering start, and its sweeps.
_FIRST, _CLUSTER_SWEEPS = TypePriors(0.4, 0.75, 5.0, 0.0, np.zeros(0), np.zeros(0, np.int64)), 20


def count_pairs(
    tokens: NDArray[Any], offsets: NDArray[np.int64], n_words: int
) -> NDArray[np.int64]:
    """Count the pairs of neighbours, with the edge of a sentence as word ``n_words``.

    Parameters
    ----------
    tokens : array of int, shape (n_tokens,)
    offsets : array of int64, shape (n_sentences + 1,)
    n_words : int

    Returns
    -------
    array of int64, shape (2, n_pairs)
        Pairs as ``left * (n_words + 1) + right``, in order, and how often each occurs.
    """
    full = offsets[:-1][np.diff(offsets) > 0]
    marked = np.insert(tokens.astype(np.int64), full, n_words)  # an edge before each sentence
    left, right = marked, np.append(marked[1:], n_words)
    if not len(marked):
        return np.zeros((2, 0), np.int64)
    return np.stack(np.unique(left * (n_words + 1) + right, return_counts=True))


def add_pairs(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs that occur several times once, with the sum of their counts."""
    found, places = np.unique(pairs[0], return_inverse=True)
    sums = np.zeros(len(found), np.int64)
    np.add.at(sums, places, pairs[1])
    return np.stack((found, sums))


def links_of(pairs: NDArray[np.int64], n_words: int, forms: NDArray[np.int32]) -> Links:
    """Return the neighbours of each word from what :func:`count_pairs` counted."""
    left, right = np.divmod(pairs[0], n_words + 1)
    counts = pairs[1]
    limits = np.arange(n_words + 2)
    order = np.argsort(right, kind="stable")
    totals = np.bincount(right, counts, n_words + 1)[:n_words].astype(np.int64)
    return Links(
        np.searchsorted(left, limits), right.astype(np.int32), counts.astype(np.int32),
        np.searchsorted(right[order], limits), left[order].astype(np.int32),
        counts[order].astype(np.int32), totals, forms,
    )  # fmt: skip


def tallied(links: Links, classes: NDArray[np.int32], room: int, n_values: int) -> Tallies:
    """Return the tallies of classes, with room for some more."""
    n_forms = links.forms.shape[1]
    tallies = Tallies(
        classes, np.zeros((room + 1, room + 1), np.int64), np.zeros(room + 1, np.int64),
        np.zeros(room + 1, np.int64), np.zeros(room + 1, np.int64),
        np.zeros((n_forms, room + 1, n_values), np.int32),
    )  # fmt: skip
    count_types(links, tallies)
    return tallies


def resampled(
    links: Links, classes: NDArray[np.int32], order: NDArray[np.int64], most: int,
    priors: TypePriors, power: float, key: NDArray[np.uint64],
) -> Tallies:  # fmt: skip
    """Draw the classes (IN-OUT) of words in some order; return the tallies of all words."""
    n_values = int(priors.n_values.max(initial=1))
    n_classes, done = int(classes.max(initial=-1)) + 1, 0
    while True:
        room = max(min(2 * n_classes + _ROOM, most), 1)
        tallies = tallied(links, classes, room, n_values)
        done, n_classes = resample_types(
            order, done, links, tallies, n_classes, most, priors, power, key
        )
        if done == len(order):
            return tallies


def split_or_merged(
    links: Links, tallies: Tallies, n_pairs: int, most: int, priors: TypePriors, power: float,
    key: NDArray[np.uint64],
) -> tuple[int, int]:  # fmt: skip
    """Propose to split or merge the classes (IN-OUT) of pairs of words, frequent ones more often.

    Returns how many classes were split, and how many times two were merged.
    """
    shares = np.cumsum(np.sqrt(links.totals))
    draws = uniforms(key[::-1].copy(), 0, 2 * n_pairs) * shares[-1]
    pairs = np.searchsorted(shares, draws, side="right").reshape(-1, 2)
    n_classes = int(tallies.classes.max(initial=-1)) + 1
    _, splits, merges = split_and_merge(pairs, links, tallies, n_classes, most, priors, power, key)
    return splits, merges


def settle(
    links: Links, tallies: Tallies, most: int, priors: TypePriors, key: NDArray[np.uint64]
) -> int:
    """Split and merge classes (IN-OUT) wherever that raises the log joint: an optimizer.

    Every class is split if a split is found that helps; then pairs of classes are merged, best
    first, until no merge helps; at last each class is dissolved whose words are better off in the
    other classes. Returns the number of classes. Quick, for classes that others begin with.
    """
    order = np.argsort(-links.totals, kind="stable")
    n_classes = int(tallies.classes.max(initial=-1)) + 1
    n_classes = split_classes(
        order, links, tallies, n_classes, most, priors, _TRIES, _PASSES, 0.0, key
    )
    n_classes = merge_classes(links, tallies, n_classes, most, priors)
    return int(dissolve_classes(order, links, tallies, n_classes, priors))


def searched(
    links: Links, tallies: Tallies, most: int, priors: TypePriors, key: NDArray[np.uint64]
) -> Tallies:
    """Make a round of the search for classes that raise the log joint: an optimizer.

    As in :func:`settle`, but classes are split even if there are more than allowed then, and merged
    until no merge helps and no class is too many: at the limit, classes are exchanged for better
    ones. Below the limit, classes are also split where that costs up to :data:`_SLACK`, and every
    word joins its best class before the merges and after them.

    Parameters
    ----------
    links : Links
    tallies : Tallies
        Left as they are.
    most : int
    priors : TypePriors
    key : array of uint64, shape (2,)

    Returns
    -------
    Tallies
        Those after the round, with classes of their own; the given ones unless it raised the log
        joint.
    """
    order = np.argsort(-links.totals, kind="stable")
    n_classes = int(tallies.classes.max(initial=-1)) + 1
    below = n_classes < most
    found = tallied(links, tallies.classes.copy(), max(2 * n_classes, 1), tallies.forms.shape[2])
    n_classes = split_classes(
        order, links, found, n_classes, 2 * n_classes, priors, _TRIES, _PASSES,
        _SLACK if below else 0.0, key,
    )  # fmt: skip
    if below:
        n_classes = _likeliest(order, links, found, n_classes, priors)
    n_classes = merge_classes(links, found, n_classes, most, priors)
    if below:
        n_classes = _likeliest(order, links, found, n_classes, priors)
    dissolve_classes(order, links, found, n_classes, priors)
    before = log_density(tallies, links.totals, priors)
    return found if log_density(found, links.totals, priors) > before else tallies


def _likeliest(
    order: NDArray[np.int64], links: Links, tallies: Tallies, n_classes: int, priors: TypePriors
) -> int:
    """Move every word to its best class (IN-OUT), no more than there are; return their number."""
    unused = np.zeros(2, np.uint64)
    return int(
        resample_types(order, 0, links, tallies, n_classes, n_classes, priors, 0.0, unused)[1]
    )


def first_classes(
    links: Links, n_first: int, priors: TypePriors, power: float, key: NDArray[np.uint64]
) -> NDArray[np.int32]:
    """Give the most frequent words a class each, then the others theirs in order of frequency."""
    order = np.argsort(-links.totals, kind="stable")
    classes = np.full(len(order), -1, np.int32)
    n_first = min(n_first, len(order))
    classes[order[:n_first]] = np.arange(n_first)
    resampled(links, classes, order[n_first:], n_first, priors, power, key)
    return classes


def log_density(tallies: Tallies, totals: NDArray[np.int64], priors: TypePriors) -> float:
    """Return the log joint of words, forms and classes given the priors.

    Rows, words and forms of the classes are integrated out; the partition of words has the
    probability of a Pitman-Yor process (:func:`palaver.models.states.priors.log_partition`).
    """
    sizes = used(tallies)
    return (
        log_transitions(tallies, priors.transition)
        + log_words(tallies, totals, priors.word)
        + partitions.log_partition(sizes, priors.concentration, priors.discount)
        + sum(
            log_form(tallies, f, int(n_values), float(total))
            for f, (n_values, total) in enumerate(zip(priors.n_values, priors.forms, strict=True))
        )
    )


def used(tallies: Tallies) -> NDArray[np.int64]:
    """Return the numbers of words of the classes that have some."""
    return tallies.words[tallies.words > 0]


def log_transitions(tallies: Tallies, alpha: float) -> float:
    """Return the log probability of all transitions, the end of sentences among them."""
    values, occurrences = np.unique(tallies.transitions, return_counts=True)
    width = (len(used(tallies)) + 1) * alpha
    rows = gammaln(width + tallies.sources) - gammaln(width)
    return float(occurrences @ (gammaln(values + alpha) - gammaln(alpha)) - rows.sum())


def log_words(tallies: Tallies, totals: NDArray[np.int64], eta: float) -> float:
    """Return the log probability of all words given their classes."""
    values, occurrences = np.unique(totals, return_counts=True)
    widths = used(tallies) * eta
    rows = gammaln(widths + tallies.tokens[tallies.words > 0]) - gammaln(widths)
    return float(occurrences @ (gammaln(values + eta) - gammaln(eta)) - rows.sum())


def log_form(tallies: Tallies, form: int, n_values: int, total: float) -> float:
    """Return the log probability of one form of all words given their classes and its prior."""
    sizes, share = used(tallies), total / n_values
    values, occurrences = np.unique(tallies.forms[form], return_counts=True)
    result = occurrences @ (gammaln(values + share) - gammaln(share))
    return float(result - (gammaln(total + sizes) - gammaln(total)).sum())


def move(
    value: float,
    log_density: Callable[[float], float],
    generator: np.random.Generator,
    limits: tuple[float, float] = (1e-12, 1e12),
) -> float:
    """Move a positive number by Metropolis-Hastings steps in its logarithm.

    Parameters
    ----------
    value : float
    log_density : callable
        Of the logarithm of the number, given the number.
    generator : numpy.random.Generator
    limits : (float, float)
    """
    current = log_density(value)
    for step in _STEPS:
        proposal = value * math.exp(step * float(generator.standard_normal()))
        threshold = math.log(1 - generator.random())
        if limits[0] <= proposal <= limits[1]:
            proposed = log_density(proposal)
            if threshold < proposed - current:
                value, current = proposal, proposed
    return value


def moved(
    tallies: Tallies,
    totals: NDArray[np.int64],
    priors: TypePriors,
    generator: np.random.Generator,
    learned: frozenset[str] = LEARNED,
    hyperpriors: Hyperpriors = HYPERPRIORS,
    word_limits: tuple[float, float] = WORD_PRIORS,
) -> TypePriors:
    """Move each prior that is learned given the others, by Metropolis-Hastings steps.

    Transition priors and concentrations have Gamma priors and the discount a Beta prior
    (``hyperpriors``); word and form priors are uniform in the logarithm.
    """
    if "transition" in learned:
        alpha = move(
            priors.transition,
            lambda value: log_transitions(tallies, value) + hyperpriors.log_concentration(value),
            generator,
        )
        priors = priors._replace(transition=alpha)
    if "word" in learned:
        eta = move(
            priors.word, lambda value: log_words(tallies, totals, value), generator, word_limits
        )
        priors = priors._replace(word=eta)
    gamma, discount = partitions.move_pitman_yor(
        priors.concentration, priors.discount, used(tallies), generator, hyperpriors,
        learn_concentration="concentration" in learned, learn_discount="discount" in learned,
    )  # fmt: skip
    forms = [
        move(
            float(value), partial(log_form, tallies, f, int(priors.n_values[f])), generator,
            FORM_PRIORS,
        )
        for f, value in enumerate(priors.forms)
    ]  # fmt: skip
    return priors._replace(concentration=gamma, discount=discount, forms=np.array(forms))


class Clustering(NamedTuple):
    """Classes of word types and their counts.

    Attributes
    ----------
    classes : array of int32, shape (n_words,)
    totals : array of int64, shape (n_words,)
    starts : array of int64, shape (n_classes,)
    transitions : array of int64, shape (n_classes, n_classes)
    """

    classes: NDArray[np.int32]
    totals: NDArray[np.int64]
    starts: NDArray[np.int64]
    transitions: NDArray[np.int64]


def cluster(
    pairs: NDArray[np.int64], n_words: int, n_first: int, most: int, fixed: bool,
    generator: np.random.Generator,
) -> Clustering:  # fmt: skip
    """Find classes of words that stand in similar company, as many as the data call for.

    Parameters
    ----------
    pairs : of :func:`count_pairs`
    n_words : int
    n_first, most : int
        Number of classes at first, and the largest number.
    fixed : bool
        Whether the largest number was asked for; otherwise classes are split and merged, too.
    generator : numpy.random.Generator
    """
    links = links_of(pairs, n_words, np.zeros((n_words, 0), np.int32))
    keys = generator.integers(2**64, size=(_CLUSTER_SWEEPS + 1, 2), dtype=np.uint64)
    priors = _FIRST
    classes = first_classes(links, min(n_first, most), priors, 1.0, keys[0])
    for key in keys[1:]:
        order = generator.permutation(n_words)
        tallies = resampled(links, classes, order, most, priors, 1.0, key)
        if not fixed:
            settle(links, tallies, most, priors, key[::-1].copy())
        priors = moved(tallies, links.totals, priors, generator)
    n_classes = len(used(tallies))
    transitions = tallies.transitions[:n_classes, :n_classes]
    return Clustering(
        classes, links.totals, tallies.transitions[-1, :n_classes].copy(), transitions.copy()
    )
