"""Who answers whom, if the data do not say: parents drawn given the block HMM's classes.

With one class per message, equation 5 of Paul (2012, section 5.5.2) is ::

    P(r_b = a | classes)  ∝  row(z_a)[z_b]^(1 / temperature)                                 (a)

Classes are drawn given parents by filtering up the trees and sampling down.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.chains import draw_state
from palaver.kernels.compiled import kernel
from palaver.kernels.forests import attach, detach, draw_by_logs, link, list_below
from palaver.kernels.plain import longest_stretch
from palaver.kernels.random import open_stream, uniform
from palaver.kernels.trees import parents_first
from palaver.models.block_hmm.kernels.trees import (
    filter_beliefs,
    floored_columns,
    tree_class_weights,
)


@kernel
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

    Cost O(K²) per message.
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
            message_classes[first + order[i]] = draw_state(weights, uniform(state))


@kernel(error_model="numpy")
def draw_parents_block(  # type: ignore[no-untyped-def]
    conversation_offsets, first_conversation, message_classes, rows, temperature, is_ordered,
    ranks, key, parents,
):  # fmt: skip
    """Draw the parent of each message from (a), one after the other.

    Candidates of the same class are equally likely: first the class is drawn, then one of
    its messages, again and again until it is not below the message itself.

    Parameters
    ----------
    conversation_offsets, first_conversation : of the shard. IN
    message_classes : array of int16, shape (n_messages,). IN
    rows : array of float64, shape (K+1, K). IN
    temperature : float; is_ordered : bool; ranks : array of int64, shape (n_messages,). IN
    key : array of uint64, shape (2,). IN
    parents : array of int32, shape (n_messages,). IN-OUT

    Cost, per message, O(K) and one step for each message below it.
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
        link(parents, first, n, first_child, following, preceding)
        for i in range(n):
            b = sequence[i]
            own = message_classes[first + b]
            n_below = 0
            n_open[:] = n_members
            if not is_ordered:
                n_below = list_below(b, first_child, following, below)
                for m in range(n_below):
                    is_below[below[m]] = True
                    n_open[message_classes[first + below[m]]] -= 1
            for k in range(n_classes):
                scores[k] = -np.inf
                if n_open[k] > 0:
                    scores[k] = logs[own, k] + math.log(n_open[k])
            scores[n_classes] = logs[own, n_classes]
            source = draw_by_logs(scores, n_classes + 1, uniform(state))
            new = n
            if source < n_classes:
                new = members[source, int(uniform(state) * n_members[source])]
                while is_below[new]:
                    new = members[source, int(uniform(state) * n_members[source])]
            for m in range(n_below):
                is_below[below[m]] = False
            old = parents[first + b] - first if parents[first + b] >= 0 else n
            if new != old:
                detach(b, old, first_child, following, preceding)
                attach(b, new, first_child, following, preceding)
                parents[first + b] = first + new if new < n else -1
            if is_ordered:
                members[own, n_members[own]] = b
                n_members[own] += 1
