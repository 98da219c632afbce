"""The only source of randomness: a seed is expanded into named streams that are never shared.

A stream is named by ``(seed, purpose, chain, sweep, conversation)``. Its draws depend on that
name alone, so they do not change with the order in which streams are used, or with the number
of workers. Python code uses a :class:`numpy.random.Generator` (:func:`generator`); compiled
kernels use two 64-bit words (:func:`key`) and mix the number of a conversation into them
(:mod:`palaver.kernels.random`).
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np
from numpy.typing import NDArray

from palaver.errors import ParameterError

#: What users may pass as ``random_state``; see :func:`resolve_seed`.
RandomState = int | np.random.Generator | None


def _sequence(
    seed: int, purpose: str, chain: int, sweep: int, conversation: int
) -> np.random.SeedSequence:
    """Return the seed sequence of a stream; keys of fixed length keep names from colliding."""
    word = int.from_bytes(hashlib.blake2b(purpose.encode(), digest_size=4).digest(), "little")
    return np.random.SeedSequence(seed, spawn_key=(word, chain, sweep, conversation))


def generator(
    seed: int, purpose: str, chain: int = 0, sweep: int = 0, conversation: int = 0
) -> np.random.Generator:
    """Return the numpy generator of a stream.

    Parameters
    ----------
    seed : int
        The user's seed, non-negative.
    purpose : str
        What the draws are for, such as ``"split"``; different purposes never share draws.
    chain, sweep, conversation : int
        Position of the stream, non-negative and below 2**32.
    """
    return np.random.Generator(
        np.random.PCG64DXSM(_sequence(seed, purpose, chain, sweep, conversation))
    )


def unnamed(random_state: RandomState) -> np.random.Generator:
    """Return numpy's default stream for a seed, for draws that published figures depend on."""
    return np.random.default_rng(resolve_seed(random_state))


def key(seed: int, purpose: str, chain: int = 0, sweep: int = 0) -> NDArray[np.uint64]:
    """Return the two words from which kernels derive each conversation's stream.

    Returns
    -------
    array of uint64, shape (2,)
    """
    words = _sequence(seed, purpose, chain, sweep, 0).generate_state(2, np.uint64)
    return words.astype(np.uint64, copy=False)


def resolve_seed(random_state: RandomState) -> int:
    """Turn a ``random_state`` as in scikit-learn into one whole number that can be recorded.

    ``None`` draws a fresh seed from the operating system; a generator supplies one draw.
    """
    if random_state is None:
        return secrets.randbits(32)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise ParameterError(
            f"random_state must be a whole number, a numpy Generator or None, got {random_state!r}"
        )
    if random_state < 0:
        raise ParameterError(f"random_state must not be negative, got {random_state}")
    return int(random_state)
