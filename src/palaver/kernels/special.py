"""The digamma function, and expected logarithms of Dirichlet distributions."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, psi

from palaver.kernels.compiled import compact, kernel
from palaver.kernels.simd.instructions import LANES
from palaver.kernels.simd.vectors import digammas, exponentials

FloatArray = npt.NDArray[np.float64]


@kernel(error_model="numpy")
def digamma(x):  # type: ignore[no-untyped-def]
    """Return the derivative of ``log(gamma(x))`` for ``x > 0``, to 1e-14 of its size.

    Recurrence up to 8, then the asymptotic series (Abramowitz & Stegun 6.3.5, 6.3.18).
    """
    below = 0.0
    while x < 8.0:
        below += 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (
        1.0 / 12.0
        - inverse
        * (1.0 / 120.0 - inverse * (1.0 / 252.0 - inverse * (1.0 / 240.0 - inverse * (
            1.0 / 132.0 - inverse * (691.0 / 32760.0 - inverse / 12.0)))))
    )  # fmt: skip
    return math.log(x) - 0.5 / x - series - below


def log_expectations(concentrations: FloatArray, totals: FloatArray, out: FloatArray) -> None:
    """Set ``out = E[ln p]`` of Dirichlet distributions in columns.

    Parameters
    ----------
    concentrations : array of float64, shape (n_values, n_distributions)
    totals : array of float64, shape (n_distributions,)
        Sums of the columns, over all rows.
    out : array of float64, shape (n_values, 8 * n_blocks)
        Rows are padded to whole blocks with zeros.

    O(n_values n_distributions).
    """
    of_totals = np.zeros(out.shape[1])
    of_totals[: len(totals)] = psi(totals)
    _expect_logs(concentrations, of_totals, out)


@kernel
def _expect_logs(concentrations, of_totals, out):  # type: ignore[no-untyped-def]
    """Set ``out``, given the digammas of the totals, padded to whole blocks."""
    compact()
    n_columns, width = concentrations.shape[1], out.shape[1]
    for row in range(concentrations.shape[0]):
        target = out[row]
        for k in range(width):
            target[k] = concentrations[row, k] if k < n_columns else 1.0
        digammas(target, 0.0, width // LANES, target)
        for k in range(width):
            target[k] = target[k] - of_totals[k] if k < n_columns else 0.0


def scaled_exponentials(
    logs: FloatArray, n_columns: int, out: FloatArray, peaks: FloatArray
) -> None:
    """Set ``out = exp(logs - peak)`` for each row, where ``peak`` is its largest value.

    Parameters
    ----------
    logs : array of float64, shape (n_rows, 8 * n_blocks)
    n_columns : int
        All further columns are padding and become 0.
    out : array of float64, shape (n_rows, 8 * n_blocks)
        May be ``logs``.
    peaks : array of float64, shape (n_rows,). OUT

    O(n_rows n_blocks).
    """
    logs[:, :n_columns].max(axis=1, out=peaks)
    _scale_exponentials(logs, peaks, (np.arange(logs.shape[1]) < n_columns).astype(float), out)


@kernel
def _scale_exponentials(logs, peaks, mask, out):  # type: ignore[no-untyped-def]
    """Set ``out = mask * exp(logs - peaks)``, row by row."""
    compact()
    for row in range(logs.shape[0]):
        exponentials(logs[row], peaks[row], 1.0, mask, len(mask) // LANES, out[row])


def dirichlet_sums(concentrations: FloatArray, totals: FloatArray) -> FloatArray:
    """Return what the variational bound needs for Dirichlet distributions in columns.

    Parameters
    ----------
    concentrations, totals
        As in :func:`log_expectations`, but the rows may be a part of all.

    Returns
    -------
    array of float64, shape (2, n_distributions)
        Sums over the rows of ``E[ln p]``, and of ``ln gamma(c) - (c - 1) E[ln p]``.
    """
    expected = psi(concentrations) - psi(totals)
    own = gammaln(concentrations) - (concentrations - 1.0) * expected
    return np.stack((expected.sum(axis=0), own.sum(axis=0)))
