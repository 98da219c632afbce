"""The ranker: a softmax over the candidates of each message, fitted by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from threadpoolctl import threadpool_limits

from palaver.threads.kernels.loss import add_gradient, normalize_pairs, score_pairs
from palaver.threads.pairs import CandidatePairs

_ITERATIONS = 200
INNER_PENALTY = 30.0  #: hidden units' over weights' penalty: few known replies stay linear
_OUTER_START = 0.1
_ROWS = 50_000


@dataclass(frozen=True, eq=False)
class Ranker:
    """Scores candidates by equation (0) of the kernel.

    Attributes
    ----------
    weights : array of float64, shape (F,)
        Weights of the features themselves.
    inner : array of float64, shape (F + 1, H)
        Weights of the features in each hidden unit, with a constant last.
    outer : array of float64, shape (H,)
        Weight of each hidden unit.
    """

    weights: NDArray[np.float64]
    inner: NDArray[np.float64]
    outer: NDArray[np.float64]

    @classmethod
    def linear(cls, weights: NDArray[np.float64]) -> Self:
        """Return a ranker without hidden units."""
        return cls(weights, np.zeros((len(weights) + 1, 0)), np.zeros(0))

    @classmethod
    def unpacked(cls, numbers: NDArray[np.float64], n_features: int) -> Self:
        """Return the ranker that :attr:`packed` describes."""
        n_units = (len(numbers) - n_features) // (n_features + 2)
        weights, inner, outer = np.split(numbers, [n_features, len(numbers) - n_units])
        return cls(weights, inner.reshape(n_features + 1, n_units), outer)

    @property
    def packed(self) -> NDArray[np.float64]:
        """All numbers in one array: weights, inner, outer."""
        return np.concatenate((self.weights, self.inner.ravel(), self.outer))

    def units(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the values of the hidden units, (n_pairs, H)."""
        inner = self.inner.astype(np.float32)
        sums = features @ inner[:-1]
        sums += inner[-1]
        np.tanh(sums, out=sums)
        return np.asarray(sums)

    def scores(self, pairs: CandidatePairs) -> NDArray[np.float64]:
        """Return the score of each candidate, (n_pairs,)."""
        scores = scores_of(pairs, self.weights)
        if len(self.outer):
            with threadpool_limits(1):  # same bytes for any number of cores
                scores += _weighted(self.units(pairs.features), self.outer)
        return scores


