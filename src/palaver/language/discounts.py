"""Discounts: how much probability is taken from seen words for unseen ones.

Chen & Goodman (1998), "An empirical study of smoothing techniques for language modeling",
section 3; Witten & Bell (1991).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DISCOUNTS = ("modified-kneser-ney", "kneser-ney", "witten-bell")

#: Discounts of counts 1, 2 and above if counts of counts are degenerate (KenLM's choice).
FALLBACK = (0.5, 1.0, 1.5)


def estimate_discounts(counts: NDArray[np.int64], kind: str) -> NDArray[np.float64]:
    """Return the discounts of counts one, two, and three or more.

    Modified Kneser-Ney has ``D_i = i - (i + 1) Y n_{i+1} / n_i`` with ``Y = n_1 / (n_1 + 2 n_2)``
    and ``n_i`` the number of counts equal to ``i``; plain Kneser-Ney uses ``Y`` for all. If one of
    the ``n_i`` needed is zero, or a discount is not above 0 and at most its count, all three are
    0.5, 1 and 1.5 (plain: 0.5); this happens with small or artificial data.

    Parameters
    ----------
    counts : array of int, shape (n_pairs,)
    kind : {"modified-kneser-ney", "kneser-ney", "witten-bell"}
        Witten-Bell discounts by context rather than by count, so its discounts are zero.

    Returns
    -------
    array of float64, shape (3,)
    """
    if kind == "witten-bell":
        return np.zeros(3)
    n = np.bincount(np.minimum(counts, 5).astype(np.int64), minlength=6)[1:5].astype(float)
    if kind == "kneser-ney":
        return np.full(3, n[0] / (n[0] + 2 * n[1]) if n[0] and n[1] else FALLBACK[0])
    if not n.all():
        return np.array(FALLBACK)
    steps = np.arange(1, 4)
    found = steps - (steps + 1) * n[0] / (n[0] + 2 * n[1]) * n[1:] / n[:3]
    return found if np.all((found > 0) & (found <= steps)) else np.array(FALLBACK)


def discounted_shares(
    counts: NDArray[np.int64],
    contexts: NDArray[np.int64],
    totals: NDArray[np.int64],
    discounts: NDArray[np.float64],
    kind: str,
) -> NDArray[np.float64]:
    """Return what is left for each pair of context and word: ``(c - D(c)) / N``.

    Witten-Bell: ``c / (N + T)`` with ``T`` the number of words in the context.

    Parameters
    ----------
    counts, contexts : array of int64, shape (n_pairs,)
    totals : array of int64, shape (n_contexts,)
    discounts : array of float64, shape (3,)
    kind : str
    """
    if kind == "witten-bell":
        kinds = np.bincount(contexts, minlength=len(totals))
        return np.asarray(counts / (totals + kinds)[contexts])
    taken = discounts[np.minimum(counts, 3) - 1]
    return np.asarray((counts - taken) / totals[contexts])
