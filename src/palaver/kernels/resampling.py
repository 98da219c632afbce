"""Loops over resamples."""

from __future__ import annotations

from palaver.kernels.compiled import kernel


@kernel
def count_draws(draws, counts):  # type: ignore[no-untyped-def]
    """Count how often each group is drawn in each resample.

    Parameters
    ----------
    draws : array of int64, shape (n_resamples, n_draws). IN
        Groups.
    counts : array of float64, shape (n_resamples, n_groups). IN/OUT
    """
    for resample in range(draws.shape[0]):
        for i in range(draws.shape[1]):
            counts[resample, draws[resample, i]] += 1.0
