"""From probabilities of candidates to one parent per message, without cycles."""

from __future__ import annotations

import numpy as np

from palaver.kernels.compiled import kernel


@kernel
def best_candidates(chances, pair_offsets, best, second):  # type: ignore[no-untyped-def]
    """Find the most and second most likely candidates of each message; of equals, the later.

    Parameters
    ----------
    chances : array of float64, shape (n_pairs,). IN
    pair_offsets : array of int64, shape (n_messages + 1,). IN
    best, second : array of int64, shape (n_messages,). OUT
        Pairs; second is -1 if there is only one candidate.
    """
    for b in range(len(pair_offsets) - 1):
        top, next_top = pair_offsets[b], -1
        for p in range(pair_offsets[b] + 1, pair_offsets[b + 1]):
            if chances[p] >= chances[top]:
                top, next_top = p, top
            elif next_top < 0 or chances[p] >= chances[next_top]:
                next_top = p
        best[b], second[b] = top, next_top


@kernel
def keep_likeliest(scores, pair_offsets, size, kept):  # type: ignore[no-untyped-def]
    """Mark the candidates with the largest scores, at most ``size`` per message, and the last.

    Parameters
    ----------
    scores : array of float64, shape (n_pairs,). IN
    pair_offsets : array of int64, shape (n_messages + 1,). IN
    size : int. IN
    kept : array of bool, shape (n_pairs,). OUT
        The last candidate of a message is the start, which is always kept. Of candidates with
        equal scores, the later ones are.
    """
    for b in range(len(pair_offsets) - 1):
        begin, end = pair_offsets[b], pair_offsets[b + 1]
        kept[begin:end] = end - begin <= size
        kept[end - 1] = True
        if end - begin > size:
            limit = np.sort(scores[begin:end])[end - begin - size]
            left = size
            for p in range(end - 1, begin - 1, -1):
                if scores[p] > limit:
                    kept[p] = True
                    left -= 1
            for p in range(end - 1, begin - 1, -1):
                if left > 0 and scores[p] == limit:
                    kept[p] = True
                    left -= 1


@kernel
def link_greedily(order, owners, candidates, parents, chosen):  # type: ignore[no-untyped-def]
    """Link messages, the most certain pairs first, skipping links that would close a cycle.

    If the most likely candidates of all messages form a forest, the result is that forest.

    Parameters
    ----------
    order : array of int64, shape (n_pairs,). IN
        Pairs by decreasing probability.
    owners, candidates : array of int32, shape (n_pairs,). IN
        Message and candidate of each pair, -1 for the start.
    parents : array of int64, shape (n_messages,). OUT
    chosen : array of int64, shape (n_messages,). OUT
        The pair of each message.
    """
    chosen[:] = -1
    parents[:] = -1
    for p in order:
        message, above = owners[p], candidates[p]
        if chosen[message] >= 0:
            continue
        while above >= 0 and above != message:
            above = parents[above]
        if above < 0:
            chosen[message], parents[message] = p, candidates[p]


@kernel
def find_places(features, columns, pair_offsets, candidates, is_channel, places, kinds, spread):  # type: ignore[no-untyped-def]
    """Sort candidates by place, and messages by kind of speaker.

    Parameters
    ----------
    features : array of float32, shape (n_pairs, n_features). IN
    columns : array of int64, shape (10,). IN
        Columns of previous, first, after mine, same speaker, spoken since, second, log
        distance, last of speaker, newcomer and asker of the previous message.
    pair_offsets, candidates : as for the features. IN
    is_channel : bool. IN
        Whether the first message of a conversation is like any other.
    places : array of int8, shape (n_pairs,). OUT
        0 previous, 1 first, 2 after mine, 3 my last, 4 second, 5 elsewhere, 6 start.
    kinds : array of int8, shape (n_messages,). OUT
        0 unknown speaker, 1 returning, 2 newcomer, 3 starter of the conversation.
    spread : array of float64, shape (n_pairs,). OUT
        Shares of a message's candidates at the same place: one, or for "elsewhere" in inverse
        proportion to the distance.
    """
    previous, first, after_mine, same, since, second, distance, last, newcomer, asker = columns
    for b in range(len(pair_offsets) - 1):
        begin, end = pair_offsets[b], pair_offsets[b + 1]
        kinds[b] = 0
        far = 0.0
        for p in range(begin, end):
            row = features[p]
            spread[p] = 1.0
            if candidates[p] < 0:
                places[p] = 6
            elif row[previous] > 0.0:
                places[p] = 0
            elif row[first] > 0.0 and not is_channel:
                places[p] = 1
            elif row[after_mine] > 0.0:
                places[p] = 2
            elif row[same] > 0.0 and row[since] == 0.0:
                places[p] = 3
            elif row[second] > 0.0:
                places[p] = 4
            else:
                places[p] = 5
                spread[p] = np.exp(-row[distance])
                far += spread[p]
            if kinds[b] == 0 and (row[last] > 0.0 or row[same] > 0.0):
                kinds[b] = 1
            if row[previous] > 0.0 and row[newcomer] > 0.0:
                kinds[b] = 2
            elif row[previous] > 0.0 and row[asker] > 0.0 and not is_channel:
                kinds[b] = 3
        for p in range(begin, end):
            if places[p] == 5:
                spread[p] /= far
