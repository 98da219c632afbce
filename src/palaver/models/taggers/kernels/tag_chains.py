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
from numba import njit

from palaver.kernels.plain import longest_stretch


@njit(cache=True, inline="always")
def _next(history, tag, n_tags, n_histories):  # type: ignore[no-untyped-def]
    """Return the history after a tag."""
    if n_histories == n_tags + 1:
        return tag
    return (history % (n_tags + 1)) * (n_tags + 1) + tag


@njit(cache=True, nogil=True)
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

    Cost O(n_sentences n_histories n_tags).
    """
    n_tags, n_histories = scores.shape[1], moves.shape[1]
    back = np.empty((longest_stretch(conversations), n_histories), np.int32)
    best = np.empty(n_histories)
    new = np.empty(n_histories)
    for c in range(conversations.shape[0] - 1):
        first, last = conversations[c], conversations[c + 1]
        if first == last:
            continue
        best[:] = -np.inf
        best[n_histories - 1] = 0.0
        for k in range(first, last):
            new[:] = -np.inf
            for h in range(n_histories):
                if best[h] == -np.inf:
                    continue
                for t in range(n_tags):
                    score = best[h] + moves[kinds[k], h, t] + scores[k, t]
                    to = _next(h, t, n_tags, n_histories)
                    if score > new[to]:
                        new[to] = score
                        back[k - first, to] = h
            best[:] = new
        h = int(np.argmax(best))
        for k in range(last - 1, first - 1, -1):
            tags[k] = h % (n_tags + 1)
            h = back[k - first, h]


@njit(cache=True, nogil=True)
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
            row = k - first
            top = scores[k].max()
            alpha[row + 1, :] = 0.0
            scale = 0.0
            for t in range(n_tags):
                words[t] = np.exp(scores[k, t] - top)
            for h in range(n_histories):
                if alpha[row, h] == 0.0:
                    continue
                for t in range(n_tags):
                    weight = alpha[row, h] * probabilities[kinds[k], h, t] * words[t]
                    alpha[row + 1, _next(h, t, n_tags, n_histories)] += weight
                    scale += weight
            for h in range(n_histories):
                alpha[row + 1, h] /= scale
            total += np.log(scale) + top
        beta[:] = 1.0
        for k in range(last - 1, first - 1, -1):
            row = k - first
            whole = 0.0
            posteriors[k, :] = 0.0
            for h in range(n_histories):
                t = h % (n_tags + 1)
                if t < n_tags:
                    weight = alpha[row + 1, h] * beta[h]
                    posteriors[k, t] += weight
                    whole += weight
            for t in range(n_tags):
                posteriors[k, t] /= whole
            top = scores[k].max()
            scale = 0.0
            for h in range(n_histories):
                older[h] = 0.0
                for t in range(n_tags):
                    older[h] += (
                        probabilities[kinds[k], h, t]
                        * np.exp(scores[k, t] - top)
                        * beta[_next(h, t, n_tags, n_histories)]
                    )
                scale = max(scale, older[h])
            for h in range(n_histories):
                beta[h] = older[h] / scale
    return total
