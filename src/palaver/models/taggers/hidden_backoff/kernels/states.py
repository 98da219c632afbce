"""Hidden states inside sentences whose tag is known, and scores of sentences under every tag.

The inner product of the joint probability in section 3 of Ji & Bilmes (2006): of one sentence with
tag d, with the probability e_i(s) = P(w_i | w_{i-1}, s, d) of its i-th word in state s ::

    P(w, s_1..n | d) = start(s_1) e_1(s_1) prod_i moves(s_{i-1}, s_i) e_i(s_i)               (a)

    filtered    f_i(s) = e_i(s) sum_r f_{i-1}(r) moves(r, s) / c_i,    prod_i c_i = P(w | d)  (b)
    smoothed    b_{i-1}(r) = sum_s moves(r, s) e_i(s) b_i(s), scaled                          (c)
    pairs       P(s_{i-1} = r, s_i = s | w, d) = f_{i-1}(r) moves(r, s) e_i(s) b_i(s), scaled (d)

The expected starts and moves of the EM epochs (algorithm 1) are sums of (d), the alignment of its
step 5 maximizes (a) or draws from it, and decoding compares (a), maximized or summed, between tags.

States of all tags are numbered together: tag ``t`` has ``units[t]:units[t + 1]``. Probabilities of
words come as one row per type of event (``emissions``); a sentence is a run of types.
"""

from __future__ import annotations

import numpy as np

from palaver.kernels.chains import draw_state
from palaver.kernels.compiled import inner, kernel
from palaver.kernels.plain import longest_stretch
from palaver.kernels.random import open_stream, uniform

#: Products of probabilities below this are rescaled, long before they vanish.
_SMALL = 1e-100


@inner
def _forward(types, first, last, emissions, start, moves, low, size, alpha):  # type: ignore[no-untyped-def]
    """Filter one sentence by (b); return its log-likelihood.

    Parameters
    ----------
    types, first, last, emissions, start, moves : IN
    low, size : int. IN
        The tag's first unit and number of units; emissions have the tag's states as columns.
    alpha : array of float64, shape (>= last - first, >= size). OUT
        Filtered probabilities of the states.
    """
    total = 0.0
    for i in range(first, last):
        scale = 0.0
        for s in range(size):
            if i == first:
                weight = start[low + s]
            else:
                weight = 0.0
                for r in range(size):
                    weight += alpha[i - first - 1, r] * moves[low + r, s]
            weight *= emissions[types[i], s]
            alpha[i - first, s] = weight
            scale += weight
        for s in range(size):
            alpha[i - first, s] /= scale
        total += np.log(scale)
    return total


@kernel
def expect_states(types, offsets, tags, emissions, units, start, moves, starts, steps):  # type: ignore[no-untyped-def]
    """Add up the expected starts and moves of all sentences, (d); return their log-likelihood.

    Parameters
    ----------
    types : array of int32, shape (n_tokens,). IN
    offsets : array of int64, shape (n_sentences + 1,). IN
    tags : array of int32, shape (n_sentences,). IN
    emissions : array of float64, shape (n_types, n_states). IN
        Probability of each type in each state of its tag.
    units : array of int64, shape (n_tags + 1,). IN
    start : array of float64, shape (n_units,). IN
    moves : array of float64, shape (n_units, n_states). IN
        From a unit to the states of the same tag.
    starts, steps : arrays of the shapes of start and moves. OUT, added to

    Cost O(n_tokens n_states^2).
    """
    n_states = moves.shape[1]
    alpha = np.empty((longest_stretch(offsets), n_states))
    beta = np.empty(n_states)
    before = np.empty(n_states)
    total = 0.0
    for k in range(tags.shape[0]):
        first, last = offsets[k], offsets[k + 1]
        if first == last:
            continue
        low = units[tags[k]]
        size = units[tags[k] + 1] - low
        total += _forward(types, first, last, emissions, start, moves, low, size, alpha)
        for s in range(size):
            beta[s] = 1.0
        for i in range(last - 1, first, -1):
            norm = 0.0
            for s in range(size):
                before[s] = beta[s] * emissions[types[i], s]
            for r in range(size):
                for s in range(size):
                    norm += alpha[i - first - 1, r] * moves[low + r, s] * before[s]
            for r in range(size):
                back = 0.0
                for s in range(size):
                    share = moves[low + r, s] * before[s]
                    steps[low + r, s] += alpha[i - first - 1, r] * share / norm
                    back += share
                beta[r] = back / norm
        for s in range(size):
            starts[low + s] += alpha[0, s] * beta[s]
    return total


