"""Who answers whom, where nobody says: parents drawn given M4's classes (Paul 2012, section 5.5.2).

The parent of a message is drawn from all other messages of its conversation and the start, by the
paper's equation (5)::

    P(r_b = a | classes)  ∝  prod_j pi(a)[j]^(n_bj / temperature)

where ``pi(a)`` is the class distribution that message ``a`` gives its replies and ``n_bj`` are the
tokens of message ``b`` by class; the block HMM's is in
:mod:`palaver.models.block_hmm.kernels.parents`. Messages below ``b`` are left out, so parents
always form a forest. With an order given, only messages that stand earlier in it are candidates.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.forests import attach, detach, draw_by_logs, link, list_below
from palaver.kernels.plain import longest_stretch
from palaver.kernels.random import open_stream, uniform
from palaver.models.m4.kernels.pairs import pair_scores
from palaver.models.m4.kernels.replies import log_rising

MOST_CANDIDATES = 512
"""Most candidates considered for a message; longer conversations draw this many."""


@inner(error_model="numpy")
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


@kernel(error_model="numpy")
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
        Column ``a`` is ``log pi(a)``, column ``n`` that of the start.
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


@kernel(error_model="numpy")
def parent_scores(counts, logs, n_candidates, candidates, inverse, scores):  # type: ignore[no-untyped-def]
    """Set the logs of (5), up to a constant, for the first ``n_candidates`` candidates.

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


@inner(error_model="numpy")
def reply_weights(logs, n, totals):  # type: ignore[no-untyped-def]
    """Turn logs of class shares into Dirichlet weights of what each message gives its replies.

    logs : at least (K, n + 1) IN-OUT, of `reply_logs`; totals : at least (n + 1,) IN-OUT, the logs
    of the sums that were taken off, then the sums of the weights.
    """
    for a in range(n + 1):
        totals[a] = math.exp(totals[a])
        for j in range(logs.shape[0]):
            logs[j, a] = totals[a] * math.exp(logs[j, a])


@inner(error_model="numpy")
def parent_rises(  # type: ignore[no-untyped-def]
    counts, weights, totals, n_candidates, candidates, inverse, scores
):
    """As `parent_scores` with Dirichlet transitions: (5) has rising factorials.

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


@inner
def _fill_candidates(  # type: ignore[no-untyped-def]
    parent, n, place, sequence, is_below, most, state, candidates
):
    """List who may be the parent of a message in ``candidates`` (OUT), the start as ``n``.

    All earlier ones, ``sequence[:place]``, that are not below it; if these are more than
    ``most``, the present parent and ``most - 1`` draws among them: choosing from such a list
    by (5) leaves (5) as it is, for the list would be as likely with parent and choice swapped.
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


@kernel(error_model="numpy")
def draw_parents_m4(  # type: ignore[no-untyped-def]
    message_offsets, conversation_offsets, first_conversation, classes, weights, temperature,
    is_ordered, ranks, most, key, parents, is_dirichlet, pairs,
):  # fmt: skip
    """Draw the parent of every message from (5), one after the other.

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
        link(parents, first, n, first_child, following, preceding)
        for b in range(n):
            sequence[ranks[first + b] if is_ordered else b] = b
        for b in range(n):
            old = parents[first + b] - first if parents[first + b] >= 0 else n
            n_below = 0
            place = ranks[first + b]
            if not is_ordered:  # those below may stand anywhere
                place = n
                n_below = list_below(b, first_child, following, below)
                for i in range(n_below):
                    is_below[below[i]] = True
            n_candidates = _fill_candidates(
                old, n, place, sequence, is_below, most, state, candidates
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
            new = candidates[draw_by_logs(scores, n_candidates, uniform(state))]
            if new != old:
                detach(b, old, first_child, following, preceding)
                attach(b, new, first_child, following, preceding)
                parents[first + b] = first + new if new < n else -1
