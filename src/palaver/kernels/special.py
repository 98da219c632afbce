"""The digamma function, and expected logarithms of Dirichlet distributions."""

from __future__ import annotations

import math

import numpy as np

from palaver.kernels.compiled import kernel
from palaver.kernels.plain import copy_to, highest_of
from palaver.kernels.simd.instructions import LANES
from palaver.kernels.simd.vectors import digammas, exponentials


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


@kernel
def log_expectations(concentrations, totals, out):  # type: ignore[no-untyped-def]
    """Set ``out = E[ln p]`` of Dirichlet distributions in columns.

    Parameters
    ----------
    concentrations : array of float64, shape (n_values, n_distributions). IN
    totals : array of float64, shape (n_distributions,). IN
        Sums of the columns, over all rows.
    out : array of float64, shape (n_values, 8 * n_blocks). OUT
        Rows are padded to whole blocks with zeros.

    O(n_values n_distributions).
    """
    n_columns = len(totals)
    width = out.shape[1]
    of_totals = np.ones(width)
    copy_to(totals, n_columns, of_totals, 0)
    digammas(of_totals, 0.0, width // LANES, of_totals)
    for row in range(len(concentrations)):
        target = out[row]
        copy_to(concentrations[row], n_columns, target, 0)
        target[n_columns:] = 1.0
        digammas(target, 0.0, width // LANES, target)
        for k in range(width):
            target[k] -= of_totals[k]
        target[n_columns:] = 0.0


@kernel
def scaled_exponentials(logs, n_columns, out, peaks):  # type: ignore[no-untyped-def]
    """Set ``out = exp(logs - peak)`` for each row, where ``peak`` is its largest value.

    Parameters
    ----------
    logs : array of float64, shape (n_rows, 8 * n_blocks). IN
    n_columns : int. IN
        All further columns are padding and become 0.
    out : array of float64, shape (n_rows, 8 * n_blocks). OUT
        May be ``logs``.
    peaks : array of float64, shape (n_rows,). OUT

    O(n_rows n_blocks).
    """
    width = logs.shape[1]
    mask = np.zeros(width)
    mask[:n_columns] = 1.0
    for row in range(len(logs)):
        peaks[row] = highest_of(logs[row, :n_columns])
        exponentials(logs[row], peaks[row], 1.0, mask, width // LANES, out[row])


@kernel
def dirichlet_sums(concentrations, totals, first, last):  # type: ignore[no-untyped-def]
    """Return what the variational bound needs for Dirichlet distributions in columns.

    Parameters
    ----------
    concentrations, totals
        As in :func:`log_expectations`.
    first, last : int. IN
        The rows to sum over: ``first`` to ``last - 1``.

    Returns
    -------
    array of float64, shape (2, n_distributions)
        Sums over the rows of ``E[ln p]``, and of ``ln gamma(c) - (c - 1) E[ln p]``.
    """
    n_columns = len(totals)
    sums = np.zeros((2, n_columns))
    of_totals = np.empty(n_columns)
    for k in range(n_columns):
        of_totals[k] = digamma(totals[k])
    for row in range(first, last):
        for k in range(n_columns):
            value = concentrations[row, k]
            expected = digamma(value) - of_totals[k]
            sums[0, k] += expected
            sums[1, k] += math.lgamma(value) - (value - 1.0) * expected
    return sums
