"""Particles: parallel samples whose weights estimate the likelihood of the words.

A particle filter goes through the words in an order in which nothing needs to be known about
what comes later. ``exp`` of the log likelihood it returns is an *unbiased* estimate of the
probability of the words: the mean over many runs is exact, whatever the number of particles
(Del Moral 2004). The log itself is slightly too low, less so with more particles.

Arrays with a value per particle have the particles last, so that loops over
particles, which are independent, can be vectorised.
"""

from __future__ import annotations

import math

from palaver.kernels.compiled import inner, kernel
from palaver.kernels.plain import highest_of
from palaver.kernels.random import uniform

_TINY = 1e-250


@inner
def multiply_weights(values, factors, log_factors):  # type: ignore[no-untyped-def]
    """Multiply ``factors`` by ``values``, moving what becomes too small to ``log_factors``.

    values : (P,) IN; factors, log_factors : (P,) IN-OUT.
    """
    for i in range(values.shape[0]):
        factors[i] *= values[i]
        if factors[i] < _TINY:
            log_factors[i] += math.log(max(factors[i], 5e-324))
            factors[i] = 1.0


@inner
def take_logs(factors, log_factors):  # type: ignore[no-untyped-def]
    """Add the logs of ``factors`` (P,), which become ones, to ``log_factors`` (P,). IN-OUT."""
    for i in range(factors.shape[0]):
        log_factors[i] += math.log(factors[i])
        factors[i] = 1.0


@kernel
def log_mean(log_weights):  # type: ignore[no-untyped-def]
    """Return the log of the mean of the weights (P,). IN."""
    highest = highest_of(log_weights)
    total = 0.0
    for i in range(log_weights.shape[0]):
        total += math.exp(log_weights[i] - highest)
    return highest + math.log(total / log_weights.shape[0])


@kernel
def choose_survivors(log_weights, state, survivors):  # type: ignore[no-untyped-def]
    """If weights have become too uneven, draw the survivors; return the log of the mean weight.

    If the effective number of particles is at least half of all, nothing happens: zero is
    returned and ``survivors[0]`` is -1. Otherwise ``survivors`` holds, by systematic resampling,
    the particle that each one continues from, and all weights become one.

    log_weights : (P,) IN-OUT; state : (4,) IN-OUT; survivors : (P,) OUT.
    """
    n = log_weights.shape[0]
    highest = highest_of(log_weights)
    total = squares = 0.0
    for i in range(n):
        weight = math.exp(log_weights[i] - highest)
        total += weight
        squares += weight * weight
    survivors[0] = -1
    if total * total >= 0.5 * n * squares:
        return 0.0
    place = uniform(state)
    step = total / n
    chosen = 0
    reached = math.exp(log_weights[0] - highest)
    for i in range(n):
        while reached <= (place + i) * step and chosen < n - 1:
            chosen += 1
            reached += math.exp(log_weights[chosen] - highest)
        survivors[i] = chosen
    log_weights[:] = 0.0
    return highest + math.log(step)


@inner
def keep_survivors(survivors, spare, values):  # type: ignore[no-untyped-def]
    """Set column ``i`` of ``values`` (K, P) to the old column ``survivors[i]``. IN-OUT."""
    for k in range(values.shape[0]):
        for i in range(values.shape[1]):
            spare[i] = values[k, survivors[i]]
        for i in range(values.shape[1]):
            values[k, i] = spare[i]


@inner(error_model="numpy")
def mix(shares, row, mixed):  # type: ignore[no-untyped-def]
    """Set ``mixed`` (P,) to the sum over classes of ``shares`` (K, P) times ``row`` (K+1,)."""
    mixed[:] = 0.0
    for k in range(shares.shape[0]):
        weight = row[k]
        for i in range(shares.shape[1]):
            mixed[i] += shares[k, i] * weight


@inner(error_model="numpy")
def draw_outcomes(shares, row, thresholds, outcomes):  # type: ignore[no-untyped-def]
    """Draw each particle's class, or the background (K).

    ``thresholds`` are uniform between zero and the total weight of an outcome, in units in
    which class ``k`` has ``shares[k] * row[k]``; anything beyond all classes is background.

    shares : (K, P) IN; row : (K+1,) IN; thresholds : (P,) IN-OUT; outcomes : (P,) OUT.
    """
    outcomes[:] = 0
    for k in range(shares.shape[0]):
        weight = row[k]
        for i in range(shares.shape[1]):
            thresholds[i] -= shares[k, i] * weight
            outcomes[i] += thresholds[i] >= 0.0
