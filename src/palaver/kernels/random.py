"""Random numbers inside kernels: xoshiro256++ streams, one per conversation.

:func:`open_stream` mixes the two words of :func:`palaver.rng.key` with the number of a
conversation into the 256-bit state of a stream, so a conversation's draws depend only on
their name. The generator is Blackman & Vigna's xoshiro256++ (2019), seeded with the
finaliser of SplitMix64, as its authors recommend.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from palaver.kernels.compiled import inner, kernel

_TO_UNIT = 2.0**-53


@inner(inline="always")
def _mix(word):  # type: ignore[no-untyped-def]
    """Finaliser of SplitMix64: a bijection of 64-bit words that looks random."""
    word = uint64(word)
    word = (word ^ (word >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> uint64(27))) * uint64(0x94D049BB133111EB)
    return word ^ (word >> uint64(31))


@inner(inline="always")
def _rotate(word, bits):  # type: ignore[no-untyped-def]
    return (word << uint64(bits)) | (word >> uint64(64 - bits))


@kernel
def open_stream(key, conversation, state):  # type: ignore[no-untyped-def]
    """Set ``state`` to the start of a conversation's stream.

    Parameters
    ----------
    key : array of uint64, shape (2,). IN
    conversation : int. IN
    state : array of uint64, shape (4,). OUT
    """
    step = uint64(0x9E3779B97F4A7C15)
    low = _mix(key[0] + uint64(conversation) * step)
    high = _mix(key[1] ^ _mix(uint64(conversation) + step))
    state[0] = low
    state[1] = high
    state[2] = _mix(low + step)
    state[3] = _mix(high ^ step) | uint64(1)  # the state must not be all zero


@inner(inline="always")
def next_word(state):  # type: ignore[no-untyped-def]
    """Return the next 64 random bits of a stream. state: IN/OUT."""
    result = _rotate(state[0] + state[3], 23) + state[0]
    shifted = state[1] << uint64(17)
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = _rotate(state[3], 45)
    return result


@kernel(inline="always")
def uniform(state):  # type: ignore[no-untyped-def]
    """Return a draw from [0, 1). state: IN/OUT."""
    return (next_word(state) >> uint64(11)) * _TO_UNIT


@kernel
def uniforms(key, conversation, count):  # type: ignore[no-untyped-def]
    """Return the first ``count`` draws of a conversation's stream (for tests)."""
    state = np.empty(4, np.uint64)
    open_stream(key, conversation, state)
    draws = np.empty(count)
    for i in range(count):
        draws[i] = uniform(state)
    return draws