def _weighted(features: NDArray[np.float32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted sum of each row."""
    sums = np.empty(len(features))
    score_pairs(features, weights, sums)
    return sums


def scores_of(pairs: CandidatePairs, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the score of each candidate from its features alone, (n_pairs,)."""
    return _weighted(pairs.features, weights)


def loss_and_gradient(
    numbers: NDArray[np.float64],
    pairs: CandidatePairs,
    log_targets: NDArray[np.float64],
    centre: NDArray[np.float64],
    precision: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """Return the loss, equation (2) of the kernel, with a quadratic penalty, and its gradient.

    Parameters
    ----------
    numbers : array of float64, shape (n_numbers,)
        A packed ranker: weights, optionally followed by those of hidden units.
    pairs : CandidatePairs
    log_targets : array of float64, shape (n_pairs,)
        0 for the true parent and -inf for all others, or log evidence.
    centre, precision : array of float64, shape (n_numbers,)
        The penalty is ``sum(precision * (numbers - centre)**2) / 2``.
    """
    ranker = Ranker.unpacked(numbers, pairs.features.shape[1])
    units = ranker.units(pairs.features) if len(ranker.outer) else None
    scores = scores_of(pairs, ranker.weights)
    if units is not None:
        scores += _weighted(units, ranker.outer)
    prior, posterior = np.empty(len(log_targets)), np.empty(len(log_targets))
    log_prior = normalize_pairs(scores, pairs.offsets, prior)
    log_posterior = normalize_pairs(scores + log_targets, pairs.offsets, posterior)
    differences = prior - posterior
    found = Ranker.unpacked(np.zeros(len(numbers)), pairs.features.shape[1])
    add_gradient(pairs.features, differences, found.weights)
    if units is not None:
        add_gradient(units, differences, found.outer)
        back = (1.0 - units**2) * ranker.outer.astype(np.float32)
        back *= differences[:, None].astype(np.float32)
        found.inner[:-1] = pairs.features.T @ back
        found.inner[-1] = back.sum(axis=0, dtype=np.float64)
    away = numbers - centre
    penalty = 0.5 * float(precision @ away**2)
    return log_prior - log_posterior + penalty, found.packed + precision * away


def fit_weights(
    pairs: CandidatePairs,
    log_targets: NDArray[np.float64],
    centre: NDArray[np.float64],
    precision: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Minimize the loss without hidden units, by L-BFGS from the centre; return the weights."""
    return _minimizer(lambda w: loss_and_gradient(w, pairs, log_targets, centre, precision), centre)


def _minimizer(
    loss: Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]],
    begin: NDArray[np.float64],
    max_iter: int = _ITERATIONS,
    on_iteration: Callable[[], None] = lambda: None,
) -> NDArray[np.float64]:
    """Return the minimizer of a loss; ``on_iteration`` is called after each iteration."""
    found = minimize(
        loss,
        begin,
        method="L-BFGS-B",
        jac=True,
        callback=lambda _: on_iteration(),
        options={"maxiter": max_iter, "maxcor": 20, "ftol": 1e-7},
    )
    return np.asarray(found.x)


def fit_ranker(
    pairs: CandidatePairs,
    right: NDArray[np.bool_],
    penalty: float,
    spread: NDArray[np.float64],
    begin: Ranker,
    max_iter: int = _ITERATIONS,
    on_iteration: Callable[[], None] = lambda: None,
) -> Ranker:
    """Return the ranker with the smallest loss for known parents.

    Parameters
    ----------
    pairs : CandidatePairs
    right : array of bool, shape (n_pairs,)
        The true parent, one per message.
    penalty : float
        Weight of the quadratic penalty.
    spread : array of float64, shape (F,)
        Result of :func:`spread_of`; hidden units scale features by it, so that all start equal.
    begin : Ranker
        Where the search starts: see :func:`fresh_ranker`.
    max_iter : int
    on_iteration : callable
        Called after each iteration.
    """
    n_units = len(begin.outer)
    inner = np.repeat(np.append(spread, 1.0)[:, None], n_units, axis=1)
    scales = Ranker(np.ones(len(spread)), inner, np.ones(n_units)).packed
    precision = np.full(len(scales), penalty)
    precision[len(spread) :] *= INNER_PENALTY
    centre, targets = np.zeros(len(scales)), np.where(right, 0.0, -np.inf)

    def loss(scaled: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = loss_and_gradient(
            scaled / scales, pairs, targets, centre, precision * scales**2
        )
        return value, gradient / scales

    with threadpool_limits(1):
        found = _minimizer(loss, begin.packed * scales, max_iter, on_iteration)
    return Ranker.unpacked(found / scales, len(spread))


def fresh_ranker(
    spread: NDArray[np.float64], n_units: int, generator: np.random.Generator
) -> Ranker:
    """Return a ranker to start from, with zero weights and random hidden units."""
    inner = generator.normal(size=(len(spread), n_units)) / np.sqrt(len(spread)) / spread[:, None]
    outer = generator.normal(size=n_units) * _OUTER_START
    return Ranker(np.zeros(len(spread)), np.vstack((inner, np.zeros(n_units))), outer)


def spread_of(features: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the standard deviation of each feature, or one for constant features."""
    sums, squares = np.zeros((2, features.shape[1]))
    for begin in range(0, len(features), _ROWS):
        part = features[begin : begin + _ROWS].astype(np.float64)
        sums += part.sum(axis=0)
        squares += (part**2).sum(axis=0)
    n_pairs = max(len(features), 1)
    found = np.sqrt(np.maximum(squares / n_pairs - (sums / n_pairs) ** 2, 0.0))
    return np.where(found > 1e-6, found, 1.0)


def normalized(scores: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the softmax of each message's scores."""
    found = np.empty_like(scores)
    normalize_pairs(scores, offsets, found)
    return found


def fit_temperature(
    scores: NDArray[np.float64], offsets: NDArray[np.int64], right: NDArray[np.bool_]
) -> float:
    """Return the divisor that turns scores into log probabilities, from held-out messages.

    Parameters
    ----------
    scores : array of float64, shape (n_pairs,)
    offsets : array of int64, shape (n_messages + 1,)
    right : array of bool, shape (n_pairs,)
        The true parent, one per message.
    """
    buffer = np.empty_like(scores)

    def loss(log_temperature: float) -> float:
        scaled = scores * np.exp(-log_temperature)
        return float(normalize_pairs(scaled, offsets, buffer) - scaled[right].sum())

    found = minimize_scalar(loss, bounds=(-2.0, 2.0), method="bounded")
    return float(np.exp(found.x))
