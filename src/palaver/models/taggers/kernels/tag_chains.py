"""Chains of tags over the sentences of conversations, with one or two tags of history.

The outer product of the joint probability in section 3 of Ji & Bilmes (2006), with the scores of
sentences in place of its inner product, and as many tags of history h as the user asks for ::

    log P(W, D) = sum_k  scores[k, d_k] + log P(d_k | h_k)                                    (a)

A history is a number: the last tag, or the last but one times ``n_tags + 1`` plus the last. The tag
``n_tags`` stands for the start. ``moves[kind, history, tag]`` are log-probabilities; the kind of a
sentence says, for example, whether the speaker changed.
"""

from __future__ import annotations

import numpy as np

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.plain import longest_stretch

#: Room for rounding when histories are skipped, as a share of their values.
_ROUNDING = 1e-9


@inner(inline="always")
def _next(history, tag, n_tags, n_histories):  # type: ignore[no-untyped-def]
    """Return the history after a tag."""
    if n_histories == n_tags + 1:
        return tag
    return (history % (n_tags + 1)) * (n_tags + 1) + tag


@inner
def _leads(moves, n_tags):  # type: ignore[no-untyped-def]
    """Return how much better and worse than usual each history can be for the next tag.

    Of the histories h that end in the same tag, with r their mean: max_t moves[h, t] - r[t], and
    max_t r[t] - moves[h, t]. A history whose value is behind another's by more than the sum of its
    own first and the other's second cannot be on the best path.
    """
    n_kinds, n_histories = moves.shape[0], moves.shape[1]
    n_symbols = n_tags + 1
    n_older = n_histories // n_symbols
    above = np.zeros((n_kinds, n_histories))
    below = np.zeros((n_kinds, n_histories))
    usual = np.empty(n_tags)
    for kind in range(n_kinds):
        for last in range(n_symbols):
            usual[:] = 0.0
            for h in range(last, n_histories, n_symbols):
                for t in range(n_tags):
                    usual[t] += moves[kind, h, t] / n_older
            for h in range(last, n_histories, n_symbols):
                for t in range(n_tags):
                    lead = moves[kind, h, t] - usual[t]
                    above[kind, h] = max(above[kind, h], lead)
                    below[kind, h] = max(below[kind, h], -lead)
    return above, below


@kernel
def best_tags(scores, kinds, conversations, moves, tags):  # type: ignore[no-untyped-def]
    """Set the tags that maximize (a) in every conversation (Viterbi).

    Parameters
    ----------
    scores : array of float64, shape (n_sentences, n_tags). IN
        Log-probabilities of the words.
    kinds : array of int8, shape (n_sentences,). IN
    conversations : array of int64, shape (n_conversations + 1,). IN
    moves : array of float64, shape (n_kinds, n_histories, n_tags). IN
    tags : array of int32, shape (n_sentences,). OUT

    Cost O(n_sentences n_histories n_tags) at most. With two tags of history, histories that cannot
    be on the best path are skipped (:func:`_leads`): with forty tags, nearly all of them. The way
    there keeps values only, so that its inner loop is a plain maximum; the way back finds again
    where each came from, at n_tags per sentence.
    """
    n_tags, n_histories = scores.shape[1], moves.shape[1]
    n_symbols = n_tags + 1
    n_older = n_histories // n_symbols
    values = np.empty((longest_stretch(conversations) + 1, n_histories))
    above, below = _leads(moves, n_tags)
    for c in range(conversations.shape[0] - 1):
        first, last = conversations[c], conversations[c + 1]
        if first == last:
            continue
        values[0, :] = -np.inf
        values[0, n_histories - 1] = 0.0
        for k in range(first, last):
            old, new, kind = values[k - first], values[k - first + 1], kinds[k]
            new[:] = -np.inf
            for before in range(n_symbols):
                least = -np.inf
                if n_older > 1:
                    for h in range(before, n_histories, n_symbols):
                        least = max(least, old[h] - below[kind, h])
                    least -= _ROUNDING * abs(least)
                for h in range(before, n_histories, n_symbols):
                    value = old[h]
                    if value == -np.inf or value + above[kind, h] < least:
                        continue
                    start = _next(h, 0, n_tags, n_histories)
                    for t in range(n_tags):
                        score = value + moves[kind, h, t]
                        new[start + t] = score if score > new[start + t] else new[start + t]
            for start in range(0, n_histories, n_symbols):
                for t in range(n_tags):
                    new[start + t] += scores[k, t]
        h = int(np.argmax(values[last - first]))
        for k in range(last - 1, first - 1, -1):
            tag = h % n_symbols
            tags[k] = tag
            # histories that lead to this one: their last tag is its last but one
            low, step = (0, 1) if n_older == 1 else (h // n_symbols, n_symbols)
            highest, found = -np.inf, low
            for source in range(low, n_histories, step):
                value = values[k - first, source] + moves[kinds[k], source, tag]
                if value > highest:
                    highest, found = value, source
            h = found


@kernel
def tag_posteriors(scores, kinds, conversations, moves, posteriors):  # type: ignore[no-untyped-def]
    """Set the posterior probabilities of every sentence's tag; return the log of (a), summed.

    Parameters
    ----------
    scores, kinds, conversations, moves : IN, as in :func:`best_tags`
    posteriors : array of float64, shape (n_sentences, n_tags). OUT
    """
    n_tags, n_histories = scores.shape[1], moves.shape[1]
    alpha = np.empty((longest_stretch(conversations) + 1, n_histories))
    beta = np.empty(n_histories)
    older = np.empty(n_histories)
    words = np.empty(n_tags)
    probabilities = np.exp(moves)
    total = 0.0
    for c in range(conversations.shape[0] - 1):
        first, last = conversations[c], conversations[c + 1]
        alpha[0, :] = 0.0
        alpha[0, n_histories - 1] = 1.0
        for k in range(first, last):
            row, kind = k - first, kinds[k]
            top = scores[k].max()
            alpha[row + 1, :] = 0.0
            for h in range(n_histories):
                weight = alpha[row, h]
                if weight > 0.0:
                    start = _next(h, 0, n_tags, n_histories)
                    for t in range(n_tags):
                        alpha[row + 1, start + t] += weight * probabilities[kind, h, t]
            for t in range(n_tags):
                words[t] = np.exp(scores[k, t] - top)
            scale = 0.0
            for start in range(0, n_histories, n_tags + 1):
                for t in range(n_tags):
                    alpha[row + 1, start + t] *= words[t]
                    scale += alpha[row + 1, start + t]
            for h in range(n_histories):
                alpha[row + 1, h] /= scale
            total += np.log(scale) + top
        beta[:] = 1.0
        for k in range(last - 1, first - 1, -1):
            row, kind = k - first, kinds[k]
            whole = 0.0
            posteriors[k, :] = 0.0
            for h in range(n_histories):
                t = h % (n_tags + 1)
                if t < n_tags:
                    weight = alpha[row + 1, h] * beta[h]
                    posteriors[k, t] += weight
                    whole += weight
            top = scores[k].max()
            for t in range(n_tags):
                posteriors[k, t] /= whole
                words[t] = np.exp(scores[k, t] - top)
            for start in range(0, n_histories, n_tags + 1):
                for t in range(n_tags):
                    beta[start + t] *= words[t]
            scale = 0.0
            for h in range(n_histories):
                start, weight = _next(h, 0, n_tags, n_histories), 0.0
                for t in range(n_tags):
                    weight += probabilities[kind, h, t] * beta[start + t]
                older[h] = weight
                scale = max(scale, weight)
            for h in range(n_histories):
                beta[h] = older[h] / scale
    return total
