"""Block HMM given its parameters: whole trees of classes drawn or summed exactly.

Forward filtering and backward sampling of hidden Markov models, on trees: from the leaves up, then
from the roots down. Serves the parallel sampler (parameters drawn) and fold-in of new conversations
(parameters frozen). Up to a factor, :func:`filter_conversation` computes ::

    beliefs[b, k]  =  p(words of b | k)  prod over replies c of  sums[c, k]                  (a)
    sums[b, a]     =  sum_k row_a[k] beliefs[b, k]                                           (b)

Transition rows, classes and switches as in :mod:`palaver.models.block_hmm.kernels.collapsed`.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.chains import draw_state
from palaver.kernels.compiled import inner, kernel
from palaver.kernels.plain import longest_stretch
from palaver.kernels.random import open_stream, uniform
from palaver.kernels.switch import (
    SWITCH_CORPUS,
    SWITCH_MESSAGE,
    SWITCH_OFF,
    drawn_switch_weights,
)
from palaver.models.block_hmm.kernels.collapsed import count_assignments

# A drawn probability may underflow to zero; below these floors nothing can be told apart.
_SMALLEST_PROBABILITY = 1e-290
_SMALLEST_DOUBLE = 5e-324


@kernel
def fill_emission_logs(word_weights, switch, class_probability, emission_logs):  # type: ignore[no-untyped-def]
    """Fill the log probability of each word under each class, once per round for all shards.

    With a corpus-wide switch its outcome is summed out, ``p1 phi_kw + p0 phi_Bw``, so that
    classes and switches are drawn jointly. A zero counts as the smallest double.

    Parameters
    ----------
    word_weights : array of float64, shape (W, K+1). IN
    switch : int; class_probability : float, used with a corpus-wide switch only. IN
    emission_logs : array of float64, shape (W, K). OUT

    Cost: W K logarithms.
    """
    n_words, n_classes = emission_logs.shape
    for word in range(n_words):
        for k in range(n_classes):
            weight = word_weights[word, k]
            if switch == SWITCH_CORPUS:
                weight = (
                    class_probability * weight
                    + (1.0 - class_probability) * word_weights[word, n_classes]
                )
            emission_logs[word, k] = math.log(max(weight, _SMALLEST_DOUBLE))


@kernel
def floored_columns(rows):  # type: ignore[no-untyped-def]
    """Return the transition rows as columns, (K, K+1), with no entry below the floor."""
    columns = np.empty((rows.shape[1], rows.shape[0]))
    for source in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            columns[k, source] = max(rows[source, k], _SMALLEST_PROBABILITY)
    return columns


@inner
def filter_beliefs(first, last, parents, columns, beliefs, sums):  # type: ignore[no-untyped-def]
    """Filter upwards as :func:`filter_conversation`, given each message's log emissions.

    beliefs : array of float64, at least (last - first, K). IN-OUT
        In: log probability of each message's own words given its class.
    """
    n_classes = columns.shape[0]
    log_likelihood = 0.0
    for message in range(last - 1, first - 1, -1):
        belief, total = beliefs[message - first], sums[message - first]
        largest = belief[0]
        for k in range(1, n_classes):
            largest = max(largest, belief[k])
        log_likelihood += largest
        total[:] = 0.0
        for k in range(n_classes):
            belief[k] = math.exp(belief[k] - largest)
            for source in range(n_classes + 1):
                total[source] += columns[k, source] * belief[k]
        parent = parents[message]
        if parent < 0:
            log_likelihood += math.log(total[n_classes])
        else:
            above = beliefs[parent - first]
            for source in range(n_classes):
                above[source] += math.log(total[source])
    return log_likelihood


@kernel
def filter_conversation(  # type: ignore[no-untyped-def]
    first, last, tokens, message_offsets, parents, fixed_classes, background, emission_logs,
    switch, columns, beliefs, sums,
):  # fmt: skip
    """Filter upwards through the trees of messages ``first`` to ``last - 1``.

    ``beliefs[b - first, k]`` becomes the probability of the words of message ``b`` and of all
    below it, given class ``k``, divided by its largest value over ``k``; ``sums[b - first, a]``
    its sum over ``k`` weighted by transition row ``a``. The log of what was divided out and of
    the roots' sums is returned: the log likelihood of the words or, if each message has its own
    switch probability, of the words that have a class, given the switches.

    Parameters
    ----------
    fixed_classes : array of int16, shape (n_messages,) or (0,). IN
        Known classes, -1 where they are to be found: no other class is believed in there.
    columns : array of float64, shape (K, K+1), positive. IN
    emission_logs : array of float64, shape (W, K). IN
    beliefs, sums : arrays of float64, at least (last - first, K) and (last - first, K+1). OUT

    Cost: K additions per token, K² multiplications and 2K logs and exps per message.
    """
    n_classes = columns.shape[0]
    for message in range(first, last):
        belief = beliefs[message - first]
        belief[:] = 0.0
        for i in range(message_offsets[message], message_offsets[message + 1]):
            if switch == SWITCH_MESSAGE and background[i]:
                continue
            word = tokens[i]
            for k in range(n_classes):
                belief[k] += emission_logs[word, k]
        if fixed_classes.shape[0] > 0 and fixed_classes[message] >= 0:
            for k in range(n_classes):
                if k != fixed_classes[message]:
                    belief[k] = -np.inf
    return filter_beliefs(first, last, parents, columns, beliefs, sums)


@kernel(inline="always")
def tree_class_weights(source, belief, columns, weights):  # type: ignore[no-untyped-def]
    """Fill a message's class weights given its parent's class and the words below: O(K).

    ``columns[k, source] * belief[k]``: IN source, belief (K,), columns (K, K+1); OUT weights (K,).
    """
    for k in range(len(weights)):
        weights[k] = columns[k, source] * belief[k]


@kernel
def parallel_sweep(  # type: ignore[no-untyped-def]
    tokens, message_offsets, parents, fixed_classes, conversation_offsets, first_conversation, rows,
    word_weights, emission_logs, switch, class_probability, switch_prior, key,
    message_classes, background, word_class_counts, transition_counts,
):  # fmt: skip
    """Resample all classes of each conversation exactly, then the switches given the classes.

    Upward filtering and downward sampling, given transition rows and word weights, drawn (the
    parallel sampler) or frozen (fold-in). With the switch off or corpus-wide a conversation's
    new classes and switches do not depend on its old ones.

    Parameters
    ----------
    tokens, message_offsets, parents, conversation_offsets : arrays of the shard. IN
    fixed_classes : array of int16, shape (n_messages,) or (0,). IN
        Known classes, -1 where they are to be found.
    first_conversation : int. IN
    rows : array of float64, shape (K+1, K), each sums to one. IN
    word_weights : array of float64, shape (W, K+1). IN
    emission_logs : array of float64, shape (W, K), of `fill_emission_logs`. IN
    switch : int; class_probability : float; switch_prior : array of float64, shape (2,). IN
    key : array of uint64, shape (2,). IN
        One stream per conversation: for each message one draw for its class and, unless
        the switch is off, one for each of its tokens.
    message_classes : array of int16, shape (n_messages,). OUT
    background : array of uint8, shape (n_tokens,). IN-OUT
        Read only if each message has its own switch probability.
    word_class_counts, transition_counts : int32 (W, K+1) and int64 (K+1, K). IN-OUT
        The shard's new assignments are added.

    Returns
    -------
    float
        Sum of what `filter_conversation` returns.

    Cost: O(K) per token, O(K²) per message.
    """
    n_classes = rows.shape[1]
    columns = floored_columns(rows)
    longest = longest_stretch(conversation_offsets)
    beliefs = np.empty((longest, n_classes))
    sums = np.empty((longest, n_classes + 1))
    weights = np.empty(n_classes)
    stream = np.empty(4, np.uint64)
    # a message's own switch counts hold the token itself, a drawn probability does not
    own = 1.0 if switch == SWITCH_MESSAGE else 0.0
    log_likelihood = 0.0
    for conversation in range(len(conversation_offsets) - 1):
        first, last = conversation_offsets[conversation], conversation_offsets[conversation + 1]
        open_stream(key, first_conversation + conversation, stream)
        log_likelihood += filter_conversation(
            first, last, tokens, message_offsets, parents, fixed_classes, background,
            emission_logs, switch, columns, beliefs, sums,
        )  # fmt: skip
        for message in range(first, last):
            source = n_classes if parents[message] < 0 else message_classes[parents[message]]
            tree_class_weights(source, beliefs[message - first], columns, weights)
            label = draw_state(weights, uniform(stream))
            message_classes[message] = label
            if switch == SWITCH_OFF:
                continue
            start, end = message_offsets[message], message_offsets[message + 1]
            message_background = 0
            for i in range(start, end):
                message_background += background[i]
            switch_background, switch_class = drawn_switch_weights(
                switch, class_probability,
                message_background, end - start - message_background, switch_prior,
            )  # fmt: skip
            for i in range(start, end):
                word = tokens[i]
                was = np.int64(background[i])
                background_weight = word_weights[word, n_classes] * (switch_background - own * was)
                class_weight = word_weights[word, label] * (switch_class - own * (1 - was))
                total = background_weight + class_weight
                now = np.int64(uniform(stream) * total >= class_weight)
                background[i] = now
                switch_background += own * (now - was)
                switch_class -= own * (now - was)
        count_assignments(
            tokens, message_offsets, parents, message_classes, background, first, last,
            word_class_counts, transition_counts,
        )  # fmt: skip
    return log_likelihood
