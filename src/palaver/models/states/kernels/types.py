"""Classes of word types: every occurrence of a word is in its word's class.

A class bigram model with everything integrated out (docs/models/infinite_hmm.md, "One state per
word"). For a word that moves between classes only the words next to it matter, so that a sweep over
all words costs as many additions as there are different pairs of neighbours, and ``n_classes``
evaluations for every class next to a word.

The *edge* of a sentence counts as a word of its own: the last row of the transitions is the start,
the last column the end.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.forests import draw_by_logs
from palaver.kernels.random import open_stream, uniform

_TABLE_SIZE = 1 << 16  # log-gamma values that are looked up


class Links(NamedTuple):
    """Which words stand next to each other; word ``n_words`` is the edge.

    Attributes
    ----------
    after_offsets, after, after_counts : arrays, shapes (n_words + 2,), (n_pairs,), (n_pairs,)
        The words after word w, in order, are ``after[after_offsets[w]:after_offsets[w + 1]]``.
    before_offsets, before, before_counts : arrays
        The same for the words before.
    totals : array of int64, shape (n_words,)
        Occurrences of each word.
    forms : array of int32, shape (n_words, n_forms)
        Value of each form (a suffix, say) of each word.
    """

    after_offsets: np.ndarray
    after: np.ndarray
    after_counts: np.ndarray
    before_offsets: np.ndarray
    before: np.ndarray
    before_counts: np.ndarray
    totals: np.ndarray
    forms: np.ndarray


class Tallies(NamedTuple):
    """Counts of the classes, with room for further ones before the last entry, the edge.

    Attributes
    ----------
    classes : array of int32, shape (n_words,)
        Class of each word; -1 where it has none yet.
    transitions : array of int64, shape (room + 1, room + 1)
    sources : array of int64, shape (room + 1,)
        Sums of the rows.
    tokens, words : arrays of int64, shape (room + 1,)
        Occurrences and number of the words of each class.
    forms : array of int32, shape (n_forms, room + 1, n_values)
        Words of each class by the value of each form.
    """

    classes: np.ndarray
    transitions: np.ndarray
    sources: np.ndarray
    tokens: np.ndarray
    words: np.ndarray
    forms: np.ndarray


class TypePriors(NamedTuple):
    """Priors of the classes.

    Attributes
    ----------
    transition : float
        Dirichlet prior of every transition.
    word : float
        Dirichlet prior of every word of a class.
    concentration, discount : float
        Of the partition of words into classes.
    forms : array of float64, shape (n_forms,)
        Sum of the Dirichlet prior over the values of each form.
    n_values : array of int64, shape (n_forms,)
    """

    transition: float
    word: float
    concentration: float
    discount: float
    forms: np.ndarray
    n_values: np.ndarray


@inner
def log_gammas(alpha, links):  # type: ignore[no-untyped-def]
    """Return ``log Gamma(n + alpha)`` for the first n, to be looked up."""
    table = np.empty(min(_TABLE_SIZE, links.after_counts.sum() + 1))
    for i in range(len(table)):
        table[i] = math.lgamma(i + alpha)
    return table


@inner
def _rise(table, start, n, alpha):  # type: ignore[no-untyped-def]
    """Return ``log Gamma(start + n + alpha) - log Gamma(start + alpha)``."""
    if start + n < len(table):
        return table[start + n] - table[start]
    return math.lgamma(start + n + alpha) - math.lgamma(start + alpha)


@inner
def _gather(offsets, others, counts, word, classes, sums, found):  # type: ignore[no-untyped-def]
    """Add up the neighbours of a word by class.

    Parameters
    ----------
    offsets, others, counts : one side of :class:`Links`. IN
    word : int. IN
    classes : array of int32, shape (n_words,). IN
        Neighbours without a class are left out.
    sums : array of int64, shape (room + 1,). OUT, zeros before.
    found : array of int64, shape (room + 1,). OUT
        Classes with a neighbour.

    Returns
    -------
    n_found, total, with_itself : int
        ``total`` does not include the pairs of the word with itself.
    """
    edge = len(sums) - 1
    n_found = total = with_itself = 0
    for i in range(offsets[word], offsets[word + 1]):
        other = others[i]
        if other == word:
            with_itself = counts[i]
            continue
        k = edge if other == len(classes) else classes[other]
        if k < 0:
            continue
        if sums[k] == 0:
            found[n_found] = k
            n_found += 1
        sums[k] += counts[i]
        total += counts[i]
    return n_found, total, with_itself


@inner
def _add(tallies, links, word, k, sign, before, n_before, after, n_after, out, twice, lb, la):  # type: ignore[no-untyped-def]
    """Add a word to class k, or remove it (sign -1). tallies: IN-OUT."""
    for i in range(n_before):
        tallies.transitions[before[i], k] += sign * lb[before[i]]
    for i in range(n_after):
        tallies.transitions[k, after[i]] += sign * la[after[i]]
    tallies.transitions[k, k] += sign * twice
    tallies.sources[k] += sign * (out + twice)
    tallies.tokens[k] += sign * links.totals[word]
    tallies.words[k] += sign
    for f in range(links.forms.shape[1]):
        tallies.forms[f, k, links.forms[word, f]] += sign
    tallies.classes[word] = k if sign > 0 else -1


@inner
def _drop(tallies, k, n_classes, before, n_before, after, n_after, lb, la):  # type: ignore[no-untyped-def]
    """Give the number of an empty class to the last one. Everything but the numbers: IN-OUT."""
    last = n_classes - 1
    if last != k:
        tallies.transitions[k] = tallies.transitions[last]
        tallies.transitions[:, k] = tallies.transitions[:, last]
        tallies.transitions[k, k] = tallies.transitions[last, last]
        tallies.sources[k] = tallies.sources[last]
        tallies.tokens[k] = tallies.tokens[last]
        tallies.words[k] = tallies.words[last]
        tallies.forms[:, k] = tallies.forms[:, last]
        for w in range(len(tallies.classes)):
            if tallies.classes[w] == last:
                tallies.classes[w] = k
        _rename(before, n_before, lb, last, k)
        _rename(after, n_after, la, last, k)
    tallies.transitions[last] = 0
    tallies.transitions[:, last] = 0
    tallies.sources[last] = tallies.tokens[last] = tallies.words[last] = 0
    tallies.forms[:, last] = 0


@inner
def _rename(found, n_found, sums, old, new):  # type: ignore[no-untyped-def]
    """Move what was gathered for one class to another. found, sums: IN-OUT."""
    for i in range(n_found):
        if found[i] == old:
            found[i] = new
            sums[new] = sums[old]
            sums[old] = 0


@inner
def _one_more(tallies, n_classes, alpha):  # type: ignore[no-untyped-def]
    """Return what a further class costs all rows: their Dirichlet priors have one entry more."""
    edge = len(tallies.sources) - 1
    old, new = (n_classes + 1) * alpha, (n_classes + 2) * alpha  # classes and the end
    result = 0.0
    for i in range(n_classes + 1):
        total = tallies.sources[i if i < n_classes else edge]
        if total > 0:
            result += math.lgamma(old + total) - math.lgamma(old)
            result -= math.lgamma(new + total) - math.lgamma(new)
    return result


@inner
def _log_weight(  # type: ignore[no-untyped-def]
    tallies, links, priors, table, word, k, n_classes, before, n_before, after, n_after, out,
    twice, lb, la,
):  # fmt: skip
    """Return the log weight of class k for a word that is in none; k = n_classes is a new one."""
    alpha, eta, size = priors.transition, priors.word, tallies.words[k]
    transitions = tallies.transitions
    dimension = n_classes + 1  # and the end
    if k == n_classes:
        dimension += 1
        result = math.log(priors.concentration + priors.discount * n_classes)
        result += _one_more(tallies, n_classes, alpha)
    else:
        result = math.log(size - priors.discount)
    for i in range(n_before):
        j = before[i]
        if j != k:
            result += _rise(table, transitions[j, k], lb[j], alpha)
    for i in range(n_after):
        j = after[i]
        if j != k:
            result += _rise(table, transitions[k, j], la[j], alpha)
    result += _rise(table, transitions[k, k], lb[k] + la[k] + twice, alpha)
    start = dimension * alpha + tallies.sources[k]
    result -= math.lgamma(start + out + twice) - math.lgamma(start)
    larger = (size + 1) * eta
    result += math.lgamma(larger)
    result -= math.lgamma(larger + tallies.tokens[k] + links.totals[word])
    if size > 0:
        result += math.lgamma(size * eta + tallies.tokens[k]) - math.lgamma(size * eta)
    for f in range(links.forms.shape[1]):
        share = priors.forms[f] / priors.n_values[f]
        result += math.log(
            (tallies.forms[f, k, links.forms[word, f]] + share) / (size + priors.forms[f])
        )
    return result


@kernel
def resample_types(order, first, links, tallies, n_classes, most, priors, power, key):  # type: ignore[no-untyped-def]
    """Draw the class of each word given those of all others, one after the other.

    Parameters
    ----------
    order : array of int64. IN
        The words, in the order in which they are drawn. One without a class is added.
    first : int. IN
        Where in ``order`` to begin.
    links : Links. IN
    tallies : Tallies. IN-OUT
    n_classes : int. IN
    most : int. IN
        No more classes than this.
    priors : TypePriors. IN
    power : float. IN
        To which probabilities are raised; 0 takes the most probable class (an optimizer).
    key : array of uint64, shape (2,). IN
        One stream per word.

    Returns
    -------
    done : int
        Where in ``order`` to continue: its length, or earlier if the tallies have no room for a new
        class.
    n_classes : int
    """
    room = len(tallies.sources) - 1
    table = log_gammas(priors.transition, links)
    lb, la = np.zeros(room + 1, np.int64), np.zeros(room + 1, np.int64)
    before, after = np.empty(room + 1, np.int64), np.empty(room + 1, np.int64)
    logs = np.empty(room + 1)
    stream = np.empty(4, np.uint64)
    for at in range(first, len(order)):
        if n_classes == room and room < most:
            return at, n_classes
        word = order[at]
        old = tallies.classes[word]
        n_before, _, _ = _gather(
            links.before_offsets, links.before, links.before_counts, word, tallies.classes, lb,
            before,
        )  # fmt: skip
        n_after, out, twice = _gather(
            links.after_offsets, links.after, links.after_counts, word, tallies.classes, la, after
        )
        if old >= 0:
            _add(tallies, links, word, old, -1, before, n_before, after, n_after, out, twice, lb,
                 la)  # fmt: skip
            if tallies.words[old] == 0:
                _drop(tallies, old, n_classes, before, n_before, after, n_after, lb, la)
                n_classes -= 1
        else:  # the words before it had nowhere to lead to
            for i in range(n_before):
                tallies.sources[before[i]] += lb[before[i]]
        n_choices = n_classes + 1 if n_classes < most else n_classes
        for k in range(n_choices):
            logs[k] = _log_weight(
                tallies, links, priors, table, word, k, n_classes, before, n_before, after,
                n_after, out, twice, lb, la,
            )  # fmt: skip
        if power > 0.0:
            open_stream(key, word, stream)
            for k in range(n_choices):
                logs[k] *= power
            chosen = draw_by_logs(logs, n_choices, uniform(stream))
        else:
            chosen = np.argmax(logs[:n_choices])
        n_classes = max(n_classes, chosen + 1)
        _add(tallies, links, word, chosen, 1, before, n_before, after, n_after, out, twice, lb, la)
        for i in range(n_before):
            lb[before[i]] = 0
        for i in range(n_after):
            la[after[i]] = 0
    return len(order), n_classes


@kernel
def count_types(links, tallies):  # type: ignore[no-untyped-def]
    """Fill the tallies (IN-OUT, zeros before) from the classes in them."""
    edge, n_words = len(tallies.sources) - 1, len(tallies.classes)
    for w in range(n_words + 1):
        source = edge if w == n_words else tallies.classes[w]
        if source < 0:
            continue
        for i in range(links.after_offsets[w], links.after_offsets[w + 1]):
            target = edge if links.after[i] == n_words else tallies.classes[links.after[i]]
            if target >= 0:
                tallies.transitions[source, target] += links.after_counts[i]
                tallies.sources[source] += links.after_counts[i]
    for w in range(n_words):
        k = tallies.classes[w]
        if k >= 0:
            tallies.tokens[k] += links.totals[w]
            tallies.words[k] += 1
            for f in range(links.forms.shape[1]):
                tallies.forms[f, k, links.forms[w, f]] += 1