@kernel
def align_states(types, offsets, tags, emissions, units, start, moves, states):  # type: ignore[no-untyped-def]
    """Set the states that maximize (a) in every sentence (Viterbi); return the log-probability.

    Parameters
    ----------
    types, offsets, tags, emissions, units, start, moves : IN, as in :func:`expect_states`
    states : array of int8, shape (n_tokens,). OUT
        Among equally likely paths, the one through lower states, from the last token on.
    """
    n_states = moves.shape[1]
    back = np.empty((longest_stretch(offsets), n_states), np.int8)
    best = np.empty(n_states)
    new = np.empty(n_states)
    log_start, log_moves = np.log(start), np.log(moves)
    total = 0.0
    for k in range(tags.shape[0]):
        first, last = offsets[k], offsets[k + 1]
        if first == last:
            continue
        low = units[tags[k]]
        size = units[tags[k] + 1] - low
        for s in range(size):
            best[s] = log_start[low + s] + np.log(emissions[types[first], s])
        for i in range(first + 1, last):
            for s in range(size):
                top, origin = -np.inf, 0
                for r in range(size):
                    score = best[r] + log_moves[low + r, s]
                    if score > top:
                        top, origin = score, r
                new[s] = top + np.log(emissions[types[i], s])
                back[i - first, s] = origin
            best[:size] = new[:size]
        state = 0
        for s in range(1, size):
            if best[s] > best[state]:
                state = s
        total += best[state]
        for i in range(last - 1, first - 1, -1):
            states[i] = state
            if i > first:
                state = back[i - first, state]
    return total


@kernel
def sample_states(  # type: ignore[no-untyped-def]
    types, offsets, tags, emissions, units, start, moves, conversations, first_conversation, key,
    states,
):  # fmt: skip
    """Draw the states of every sentence given its words and tag; return the log-likelihood.

    Backwards, by (b): the last state from f_n, every other from f_i(s) moves(s, s_{i+1}).

    Parameters
    ----------
    types, offsets, tags, emissions, units, start, moves : IN, as in :func:`expect_states`
    conversations : array of int64, shape (n_conversations + 1,). IN
        Sentences of each conversation, which has a stream with one draw per token: sentences
        in order, the tokens of each from the last.
    first_conversation, key : IN
    states : array of int8, shape (n_tokens,). OUT
    """
    n_states = moves.shape[1]
    alpha = np.empty((longest_stretch(offsets), n_states))
    weights = np.empty(n_states)
    stream = np.empty(4, np.uint64)
    total = 0.0
    for c in range(conversations.shape[0] - 1):
        open_stream(key, first_conversation + c, stream)
        for k in range(conversations[c], conversations[c + 1]):
            first, last = offsets[k], offsets[k + 1]
            if first == last:
                continue
            low = units[tags[k]]
            size = units[tags[k] + 1] - low
            total += _forward(types, first, last, emissions, start, moves, low, size, alpha)
            for i in range(last - 1, first - 1, -1):
                for s in range(size):
                    weights[s] = alpha[i - first, s]
                    if i < last - 1:
                        weights[s] *= moves[low + s, states[i + 1]]
                states[i] = draw_state(weights[:size], uniform(stream))
    return total


@kernel
def score_sentences(types, offsets, emissions, units, start, moves, use_max, scores):  # type: ignore[no-untyped-def]
    """Set the log-probability of every sentence under every tag, (a) maximized or summed.

    Logarithms are taken only when a product becomes small, and at the end.

    Parameters
    ----------
    types : array of int32, shape (n_tokens,). IN
    offsets : array of int64, shape (n_sentences + 1,). IN
    emissions : array of float64, shape (n_types, n_units). IN
    units, start, moves : IN, as in :func:`expect_states`
    use_max : bool. IN
        Of the best path of states instead of the sum over all paths.
    scores : array of float64, shape (n_sentences, n_tags). OUT
    """
    n_tags = units.shape[0] - 1
    old = np.empty(units[n_tags])
    new = np.empty(moves.shape[1])
    for k in range(offsets.shape[0] - 1):
        first, last = offsets[k], offsets[k + 1]
        for t in range(n_tags):
            scores[k, t] = 0.0
        for i in range(first, last):
            row = emissions[types[i]]
            for t in range(n_tags):
                low, high = units[t], units[t + 1]
                scale = 0.0
                for s in range(low, high):
                    weight = start[s]
                    if i > first:
                        weight = 0.0
                        for r in range(low, high):
                            step = old[r] * moves[r, s - low]
                            weight = max(weight, step) if use_max else weight + step
                    weight *= row[s]
                    new[s - low] = weight
                    scale = max(scale, weight) if use_max else scale + weight
                if scale < _SMALL or i == last - 1:
                    scores[k, t] += np.log(scale)
                    for s in range(low, high):
                        new[s - low] /= scale
                for s in range(low, high):
                    old[s] = new[s - low]
