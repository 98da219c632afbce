"""Transitions as a table, with intervals from the chain."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from palaver.errors import ParameterError
from palaver.params import check, real


def transitions_table(model: Any, level: float = 0.95) -> pl.DataFrame:
    """Make the table of :meth:`palaver.models.base.model.Model.transitions_table`."""
    check("transitions_table", {"level": real(0, 1)}, {"level": level})
    if model.transition_kind == "none":
        raise ParameterError(f"{type(model).__name__}: the model has no transitions")
    values = np.asarray(model.transitions_)
    low = high = np.full(values.shape, np.nan)
    if "transitions" in model.draws_:
        draws = np.asarray(model.draws_["transitions"])
        low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    n_rows, n_classes = values.shape
    sources = [*map(str, range(n_classes)), *model.transition_rows][:n_rows]
    return pl.DataFrame(
        {
            "source": np.repeat(np.array(sources, dtype=object), n_classes).tolist(),
            "target": np.tile(np.arange(n_classes), n_rows),
            "value": values.ravel(),
            "low": pl.Series(low.ravel()).fill_nan(None),
            "high": pl.Series(high.ravel()).fill_nan(None),
        }
    )
