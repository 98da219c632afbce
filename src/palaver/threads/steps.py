"""Learning a ranker with hidden units in small steps, from many messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from palaver.threads.pairs import CandidatePairs
from palaver.threads.ranker import INNER_PENALTY, Ranker, fresh_ranker, normalized, spread_of

_BATCH = (25, 200)  # messages in a step, at least and at most
_FEWEST_BATCHES = 100  # unless batches would be smaller than that
_VISITS = 100_000  # messages to look at in all, if there are fewer: several times
_PASSES = (5, 40)
_FEWEST_STEPS = 1200  # of few messages: more passes
_RATE, _WARM_UP = 3e-3, 50
_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8  # Adam's moments


@dataclass(frozen=True, eq=False)
class Scale:
    """Means and standard deviations of features, each of shape (F,)."""

    means: NDArray[np.float64]
    spreads: NDArray[np.float64]

    @classmethod
    def of(cls, features: NDArray[np.float32]) -> Scale:
        """Return the scale of features; a constant feature has the spread one."""
        return cls(features.mean(axis=0, dtype=np.float64), spread_of(features))

    def unscaled(self, numbers: Sequence[NDArray[np.float32]]) -> Ranker:
        """Return the ranker of plain features that equals one of scaled features."""
        weights, inner, constants, outer = (part.astype(np.float64) for part in numbers)
        inner = inner / self.spreads[:, None]
        constants = constants - self.means @ inner
        return Ranker(weights / self.spreads, np.vstack((inner, constants)), outer)


def fit_in_steps(
    pairs: CandidatePairs,
    right: NDArray[np.bool_],
    *,
    penalty: float,
    n_units: int,
    scale: Scale,
    generator: np.random.Generator,
    on_share: Callable[[float], None] = lambda _: None,
) -> Ranker:
    """Return a ranker for known parents, by Adam (Kingma & Ba 2015) with a falling rate.

    The loss is that of :func:`palaver.threads.ranker.fit_ranker`. Each step looks at a batch of
    messages, so that a few passes over very many suffice; few messages are passed over more often.

    Parameters
    ----------
    pairs : CandidatePairs
    right : array of bool, shape (n_pairs,)
        The true parent, one per message.
    penalty : float
    n_units : int
        Number of hidden units.
    scale : Scale
    generator : numpy.random.Generator
        Initializes the units and draws the batches.
    on_share : callable
        Called with shares of the work that sum to one.
    """
    n_messages = len(pairs.messages)
    size = int(np.clip(n_messages // _FEWEST_BATCHES, *_BATCH))
    n_batches = max(math.ceil(n_messages / size), 1)
    n_passes = int(np.clip(math.ceil(_VISITS / max(n_messages, 1)), *_PASSES))
    n_passes = max(n_passes, math.ceil(_FEWEST_STEPS / n_batches))
    n_steps = n_passes * n_batches
    begin = fresh_ranker(np.ones(len(scale.spreads)), n_units, generator)
    numbers = [begin.weights, begin.inner[:-1], begin.inner[-1], begin.outer]
    numbers = [part.astype(np.float32) for part in numbers]
    decays = [penalty / n_messages * share for share in (1.0, *(INNER_PENALTY,) * 3)]
    moments = [(np.zeros_like(part), np.zeros_like(part)) for part in numbers]
    step = 0
    with threadpool_limits(1):  # same bytes for any number of cores
        for _ in range(n_passes):
            order = generator.permutation(n_messages)
            for first in range(0, n_messages, size):
                step += 1
                features, truth, offsets = _batch(pairs, right, scale, order[first : first + size])
                found = gradients(numbers, features, truth, offsets)
                rate = _RATE * min(1.0, step / _WARM_UP) * _cosine(step / n_steps)
                for part, gradient, decay, (mean, square) in zip(
                    numbers, found, decays, moments, strict=True
                ):
                    gradient += decay * part
                    mean += (1 - _FIRST) * (gradient - mean)
                    square += (1 - _SECOND) * (gradient**2 - square)
                    size_of = np.sqrt(square / (1 - _SECOND**step)) + _TINY
                    part -= rate / (1 - _FIRST**step) * mean / size_of
                on_share(1 / n_steps)
    return scale.unscaled(numbers)


def _cosine(share: float) -> float:
    """Return how much of the rate is left, from one to zero."""
    return 0.5 * (1.0 + math.cos(math.pi * min(share, 1.0)))


def _batch(
    pairs: CandidatePairs, right: NDArray[np.bool_], scale: Scale, chosen: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.int64]]:
    """Return scaled features, true parents and offsets of some messages."""
    lengths = np.diff(pairs.offsets)[chosen]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    rows = np.repeat(pairs.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
    features = pairs.features[rows]
    features -= scale.means.astype(np.float32)
    features /= scale.spreads.astype(np.float32)
    return features, right[rows], offsets


def gradients(
    numbers: Sequence[NDArray[np.float32]],
    features: NDArray[np.float32],
    right: NDArray[np.bool_],
    offsets: NDArray[np.int64],
) -> list[NDArray[np.float32]]:
    """Return the gradient of the mean loss, equation (2) of the kernel, over some messages.

    Parameters
    ----------
    numbers : sequence of array of float32
        Weights (F,), inner weights (F, H), constants (H,) and outer weights (H,).
    features : array of float32, shape (n_pairs, F)
    right : array of bool, shape (n_pairs,)
    offsets : array of int64, shape (n_messages + 1,)
    """
    weights, inner, constants, outer = numbers
    units = np.tanh(features @ inner + constants)
    scores = features @ weights + units @ outer
    chances = normalized(scores.astype(np.float64), offsets)
    errors = ((chances - right) / (len(offsets) - 1)).astype(np.float32)
    back = errors[:, None] * outer * (1 - units**2)
    return [features.T @ errors, features.T @ back, back.sum(axis=0), units.T @ errors]


def averaged(rankers: Sequence[Ranker]) -> Ranker:
    """Return one ranker whose scores are the means of those of several."""
    return Ranker(
        np.mean([ranker.weights for ranker in rankers], axis=0),
        np.hstack([ranker.inner for ranker in rankers]),
        np.concatenate([ranker.outer for ranker in rankers]) / len(rankers),
    )


def divided(ranker: Ranker, temperature: float) -> Ranker:
    """Return the ranker whose scores are divided by a temperature."""
    return Ranker(ranker.weights / temperature, ranker.inner, ranker.outer / temperature)
