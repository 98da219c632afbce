"""Transitions as a table, with intervals from the chain."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from palaver.errors import ParameterError
from palaver.params import check, real


def transitions_table(model: Any, level: float = 0.95) -> pl.DataFrame:
    """Make the table of :meth:`palaver.models.base.Model.transitions_table`."""
    check("transitions_table", {"level": real(0, 1)}, {"level": level})
    if model.transition_kind == "none" or "transitions" not in model.draws_:
        raise ParameterError(f"{type(model).__name__}: the model has no transitions")
    draws = np.asarray(model.draws_["transitions"])
    values = model.chains_[model.best_chain_]["transitions"]
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    n_rows, n_classes = values.shape
    sources = [*map(str, range(n_classes)), *model.transition_rows][:n_rows]
    return pl.DataFrame(
        {
            "source": np.repeat(np.array(sources, dtype=object), n_classes).tolist(),
            "target": np.tile(np.arange(n_classes), n_rows),
            "value": values.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }
    )
