"""M4 grown up: one sweep for topics, segments, Dirichlet transitions, features, several parents.

An outcome of a token is a class (0 .. K-1), the background (K), or a topic of its conversation
(K + 1 .. K + T). Word counts have a column for each. From counts without the token::

    class k     switch_class      * own_k      * word factor of k                           (1)
    background  switch_background              * word factor of the background
    topic t     switch_topic      * (n_dt + alpha_t) / (n_d. + sum(alpha)) * word factor of t

``own_k`` is ``pi_k``, or ``(n_bk + a_k) / (n_b. + A)`` with Dirichlet transitions
(:mod:`palaver.models.m4.kernels.replies`, equations 2 and 3); a message whose class is known has it
for that class only. The word factor is ``(n_w + omega) / (n. + W omega)`` or ``word_weights``. The
switch has a Dirichlet prior (background, class, topic), a zero where there is no such outcome.

A token is proposed from (1). If replies have class-bearing units, the proposal is accepted with
the ratio of their probabilities after and before (Metropolis-Hastings): the conditional is (1)
times that probability. With segments, the class of a segment is drawn in the same way given which
of its tokens bear a class, then the tokens' outcomes are drawn given the class of their segment.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from palaver.kernels.forests import draw_by_logs
from palaver.kernels.random import open_stream, uniform
from palaver.kernels.simd.instructions import LANES
from palaver.kernels.simd.lanes import aligned, n_lane_blocks
from palaver.kernels.simd.vectors import exponentials, move_row
from palaver.models.m4.kernels.lanes import parts_order
from palaver.models.m4.kernels.outcomes import (
    Words,
    fetch_ahead,
    kind_of,
    propose,
    put_in,
    slot_of,
    take_out,
)
from palaver.models.m4.kernels.replies import (
    Links,
    add_parent_scores,
    add_row,
    family_log,
    lay_out,
    link_replies,
    make_family,
    open_family,
    set_message_score,
)


@njit(cache=True, error_model="numpy", _nrt=False)
def _sample_tokens(  # type: ignore[no-untyped-def]
    first, last, n_groups, own_sum, n_units, sums, layout, family, words, topic_total, state,
    recorded,
):  # fmt: skip
    """Resample the tokens of a message that bear classes themselves.

    The masses of classes are ``pi``, or ``n_b + a`` with Dirichlet transitions; own_sum : ``A``,
    or one; n_units : class-bearing tokens; sums : ``h . rows`` IN-OUT.
    Returns the conversation's topic total.
    """
    n_classes, is_dirichlet, own = layout.n_classes, layout.is_dirichlet, words.masses
    current = 0.0
    if n_groups > 0:
        current = family_log(n_groups, n_classes, n_classes, n_units, sums, layout, family)
    for i in range(first, last):
        old = np.int64(words.classes[i])
        n_others = n_units - (old < n_classes)
        own_old = own[min(old, n_classes - 1)]
        own_total = own_sum
        if is_dirichlet:
            own_old -= 1.0
            own_total += n_others
        others_total = topic_total - (old > n_classes)
        fetch_ahead(i, words)
        new = propose(i, old, own_old, own_total, others_total, words, state, recorded)
        if n_groups > 0:
            old_row = min(old, n_classes)
            if i < recorded.shape[0]:
                for outcome in range(words.n_columns):
                    recorded[i, 1, outcome] = family_log(
                        n_groups, min(outcome, n_classes), old_row,
                        n_others + (outcome < n_classes), sums, layout, family,
                    )  # fmt: skip
            new_row = min(new, n_classes)
            if new_row != old_row:
                n_after = n_others + (new < n_classes)
                after = family_log(n_groups, new_row, old_row, n_after, sums, layout, family)
                if uniform(state) < math.exp(min(after - current, 0.0)):
                    current = after
                    move_row(
                        layout.rows, new_row * layout.stride, old_row * layout.stride,
                        layout.n_blocks, sums,
                    )  # fmt: skip
                else:
                    new = old
        if new != old:
            take_out(i, words)
            put_in(i, new, words)
            n_units = n_others + (new < n_classes)
            topic_total = others_total + (new > n_classes)
            if is_dirichlet and old < n_classes:
                own[old] -= 1.0
            if is_dirichlet and new < n_classes:
                own[new] += 1.0
    return topic_total


@njit(cache=True, error_model="numpy", _nrt=False)
def _segment_weights(first, last, own, words, seen, logs):  # type: ignore[no-untyped-def]
    """Set ``logs`` (n_classes,) to log ``own_k`` times the words of a segment, in turn.

    Only class-bearing tokens count; they are out of the counts. seen : (n_words,) zeros.
    """
    n_classes, n_columns = words.n_classes, words.n_columns
    for k in range(n_classes):
        logs[k] = math.log(own[k]) if own[k] > 0.0 else -np.inf
    n_before = 0
    for i in range(first, last):
        if words.classes[i] >= n_classes:
            continue
        word = words.tokens[i]
        start = np.int64(word) * n_columns
        for k in range(n_classes):
            if words.is_collapsed:
                mass = words.counts[start + k] + seen[word] + words.omega
                logs[k] += math.log(mass / (words.denominators[k] + n_before))
            else:
                logs[k] += math.log(words.frozen[start + k])
        seen[word] += 1
        n_before += 1
    for i in range(first, last):
        seen[words.tokens[i]] = 0


@njit(cache=True, error_model="numpy", _nrt=False)
def _sample_segments(  # type: ignore[no-untyped-def]
    message, segment_offsets, segment_classes, links, n_groups, own, n_units, sums, layout,
    family, words, topic_total, seen, logs, state, recorded, recorded_segments,
):  # fmt: skip
    """Resample the classes of a message's segments, then the outcomes of its tokens.

    segment_offsets : (n_segments + 1,) tokens of each segment IN; segment_classes : IN-OUT; the
    rest as in :func:`_sample_tokens`.
    """
    n_classes, is_dirichlet = layout.n_classes, layout.is_dirichlet
    current = 0.0
    if n_groups > 0:
        current = family_log(n_groups, n_classes, n_classes, n_units, sums, layout, family)
    for s in range(links.unit_offsets[message], links.unit_offsets[message + 1]):
        first, last = segment_offsets[s], segment_offsets[s + 1]
        old = np.int64(segment_classes[s])
        for i in range(first, last):
            if words.classes[i] < n_classes:
                take_out(i, words)
        if is_dirichlet:
            own[old] -= 1.0
        _segment_weights(first, last, own, words, seen, logs)
        if s < recorded_segments.shape[0]:
            for k in range(n_classes):
                recorded_segments[s, 0, k] = logs[k]
                if n_groups > 0:
                    recorded_segments[s, 1, k] = family_log(
                        n_groups, k, old, n_units, sums, layout, family
                    )
        new = draw_by_logs(logs, n_classes, uniform(state))
        if n_groups > 0 and new != old:
            after = family_log(n_groups, new, old, n_units, sums, layout, family)
            if uniform(state) < math.exp(min(after - current, 0.0)):
                current = after
                move_row(
                    layout.rows, new * layout.stride, old * layout.stride, layout.n_blocks, sums
                )
            else:
                new = old
        segment_classes[s] = new
        for i in range(first, last):
            if words.classes[i] < n_classes:
                put_in(i, new, words)
        if is_dirichlet:
            own[new] += 1.0
        for k in range(n_classes):
            words.masses[k] = 0.0
        words.masses[new] = 1.0
        for i in range(first, last):
            outcome = np.int64(words.classes[i])
            topic_total -= outcome > n_classes
            drawn = propose(i, outcome, 1.0, 1.0, topic_total, words, state, recorded)
            if drawn != outcome:
                take_out(i, words)
                put_in(i, drawn, words)
            topic_total += drawn > n_classes
    return topic_total


@njit(cache=True, error_model="numpy", _nrt=False)
def _open_message(  # type: ignore[no-untyped-def]
    message, first, last, unit_classes, links, layout, fixed_class, words, own, sums, scored, spare
):
    """Set switches, own weights and sums of a message; return (class units, own sum).

    scored : (1,) IN-OUT, the message whose score is in ``spare`` (stride,), else -1. Siblings share
    that score, as long as the message they answer keeps its classes.
    """
    n_classes, n_blocks, stride = layout.n_classes, layout.n_blocks, layout.stride
    for kind in range(3):
        words.message_switches[kind] = 0.0
    for i in range(first, last):
        words.message_switches[kind_of(words.classes[i], n_classes)] += 1.0
    base = links.base_index[message] * stride
    for j in range(stride):
        own[j] = layout.bases[base + j]
        sums[j] = 0.0
    parent = links.parent_offsets[message]
    n_parents = links.parent_offsets[message + 1] - parent
    if n_parents == 1:
        if scored[0] != links.parent_list[parent]:
            scored[0] = links.parent_list[parent]
            set_message_score(scored[0], unit_classes, links, layout, spare)
        for j in range(stride):
            own[j] += spare[j]
    elif n_parents > 1:
        scored[0] = -1
        add_parent_scores(message, -1, unit_classes, links, layout, spare, own)
    total = exponentials(own, 0.0, 1.0, layout.mask, n_blocks, own)
    if not layout.is_dirichlet:
        for j in range(stride):
            own[j] /= total
        total = 1.0
    n_units = 0
    has_replies = links.child_offsets[message + 1] > links.child_offsets[message]
    for u in range(links.unit_offsets[message], links.unit_offsets[message + 1]):
        k = unit_classes[u]
        if k < n_classes:
            n_units += 1
            if layout.is_dirichlet:
                own[k] += 1.0
            if has_replies:
                add_row(k, layout, sums)
    if fixed_class >= 0:  # all of its units are of this class
        for j in range(stride):
            if j != fixed_class:
                own[j] = 0.0
    return n_units, total


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_shard(  # type: ignore[no-untyped-def]
    is_collapsed, is_segmented, is_dirichlet, tokens, message_offsets, parent_offsets, parent_list,
    conversation_offsets, first_conversation, base_index, designs, fixed_classes, segment_offsets,
    unit_offsets, classes, segment_classes, word_class_counts, class_totals, word_weights,
    weights, omega, alpha, is_message_switch, switch_prior, switch_probabilities, key, recorded,
    recorded_segments,
):  # fmt: skip
    """Resample every outcome of a shard, and the classes of its segments if it has any.

    With ``is_collapsed`` word distributions are integrated out: one stream, counts change. Else
    they are given, conversations are independent, one stream each, and the counts of the new
    outcomes are added at the end (unless the counts have no rows). Releases the GIL.

    Parameters
    ----------
    tokens : array of int32, shape (n_tokens,). IN
    message_offsets : array of int64, shape (n_messages + 1,). IN
    parent_offsets, parent_list : parents of each message, earlier ones of its conversation. IN
    conversation_offsets : array of int64, shape (n_conversations + 1,). IN
    first_conversation : int. IN
    base_index : array of int32, shape (n_messages,). IN
        Row of ``designs``, the distinct features beyond the parents' histograms.
    designs : array of float64, shape (n_bases, F). IN
    fixed_classes : array of int16, shape (n_messages,). IN
        Class of all units of a message, -1 where it is free.
    segment_offsets : array of int64, shape (n_segments + 1,). IN
        Tokens of each segment; not used unless ``is_segmented``.
    unit_offsets : array of int64, shape (n_messages + 1,). IN
        Segments of each message, else ``message_offsets``.
    classes : array of int16, shape (n_tokens,). IN-OUT
    segment_classes : array of int16, shape (n_segments,). IN-OUT
    word_class_counts : array of int32, shape (n_words, K + 1 + T). IN-OUT
    class_totals : array of int64, shape (K + 1 + T,). IN-OUT, if collapsed
    word_weights : array of float64, shape (n_words, K + 1 + T). IN, if not
    weights : array of float64, shape (K + F, K). IN
    omega : float; alpha : array of float64, shape (T,). IN
    is_message_switch : bool; switch_prior, switch_probabilities : array of float64, (3,). IN
    key : array of uint64, shape (2,). IN
    recorded : array of float64, shape (n_recorded, 2, K + 1 + T). OUT
        For tests: the weights that a token was proposed from, and the log probability of the
        replies for each outcome. Usually of no rows; so is ``recorded_segments``
        (n_recorded, 2, K), the same for segments with logs of both.

    O(K + T) a token, and O(K + classes in the replies) where there are replies.
    """
    n_classes, n_topics = weights.shape[1], alpha.shape[0]
    n_columns = n_classes + 1 + n_topics
    layout = lay_out(weights, designs, is_dirichlet)
    n_class_blocks = layout.n_blocks
    n_blocks = n_class_blocks + n_lane_blocks(n_topics)
    size = LANES * n_blocks
    child_offsets, child_list = link_replies(parent_offsets, parent_list)
    links = Links(unit_offsets, parent_offsets, parent_list, child_offsets, child_list, base_index)
    family = make_family(links, layout.stride)
    unit_classes = segment_classes if is_segmented else classes
    masses = aligned(size + 1)
    # segments: masses say which class the tokens of one have; else they are the message's
    own = aligned(layout.stride) if is_segmented else masses[: layout.stride]
    sums, spare, logs = aligned(layout.stride), aligned(layout.stride), aligned(layout.stride)
    seen = np.zeros(word_class_counts.shape[0] if is_collapsed else word_weights.shape[0], np.int32)
    denominators = np.ones(size + 1)
    switches = switch_probabilities.copy()
    if is_collapsed:
        switches[:] = 0.0
        for column in range(n_columns):
            slot = slot_of(column, n_classes, n_class_blocks, n_blocks)
            denominators[slot] = class_totals[column] + word_class_counts.shape[0] * omega
        for i in range(tokens.shape[0]):  # totals may hold seeds, which are no tokens
            switches[kind_of(classes[i], n_classes)] += 1.0
    inverses = aligned(size + 1)
    for slot in range(size + 1):
        inverses[slot] = 1.0 / denominators[slot]
    words = Words(
        is_collapsed, is_message_switch, n_classes, n_columns, n_class_blocks, n_blocks, omega,
        tokens, classes, word_class_counts.reshape(-1), word_weights.reshape(-1),
        np.zeros(size + 2 * LANES, np.int32), np.zeros(size + 2 * LANES), masses, denominators,
        inverses, switch_prior, switches, np.zeros(3), aligned(size),
        parts_order(n_classes, n_topics),
    )  # fmt: skip
    first_topic = LANES * n_class_blocks
    scored = np.full(1, -1, np.int64)
    state = np.empty(4, np.uint64)
    open_stream(key, 0, state)
    for c in range(conversation_offsets.shape[0] - 1):
        if not is_collapsed:
            open_stream(key, first_conversation + c, state)
        topic_total = 1.0  # anything: without topics nothing is divided by it
        if n_topics > 0:
            first, last = conversation_offsets[c], conversation_offsets[c + 1]
            for t in range(n_topics):
                masses[first_topic + t] = alpha[t]
            topic_total = alpha.sum()
            for i in range(message_offsets[first], message_offsets[last]):
                if classes[i] > n_classes:
                    masses[first_topic + classes[i] - n_classes - 1] += 1.0
                    topic_total += 1.0
        for b in range(conversation_offsets[c], conversation_offsets[c + 1]):
            first, last = message_offsets[b], message_offsets[b + 1]
            if first == last and unit_offsets[b] == unit_offsets[b + 1]:
                continue
            n_units, own_sum = _open_message(
                b, first, last, unit_classes, links, layout, fixed_classes[b], words, own, sums,
                scored, spare,
            )  # fmt: skip
            if scored[0] == b:  # a parent that comes after its replies, while replies are rebuilt
                scored[0] = -1
            n_groups = open_family(b, unit_classes, links, layout, family)
            if is_segmented:
                topic_total = _sample_segments(
                    b, segment_offsets, segment_classes, links, n_groups, own, n_units, sums,
                    layout, family, words, topic_total, seen, logs, state, recorded,
                    recorded_segments,
                )  # fmt: skip
            else:
                topic_total = _sample_tokens(
                    first, last, n_groups, own_sum, n_units, sums, layout, family, words,
                    topic_total, state, recorded,
                )  # fmt: skip
    if is_collapsed:
        for column in range(n_columns):
            slot = slot_of(column, n_classes, n_class_blocks, n_blocks)
            total = denominators[slot] - word_class_counts.shape[0] * omega
            class_totals[column] = np.int64(round(total))
    elif word_class_counts.shape[0] > 0:
        for i in range(tokens.shape[0]):
            word_class_counts[tokens[i], classes[i]] += 1
