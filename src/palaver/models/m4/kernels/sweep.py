"""M4's sweep: every outcome of a shard is resampled given all others.

Paul (2012), equation (2), gives the conditional of a token's class as a product: how likely the
class is given the message's parent, how likely the word is given the class, and how likely the
replies' classes are. Here a token has further outcomes: a class (0 .. K-1), the background (K,
section 5.3 of the paper), or a topic of its conversation (K + 1 .. K + T). Word counts have a
column for each. From counts without the token, the product without the replies is::

    class k     switch_class      * own_k      * word factor of k                           (a)
    background  switch_background              * word factor of the background
    topic t     switch_topic      * (n_dt + alpha_t) / (n_d. + sum(alpha)) * word factor of t

``own_k`` is ``pi_k``, as in equation (2), or ``(n_bk + a_k) / (n_b. + A)`` with Dirichlet
transitions (:mod:`palaver.models.m4.kernels.replies`); a message whose class is known has it for
that class only. The word factor is ``(n_w + omega) / (n. + W omega)``, as in equation (2), or
``word_weights``. The switch has a Dirichlet prior (background, class, topic), a zero where there
is no such outcome.

A token is proposed from (a). If replies have units with a class, the proposal is accepted with the
ratio of their probabilities after and before (Metropolis-Hastings): equation (2) is (a) times that
probability. So a token costs O(K), where all factors of equation (2) cost O(K^2). With segments,
the class of a segment is drawn in the same way given which of its tokens have a class, then the
tokens' outcomes are drawn given the class of their segment.
"""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.forests import draw_by_logs
from palaver.kernels.random import open_stream, uniform
from palaver.kernels.simd.instructions import LANES
from palaver.kernels.simd.lanes import aligned, n_lane_blocks
from palaver.kernels.simd.vectors import exponentials, move_row
from palaver.models.m4.kernels.bounds import MOST_DOUBT, bounded_change, open_bounds
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
    add_parent_scores,
    count_units,
    family_log,
    lay_out,
    make_family,
    make_links,
    open_family,
    set_message_score,
    set_sums,
)


@inner(error_model="numpy", _nrt=False)
def _sample_tokens(  # type: ignore[no-untyped-def]
    first, last, n_groups, own_sum, n_units, sums, layout, family, words, topic_total, stream,
    recorded,
):  # fmt: skip
    """Resample the tokens of a message where each has a class of its own.

    The masses of classes are ``pi``, or ``n_b + a`` with Dirichlet transitions; own_sum : ``A``,
    or one; n_units : class-bearing tokens; sums : ``h . rows`` IN-OUT.
    Returns the conversation's topic total.
    """
    n_classes, is_dirichlet, own = layout.n_classes, layout.is_dirichlet, words.masses
    current = here = 0.0
    doubt, rounding, is_exact = 0.0, -1.0, False  # doubt: of the change up to here
    if n_groups > 0:
        rounding = open_bounds(n_groups, n_units, sums, layout, family)
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
        new = propose(i, old, own_old, own_total, others_total, words, stream, recorded)
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
                drawn = uniform(stream)
                change, after_doubt, side = 0.0, np.inf, 0.0
                if rounding >= 0.0:
                    change, after_doubt = bounded_change(
                        n_groups, new_row, old_row, n_after, sums, layout, family
                    )
                    side = change - here
                    if side < doubt + after_doubt + rounding:  # else it is likelier after the move
                        side -= math.log(drawn)
                if abs(side) <= doubt + after_doubt + rounding:
                    if not is_exact:
                        current = family_log(
                            n_groups, n_classes, n_classes, n_units, sums, layout, family
                        )
                    after = family_log(n_groups, new_row, old_row, n_after, sums, layout, family)
                    side = 1.0 if drawn < math.exp(min(after - current, 0.0)) else -1.0
                    is_exact = True
                    if side > 0.0:
                        current = after
                elif side > 0.0:
                    is_exact = False
                if side > 0.0:
                    move_row(
                        layout.rows, new_row * layout.stride, old_row * layout.stride,
                        layout.n_blocks, sums,
                    )  # fmt: skip
                    here, doubt = change, after_doubt
                    if rounding >= 0.0 and doubt > MOST_DOUBT:
                        rounding = open_bounds(n_groups, n_after, sums, layout, family)
                        here = doubt = 0.0
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


