"""Evidence of who replies to whom: features of each message and candidate parent.

Messages are in the order of their conversation and numbered over the corpus. The candidates
of message ``i`` are the messages before it within a window (without an order, those around it), the
first of the conversation wherever it is, and finally the start, that ``i`` replies to nobody.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import inner, kernel
from palaver.threads.kernels.evidence import contains

#: Names of the features, in the order of their columns; docs/threads.md says what each means.
FEATURES = (
    "previous", "second", "third", "log distance", "far", "log time", "first", "first, log place",
    "first, newcomer", "first, same speaker", "asker, previous", "same speaker",
    "same speaker, previous", "newcomer, previous", "last of speaker", "spoken since",
    "after mine", "addressed", "mentioned", "mentioned, last of speaker", "another mentioned",
    "mentions me", "mentions me, latest", "mentions another", "partner", "partner, latest",
    "called since", "handles shared", "one handle more", "addresses the same", "similarity",
    "rare words", "nearest", "quoted", "question", "question, no question",
    "question, previous", "log length", "short, previous", "start", "start, newcomer",
    "start, mentions", "start, question", "start, log length", "start, log time",
    "start, similarity", "start, log own distance", "start, own previous", "model",
    "log turns", "previous turn", "turn's end", "turn's begin", "before my turn", "same addressee",
    "same speaker, addressee", "mutual", "mentioned, not me", "same speaker, log time",
    "mentioned, log distance", "same speaker, mentions", "same speaker, short",
    "same speaker, question", "same speaker, leaning", "previous, leaning", "answered, leaning",
    "start, leaning",
)  # fmt: skip

(
    PREVIOUS, SECOND, THIRD, LOG_DISTANCE, FAR, LOG_TIME, FIRST, FIRST_PLACE,
    FIRST_NEWCOMER, FIRST_SAME, ASKER_PREVIOUS, SAME,
    SAME_PREVIOUS, NEWCOMER_PREVIOUS, LAST_OF_SPEAKER, SPOKEN_SINCE,
    AFTER_MINE, ADDRESSED, MENTIONED, MENTIONED_LAST, ANOTHER_MENTIONED,
    MENTIONS_ME, MENTIONS_ME_LATEST, MENTIONS_ANOTHER, PARTNER, PARTNER_LATEST,
    CALLED_SINCE, HANDLES_SHARED, ONE_HANDLE_MORE, ADDRESSES_SAME, SIMILARITY,
    RARE_WORDS, NEAREST, QUOTED, QUESTION, QUESTION_STATEMENT,
    QUESTION_PREVIOUS, LOG_LENGTH, SHORT_PREVIOUS, START, START_NEWCOMER,
    START_MENTIONS, START_QUESTION, START_LENGTH, START_TIME,
    START_SIMILARITY, START_OWN_DISTANCE, START_OWN_PREVIOUS, MODEL,
    LOG_TURNS, PREVIOUS_TURN, TURN_END, TURN_BEGIN, BEFORE_MY_TURN, SAME_ADDRESSEE,
    SAME_SPEAKER_ADDRESSEE, MUTUAL, MENTIONED_NOT_ME, SAME_TIME,
    MENTIONED_DISTANCE, SAME_MENTIONS, SAME_SHORT, SAME_QUESTION,
    SAME_LEANING, PREVIOUS_LEANING, ANSWERED_LEANING, START_LEANING,
) = range(len(FEATURES))  # fmt: skip

_FAR_FROM = math.log(8.0)
_SHORT = math.log1p(4.0)


@kernel
def count_candidates(conversation_offsets, window, is_ordered, counts):  # type: ignore[no-untyped-def]
    """Set the number of candidates of each message, including the start; (n_messages,) OUT."""
    for c in range(len(conversation_offsets) - 1):
        first, last = conversation_offsets[c], conversation_offsets[c + 1]
        for i in range(first, last):
            low, high = _limits(i, first, last, window, is_ordered)
            counts[i] = high - low + (1 if low > first else 0) + (1 if high == i else 0)


@inner
def _limits(i, first, last, window, is_ordered):  # type: ignore[no-untyped-def]
    """Return the slice of messages that ``i`` may reply to; it may contain ``i`` itself."""
    return max(first, i - window), i if is_ordered else min(last, i + window + 1)


@inner
def _add_shared(i, low, high, entries, pointers, sums):  # type: ignore[no-untyped-def]
    """Add the products of what ``i`` shares with ``j``, low..high - 1, to ``sums[j - low]``."""
    for own in range(entries.offsets[i], entries.offsets[i + 1]):
        e = pointers[own]
        while e >= 0 and low <= entries.messages[e] < high:
            sums[entries.messages[e] - low] += entries.values[own] * entries.values[e]
            e = pointers[e]


@inner
def _shared_with(i, j, entries):  # type: ignore[no-untyped-def]
    """Return the sum of products of what two messages share."""
    a, b = entries.offsets[i], entries.offsets[j]
    total = 0.0
    while a < entries.offsets[i + 1] and b < entries.offsets[j + 1]:
        if entries.words[a] == entries.words[b]:
            total += entries.values[a] * entries.values[b]
            a, b = a + 1, b + 1
        elif entries.words[a] < entries.words[b]:
            a += 1
        else:
            b += 1
    return total


@inner
def _collect(i, first, low, high, entries, sums):  # type: ignore[no-untyped-def]
    """Set what ``i`` shares with each of ``low`` to ``high - 1``, and then with the first."""
    sums[: high - low + 1] = 0.0
    _add_shared(i, low, high, entries, entries.before, sums)
    if high > i:
        _add_shared(i, low, high, entries, entries.after, sums)
    if low > first:
        sums[high - low] = _shared_with(i, first, entries)


@kernel
def fill_features(evidence, window, is_ordered, begin, end, candidates, features):  # type: ignore[no-untyped-def]
    """Set candidates and features of messages ``begin`` to ``end - 1``.

    Parameters
    ----------
    evidence : Evidence. IN
    window : int; is_ordered : bool; begin, end : int. IN
    candidates : array of int32, shape (n_pairs,). OUT
        As many per message as :func:`count_candidates` says; -1 is the start.
    features : array of float32, shape (n_pairs, n_features). OUT

    Cost per message: O(window), plus what it shares with the messages of its window.
    """
    offsets = evidence.conversation_offsets
    size = 2 * window + 3
    alike, runs, handles = np.zeros(size), np.zeros(size), np.zeros(size)
    c = np.searchsorted(offsets, begin, side="right") - 1
    pair = 0
    for i in range(begin, end):
        while offsets[c + 1] <= i:
            c += 1
        first, last = offsets[c], offsets[c + 1]
        low, high = _limits(i, first, last, window, is_ordered)
        _collect(i, first, low, high, evidence.words, alike)
        _collect(i, first, low, high, evidence.runs, runs)
        _collect(i, first, low, high, evidence.handles, handles)
        most = 0.0
        for k in range(high - low + 1):
            most = max(most, alike[k])
        at = pair
        if low > first:
            k = high - low
            _fill_pair(evidence, i, first, first, is_ordered, alike[k], most, runs[k], handles[k],
                       features[pair])  # fmt: skip
            candidates[pair] = first
            pair += 1
        for j in range(low, high):
            if j != i:
                k = j - low
                _fill_pair(evidence, i, j, first, is_ordered, alike[k], most, runs[k],
                           handles[k], features[pair])  # fmt: skip
                candidates[pair] = j
                pair += 1
        candidates[pair] = -1
        _fill_start(evidence, i, first, is_ordered, most, features[pair])
        pair += 1
        _fill_model(evidence, i, candidates[at:pair], features[at:pair])


@inner
def _fill_pair(evidence, i, j, first, is_ordered, alike, most, runs, handles, row):  # type: ignore[no-untyped-def]
    """Set the features of candidate ``j`` of message ``i``."""
    row[:] = 0.0
    people = evidence.people
    me, them = people.speakers[i], people.speakers[j]
    is_newcomer = me >= 0 and people.own_before[i] < 0
    is_same = me >= 0 and me == them
    if j == first:
        row[FIRST] = 1.0
        row[FIRST_SAME] = is_same
        if is_ordered:
            row[FIRST_PLACE] = math.log(i - j)
            row[FIRST_NEWCOMER] = is_newcomer
    row[SAME] = is_same
    row[SAME_LEANING] = is_same * evidence.leanings[i, 0]
    row[ANSWERED_LEANING] = evidence.leanings[j, 1]
    row[SIMILARITY] = alike
    row[RARE_WORDS] = math.log1p(alike * evidence.norms[i] * evidence.norms[j])
    row[NEAREST] = alike > 0.0 and alike == most
    row[QUOTED] = math.log1p(runs)
    row[QUESTION] = evidence.questions[j]
    row[QUESTION_STATEMENT] = evidence.questions[j] and not evidence.questions[i]
    row[LOG_LENGTH] = evidence.lengths[j]
    _fill_names(people, i, j, me, them, is_ordered, row)
    _fill_handles(evidence, i, j, handles, row)
    if is_ordered:
        _fill_order(evidence, i, j, first, is_newcomer, is_same, row)


@inner
def _fill_order(evidence, i, j, first, is_newcomer, is_same, row):  # type: ignore[no-untyped-def]
    """Set the features of candidate ``j`` that need an order."""
    people = evidence.people
    distance = math.log(i - j)
    row[SECOND], row[THIRD] = i - j == 2, i - j == 3
    row[LOG_DISTANCE] = distance
    row[FAR] = max(distance - _FAR_FROM, 0.0)
    gap = evidence.times[i] - evidence.times[j]
    if gap > 0.0:  # false if either is unknown
        row[LOG_TIME] = math.log1p(gap)
    if i - j == 1:
        row[PREVIOUS] = 1.0
        row[SAME_PREVIOUS] = is_same
        row[NEWCOMER_PREVIOUS] = is_newcomer
        row[ASKER_PREVIOUS] = people.speakers[i] >= 0 and (
            people.speakers[i] == people.speakers[first]
        )
        row[PREVIOUS_LEANING] = evidence.leanings[i, 0]
        row[QUESTION_PREVIOUS] = evidence.questions[j]
        row[SHORT_PREVIOUS] = max(_SHORT - evidence.lengths[i], 0.0)
    between = people.turn_numbers[i] - people.turn_numbers[j]
    row[LOG_TURNS] = math.log1p(between)
    row[PREVIOUS_TURN] = between == 1
    row[BEFORE_MY_TURN] = j == people.turns[i] - 1 and people.turns[i] < i
    if is_same:
        row[SAME_TIME] = row[LOG_TIME]
        row[SAME_SHORT] = max(_SHORT - evidence.lengths[i], 0.0)
        row[SAME_QUESTION] = evidence.questions[j]
    else:
        row[TURN_END] = j == i - 1 or people.turns[j + 1] == j + 1
        row[TURN_BEGIN] = people.turns[j] == j
    row[MENTIONED_DISTANCE] = row[MENTIONED] * distance
    if people.speakers[j] >= 0:
        row[LAST_OF_SPEAKER] = not first <= people.own_after[j] < i
        row[CALLED_SINCE] = first <= people.called_after[j] < i
    if people.own_before[i] >= 0:
        row[SPOKEN_SINCE] = people.own_before[i] > j
        row[AFTER_MINE] = people.own_before[i] == j - 1


@inner
def _fill_names(people, i, j, me, them, is_ordered, row):  # type: ignore[no-untyped-def]
    """Set the features of names: who ``i`` names, who ``j`` names."""
    begin, end = people.mention_offsets[i], people.mention_offsets[i + 1]
    is_last = is_ordered and row[SAME] == 0.0 and not j < people.own_after[j] < i
    if end > begin and contains(people.mentions, begin, end, them):
        row[MENTIONED] = 1.0
        row[ADDRESSED] = people.addressed[i] == them
        row[MENTIONED_LAST] = is_last
    elif end > begin:
        row[ANOTHER_MENTIONED] = 1.0
        row[SAME_MENTIONS] = row[SAME]
    elif them >= 0 and people.partners[i] == them and is_ordered:
        row[PARTNER] = 1.0
        row[PARTNER_LATEST] = is_last
    begin, end = people.mention_offsets[j], people.mention_offsets[j + 1]
    for m in range(people.mention_offsets[i], people.mention_offsets[i + 1]):
        if contains(people.mentions, begin, end, people.mentions[m]):
            row[SAME_ADDRESSEE] = 1.0
            row[SAME_SPEAKER_ADDRESSEE] = row[SAME]
    if end > begin and me >= 0:
        if contains(people.mentions, begin, end, me):
            row[MENTIONS_ME] = 1.0
            row[MENTIONS_ME_LATEST] = is_ordered and people.called_by[i] == j
        else:
            row[MENTIONS_ANOTHER] = 1.0
    row[MUTUAL] = row[MENTIONED] * row[MENTIONS_ME]
    row[MENTIONED_NOT_ME] = row[MENTIONED] * row[MENTIONS_ANOTHER]


@inner
def _fill_handles(evidence, i, j, shared, row):  # type: ignore[no-untyped-def]
    """Set the features of handles, which identify people even if speakers are unknown."""
    handles = evidence.handles
    mine = handles.offsets[i + 1] - handles.offsets[i]
    if mine > 0:
        row[HANDLES_SHARED] = shared / mine
        row[ONE_HANDLE_MORE] = mine - shared == 1.0
        row[ADDRESSES_SAME] = contains(
            handles.words, handles.offsets[j], handles.offsets[j + 1], evidence.leads[i]
        )


@inner
def _fill_start(evidence, i, first, is_ordered, most, row):  # type: ignore[no-untyped-def]
    """Set the features of a start."""
    row[:] = 0.0
    people = evidence.people
    row[START] = 1.0
    row[START_MENTIONS] = people.mention_offsets[i + 1] > people.mention_offsets[i]
    row[START_QUESTION] = evidence.questions[i]
    row[START_LEANING] = evidence.leanings[i, 2]
    row[START_LENGTH] = evidence.lengths[i]
    row[START_SIMILARITY] = most
    if is_ordered and i > first:
        row[START_NEWCOMER] = people.speakers[i] >= 0 and people.own_before[i] < 0
        gap = evidence.times[i] - evidence.times[i - 1]
        if gap > 0.0:
            row[START_TIME] = math.log1p(gap)
        if people.own_before[i] >= 0:
            row[START_OWN_DISTANCE] = math.log(i - people.own_before[i])
            row[START_OWN_PREVIOUS] = people.own_before[i] == i - 1


@inner(fastmath=True)
def _fill_model(evidence, i, candidates, features):  # type: ignore[no-untyped-def]
    """Set each candidate's score by a model: expected log probability of the classes of ``i``."""
    n_classes = evidence.shares.shape[1]
    for k in range(len(candidates)):  # -1 is the last row, the start
        total = 0.0
        for z in range(n_classes):
            total += evidence.shares[i, z] * evidence.replies[candidates[k], z]
        features[k, MODEL] = total
