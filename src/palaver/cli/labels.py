"""Known classes: the column that ``palaver fit --labels`` names, stored with the run.

A run is resumed from its folder alone, so the labels themselves are kept there.
"""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

from palaver.errors import DamagedStoreError, ParameterError

if TYPE_CHECKING:
    import polars as pl

    from palaver.corpus.table import Corpus
    from palaver.models import Model

_FILE = "labels.parquet"


def takes_labels(kind: type[Model]) -> bool:
    """Whether the ``fit`` of a model takes labels."""
    return "labels" in signature(kind.fit).parameters


def check_takes_labels(kind: type[Model]) -> None:
    """Refuse --labels for a model that cannot use them, and name those that can."""
    from palaver.models import model_class
    from palaver.names import commands

    if takes_labels(kind):
        return
    others = ", ".join(name for name in commands("model") if takes_labels(model_class(name)))
    raise ParameterError(
        f"--labels: {kind.name} does not take labels; {others} can, and `palaver train-tagger` "
        "learns to predict them"
    )


def label_column(corpus: Corpus, name: str) -> pl.Series:
    """Return the column of known classes: text, or lists of text with one label per word."""
    import polars as pl

    if name not in corpus.labels:
        known = ", ".join(corpus.labels) or "none"
        raise ParameterError(f"--labels: there is no column {name!r}; columns with labels: {known}")
    column = corpus.table[name]
    if column.dtype not in (pl.String, pl.List(pl.String)):
        raise ParameterError(
            f"--labels: column {name!r} must hold text (one label per message) or lists of text "
            f"(one label per word), got {column.dtype}; use names instead of numbers"
        )
    return column


def write_labels(folder: Path, column: pl.Series) -> None:
    """Store the column of known classes in the folder of a run."""
    from palaver.store.atomic import replace_file

    with replace_file(folder / _FILE) as target:
        column.to_frame().write_parquet(target)


def read_labels(folder: Path) -> pl.Series | None:
    """Return the known classes of a run, None if it was fitted without any."""
    import polars as pl

    path = folder / _FILE
    if not path.exists():
        return None
    try:
        return pl.read_parquet(path).to_series()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DamagedStoreError(f"{path}: cannot be read ({error}); fit the run again") from error
