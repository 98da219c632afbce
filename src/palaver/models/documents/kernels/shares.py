"""LDA's variational inference for documents (Hoffman, Blei & Bach 2010, algorithm 2).

The posterior of a document's shares is a Dirichlet with concentrations ``gamma``; given these, the
topics of its words follow. One iteration is ::

    phi_wk ~ exp(E[ln theta_k] + E[ln beta_kw]),    gamma_k = alpha_k + sum_w c_w phi_wk

All inner products run eight lanes at a time; a document's numbers depend on nothing but it.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from palaver.kernels.compiled import compact, inner, kernel
from palaver.kernels.simd.spaces import (
    aligned_space,
    digammas_of,
    inner_product,
    padded,
    powers,
    sum_rows,
    take_row,
)
from palaver.kernels.special import digamma

FloatArray = npt.NDArray[np.float64]

# places in the space of a document: vectors over topics, ratios of words, likelihoods
_N_VECTORS = 6
_GAMMA, _MASK, _LOGS, _WEIGHTS, _MOVED, _ALPHA = range(_N_VECTORS)


def share_space(alpha: FloatArray, n_words: int) -> tuple[int, FloatArray]:
    """Return the space for documents of at most so many different words, with this prior.

    Also, first, where the likelihoods of the words are in it.
    """
    width = padded(len(alpha))
    rows = _N_VECTORS * width + padded(n_words)
    space = aligned_space(rows + n_words * width)
    vectors = space[: _N_VECTORS * width].reshape(_N_VECTORS, width)
    vectors[_GAMMA] = 1.0  # its padding stays so
    vectors[_MASK, : len(alpha)] = 1.0
    vectors[_ALPHA, : len(alpha)] = alpha
    return rows, space


def log_prior_of(alpha: FloatArray) -> float:
    """Return ``ln gamma(sum alpha_k) - sum_k ln gamma(alpha_k)``."""
    return float(gammaln(alpha.sum()) - gammaln(alpha).sum())


@inner(error_model="numpy")
def _weigh_topics(space, n_topics, blocks):  # type: ignore[no-untyped-def]
    """Set LOGS to ``E[ln theta]`` of the concentrations GAMMA, and WEIGHTS to its exponential."""
    compact()
    width, total = blocks << 3, 0.0
    for k in range(n_topics):
        total += space[_GAMMA * width + k]
    digammas_of(space, _GAMMA * width, digamma(total), blocks, _LOGS * width)
    powers(space, _LOGS * width, 0.0, _MASK * width, blocks, _WEIGHTS * width)


@inner(error_model="numpy")
def _infer_shares(  # type: ignore[no-untyped-def]
    space, counts, first, n_words, n_topics, blocks, ratios, rows, n_iterations, tolerance
):
    """Iterate a document's concentrations until they change by less than ``tolerance``.

    Parameters
    ----------
    space : array of float64, from :func:`share_space`. IN-OUT
        GAMMA, ALPHA, MASK and the likelihoods, exp(E[ln beta]) of each word up to a factor, are IN.
        LOGS and WEIGHTS are those of GAMMA in the end.
    counts, first, n_words : IN
        The document's are ``counts[first : first + n_words]``.
    n_topics, blocks : int. IN
    ratios, rows : int. IN
        Places of ``c_w / sum_k weights_k likelihoods_wk`` (OUT) and of the likelihoods.
    n_iterations : int. IN
    tolerance : float. IN
        On the mean change of a concentration.

    O(n_iterations n_words n_topics).
    """
    compact()
    width = blocks << 3
    gamma, weights, moved = _GAMMA * width, _WEIGHTS * width, _MOVED * width
    for iteration in range(n_iterations + 1):
        _weigh_topics(space, n_topics, blocks)
        row = rows
        for w in range(n_words):
            likelihood = inner_product(space, weights, row, blocks)
            likelihood = likelihood if likelihood > 1e-300 else 1e-300
            space[ratios + w] = counts[first + w] / likelihood
            row += width
        if iteration == n_iterations:
            break
        sum_rows(space, ratios, 1, rows, n_words, blocks, moved)
        change = 0.0
        for k in range(n_topics):
            value = space[_ALPHA * width + k] + space[weights + k] * space[moved + k]
            change += abs(value - space[gamma + k])
            space[gamma + k] = value
        if change < tolerance * n_topics:
            n_iterations = iteration + 1  # one more round, for the weights only


@kernel(error_model="numpy")
def sweep_shares(  # type: ignore[no-untyped-def]
    offsets, words, counts, weights_of_words, peaks, prior, fresh, n_iterations, tolerance, rows,
    space, gammas, bounds, word_topics, log_shares, terms,
):  # fmt: skip
    """Infer all documents of a shard and add up their expected counts.

    Parameters
    ----------
    offsets, words, counts : arrays, shape (n_documents + 1,), (n_counts,), (n_counts,). IN
    weights_of_words : array of float64, shape (n_words, width). IN
        exp(E[ln beta] - peak), padded to whole blocks with zeros.
    peaks : array of float64, shape (n_words,). IN
    prior : float. IN
        ``ln gamma(sum alpha_k) - sum_k ln gamma(alpha_k)`` (:func:`log_prior_of`).
    fresh : bool. IN
        Start from even shares instead of ``gammas``.
    n_iterations, tolerance
        As in :func:`_infer_shares`.
    rows : int. IN
        Where the likelihoods are in the space.
    space : array of float64, from :func:`share_space`. IN-OUT
        With the prior alpha, for the longest document.
    gammas : array of float64, shape (n_documents, n_topics). IN-OUT
    bounds : array of float64, shape (n_documents,). OUT
    word_topics : array of float64, shape (n_words, n_topics). IN-OUT
        Expected counts, added to.
    log_shares : array of float64, shape (n_topics,). IN-OUT
        Sums of E[ln theta], added to.
    terms : array of float64, shape (2,). IN-OUT
        Sums of the bound's terms, words and shares, added to.

    Documents without words are passed over.
    """
    compact()
    n_topics, blocks = gammas.shape[1], weights_of_words.shape[1] >> 3
    width, ratios = blocks << 3, (_N_VECTORS * blocks) << 3
    for d in range(len(bounds)):
        first, n_words = offsets[d], offsets[d + 1] - offsets[d]
        if n_words == 0:
            continue
        n_tokens = 0.0
        for w in range(n_words):
            n_tokens += counts[first + w]
            take_row(weights_of_words, words[first + w], blocks, space, rows + w * width)
        for k in range(n_topics):
            even = space[_ALPHA * width + k] + n_tokens / n_topics
            space[_GAMMA * width + k] = even if fresh else gammas[d, k]
        _infer_shares(space, counts, first, n_words, n_topics, blocks, ratios, rows, n_iterations,
                      tolerance)  # fmt: skip
        total, of_words, of_shares = 0.0, 0.0, prior
        for k in range(n_topics):
            gamma, log_share = space[_GAMMA * width + k], space[_LOGS * width + k]
            gammas[d, k] = gamma
            total += gamma
            log_shares[k] += log_share
            alpha = space[_ALPHA * width + k]
            of_shares += (alpha - gamma) * log_share + math.lgamma(gamma)
        of_shares -= math.lgamma(total)
        for w in range(n_words):
            ratio, word, row = space[ratios + w], words[first + w], rows + w * width
            of_words += counts[first + w] * (peaks[word] + math.log(counts[first + w] / ratio))
            for k in range(n_topics):
                word_topics[word, k] += ratio * space[_WEIGHTS * width + k] * space[row + k]
        bounds[d] = of_words + of_shares
        terms[0] += of_words
        terms[1] += of_shares
