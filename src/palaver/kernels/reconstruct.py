"""Who answers whom, where nobody says: parents drawn given classes (Paul 2012, section 5.5.2).

The parent of a message is drawn from all other messages of its conversation and the start::

    P(r_b = a | classes)  ∝  prod_j pi(a)[j]^(n_bj / temperature)                            (1)

where ``pi(a)`` is the class distribution that message ``a`` gives its replies and ``n_bj`` are the
tokens of message ``b`` by class; in the block HMM it is ``row(z_a)[z_b]^(1 / temperature)``.
Messages below ``b`` are left out, so parents always form a forest. With an order given, only
messages that stand earlier in it are candidates.

Within a conversation messages are numbered from zero; links of a forest hold first child, next and
previous sibling of each, -1 where there is none, the start's children last.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from palaver.kernels.block_hmm import draw_class
from palaver.kernels.block_hmm_trees import filter_beliefs, floored_columns, tree_class_weights
from palaver.kernels.m4_family import log_rising
from palaver.kernels.parent_pairs import pair_scores
from palaver.kernels.plain import longest_stretch
from palaver.kernels.random import open_stream, uniform
from palaver.kernels.trees import parents_first

MOST_CANDIDATES = 512
"""Candidates that are weighed for a message; in longer conversations so many are drawn."""

_NEGLIGIBLE = -45.0


@njit(cache=True, nogil=True)
def open_parents(  # type: ignore[no-untyped-def]
    conversation_offsets, first_conversation, is_ordered, ranks, key, parents
):
    """Draw a forest for each conversation: message by message, a parent among those before.

    Parameters
    ----------
    conversation_offsets, first_conversation : of the shard. IN
    is_ordered : bool; ranks : array of int64, shape (n_messages,). IN
        Place of each message in its conversation's order; without order, one is drawn.
    key : array of uint64, shape (2,). IN
    parents : array of int32, shape (n_messages,). OUT
    """
    state = np.empty(4, np.uint64)
    for c in range(len(conversation_offsets) - 1):
        open_stream(key, first_conversation + c, state)
        first, last = conversation_offsets[c], conversation_offsets[c + 1]
        sequence = np.arange(last - first)
        if is_ordered:
            for b in range(last - first):
                sequence[ranks[first + b]] = b
        else:
            for i in range(last - first - 1, 0, -1):
                other = int(uniform(state) * (i + 1))
                sequence[i], sequence[other] = sequence[other], sequence[i]
        for i in range(last - first):
            choice = int(uniform(state) * (i + 1))
            parents[first + sequence[i]] = -1 if choice == i else first + sequence[choice]


@njit(cache=True, nogil=True)
def _link(parents, first, n, first_child, following, preceding):  # type: ignore[no-untyped-def]
    """Set the links of one conversation's forest."""
    first_child[: n + 1] = -1
    for b in range(n - 1, -1, -1):
        _attach(b, parents[first + b] - first if parents[first + b] >= 0 else n,
                first_child, following, preceding)  # fmt: skip


@njit(cache=True, nogil=True)
def _attach(b, parent, first_child, following, preceding):  # type: ignore[no-untyped-def]
    """Make ``b`` the first child of a message (or of the start)."""
    following[b] = first_child[parent]
    preceding[b] = -1
    if first_child[parent] >= 0:
        preceding[first_child[parent]] = b
    first_child[parent] = b


@njit(cache=True, nogil=True)
def _detach(b, parent, first_child, following, preceding):  # type: ignore[no-untyped-def]
    """Take ``b`` from the children of a message (or of the start)."""
    if preceding[b] >= 0:
        following[preceding[b]] = following[b]
    else:
        first_child[parent] = following[b]
    if following[b] >= 0:
        preceding[following[b]] = preceding[b]


@njit(cache=True, nogil=True)
def _list_below(b, first_child, following, below):  # type: ignore[no-untyped-def]
    """List ``b`` and all messages below it in ``below`` (OUT); return how many they are."""
    below[0] = b
    n_below = 1
    done = 0
    while done < n_below:
        child = first_child[below[done]]
        while child >= 0:
            below[n_below] = child
            n_below += 1
            child = following[child]
        done += 1
    return n_below


@njit(cache=True, nogil=True, error_model="numpy")
def reply_parts(message_offsets, first, n, classes, weights, counts, parts):  # type: ignore[no-untyped-def]
    """Set the class counts of each message and what these add to the scores of its replies.

    As :func:`reply_logs` with ``parts``, at least (K, n + 1) OUT, of scores without bias; the
    start's column has its weights.
    """
    n_classes = weights.shape[1]
    for a in range(n):
        counts[a, :] = 0.0
        total = 0.0
        for i in range(message_offsets[first + a], message_offsets[first + a + 1]):
            if classes[i] < n_classes:
                counts[a, classes[i]] += 1.0
                total += 1.0
        parts[:, a] = 0.0
        for k in range(n_classes):
            if counts[a, k] > 0.0:
                share = counts[a, k] / total
                for j in range(n_classes):
                    parts[j, a] += share * weights[k, j]
    for j in range(n_classes):
        parts[j, n] = weights[n_classes, j]


