"""The raw material of evidence for replies: shared words, names, turns.

Messages are in the order of their conversation and numbered over the corpus. What messages
share is held in entries, one per word (run of words, handle) of a message; each links to the
previous and next entries of the same word and conversation. So what two messages share is found by
walking from entry to entry. All kernels make one pass over the messages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palaver.kernels.compiled import inner, kernel


class Entries(NamedTuple):
    """What messages have in common with others; the entries of message ``i`` are a slice.

    Attributes
    ----------
    offsets : array of int64, shape (n_messages + 1,)
    words : array of int32, shape (n_entries,)
        Once per message, ascending.
    values : array of float32, shape (n_entries,)
    messages, before, after : array of int32, shape (n_entries,)
        Message of each entry; previous and next entries of the same word and
        conversation, -1 if there is none.
    """

    offsets: NDArray[np.int64]
    words: NDArray[np.int32]
    values: NDArray[np.float32]
    messages: NDArray[np.int32]
    before: NDArray[np.int32]
    after: NDArray[np.int32]


class People(NamedTuple):
    """Who speaks and who is named; see :func:`relate_people`.

    Attributes
    ----------
    speakers, addressed : array of int32, shape (n_messages,)
        Speaker of each message, and who its first word names; -1 for unknown or nobody.
    mention_offsets : array of int64, shape (n_messages + 1,)
    mentions : array of int32, shape (n_mentions,)
        Other speakers that each message names, once each.
    own_before, own_after : array of int32, shape (n_messages,)
        Previous and next messages of the same speaker in the conversation, -1 for none.
    called_by : array of int32, shape (n_messages,)
        Latest earlier message that names the speaker of this one, -1 for none.
    called_after : array of int32, shape (n_messages,)
        Next message that names the speaker of this one, -1 for none.
    partners : array of int32, shape (n_messages,)
        Who the speaker last named before, or was named by; -1 for nobody.
    turns : array of int32, shape (n_messages,)
        First message of each message's turn: consecutive messages of a speaker.
    turn_numbers : array of int32, shape (n_messages,)
        Number of turns in the conversation before this one.
    """

    speakers: NDArray[np.int32]
    addressed: NDArray[np.int32]
    mention_offsets: NDArray[np.int64]
    mentions: NDArray[np.int32]
    own_before: NDArray[np.int32]
    own_after: NDArray[np.int32]
    called_by: NDArray[np.int32]
    called_after: NDArray[np.int32]
    partners: NDArray[np.int32]
    turns: NDArray[np.int32]
    turn_numbers: NDArray[np.int32]


class Evidence(NamedTuple):
    """Everything that features are computed from, with messages in the order of conversations.

    Attributes
    ----------
    conversation_offsets : array of int64, shape (n_conversations + 1,)
    times : array of float64, shape (n_messages,)
        In units of a usual gap between messages; NaN if unknown.
    questions : array of bool, shape (n_messages,)
    lengths : array of float32, shape (n_messages,)
        log(1 + number of tokens).
    words, runs, handles : Entries
        Words with values whose squares sum to one per message (tf-idf), runs of three words, and
        handles (``@name``), with values of one.
    norms : array of float32, shape (n_messages,)
        Divisors of the words' values.
    leads : array of int32, shape (n_messages,)
        First handle in each message, -1 for none.
    people : People
    leanings : array of float32, shape (n_messages, 3)
        Whether a message's words suggest that it continues its speaker's own, gets a reply, starts.
    shares : array of float32, shape (n_messages, K)
        Tokens of each class, as found by a model; K is zero without a model.
    replies : array of float32, shape (n_messages + 1, K)
        Log probabilities of classes in replies to each message; the last row is for starts.
    """

    conversation_offsets: NDArray[np.int64]
    times: NDArray[np.float64]
    questions: NDArray[np.bool_]
    lengths: NDArray[np.float32]
    words: Entries
    runs: Entries
    handles: Entries
    norms: NDArray[np.float32]
    leads: NDArray[np.int32]
    people: People
    leanings: NDArray[np.float32]
    shares: NDArray[np.float32]
    replies: NDArray[np.float32]


@kernel
def link_entries(words, offsets, conversation_offsets, n_words, messages, before, after):  # type: ignore[no-untyped-def]
    """Set the message and the previous and next entries of each entry; see :class:`Entries`."""
    last = np.full(n_words, -1, np.int32)
    for c in range(len(conversation_offsets) - 1):
        begin = offsets[conversation_offsets[c]]
        for i in range(conversation_offsets[c], conversation_offsets[c + 1]):
            for e in range(offsets[i], offsets[i + 1]):
                found = last[words[e]]
                messages[e], before[e], after[e] = i, -1, -1
                if found >= begin:
                    before[e], after[found] = found, e
                last[words[e]] = e


@kernel
def find_mentions(  # type: ignore[no-untyped-def]
    tokens, token_offsets, names, is_sign, speakers, mention_offsets, mentions, addressed
):
    """List the speakers that each message names.

    Parameters
    ----------
    tokens, token_offsets : words of the messages. IN
    names : array of int32, shape (n_words,). IN
        Speaker that a word names, -1 for none.
    is_sign : array of bool, shape (n_words,). IN
        Words that may precede a name at the start: punctuation.
    speakers : array of int32, shape (n_messages,). IN
    mention_offsets : array of int64, shape (n_messages + 1,). OUT
    mentions : array of int32, shape (n_tokens,). OUT
        Filled up to the last offset.
    addressed : array of int32, shape (n_messages,). OUT
    """
    n = 0
    mention_offsets[0] = 0
    for i in range(len(speakers)):
        addressed[i] = -1
        begin, at_start = n, True
        for t in range(token_offsets[i], token_offsets[i + 1]):
            person = names[tokens[t]]
            if person >= 0 and person != speakers[i]:
                if at_start:
                    addressed[i] = person
                if not contains(mentions, begin, n, person):
                    mentions[n] = person
                    n += 1
            if not is_sign[tokens[t]]:
                at_start = False
        mention_offsets[i + 1] = n


@inner
def contains(values, begin, end, wanted):  # type: ignore[no-untyped-def]
    """Return whether ``wanted`` is among ``values[begin:end]``."""
    for k in range(begin, end):  # noqa: SIM110
        if values[k] == wanted:
            return True
    return False


@kernel
def relate_people(  # type: ignore[no-untyped-def]
    conversation_offsets, speakers, addressed, mention_offsets, mentions, n_people,
    own_before, own_after, called_by, called_after, partners, turns, turn_numbers,
):  # fmt: skip
    """Set the last seven arrays (OUT) of :class:`People` from the preceding ones (IN)."""
    spoke, called = np.full(n_people, -1, np.int32), np.full(n_people, -1, np.int32)
    met, partner = np.full(n_people, -1, np.int32), np.full(n_people, -1, np.int32)
    comes = np.full(n_people, -1, np.int32)
    for c in range(len(conversation_offsets) - 1):
        first, last = conversation_offsets[c], conversation_offsets[c + 1]
        for i in range(first, last):
            me = speakers[i]
            own_before[i], own_after[i], called_by[i], called_after[i] = -1, -1, -1, -1
            partners[i], turns[i], turn_numbers[i] = -1, i, 0
            if i > first:
                is_new = me < 0 or me != speakers[i - 1]
                turns[i] = i if is_new else turns[i - 1]
                turn_numbers[i] = turn_numbers[i - 1] + is_new
            if me >= 0:
                if spoke[me] >= first:
                    own_before[i], own_after[spoke[me]] = spoke[me], i
                if called[me] >= first:
                    called_by[i] = called[me]
                if met[me] >= first:
                    partners[i] = partner[me]
                spoke[me] = i
            for m in range(mention_offsets[i], mention_offsets[i + 1]):
                other = mentions[m]
                called[other] = i
                if me >= 0:
                    met[me], partner[me], met[other], partner[other] = i, other, i, me
            if me >= 0 and addressed[i] >= 0:
                partner[me] = addressed[i]
        for i in range(last - 1, first - 1, -1):
            if speakers[i] >= 0 and comes[speakers[i]] >= first:
                called_after[i] = comes[speakers[i]]
            for m in range(mention_offsets[i], mention_offsets[i + 1]):
                comes[mentions[m]] = i
