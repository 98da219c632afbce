"""What arrays must be before a kernel reads them: kernels check no bounds.

Each function takes the name of an array, which its error message begins with, and costs a pass or
two over the array. Arrays that already have the right form are returned as they are, mapped ones
included.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.errors import CorpusError, ParameterError


def whole_numbers(name: str, values: Any, kind: type, low: int, high: int) -> NDArray[Any]:
    """Return a flat array of whole numbers from ``low`` to ``high``, as a dtype that holds them.

    Raises
    ------
    CorpusError
        ``Encoded.tokens: number 7 is 90, but must be from -1 to 89``.
    """
    array = _plain(name, values)
    if array.dtype.kind not in "iu" and array.size:
        raise CorpusError(f"{name}: must hold whole numbers, got {array.dtype}")
    if array.ndim != 1:
        raise CorpusError(f"{name}: must be a flat array, got the shape {array.shape}")
    if array.size and not (low <= int(array.min()) and int(array.max()) <= high):
        # as objects: a bound may be beyond what the dtype holds
        first = next(i for i, value in enumerate(array.tolist()) if not low <= value <= high)
        bounds = f"from {low:,} to {high:,}" if low <= high else "left out: there is nothing there"
        raise CorpusError(f"{name}: number {first:,} is {array[first]:,}, but must be {bounds}")
    return _as(array, np.dtype(kind))


def real_numbers(name: str, values: Any, n_dimensions: int = 1) -> NDArray[np.float64]:
    """Return an array of float64; complex numbers, masks and objects are refused."""
    array = _plain(name, values)
    if array.dtype.kind not in "iufb":
        raise CorpusError(f"{name} must be numbers, got {array.dtype}")
    if array.ndim != n_dimensions:
        raise CorpusError(
            f"{name}: must have {n_dimensions} dimension{'s' * (n_dimensions > 1)}, got the shape "
            f"{array.shape}"
        )
    return _as(array, np.dtype(np.float64))


def offsets(name: str, values: Any, total: int) -> NDArray[np.int64]:
    """Return limits of groups among ``total`` members: from 0 to ``total``, never falling."""
    array = whole_numbers(name, values, np.int64, 0, total)
    if not len(array) or array[0] or array[-1] != total:
        ends = f"go from {array[0]:,} to {array[-1]:,}" if len(array) else "are empty"
        raise CorpusError(f"{name}: must go from 0 to {total:,}, but {ends}")
    falls = array[1:] < array[:-1]
    if falls.any():
        first = int(np.argmax(falls)) + 1
        raise CorpusError(
            f"{name}: number {first:,} is {array[first]:,}, after {array[first - 1]:,}; offsets "
            "must never fall"
        )
    return array


def offsets_of_lengths(name: str, lengths: Any, total: int) -> NDArray[np.int64]:
    """Return the offsets of groups of the given sizes, which must sum to ``total``.

    Raises
    ------
    ParameterError
    """
    try:
        sizes = whole_numbers(name, lengths, np.int64, 0, total)
    except CorpusError as error:
        raise ParameterError(
            f"{name} must be non-negative whole numbers, one per conversation ({error})"
        ) from error
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))
    # sizes are at most total each, so that only very many of them could overflow
    if (ends < 0).any() or ends[-1] != total:
        raise ParameterError(f"{name} sum to {int(ends[-1]):,}, but there are {total:,}")
    return ends


def same_conversation(name: str, parents: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
    """Refuse parents that are messages of another conversation.

    Parameters
    ----------
    name : str
    parents : array of int32, shape (n,)
        -1 for none.
    offsets : array of int64, shape (n_conversations + 1,)
    """
    lengths = np.diff(offsets)
    starts, ends = np.repeat(offsets[:-1], lengths), np.repeat(offsets[1:], lengths)
    wrong = (parents >= 0) & ((parents < starts) | (parents >= ends))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise CorpusError(
            f"{name}: message {first:,} replies to {parents[first]:,}, which is no message of its "
            "conversation"
        )


def earlier(
    name: str, messages: Any, parents: NDArray[np.int32], starts: NDArray[np.int64]
) -> None:
    """Refuse parents that are not earlier messages of the same conversation.

    Parameters
    ----------
    name : str
    messages : array of int, shape (n,)
    parents : array of int32, shape (n,)
        -1 for none.
    starts : array of int64, shape (n,)
        First message of the conversation of each message.
    """
    wrong = (parents >= messages) | ((parents < starts) & (parents >= 0))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise CorpusError(
            f"{name}: message {messages[first]:,} replies to {parents[first]:,}, which is no "
            "earlier message of its conversation"
        )


def same_length(name: str, array: Any, n: int, of: str) -> None:
    """Refuse an array with another number of rows than there are messages, words ..."""
    if len(array) != n:
        raise CorpusError(f"{name}: has {len(array):,} entries for {n:,} {of}")


def _plain(name: str, values: Any) -> NDArray[Any]:
    """Return an array, which keeps its place in a file."""
    try:
        array: NDArray[Any] = np.asanyarray(values)
    except (TypeError, ValueError) as error:
        raise CorpusError(f"{name}: is no array ({error})") from error
    if isinstance(array, np.ma.MaskedArray):
        raise CorpusError(f"{name}: has a mask; fill or drop the masked values first")
    return array


def _as(array: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    """Return an array with the dtype and layout that kernels are compiled for."""
    if array.dtype == kind and array.flags.c_contiguous and array.flags.aligned:
        return array
    found: NDArray[Any] = np.require(array, kind, ["C", "A"])
    return found
