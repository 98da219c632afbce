"""Tables of what a hidden backoff tagger learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.models.taggers.hidden_backoff.layout import StateLayout

_N_WORDS = 20


def round_table(trace: pl.DataFrame, phases: Sequence[str]) -> pl.DataFrame:
    """Return the log-likelihood by round and phase, from the trace of a fit."""
    names = pl.Series("phase", [phases[int(phase)] for phase in trace["phase"]])
    return pl.DataFrame(
        {
            "round": trace["round"].cast(pl.Int64),
            "phase": names.replace("score", "epoch"),
            "log_likelihood": trace["log_joint"],
        }
    ).filter(pl.col("phase") != "begin")


def state_table(
    layout: StateLayout, tags: Sequence[str], words: Sequence[str], counts: NDArray[Any]
) -> pl.DataFrame:
    """Return the characteristic words of each state, the most characteristic first.

    Parameters
    ----------
    layout : StateLayout
    tags, words : sequence of str
        Names of the variants of tags, and of words.
    counts : array of int, shape (n_units, n_words)
    """
    totals = counts.sum(axis=1)
    shares = counts / np.maximum(totals[:, None], 1)
    overall = counts.sum(axis=0) / counts.sum()
    ratio = np.maximum(shares / np.maximum(overall, 1e-300), 1e-300)
    order = np.argsort(-(shares * np.log2(ratio)), axis=1, kind="stable")[:, :_N_WORDS]
    rows = [
        (tags[tag], int(unit - layout.units[tag]), float(totals[unit] / totals.sum()), rank,
         words[word], float(shares[unit, word]))
        for unit, tag in enumerate(layout.unit_tags)
        for rank, word in enumerate(order[unit].tolist(), 1)
        if counts[unit, word]
    ]  # fmt: skip
    names = ["tag", "state", "share", "rank", "word", "probability"]
    return pl.DataFrame(rows, schema=names, orient="row")
