"""The steps of an optimizer for classes of word types: splits, merges, and classes dissolved.

For the burn-in only: they have no acceptance ratio, so they are not part of the sampler. Gains are
those of the exact log joint (:func:`palaver.models.states.types.log_density`). Who makes them:
:func:`palaver.models.states.types.settle` and :func:`palaver.models.states.types.searched`.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.random import open_stream, uniform
from palaver.models.states.kernels.splits import (
    _fold,
    _log_odds,
    _log_shape,
    _merge_gain,
    _move,
)
from palaver.models.states.kernels.types import _drop, _gather, _log_weight, _rise, log_gammas


@inner
def _forms_gain(tallies, links, priors, members, offsets, a, b):  # type: ignore[no-untyped-def]
    """Return what a merge of classes a and b gains by the forms of their words.

    Only values that both classes have matter, apart from the numbers of words: the loop is over the
    words of the smaller class.
    """
    if tallies.words[a] > tallies.words[b]:
        a, b = b, a
    n, m = tallies.words[a], tallies.words[b]
    result = 0.0
    for f in range(len(priors.forms)):
        total = priors.forms[f]
        share = total / priors.n_values[f]
        result += math.lgamma(total + n) + math.lgamma(total + m)
        result -= math.lgamma(total) + math.lgamma(total + n + m)
        for i in range(offsets[a], offsets[a + 1]):
            value = links.forms[members[i], f]
            other = tallies.forms[f, b, value]
            if other > 0:  # each word of the value has its part in the gain of the value
                own = tallies.forms[f, a, value]
                gain = math.lgamma(own + other + share) - math.lgamma(own + share)
                gain -= math.lgamma(other + share) - math.lgamma(share)
                result += gain / own
    return result


@inner
def _by_class(order, classes, n_classes):  # type: ignore[no-untyped-def]
    """Return the words of each class, in the given order, and where each class begins."""
    offsets = np.zeros(n_classes + 1, np.int64)
    for k in classes:
        offsets[k + 1] += 1
    offsets = np.cumsum(offsets)
    members, at = np.empty(len(classes), np.int64), offsets[:-1].copy()
    for word in order:
        k = classes[word]
        members[at[k]] = word
        at[k] += 1
    return members, offsets


@inner
def _shared(table, left, right, n, edge, alpha):  # type: ignore[no-untyped-def]
    """Return what two rows of transitions gain as one row, where both have transitions."""
    result = 0.0
    for i in range(n + 1):
        j = edge if i == n else i
        if left[j] > 0 and right[j] > 0:
            result += _rise(table, left[j], right[j], alpha) - _rise(table, 0, right[j], alpha)
    return result


@kernel
def merge_gains(links, tallies, n_classes, priors):  # type: ignore[no-untyped-def]
    """Return by how much the log joint changes if two classes become one, for all pairs.

    Parameters
    ----------
    links : Links. IN
    tallies : Tallies. IN
    n_classes : int. IN
    priors : TypePriors. IN

    Returns
    -------
    array of float64, shape (n_classes, n_classes)
        Symmetric; minus infinity on the diagonal.

    Cost: n_classes³.
    """
    alpha, eta, edge = priors.transition, priors.word, len(tallies.sources) - 1
    table = log_gammas(alpha, links)
    counts, sources = tallies.transitions, tallies.sources
    columns = np.ascontiguousarray(counts.T)
    order = np.arange(len(tallies.classes))
    members, offsets = _by_class(order, tallies.classes, n_classes)
    shape = _log_shape(n_classes - 1, sources, edge, priors, 1)
    shape -= _log_shape(n_classes, sources, edge, priors, 0)
    width = n_classes * alpha
    alone = np.empty(n_classes)
    for k in range(n_classes):
        size, tokens = tallies.words[k], tallies.tokens[k]
        alone[k] = math.lgamma(width + sources[k])
        alone[k] -= math.lgamma(size - priors.discount) - math.lgamma(1 - priors.discount)
        alone[k] += math.lgamma(size * eta + tokens) - math.lgamma(size * eta)
    gains = np.full((n_classes, n_classes), -np.inf)
    for a in range(n_classes):
        for b in range(a):
            size, tokens = (
                tallies.words[a] + tallies.words[b],
                tallies.tokens[a] + tallies.tokens[b],
            )
            gain = shape + alone[a] + alone[b] - math.lgamma(width + sources[a] + sources[b])
            gain += math.lgamma(size - priors.discount) - math.lgamma(1 - priors.discount)
            gain -= math.lgamma(size * eta + tokens) - math.lgamma(size * eta)
            gain += _shared(table, counts[a], counts[b], n_classes, edge, alpha)
            gain += _shared(table, columns[a], columns[b], n_classes, edge, alpha)
            # the four entries between both become one
            for j in (a, b):
                for left, right in ((counts[a, j], counts[b, j]), (counts[j, a], counts[j, b])):
                    gain -= _rise(table, left, right, alpha) - _rise(table, 0, right, alpha)
            others = counts[a, b] + counts[b, a] + counts[b, b]
            gain += _rise(table, counts[a, a], others, alpha)
            gain -= _rise(table, 0, counts[a, b], alpha) + _rise(table, 0, counts[b, a], alpha)
            gain -= _rise(table, 0, counts[b, b], alpha)
            gain += _forms_gain(tallies, links, priors, members, offsets, a, b)
            gains[a, b] = gains[b, a] = gain
    return gains


@kernel
def merge_classes(links, tallies, n_classes, most, priors):  # type: ignore[no-untyped-def]
    """Merge pairs of classes, best first, until no merge raises the log joint.

    As long as there are more classes than allowed, those pairs are merged, too, whose merge
    lowers it least; half of the excess at a time, before gains are computed again.

    Parameters
    ----------
    links : Links. IN
    tallies : Tallies. IN-OUT
    n_classes, most : int. IN
    priors : TypePriors. IN

    Returns
    -------
    int
        Number of classes, ``most`` or less.
    """
    table = log_gammas(priors.transition, links)
    none = np.zeros(0, np.int64)
    while n_classes > 1:
        gains = merge_gains(links, tallies, n_classes, priors)
        now, was = np.arange(n_classes), np.arange(n_classes)  # merges change the numbers
        merged, forced = 0, (n_classes - most + 1) // 2
        while True:  # each class once
            best = np.argmax(gains)
            first, second = best // len(gains), best % len(gains)
            expected = gains[first, second]
            if expected == -np.inf or (expected <= 0 and merged >= forced):
                break
            a, b = now[first], now[second]
            gain = _merge_gain(tallies, priors, table, a, b, n_classes)
            if expected > 0 and gain <= 0:  # other merges have changed it
                gains[first, second] = gains[second, first] = gain
                continue
            for k in (first, second):
                gains[k] = -np.inf
                gains[:, k] = -np.inf
            _fold(tallies, a, b)
            last = n_classes - 1
            _drop(tallies, b, n_classes, none, 0, none, 0, none, none)
            now[was[last]] = b
            was[b] = was[last]
            n_classes -= 1
            merged += 1
        if merged == 0:
            break
    return n_classes


@inner
def _better(members, tallies, links, priors, table, a, b, n_classes, lb, la, before, after):  # type: ignore[no-untyped-def]
    """Move words between classes a and b where the log joint rises; return how many."""
    moves = 0
    for word in members:
        k = tallies.classes[word]
        if tallies.words[k] == 1:
            continue
        _move(tallies, links, word, k, -1, lb, la, before, after)
        odds = _log_odds(
            tallies, links, priors, table, word, a, b, n_classes, lb, la, before, after
        )
        chosen = b if odds > 0 else a
        moves += chosen != k
        _move(tallies, links, word, chosen, 1, lb, la, before, after)
    return moves


@inner
def _two_of(members, totals, stream):  # type: ignore[no-untyped-def]
    """Draw two different words, frequent ones more often. stream: IN-OUT."""
    shares = np.empty(len(members))
    for i in range(len(members)):
        shares[i] = math.sqrt(totals[members[i]])
    found = np.empty(2, np.int64)
    for which in range(2):
        target, last = uniform(stream) * shares.sum(), -1
        for i in range(len(members)):
            if shares[i] > 0:
                last = i
                target -= shares[i]
                if target < 0:
                    break
        found[which] = members[last]
        shares[last] = 0.0
    return found


@kernel
def split_classes(  # type: ignore[no-untyped-def]
    order, links, tallies, n_classes, most, priors, n_tries, n_passes, slack, key
):
    """Split each class if that raises the log joint, or lowers it by little.

    Two words begin the parts; the others join the better part, frequent ones first, and then move
    between both as long as that helps.

    Parameters
    ----------
    order : array of int64. IN
        The words, frequent ones first.
    links : Links. IN
    tallies : Tallies. IN-OUT
        No more classes than it has room for.
    n_classes, most : int. IN
    priors : TypePriors. IN
    n_tries : int. IN
        Pairs of words to begin with, for each class.
    n_passes : int. IN
        Passes over the words of a class.
    slack : float. IN
        By how much the last pair of words may lower the log joint; 0 for not at all.
    key : array of uint64, shape (2,). IN
        One stream per class.

    Returns
    -------
    int
        Number of classes.
    """
    room = len(tallies.sources) - 1
    table = log_gammas(priors.transition, links)
    lb, la = np.zeros(room + 1, np.int64), np.zeros(room + 1, np.int64)
    before, after = np.empty(room + 1, np.int64), np.empty(room + 1, np.int64)
    stream = np.empty(4, np.uint64)
    words, offsets = _by_class(order, tallies.classes, n_classes)
    for a in range(n_classes):
        members = words[offsets[a] : offsets[a + 1]]
        if len(members) < 2:
            continue
        open_stream(key, a, stream)
        for attempt in range(n_tries):
            if n_classes >= min(room, most):
                return n_classes
            b = n_classes
            seeds = _two_of(members, links.totals, stream)
            for word in members:
                _move(tallies, links, word, a, -1, lb, la, before, after)
            _move(tallies, links, seeds[0], a, 1, lb, la, before, after)
            _move(tallies, links, seeds[1], b, 1, lb, la, before, after)
            for word in members:
                if tallies.classes[word] < 0:
                    odds = _log_odds(
                        tallies, links, priors, table, word, a, b, n_classes + 1, lb, la, before,
                        after,
                    )  # fmt: skip
                    _move(tallies, links, word, b if odds > 0 else a, 1, lb, la, before, after)
            for _ in range(n_passes):
                if not _better(members, tallies, links, priors, table, a, b, n_classes + 1, lb, la,
                               before, after):  # fmt: skip
                    break
            loss = _merge_gain(tallies, priors, table, a, b, n_classes + 1)
            if loss < 0 or (attempt == n_tries - 1 and loss < slack):
                n_classes += 1
                break  # the class has other words now
            _fold(tallies, a, b)
    return n_classes


@inner
def _log_counts(tallies, priors, table, n_classes, without):  # type: ignore[no-untyped-def]
    """Return the log joint of transitions, words and partition; class ``without`` is empty."""
    alpha, eta, edge = priors.transition, priors.word, len(tallies.sources) - 1
    n_used = n_classes - (without >= 0)
    width = (n_used + 1) * alpha
    result = 0.0
    for i in range(n_classes + 1):
        if i == without:
            continue
        row = tallies.transitions[edge if i == n_classes else i]
        for j in range(n_classes):
            if row[j] > 0:
                result += _rise(table, 0, row[j], alpha)
        result += _rise(table, 0, row[edge], alpha)
        total = tallies.sources[edge if i == n_classes else i]
        result -= math.lgamma(width + total) - math.lgamma(width)
        if i < n_classes:
            size, tokens = tallies.words[i], tallies.tokens[i]
            result -= math.lgamma(size * eta + tokens) - math.lgamma(size * eta)
            result += math.lgamma(size - priors.discount) - math.lgamma(1 - priors.discount)
    for k in range(1, n_used):
        result += math.log(priors.concentration + k * priors.discount)
    return result


@inner
def _log_forms(tallies, links, priors, word, k):  # type: ignore[no-untyped-def]
    """Return the log probability of the forms of a word that joins class k."""
    result = 0.0
    for f in range(links.forms.shape[1]):
        share = priors.forms[f] / priors.n_values[f]
        result += math.log(
            (tallies.forms[f, k, links.forms[word, f]] + share)
            / (tallies.words[k] + priors.forms[f])
        )
    return result


@inner
def _best_of_others(tallies, links, priors, table, word, k, n_classes, lb, la, before, after):  # type: ignore[no-untyped-def]
    """Return the likeliest class other than k for a word that is in none."""
    n_before, _, _ = _gather(
        links.before_offsets, links.before, links.before_counts, word, tallies.classes, lb, before
    )
    n_after, out, twice = _gather(
        links.after_offsets, links.after, links.after_counts, word, tallies.classes, la, after
    )
    for i in range(n_before):
        tallies.sources[before[i]] += lb[before[i]]
    best, highest = -1, -np.inf
    for other in range(n_classes):
        if other != k:
            weight = _log_weight(
                tallies, links, priors, table, word, other, n_classes, before, n_before, after,
                n_after, out, twice, lb, la,
            )  # fmt: skip
            if weight > highest:
                best, highest = other, weight
    for i in range(n_before):
        tallies.sources[before[i]] -= lb[before[i]]
        lb[before[i]] = 0
    for i in range(n_after):
        la[after[i]] = 0
    return best


@kernel
def dissolve_classes(order, links, tallies, n_classes, priors):  # type: ignore[no-untyped-def]
    """Dissolve each class if its words are better off in the others.

    Each of its words, frequent ones first, goes to the best other class; if the log joint is lower
    then, all go back.

    Parameters
    ----------
    order : array of int64. IN
        The words, frequent ones first.
    links : Links. IN
    tallies : Tallies. IN-OUT
    n_classes : int. IN
    priors : TypePriors. IN

    Returns
    -------
    int
        Number of classes.

    Cost: that of a sweep.
    """
    room = len(tallies.sources) - 1
    table = log_gammas(priors.transition, links)
    lb, la = np.zeros(room + 1, np.int64), np.zeros(room + 1, np.int64)
    before, after = np.empty(room + 1, np.int64), np.empty(room + 1, np.int64)
    none = np.zeros(0, np.int64)
    words, offsets = _by_class(order, tallies.classes, n_classes)
    for k in range(n_classes - 1, -1, -1):  # a dissolved class gets the number of the last one
        members = words[offsets[k] : offsets[k + 1]]
        if n_classes == 1 or tallies.words[k] != len(members):  # it has got words of another one
            continue
        old = _log_counts(tallies, priors, table, n_classes, -1)
        forms = 0.0
        for word in members:
            _move(tallies, links, word, k, -1, lb, la, before, after)
            forms -= _log_forms(tallies, links, priors, word, k)
        for word in members:
            other = _best_of_others(
                tallies, links, priors, table, word, k, n_classes, lb, la, before, after
            )
            forms += _log_forms(tallies, links, priors, word, other)
            _move(tallies, links, word, other, 1, lb, la, before, after)
        if _log_counts(tallies, priors, table, n_classes, k) + forms > old:
            _drop(tallies, k, n_classes, none, 0, none, 0, none, none)
            n_classes -= 1
        else:
            for word in members:
                _move(tallies, links, word, tallies.classes[word], -1, lb, la, before, after)
                _move(tallies, links, word, k, 1, lb, la, before, after)
    return n_classes
