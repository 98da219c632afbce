"""Who follows whom, and how soon somebody else answers: worked out once for all messages."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from palaver.questions.answers import answers_of


def links_of(
    parents: NDArray[np.int32], offsets: NDArray[np.int64], steps: str
) -> NDArray[np.int32]:
    """Return the message that each one follows, -1 for none, (n_messages,).

    What it answers; where nobody answers anybody, the message before.

    Parameters
    ----------
    parents : array of int32, shape (n_messages,)
    offsets : array of int64, shape (n_conversations + 1,)
    steps : str
        "messages" if the model takes each message to follow the one before.
    """
    if steps != "messages" and (parents >= 0).any():
        return parents
    before = np.arange(-1, len(parents) - 1, dtype=np.int32)
    starts = offsets[:-1]
    before[starts[starts < len(before)]] = -1
    return before


def answered_arrays(
    links: NDArray[np.int32], speakers: NDArray[np.int32], seconds: NDArray[np.float64]
) -> dict[str, NDArray[np.generic]]:
    """Return how messages are answered by somebody else, as arrays of the index.

    Parameters
    ----------
    links : array of int32, shape (n_messages,)
        See :func:`links_of`.
    speakers : array of int32, shape (n_messages,)
        -1 where unknown.
    seconds : array of float64, shape (n_messages,)
        Times; nan where unknown.

    Returns
    -------
    dict
        ``answered``, of bool, (n_messages,); ``waited``, of int32, (n_waits,): the messages whose
        first answer has a time, the soonest answered first; ``waits``, of float64, (n_waits,):
        after how many seconds.
    """
    nobody = np.zeros(len(links), bool)
    first, wait = answers_of(links.astype(np.int64), speakers, seconds, nobody)
    rows = np.flatnonzero(~np.isnan(wait))
    rows = rows[np.argsort(wait[rows], kind="stable")]
    return {"answered": first >= 0, "waited": rows.astype(np.int32), "waits": wait[rows]}