@njit(cache=True, nogil=True, error_model="numpy")
def reply_logs(  # type: ignore[no-untyped-def]
    message_offsets, first, n, classes, weights, counts, logs, totals
):
    """Set the class counts of each message and the logs of what it gives its replies.

    Parameters
    ----------
    message_offsets, classes : arrays of the shard; messages ``first`` to ``first + n - 1``. IN
    weights : array of float64, shape (K+2, K). IN
    counts : array of float64, at least (n, K). OUT
    logs : array of float64, at least (K, n + 1). OUT
        Column ``a`` is ``log pi(a)`` of (1), column ``n`` that of the start.
    totals : array of float64, at least (n + 1,). OUT
        Logs of the sums of exponentials by which ``pi`` was divided.

    Cost O(K²) for each message.
    """
    n_classes = weights.shape[1]
    scores = np.empty(n_classes)
    reply_parts(message_offsets, first, n, classes, weights, counts, logs)
    for a in range(n + 1):
        for j in range(n_classes):
            scores[j] = weights[n_classes + 1, j] + logs[j, a]
        highest = scores.max()
        total = 0.0
        for j in range(n_classes):
            total += math.exp(scores[j] - highest)
        shift = highest + math.log(total)
        totals[a] = shift
        for j in range(n_classes):
            logs[j, a] = scores[j] - shift


@njit(cache=True, nogil=True, error_model="numpy")
def parent_scores(counts, logs, n_candidates, candidates, inverse, scores):  # type: ignore[no-untyped-def]
    """Set the logs of (1), up to a constant, for the first ``n_candidates`` candidates.

    counts : (K,) IN, of the message; logs : (K, n + 1) IN, of `reply_logs`;
    candidates : (n_candidates,) IN, columns of logs; inverse : float IN, of the temperature;
    scores : (n_candidates,) OUT.
    """
    scores[:n_candidates] = 0.0
    for j in range(counts.shape[0]):
        if counts[j] > 0.0:
            weight = counts[j] * inverse
            for i in range(n_candidates):
                scores[i] += weight * logs[j, candidates[i]]


@njit(cache=True, nogil=True, error_model="numpy")
def reply_weights(logs, n, totals):  # type: ignore[no-untyped-def]
    """Turn logs of class shares into Dirichlet weights of what each message gives its replies.

    logs : at least (K, n + 1) IN-OUT, of `reply_logs`; totals : at least (n + 1,) IN-OUT, the logs
    of the sums that were taken off, then the sums of the weights.
    """
    for a in range(n + 1):
        totals[a] = math.exp(totals[a])
        for j in range(logs.shape[0]):
            logs[j, a] = totals[a] * math.exp(logs[j, a])


@njit(cache=True, nogil=True, error_model="numpy")
def parent_rises(  # type: ignore[no-untyped-def]
    counts, weights, totals, n_candidates, candidates, inverse, scores
):
    """As `parent_scores` with Dirichlet transitions: (1) has rising factorials.

    counts : (K,) IN; weights : (K, n + 1), totals : (n + 1,) IN, of `reply_weights`;
    n_candidates, candidates, inverse : IN; scores : (n_candidates,) OUT.
    """
    n_units = int(counts.sum())
    for i in range(n_candidates):
        a = candidates[i]
        score = -log_rising(totals[a], n_units)
        for j in range(counts.shape[0]):
            if counts[j] > 0.0:
                score += log_rising(weights[j, a], int(counts[j]))
        scores[i] = score * inverse


@njit(cache=True, nogil=True)
def _draw_by_logs(scores, n, draw):  # type: ignore[no-untyped-def]
    """Return the number drawn with log weights ``scores`` (IN-OUT: used up), by a uniform."""
    highest = scores[:n].max()
    total = 0.0
    for i in range(n):
        distance = scores[i] - highest
        total += math.exp(distance) if distance > _NEGLIGIBLE else 0.0
        scores[i] = total
    target = draw * total
    for i in range(n - 1):
        if target < scores[i]:
            return i
    return n - 1


