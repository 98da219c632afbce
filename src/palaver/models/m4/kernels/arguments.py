"""What M4's kernels are given: which variant it is, threads, parameters, and a chain's state.

In the terms of Paul (2012), section 2.2: messages are blocks, ``weights`` (K + F, K) is its matrix
of transition weights transposed, rows being the features, ``omega`` the prior of its word
distributions. K is the number of classes, F that of the features beyond the parents' classes
(start, bias, further ones), T that of the topics, W that of the words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Variant(NamedTuple):
    """Which M4 it is.

    is_collapsed : word distributions are integrated out; else they are given.
    is_segmented : segments have classes; else tokens do.
    is_dirichlet : transitions are Dirichlet; else softmax, as in the paper.
    is_message_switch : each message has a switch of its own; else the corpus has one.
    """

    is_collapsed: bool
    is_segmented: bool
    is_dirichlet: bool
    is_message_switch: bool


class Threads(NamedTuple):
    """The conversations of a shard, all IN.

    tokens : (n_tokens,) words. message_offsets : (n_messages + 1,) tokens of each message.
    conversation_offsets : (n_conversations + 1,) messages of each conversation.
    first_conversation : its number in the corpus.
    parent_offsets : (n_messages + 1,), parent_list : parents of each message, which stand earlier
    in its conversation.
    base_index : (n_messages,) rows of ``designs`` (n_bases, F), the distinct features beyond the
    parents' histograms.
    fixed_classes : (n_messages,) the class of all units of a message, -1 where it is free.
    segment_offsets : (n_segments + 1,) tokens of each segment; not used unless segmented.
    unit_offsets : (n_messages + 1,) segments of each message; ``message_offsets`` if tokens have
    classes.
    """

    tokens: NDArray[np.int32]
    message_offsets: NDArray[np.int64]
    conversation_offsets: NDArray[np.int64]
    first_conversation: int
    parent_offsets: NDArray[np.int64]
    parent_list: NDArray[np.int32]
    base_index: NDArray[np.int32]
    designs: FloatArray
    fixed_classes: NDArray[np.int16]
    segment_offsets: NDArray[np.int64]
    unit_offsets: NDArray[np.int64]


class Parameters(NamedTuple):
    """What a sweep leaves as it is, all IN.

    weights : (K + F, K). omega : prior of words, if collapsed. word_weights : (W, K + 1 + T), if
    not. alpha : (T,) prior of a conversation's topics. switch_prior : (3,) of background, class
    and topic, zero where there is no such outcome. switch_probabilities : (3,) the same given,
    used unless collapsed or of each message.
    """

    weights: FloatArray
    omega: float
    word_weights: FloatArray
    alpha: FloatArray
    switch_prior: FloatArray
    switch_probabilities: FloatArray


class State(NamedTuple):
    """What a sweep changes, all IN-OUT.

    classes : (n_tokens,) outcomes: a class, K for the background, K + 1 + t for topic t.
    segment_classes : (n_segments,). word_class_counts : (W, K + 1 + T). class_totals :
    (K + 1 + T,) its sums, if collapsed.
    """

    classes: NDArray[np.int16]
    segment_classes: NDArray[np.int16]
    word_class_counts: NDArray[np.int32]
    class_totals: NDArray[np.int64]
