"""The one door to randomness: a seed becomes streams that are keyed, never shared.

A stream is named by ``(seed, purpose, chain, sweep, conversation)``. Its draws depend on
that name alone, so they are the same in whatever order, and by however many workers, the
streams are used. Python code takes a :class:`numpy.random.Generator` (:func:`generator`);
compiled kernels take two 64-bit words (:func:`key`) and mix the number of a conversation
into them (:mod:`palaver.kernels.random`).
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np
from numpy.typing import NDArray

from palaver.errors import ParameterError


def _sequence(
    seed: int, purpose: str, chain: int, sweep: int, conversation: int
) -> np.random.SeedSequence:
    """Name a stream; the spawn key has a fixed length, so no two names collide."""
    word = int.from_bytes(hashlib.blake2b(purpose.encode(), digest_size=4).digest(), "little")
    return np.random.SeedSequence(seed, spawn_key=(word, chain, sweep, conversation))


def generator(
    seed: int, purpose: str, chain: int = 0, sweep: int = 0, conversation: int = 0
) -> np.random.Generator:
    """Return the numpy generator of one stream.

    Parameters
    ----------
    seed : int
        The user's seed, not negative.
    purpose : str
        What the draws are for, such as ``"split"``; different purposes never share draws.
    chain, sweep, conversation : int
        Position of the stream, not negative and below 2**32.
    """
    return np.random.Generator(
        np.random.PCG64DXSM(_sequence(seed, purpose, chain, sweep, conversation))
    )


def unnamed(random_state: int | np.random.Generator | None) -> np.random.Generator:
    """Return numpy's own stream of a seed, for draws that published figures rest on."""
    return np.random.default_rng(resolve_seed(random_state))


def key(seed: int, purpose: str, chain: int = 0, sweep: int = 0) -> NDArray[np.uint64]:
    """Return the two words from which kernels derive the stream of each conversation.

    Returns
    -------
    array of uint64, shape (2,)
    """
    words = _sequence(seed, purpose, chain, sweep, 0).generate_state(2, np.uint64)
    return words.astype(np.uint64, copy=False)


def resolve_seed(random_state: int | np.random.Generator | None) -> int:
    """Turn scikit-learn's ``random_state`` into one whole number that can be written down.

    ``None`` draws a fresh seed from the operating system; a generator gives one draw.
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
