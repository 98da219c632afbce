"""The background switch of a token, shared by LDA, the block HMM and M4 (section 5.3 of Paul 2012).

Every token has a switch: ``x = 0`` draws its word from the background, ``x = 1`` from its class.
The probability of ``x = 1`` has a Beta prior, given everywhere as ``switch_prior`` =
(background, class), float64 (2,). An int flag says which tokens share such a probability:

``SWITCH_OFF``
    there is no background: the outcome ``K`` has weight zero, the classes weight one;
``SWITCH_CORPUS``
    one probability for the corpus: integrated out in collapsed kernels (the counts are those of
    all other tokens), drawn by :func:`draw_class_probability` and passed in for parallel kernels;
``SWITCH_MESSAGE``
    one probability per message, always integrated out (the counts are those of the other
    tokens of the message).

Both ``..._weights`` helpers return the pair (background, class) without their common denominator.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import roots_jacobi

from palaver.kernels.compiled import inner, kernel

SWITCH_OFF = 0
SWITCH_CORPUS = 1
SWITCH_MESSAGE = 2
MOST_NODES = 64


@inner(inline="always")
def collapsed_switch_weights(  # type: ignore[no-untyped-def]
    switch, corpus_background, corpus_class, message_background, message_class, switch_prior
):
    """Return (background, class) weights of a token's switch, with its probability integrated out.

    ``count + prior`` of the scope that ``switch`` names; the counts exclude the token itself.
    A kernel that keeps only one scope's counts may pass zeros for the other. IN only; O(1).
    """
    background_weight = 0.0
    class_weight = 1.0
    if switch == SWITCH_CORPUS:
        background_weight = corpus_background + switch_prior[0]
        class_weight = corpus_class + switch_prior[1]
    elif switch == SWITCH_MESSAGE:
        background_weight = message_background + switch_prior[0]
        class_weight = message_class + switch_prior[1]
    return background_weight, class_weight


@inner(inline="always")
def drawn_switch_weights(  # type: ignore[no-untyped-def]
    switch, class_probability, message_background, message_class, switch_prior
):
    """Return (background, class) weights of a token's switch, given the corpus-wide probability.

    As :func:`collapsed_switch_weights`, but the corpus-wide scope uses ``class_probability``
    (float), which was drawn before the sweep; a message's own probability stays integrated out.
    """
    background_weight = 0.0
    class_weight = 1.0
    if switch == SWITCH_CORPUS:
        background_weight = 1.0 - class_probability
        class_weight = class_probability
    elif switch == SWITCH_MESSAGE:
        background_weight = message_background + switch_prior[0]
        class_weight = message_class + switch_prior[1]
    return background_weight, class_weight


@kernel
def log_switch(background_count, class_count, switch_prior):  # type: ignore[no-untyped-def]
    """Return the log Beta-binomial probability of a scope's switches (as a sequence).

    ``log B(background + prior_0, class + prior_1) - log B(prior_0, prior_1)``. IN only; O(1).
    """
    background_count = float(background_count)
    class_count = float(class_count)
    total = switch_prior[0] + switch_prior[1]
    return (
        math.lgamma(background_count + switch_prior[0])
        - math.lgamma(switch_prior[0])
        + math.lgamma(class_count + switch_prior[1])
        - math.lgamma(switch_prior[1])
        - math.lgamma(background_count + class_count + total)
        + math.lgamma(total)
    )


def draw_class_probability(
    background_count: int,
    class_count: int,
    switch_prior: npt.NDArray[np.float64],
    generator: np.random.Generator,
) -> float:
    """Draw the corpus-wide probability of ``x = 1`` from its Beta posterior given the counts."""
    return float(generator.beta(class_count + switch_prior[1], background_count + switch_prior[0]))


def class_probability_nodes(
    switch: int,
    switch_prior: npt.NDArray[np.float64],
    class_probability: float,
    n_tokens: int,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return probabilities of ``x = 1`` and their log weights, for summing it out.

    A single node if the corpus has one probability or needs none. For a message's own, it is
    Gauss-Jacobi quadrature of the Beta prior: the probability of ``n_tokens`` words is a
    polynomial of that degree, so the sum is exact up to 2 * MOST_NODES - 1 words and very
    close beyond.
    """
    if switch != SWITCH_MESSAGE:
        probability = class_probability if switch == SWITCH_CORPUS else 1.0
        return np.array([probability]), np.zeros(1)
    n_nodes = min(n_tokens // 2 + 1, MOST_NODES)
    places, weights = roots_jacobi(n_nodes, switch_prior[0] - 1.0, switch_prior[1] - 1.0)
    return (places + 1.0) / 2.0, np.log(weights / weights.sum())