@inner(error_model="numpy", _nrt=False)
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


@inner(error_model="numpy", _nrt=False)
def _sample_segments(  # type: ignore[no-untyped-def]
    message, segment_offsets, segment_classes, links, n_groups, own, n_units, sums, layout,
    family, words, topic_total, seen, logs, stream, recorded, recorded_segments,
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
        new = draw_by_logs(logs, n_classes, uniform(stream))
        if n_groups > 0 and new != old:
            after = family_log(n_groups, new, old, n_units, sums, layout, family)
            if uniform(stream) < math.exp(min(after - current, 0.0)):
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
            drawn = propose(i, outcome, 1.0, 1.0, topic_total, words, stream, recorded)
            if drawn != outcome:
                take_out(i, words)
                put_in(i, drawn, words)
            topic_total += drawn > n_classes
    return topic_total


@inner(error_model="numpy", _nrt=False)
def _open_message(  # type: ignore[no-untyped-def]
    message, first, last, unit_classes, links, layout, fixed_class, words, own, sums, scored, spare
):
    """Set switches, own weights and sums of a message; return (class units, own sum).

    scored : (1,) IN-OUT, the message whose score is in ``spare`` (stride,), else -1. Siblings share
    that score, as long as the message they answer keeps its classes.
    """
    n_classes, n_blocks, stride = layout.n_classes, layout.n_blocks, layout.stride
    if words.is_message_switch:  # else nobody reads them
        for kind in range(3):
            words.message_switches[kind] = 0.0
        for i in range(first, last):
            words.message_switches[kind_of(words.classes[i], n_classes)] += 1.0
    base = links.base_index[message] * stride
    for j in range(stride):
        own[j] = layout.bases[base + j]
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
    first_unit, last_unit = links.unit_offsets[message], links.unit_offsets[message + 1]
    n_units = count_units(first_unit, last_unit, unit_classes, layout)
    if layout.is_dirichlet:
        for k in range(n_classes):
            own[k] += layout.histogram[k]
    if links.child_offsets[message + 1] > links.child_offsets[message]:
        set_sums(first_unit, last_unit, n_units, unit_classes, layout, sums)
    if fixed_class >= 0:  # all of its units are of this class
        for j in range(stride):
            if j != fixed_class:
                own[j] = 0.0
    return n_units, total


@inner
def _lay_out_words(variant, threads, parameters, state, n_class_blocks):  # type: ignore[no-untyped-def]
    """Return the :class:`Words` of a sweep, nothing of a message or conversation in them yet."""
    n_classes, n_topics = parameters.weights.shape[1], parameters.alpha.shape[0]
    n_columns = n_classes + 1 + n_topics
    n_blocks = n_class_blocks + n_lane_blocks(n_topics)
    size = LANES * n_blocks
    denominators, inverses = np.ones(size + 1), aligned(size + 1)
    switches = parameters.switch_probabilities.copy()
    if variant.is_collapsed:
        switches[:] = 0.0
        words_omega = state.word_class_counts.shape[0] * parameters.omega
        for column in range(n_columns):
            slot = slot_of(column, n_classes, n_class_blocks, n_blocks)
            denominators[slot] = state.class_totals[column] + words_omega
        for i in range(threads.tokens.shape[0]):  # totals may hold seeds, which are no tokens
            switches[kind_of(state.classes[i], n_classes)] += 1.0
    for slot in range(size + 1):
        inverses[slot] = 1.0 / denominators[slot]
    return Words(
        variant.is_collapsed, variant.is_message_switch, n_classes, n_columns, n_class_blocks,
        n_blocks, parameters.omega, threads.tokens, state.classes,
        state.word_class_counts.reshape(-1), parameters.word_weights.reshape(-1),
        np.zeros(size + 2 * LANES, np.int32), np.zeros(size + 2 * LANES), aligned(size + 1),
        denominators, inverses, parameters.switch_prior, switches, np.zeros(3), aligned(size),
        parts_order(n_classes, n_topics),
    )  # fmt: skip


@inner(_nrt=False)
def _open_topics(first, last, alpha, words):  # type: ignore[no-untyped-def]
    """Set the masses of a conversation's topics, from its tokens; return their sum."""
    if alpha.shape[0] == 0:
        return 1.0  # anything: without topics nothing is divided by it
    first_topic, total = LANES * words.n_class_blocks, 0.0
    for t in range(alpha.shape[0]):
        words.masses[first_topic + t] = alpha[t]
        total += alpha[t]
    for i in range(first, last):
        if words.classes[i] > words.n_classes:
            words.masses[first_topic + words.classes[i] - words.n_classes - 1] += 1.0
            total += 1.0
    return total


@inner
def _count_outcomes(is_collapsed, words, omega, counts, totals):  # type: ignore[no-untyped-def]
    """Set the totals of a collapsed sweep; else count all outcomes, unless counts have no rows."""
    if is_collapsed:
        for column in range(words.n_columns):
            slot = slot_of(column, words.n_classes, words.n_class_blocks, words.n_blocks)
            totals[column] = np.int64(round(words.denominators[slot] - counts.shape[0] * omega))
    elif counts.shape[0] > 0:
        for i in range(words.tokens.shape[0]):
            counts[words.tokens[i], words.classes[i]] += 1


@kernel(error_model="numpy")
def sweep_shard(  # type: ignore[no-untyped-def]
    variant, threads, parameters, state, key, recorded, recorded_segments
):
    """Resample every outcome of a shard, and the classes of its segments if it has any.

    With ``is_collapsed`` word distributions are integrated out: one stream, counts change. Else
    they are given, conversations are independent, one stream each, and the counts of the new
    outcomes are added at the end (unless the counts have no rows). Releases the GIL.

    Parameters
    ----------
    variant : Variant; threads : Threads; parameters : Parameters. IN
    state : State. IN-OUT
    key : array of uint64, shape (2,). IN
    recorded : array of float64, shape (n_recorded, 2, K + 1 + T). OUT
        For tests: the weights that a token was proposed from, and the log probability of the
        replies for each outcome. Usually of no rows; so is ``recorded_segments``
        (n_recorded, 2, K), the same for segments with logs of both.

    O(K + T) per token, and O(K + classes in the replies) where there are replies.
    """
    is_segmented = variant.is_segmented
    layout = lay_out(parameters.weights, threads.designs, variant.is_dirichlet)
    words = _lay_out_words(variant, threads, parameters, state, layout.n_blocks)
    links = make_links(threads)
    family = make_family(links, layout.stride)
    unit_classes = state.segment_classes if is_segmented else state.classes
    # segments: masses say which class the tokens of one have; else they are the message's
    own = aligned(layout.stride) if is_segmented else words.masses[: layout.stride]
    sums, spare, logs = aligned(layout.stride), aligned(layout.stride), aligned(layout.stride)
    n_words = max(state.word_class_counts.shape[0], parameters.word_weights.shape[0])
    seen = np.zeros(n_words, np.int32)
    scored = np.full(1, -1, np.int64)
    stream = np.empty(4, np.uint64)
    open_stream(key, 0, stream)
    message_offsets, unit_offsets = threads.message_offsets, threads.unit_offsets
    for c in range(threads.conversation_offsets.shape[0] - 1):
        first_message = threads.conversation_offsets[c]
        last_message = threads.conversation_offsets[c + 1]
        if not variant.is_collapsed:
            open_stream(key, threads.first_conversation + c, stream)
        topic_total = _open_topics(
            message_offsets[first_message], message_offsets[last_message], parameters.alpha, words
        )
        for b in range(first_message, last_message):
            first, last = message_offsets[b], message_offsets[b + 1]
            if first == last and unit_offsets[b] == unit_offsets[b + 1]:
                continue
            n_units, own_sum = _open_message(
                b, first, last, unit_classes, links, layout, threads.fixed_classes[b], words, own,
                sums, scored, spare,
            )  # fmt: skip
            if scored[0] == b:  # a parent that comes after its replies, while replies are rebuilt
                scored[0] = -1
            n_groups = open_family(b, unit_classes, links, layout, family)
            if is_segmented:
                topic_total = _sample_segments(
                    b, threads.segment_offsets, state.segment_classes, links, n_groups, own,
                    n_units, sums, layout, family, words, topic_total, seen, logs, stream,
                    recorded, recorded_segments,
                )  # fmt: skip
            else:
                topic_total = _sample_tokens(
                    first, last, n_groups, own_sum, n_units, sums, layout, family, words,
                    topic_total, stream, recorded,
                )  # fmt: skip
    _count_outcomes(
        variant.is_collapsed, words, parameters.omega, state.word_class_counts, state.class_totals
    )