@njit(cache=True, nogil=True)
def _fill_candidates(  # type: ignore[no-untyped-def]
    b, parent, n, place, sequence, is_below, most, state, candidates
):
    """List who may be the parent of ``b`` in ``candidates`` (OUT), the start as ``n``.

    All earlier ones, ``sequence[:place]``, that are not below ``b``; if these are more than
    ``most``, the present parent and ``most - 1`` draws among them: choosing from such a list
    by (1) leaves (1) as it is, for the list would be as likely with parent and choice swapped.
    Returns how many they are.
    """
    if place + 1 <= most:
        n_candidates = 0
        for i in range(place):
            if not is_below[sequence[i]]:
                candidates[n_candidates] = sequence[i]
                n_candidates += 1
        candidates[n_candidates] = n
        return n_candidates + 1
    candidates[0] = parent
    n_candidates = 1
    while n_candidates < most:
        choice = int(uniform(state) * (place + 1))
        a = sequence[choice] if choice < place else n
        if a == n or not is_below[a]:
            candidates[n_candidates] = a
            n_candidates += 1
    return n_candidates


@njit(cache=True, nogil=True, error_model="numpy")
def draw_parents_m4(  # type: ignore[no-untyped-def]
    message_offsets, conversation_offsets, first_conversation, classes, weights, temperature,
    is_ordered, ranks, most, key, parents, is_dirichlet, pairs,
):  # fmt: skip
    """Draw the parent of every message from (1), one after the other.

    Parameters
    ----------
    message_offsets, conversation_offsets, first_conversation : of the shard. IN
    classes : array of int16, shape (n_tokens,). IN
        Or of segments, with ``message_offsets`` the segments of messages.
    weights : array of float64, shape (K+2, K) or more rows. IN
    temperature : float. IN
    is_ordered : bool; ranks : array of int64, shape (n_messages,). IN
    most : int, candidates to weigh for a message. IN
    key : array of uint64, shape (2,). IN
        One stream for each conversation.
    parents : array of int32, shape (n_messages,). IN-OUT
    is_dirichlet : bool; pairs : Pairs, what else a message and its parent are told by. IN

    Cost, for each message, O(K) for each candidate, and one step for each message below it.
    """
    n_classes = weights.shape[1]
    inverse = 1.0 / temperature
    longest = longest_stretch(conversation_offsets)
    totals = np.empty(longest + 1)
    counts, logs = np.empty((longest, n_classes)), np.empty((n_classes, longest + 1))
    first_child = np.empty(longest + 1, np.int64)
    following, preceding = np.empty(longest, np.int64), np.empty(longest, np.int64)
    below, is_below = np.empty(longest, np.int64), np.zeros(longest, np.bool_)
    sequence = np.empty(longest, np.int64)
    size = max(min(longest, most), 1) + 1
    candidates, scores = np.empty(size, np.int64), np.empty(size)
    state = np.empty(4, np.uint64)
    for c in range(len(conversation_offsets) - 1):
        open_stream(key, first_conversation + c, state)
        first = conversation_offsets[c]
        n = conversation_offsets[c + 1] - first
        if pairs.is_used:
            reply_parts(message_offsets, first, n, classes, weights, counts, logs)
        else:
            reply_logs(message_offsets, first, n, classes, weights, counts, logs, totals)
            if is_dirichlet:
                reply_weights(logs, n, totals)
        _link(parents, first, n, first_child, following, preceding)
        for b in range(n):
            sequence[ranks[first + b] if is_ordered else b] = b
        for b in range(n):
            old = parents[first + b] - first if parents[first + b] >= 0 else n
            n_below = 0
            place = ranks[first + b]
            if not is_ordered:  # those below may stand anywhere
                place = n
                n_below = _list_below(b, first_child, following, below)
                for i in range(n_below):
                    is_below[below[i]] = True
            n_candidates = _fill_candidates(
                b, old, n, place, sequence, is_below, most, state, candidates
            )
            for i in range(n_below):
                is_below[below[i]] = False
            if pairs.is_used:
                pair_scores(
                    b, first, n, counts[b], logs, pairs, is_dirichlet, n_candidates, candidates,
                    inverse, scores,
                )  # fmt: skip
            elif is_dirichlet:
                parent_rises(counts[b], logs, totals, n_candidates, candidates, inverse, scores)
            else:
                parent_scores(counts[b], logs, n_candidates, candidates, inverse, scores)
            new = candidates[_draw_by_logs(scores, n_candidates, uniform(state))]
            if new != old:
                _detach(b, old, first_child, following, preceding)
                _attach(b, new, first_child, following, preceding)
                parents[first + b] = first + new if new < n else -1


