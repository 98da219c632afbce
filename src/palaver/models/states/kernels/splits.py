"""Split and merge moves of classes of word types, with the ratio of Metropolis-Hastings.

Dahl (2003), *An improved merge-split sampler for conjugate Dirichlet process mixture models*: two
words are drawn. If they share a class, it is split: each of the two begins a class, and the other
words join one of them, one after the other in a random order, by their weights given those
that have joined. If they do not, their classes are merged; the probability that a split would
have led back enters the ratio.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.random import open_stream, uniform
from palaver.models.states.kernels.types import (
    _add,
    _drop,
    _gather,
    _log_weight,
    _rise,
    log_gammas,
)


@inner
def _move(tallies, links, word, k, sign, lb, la, before, after):  # type: ignore[no-untyped-def]
    """Add a word that is in no class to class k, or remove it (sign -1). tallies: IN-OUT."""
    n_before, _, _ = _gather(
        links.before_offsets, links.before, links.before_counts, word, tallies.classes, lb, before
    )
    n_after, out, twice = _gather(
        links.after_offsets, links.after, links.after_counts, word, tallies.classes, la, after
    )
    _add(tallies, links, word, k, sign, before, n_before, after, n_after, out, twice, lb, la)
    for i in range(n_before):
        tallies.sources[before[i]] += sign * lb[before[i]]
        lb[before[i]] = 0
    for i in range(n_after):
        la[after[i]] = 0


@inner
def _log_odds(tallies, links, priors, table, word, a, b, n_classes, lb, la, before, after):  # type: ignore[no-untyped-def]
    """Return the log odds of class b against class a for a word that is in none."""
    n_before, _, _ = _gather(
        links.before_offsets, links.before, links.before_counts, word, tallies.classes, lb, before
    )
    n_after, out, twice = _gather(
        links.after_offsets, links.after, links.after_counts, word, tallies.classes, la, after
    )
    for i in range(n_before):
        tallies.sources[before[i]] += lb[before[i]]
    odds = _log_weight(
        tallies, links, priors, table, word, b, n_classes, before, n_before, after, n_after, out,
        twice, lb, la,
    )  # fmt: skip
    odds -= _log_weight(
        tallies, links, priors, table, word, a, n_classes, before, n_before, after, n_after, out,
        twice, lb, la,
    )  # fmt: skip
    for i in range(n_before):
        tallies.sources[before[i]] -= lb[before[i]]
        lb[before[i]] = 0
    for i in range(n_after):
        la[after[i]] = 0
    return odds


@inner
def _log_share(odds):  # type: ignore[no-untyped-def]
    """Return ``log(1 / (1 + exp(-odds)))``."""
    if odds > 0:
        return -math.log1p(math.exp(-odds))
    return odds - math.log1p(math.exp(odds))


@inner
def _allocate(  # type: ignore[no-untyped-def]
    members, targets, tallies, links, priors, power, table, a, b, n_classes, lb, la, before,
    after, stream,
):  # fmt: skip
    """Empty classes a and b and fill them again, one word after the other.

    Parameters
    ----------
    members : array of int64. IN
        The words of both, in order; the first begins class a, the second class b.
    targets : array of int32, shape (n_members,). IN-OUT
        Where each word goes; -1 draws it.
    tallies : Tallies. IN-OUT
    n_classes : int. IN
        With a and b.

    Returns
    -------
    float
        Log probability of the targets.
    """
    for i in range(len(members)):
        k = tallies.classes[members[i]]
        _move(tallies, links, members[i], k, -1, lb, la, before, after)
    result = 0.0
    for i in range(len(members)):
        word = members[i]
        if i < 2:
            targets[i] = a if i == 0 else b
        else:
            odds = power * _log_odds(
                tallies, links, priors, table, word, a, b, n_classes, lb, la, before, after
            )
            if targets[i] < 0:
                targets[i] = b if math.log(1 - uniform(stream)) < _log_share(odds) else a
            result += _log_share(odds if targets[i] == b else -odds)
        _move(tallies, links, word, targets[i], 1, lb, la, before, after)
    return result


@inner
def _fold(tallies, a, b):  # type: ignore[no-untyped-def]
    """Move all words of class b to class a; b is left empty. tallies: IN-OUT."""
    transitions = tallies.transitions
    transitions[a] += transitions[b]
    transitions[b] = 0
    transitions[:, a] += transitions[:, b]
    transitions[:, b] = 0
    for counts in (tallies.sources, tallies.tokens, tallies.words):
        counts[a] += counts[b]
        counts[b] = 0
    tallies.forms[:, a] += tallies.forms[:, b]
    tallies.forms[:, b] = 0
    for w in range(len(tallies.classes)):
        if tallies.classes[w] == b:
            tallies.classes[w] = a


@inner
def _log_shape(n_classes, sources, edge, priors, without):  # type: ignore[no-untyped-def]
    """Return the log joint of the sums of all rows and of the number of classes.

    With ``without`` = 1 there is a row more than there are classes; its sum is counted, too.
    """
    width = (n_classes + 1) * priors.transition  # and the end
    result = math.lgamma(width) * (n_classes + 1)
    for k in range(n_classes + without):
        result -= math.lgamma(width + sources[k])
    result -= math.lgamma(width + sources[edge])
    for k in range(1, n_classes):
        result += math.log(priors.concentration + k * priors.discount)
    return result


@inner
def _log_class(tallies, priors, a, b):  # type: ignore[no-untyped-def]
    """Return the log joint of words and forms of classes a and b as one class; a alone if b < 0."""
    size, tokens = tallies.words[a], tallies.tokens[a]
    if b >= 0:
        size, tokens = size + tallies.words[b], tokens + tallies.tokens[b]
    eta = priors.word
    result = math.lgamma(size - priors.discount) - math.lgamma(1 - priors.discount)
    result -= math.lgamma(size * eta + tokens) - math.lgamma(size * eta)
    for f in range(len(tallies.forms)):
        total = priors.forms[f]
        share = total / priors.n_values[f]
        result -= math.lgamma(total + size) - math.lgamma(total)
        for value in range(priors.n_values[f]):
            n = tallies.forms[f, a, value] + (tallies.forms[f, b, value] if b >= 0 else 0)
            if n > 0:
                result += math.lgamma(n + share) - math.lgamma(share)
    return result


@inner
def _merge_gain(tallies, priors, table, a, b, n_classes):  # type: ignore[no-untyped-def]
    """Return by how much the log joint changes if classes a and b, both in use, become one."""
    alpha, edge = priors.transition, len(tallies.sources) - 1
    counts, sources = tallies.transitions, tallies.sources
    result = 0.0
    for i in range(n_classes + 1):
        j = edge if i == n_classes else i
        if j != a and j != b:
            result += _rise(table, counts[a, j], counts[b, j], alpha)
            result -= _rise(table, 0, counts[b, j], alpha)
            result += _rise(table, counts[j, a], counts[j, b], alpha)
            result -= _rise(table, 0, counts[j, b], alpha)
    others = counts[a, b] + counts[b, a] + counts[b, b]
    result += _rise(table, counts[a, a], others, alpha) - _rise(table, 0, counts[a, b], alpha)
    result -= _rise(table, 0, counts[b, a], alpha) + _rise(table, 0, counts[b, b], alpha)
    result -= _log_shape(n_classes, sources, edge, priors, 0)
    result += _log_shape(n_classes - 1, sources, edge, priors, 1)
    width = n_classes * alpha
    result += math.lgamma(width + sources[a]) + math.lgamma(width + sources[b])
    result -= math.lgamma(width + sources[a] + sources[b])
    result += _log_class(tallies, priors, a, b)
    return result - _log_class(tallies, priors, a, -1) - _log_class(tallies, priors, b, -1)


@inner
def _members(classes, a, b, first, second, stream):  # type: ignore[no-untyped-def]
    """Return the words of two classes in a random order, after the two given ones."""
    n = 0
    for w in range(len(classes)):
        n += classes[w] == a or classes[w] == b
    members = np.empty(n, np.int64)
    members[0], members[1] = first, second
    at = 2
    for w in range(len(classes)):
        if (classes[w] == a or classes[w] == b) and w != first and w != second:
            other = 2 + int(uniform(stream) * (at - 1))
            members[at] = members[other]
            members[other] = w
            at += 1
    return members


@kernel
def split_and_merge(pairs, links, tallies, n_classes, most, priors, power, key):  # type: ignore[no-untyped-def]
    """Propose to split or merge the classes of pairs of words, one pair after the other.

    Parameters
    ----------
    pairs : array of int64, shape (n_pairs, 2). IN
        Drawn whatever the classes are.
    links : Links. IN
    tallies : Tallies. IN-OUT
        A split needs room for one class more.
    n_classes : int. IN
    most : int. IN
        No more classes than this.
    priors : TypePriors. IN
    power : float. IN
        To which the joint is raised.
    key : array of uint64, shape (2,). IN

    Returns
    -------
    n_classes, splits, merges : int
    """
    room = len(tallies.sources) - 1
    table = log_gammas(priors.transition, links)
    lb, la = np.zeros(room + 1, np.int64), np.zeros(room + 1, np.int64)
    before, after = np.empty(room + 1, np.int64), np.empty(room + 1, np.int64)
    stream = np.empty(4, np.uint64)
    splits = merges = 0
    for at in range(len(pairs)):
        first, second = pairs[at]
        if first == second:
            continue
        open_stream(key, at, stream)
        threshold = math.log(1 - uniform(stream))
        a, b = tallies.classes[first], tallies.classes[second]
        if a == b and n_classes >= min(room, most):
            continue
        split = a == b
        if split:
            b = n_classes
        members = _members(tallies.classes, a, b, first, second, stream)
        targets = np.full(len(members), -1, np.int32)
        if split:
            reached = _allocate(
                members, targets, tallies, links, priors, power, table, a, b, n_classes + 1, lb,
                la, before, after, stream,
            )  # fmt: skip
            lost = _merge_gain(tallies, priors, table, a, b, n_classes + 1)
            if threshold < -power * lost - reached:
                n_classes += 1
                splits += 1
            else:
                _fold(tallies, a, b)
            continue
        gain = power * _merge_gain(tallies, priors, table, a, b, n_classes)
        if threshold >= gain:  # the way back has a probability of at most one
            continue
        for i in range(len(members)):
            targets[i] = tallies.classes[members[i]]
        gain += _allocate(
            members, targets, tallies, links, priors, power, table, a, b, n_classes, lb, la,
            before, after, stream,
        )  # fmt: skip
        if threshold < gain:
            _fold(tallies, a, b)
            _drop(tallies, b, n_classes, before, 0, after, 0, lb, la)
            n_classes -= 1
            merges += 1
    return n_classes, splits, merges
