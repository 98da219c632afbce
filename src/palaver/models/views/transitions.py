"""Transitions as tables, with intervals from the chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.draw.palette import letters
from palaver.errors import ParameterError
from palaver.params import check, real

if TYPE_CHECKING:
    from palaver.corpus.table import Corpus
    from palaver.models.base.model import Model
    from palaver.models.summary import ModelSummary

Interval = tuple[NDArray[np.float64], NDArray[np.float64]]


def transitions_table(model: Model, level: float, corpus: Corpus | None) -> pl.DataFrame:
    """Make the table of :meth:`palaver.models.base.model.Model.transitions_table`."""
    check("transitions_table", {"level": real(0, 1)}, {"level": level})
    _check_transitions(model)
    summary = model.summary()
    answered = None if corpus is None else model.count_replies(corpus)
    following, effects = summary.next_shares(), summary.effects(answered)
    assert following is not None
    assert effects is not None
    n_classes = len(summary.class_shares)
    sources = [*map(str, range(n_classes)), "start"]
    found = model._transition_interval(level)
    named = {number: name for number, name in _called(summary).items() if number != "start"}
    table = _pairs(sources, n_classes, following, found, "probability")
    return table.with_columns(
        pl.Series("times", effects.ravel()),
        pl.col("source").replace_strict(_called(summary)).alias("after"),
        pl.col("target").cast(pl.String).replace_strict(named).alias("comes"),
    )


def weights_table(model: Any, level: float) -> pl.DataFrame:
    """Make the table of :meth:`palaver.M4.weights_table`."""
    check("weights_table", {"level": real(0, 1)}, {"level": level})
    _check_transitions(model)
    if model.transition_kind != "weights":
        raise ParameterError(
            f"{type(model).__name__}: this model has probabilities and no weights; use "
            "transitions_table()"
        )
    values = np.asarray(model.transitions_)
    n_rows, n_classes = values.shape
    sources = [*map(str, range(n_classes)), *model.transition_rows][:n_rows]
    draws = model.draws_.get("transitions")
    return _pairs(sources, n_classes, values, _within(draws, level), "weight")


def sampled_interval(model: Any, level: float) -> Interval | None:
    """Return limits of the probabilities over the samples of the chain; None without samples."""
    from palaver.models.summary import next_shares

    draws = model.draws_.get("transitions")
    if draws is None:
        return None
    kind, rows = model.transition_kind, model.transition_rows
    shares = np.stack([next_shares(one, kind, rows, model.class_shares_) for one in draws])
    return _within(shares, level)


def _check_transitions(model: Any) -> None:
    if model.transition_kind == "none":
        raise ParameterError(f"{type(model).__name__}: the model has no transitions")


def _within(draws: Any, level: float) -> Interval | None:
    if draws is None:
        return None
    low, high = np.quantile(np.asarray(draws), [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def _pairs(
    sources: Sequence[str],
    n_classes: int,
    values: NDArray[np.float64],
    interval: Interval | None,
    name: str,
) -> pl.DataFrame:
    """Return one row per source and target."""
    unknown = np.full(values.shape, np.nan)
    low, high = interval or (unknown, unknown)
    return pl.DataFrame(
        {
            "source": [source for source in sources for _ in range(n_classes)],
            "target": np.tile(np.arange(n_classes), len(sources)),
            name: values.ravel(),
            "low": pl.Series(low.ravel()).fill_nan(None),
            "high": pl.Series(high.ravel()).fill_nan(None),
        }
    )


def _called(summary: ModelSummary) -> dict[str, str]:
    """Return the letter and name of each class by its number as text, and of the start."""
    own = summary.class_names
    called = {str(number): f"{letters(rank)} {own.get(number, '')}".strip()
              for rank, number in enumerate(summary.order.tolist())}  # fmt: skip
    return {**called, "start": "(start)"}
