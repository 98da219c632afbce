"""Agreement between coders: Krippendorff's alpha and Cohen's kappa for categories.

Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability. Cohen, J. (1960). A coefficient
of agreement for nominal scales. Educational and Psychological Measurement 20(1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palaver import rng
from palaver.errors import ParameterError

#: Stands for what a coder has not coded.
MISSING = -1
_N_RESAMPLES = 1000


def krippendorff_alpha(codes: ArrayLike) -> float:
    """Return Krippendorff's alpha for categories; 1 is agreement, 0 what chance gives.

    Parameters
    ----------
    codes : array of int, shape (n_coders, n_items)
        Categories from 0; -1 for what was not coded. Items that only one coder coded do not count.

    Returns
    -------
    float
        nan if no item was coded twice, or if all codes are the same.
    """
    values = _checked(codes)
    return _alpha(_counts(values))


def alpha_interval(
    codes: ArrayLike, level: float = 0.95, random_state: int = 0
) -> tuple[float, float]:
    """Return an interval of :func:`krippendorff_alpha`: items are drawn again 1,000 times."""
    counts = _counts(_checked(codes))
    if not len(counts):
        return float("nan"), float("nan")
    generator = rng.generator(random_state, "agreement")
    drawn = generator.integers(len(counts), size=(_N_RESAMPLES, len(counts)))
    found = np.array([_alpha(counts[rows]) for rows in drawn])
    found = found[~np.isnan(found)]
    if not len(found):
        return float("nan"), float("nan")
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def cohen_kappa(first: ArrayLike, second: ArrayLike) -> float:
    """Return Cohen's kappa of two coders, of the items that both coded.

    Parameters
    ----------
    first, second : array of int, shape (n_items,)
        Categories from 0; -1 for what was not coded.

    Returns
    -------
    float
        nan if both coded nothing in common, or all of it the same.
    """
    one, other = _checked(np.stack([np.asarray(first), np.asarray(second)]))
    both = (one >= 0) & (other >= 0)
    one, other = one[both], other[both]
    if not len(one):
        return float("nan")
    n_categories = int(max(one.max(), other.max())) + 1
    shares = [np.bincount(own, minlength=n_categories) / len(own) for own in (one, other)]
    expected = float(shares[0] @ shares[1])
    observed = float((one == other).mean())
    return (observed - expected) / (1 - expected) if expected < 1 else float("nan")


def _checked(codes: ArrayLike) -> NDArray[np.int64]:
    values = np.asarray(codes)
    if values.ndim != 2 or values.dtype.kind not in "iu" or (values < MISSING).any():
        raise ParameterError("codes must be whole numbers from -1, one row per coder")
    return values.astype(np.int64)


def _counts(values: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how many coders gave each category to each item that was coded twice."""
    n_categories = int(values.max(initial=0)) + 1
    counts = np.stack([(values == k).sum(axis=0) for k in range(n_categories)], axis=1)
    twice: NDArray[np.float64] = counts[counts.sum(axis=1) >= 2].astype(float)
    return twice


def _alpha(counts: NDArray[np.float64]) -> float:
    if not len(counts):
        return float("nan")
    coded = counts.sum(axis=1)
    total = coded.sum()
    pairs = coded**2 - (counts**2).sum(axis=1)  # ordered pairs that differ
    observed = float((pairs / (coded - 1)).sum() / total)
    sums = counts.sum(axis=0)
    expected = float((total**2 - (sums**2).sum()) / (total * (total - 1)))
    return 1 - observed / expected if expected > 0 else float("nan")
