"""Loops over reply forests, shared by the readers and the thread models."""

from __future__ import annotations

import numpy as np

from palaver.kernels.compiled import kernel


@kernel
def break_cycles(parents):  # type: ignore[no-untyped-def]
    """Cut every cycle of parents at its earliest message, which becomes a root.

    Parameters
    ----------
    parents : array of int32, shape (n_messages,). IN/OUT
        Index of the parent, -1 for a root.

    Returns
    -------
    array of int64
        The messages that became roots, ascending. Linear time.
    """
    unseen, on_path, done = 0, 1, 2
    status = np.zeros(len(parents), np.uint8)
    is_cut = np.zeros(len(parents), np.bool_)
    n_cut = 0
    for start in range(len(parents)):
        message = start
        while message >= 0 and status[message] == unseen:
            status[message] = on_path
            message = parents[message]
        if message >= 0 and status[message] == on_path:  # this path closed a new cycle
            earliest = message
            member = parents[message]
            while member != message:
                earliest = min(earliest, member)
                member = parents[member]
            is_cut[earliest] = True
            n_cut += 1
        message = start
        while message >= 0 and status[message] == on_path:
            status[message] = done
            message = parents[message]
    roots = np.empty(n_cut, np.int64)
    filled = 0
    for message in range(len(parents)):
        if is_cut[message]:
            parents[message] = -1
            roots[filled] = message
            filled += 1
    return roots


@kernel
def parents_first(parents):  # type: ignore[no-untyped-def]
    """Order messages so that parents precede replies, keeping the given order otherwise.

    A message that precedes its parent moves to directly behind it in the new order.

    Parameters
    ----------
    parents : array of int32, shape (n_messages,). IN
        A forest: no cycles.

    Returns
    -------
    array of int64, shape (n_messages,)
        Old index of each new position. Linear time.
    """
    n = len(parents)
    order = np.empty(n, np.int64)
    path = np.empty(n, np.int64)
    placed = np.zeros(n, np.bool_)
    filled = 0
    for start in range(n):
        depth = 0
        message = start
        while message >= 0 and not placed[message]:
            path[depth] = message
            depth += 1
            message = parents[message]
        for i in range(depth - 1, -1, -1):  # ancestors before their replies
            order[filled] = path[i]
            placed[path[i]] = True
            filled += 1
    return order


@kernel
def depths(parents):  # type: ignore[no-untyped-def]
    """Return how many ancestors each message has; parents must precede replies."""
    result = np.zeros(len(parents), np.int32)
    for message in range(len(parents)):
        if parents[message] >= 0:
            result[message] = result[parents[message]] + 1
    return result


@kernel(_nrt=False)
def link_children(  # type: ignore[no-untyped-def]
    parents, first_message, n_messages, first_child, next_sibling
):
    """Set the links of a conversation as positions in it; -1 ends a list, and lists ascend.

    parents: (all messages,) IN; first_child: (n_messages + 1,) OUT, its last entry lists the
    roots; next_sibling: (n_messages,) OUT. O(n_messages).
    """
    for i in range(n_messages + 1):
        first_child[i] = -1
    for i in range(n_messages - 1, -1, -1):
        parent = parents[first_message + i]
        place = parent - first_message if parent >= 0 else n_messages
        next_sibling[i] = first_child[place]
        first_child[place] = i