@njit(cache=True, nogil=True)
def draw_block_classes(  # type: ignore[no-untyped-def]
    conversation_offsets, first_conversation, parents, rows, emissions, key, message_classes
):
    """Draw all classes of each conversation together, whatever the order of its messages.

    Parameters
    ----------
    conversation_offsets, first_conversation, parents : of the shard; a forest. IN
    rows : array of float64, shape (K+1, K). IN
    emissions : array of float64, shape (n_messages, K). IN
        Log probability of each message's words given its class.
    key : array of uint64, shape (2,). IN
    message_classes : array of int16, shape (n_messages,). OUT

    Cost O(K²) for each message.
    """
    n_classes = rows.shape[1]
    columns = floored_columns(rows)
    longest = longest_stretch(conversation_offsets)
    beliefs, sums = np.empty((longest, n_classes)), np.empty((longest, n_classes + 1))
    moved, places = np.empty(longest, np.int32), np.empty(longest, np.int32)
    weights = np.empty(n_classes)
    state = np.empty(4, np.uint64)
    for c in range(len(conversation_offsets) - 1):
        open_stream(key, first_conversation + c, state)
        first = conversation_offsets[c]
        n = conversation_offsets[c + 1] - first
        local = parents[first : first + n].copy()
        for b in range(n):
            local[b] = local[b] - first if local[b] >= 0 else -1
        order = parents_first(local)
        for i in range(n):
            places[order[i]] = i
        for i in range(n):
            parent = local[order[i]]
            moved[i] = places[parent] if parent >= 0 else -1
            beliefs[i] = emissions[first + order[i]]
        filter_beliefs(0, n, moved, columns, beliefs, sums)
        for i in range(n):
            source = n_classes
            if moved[i] >= 0:
                source = message_classes[first + order[moved[i]]]
            tree_class_weights(source, beliefs[i], columns, weights)
            message_classes[first + order[i]] = draw_class(weights, uniform(state))


@njit(cache=True, nogil=True, error_model="numpy")
def draw_parents_block(  # type: ignore[no-untyped-def]
    conversation_offsets, first_conversation, message_classes, rows, temperature, is_ordered,
    ranks, key, parents,
):  # fmt: skip
    """Draw the parent of every message from (1) for the block HMM, one after the other.

    Candidates of one class are as likely as each other: first the class is drawn, then one of
    its messages, again if it is below.

    Parameters
    ----------
    conversation_offsets, first_conversation : of the shard. IN
    message_classes : array of int16, shape (n_messages,). IN
    rows : array of float64, shape (K+1, K). IN
    temperature : float; is_ordered : bool; ranks : array of int64, shape (n_messages,). IN
    key : array of uint64, shape (2,). IN
    parents : array of int32, shape (n_messages,). IN-OUT

    Cost, for each message, O(K) and one step for each message below it.
    """
    n_classes = rows.shape[1]
    longest = longest_stretch(conversation_offsets)
    logs = np.empty((n_classes, n_classes + 1))
    for k in range(n_classes):
        for source in range(n_classes + 1):
            logs[k, source] = math.log(max(rows[source, k], 5e-324)) / temperature
    first_child = np.empty(longest + 1, np.int64)
    following, preceding = np.empty(longest, np.int64), np.empty(longest, np.int64)
    below, is_below = np.empty(longest, np.int64), np.zeros(longest, np.bool_)
    members, n_members = np.empty((n_classes, longest), np.int64), np.zeros(n_classes, np.int64)
    sequence = np.empty(longest, np.int64)
    n_open, scores = np.empty(n_classes, np.int64), np.empty(n_classes + 1)
    state = np.empty(4, np.uint64)
    for c in range(len(conversation_offsets) - 1):
        open_stream(key, first_conversation + c, state)
        first = conversation_offsets[c]
        n = conversation_offsets[c + 1] - first
        n_members[:] = 0
        for b in range(n):
            sequence[ranks[first + b] if is_ordered else b] = b
            if not is_ordered:
                k = message_classes[first + b]
                members[k, n_members[k]] = b
                n_members[k] += 1
        _link(parents, first, n, first_child, following, preceding)
        for i in range(n):
            b = sequence[i]
            own = message_classes[first + b]
            n_below = 0
            n_open[:] = n_members
            if not is_ordered:
                n_below = _list_below(b, first_child, following, below)
                for m in range(n_below):
                    is_below[below[m]] = True
                    n_open[message_classes[first + below[m]]] -= 1
            for k in range(n_classes):
                scores[k] = -np.inf
                if n_open[k] > 0:
                    scores[k] = logs[own, k] + math.log(n_open[k])
            scores[n_classes] = logs[own, n_classes]
            source = _draw_by_logs(scores, n_classes + 1, uniform(state))
            new = n
            if source < n_classes:
                new = members[source, int(uniform(state) * n_members[source])]
                while is_below[new]:
                    new = members[source, int(uniform(state) * n_members[source])]
            for m in range(n_below):
                is_below[below[m]] = False
            old = parents[first + b] - first if parents[first + b] >= 0 else n
            if new != old:
                _detach(b, old, first_child, following, preceding)
                _attach(b, new, first_child, following, preceding)
                parents[first + b] = first + new if new < n else -1
            if is_ordered:
                members[own, n_members[own]] = b
                n_members[own] += 1
