"""Labels that people filled into a table, put back into the corpus, with a count of everything."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from palaver.corpus.table import Corpus
from palaver.errors import InputError, ParameterError

_NEEDED = ("conversation", "id", "label")


@dataclass(frozen=True)
class Filled:
    """What became of the rows of a table of labels.

    Attributes
    ----------
    used : int
        Rows whose label is now in the corpus.
    blank : int
        Rows without a label.
    unknown : int
        Rows whose conversation and id are not in the corpus.
    duplicates : int
        Rows for a message that a later row labels as well; the last one counts.
    changed : int
        Messages that had another label before.
    new_labels : list of str
        Labels that the corpus did not have before, in order; a misspelt one would be here.
    """

    used: int
    blank: int
    unknown: int
    duplicates: int
    changed: int
    new_labels: list[str]

    def __str__(self) -> str:
        counts = (
            (self.used, "label read", "labels read"),
            (self.blank, "row is blank", "rows are blank"),
            (self.unknown, "row has an unknown id", "rows have an unknown id"),
            (self.duplicates, "row is a duplicate (the last one counts)",
             "rows are duplicates (the last one counts)"),
            (self.changed, "message had another label before",
             "messages had another label before"),
        )  # fmt: skip
        parts = [
            f"{count:,} {one if count == 1 else many}"
            for place, (count, one, many) in enumerate(counts)
            if count or not place
        ]
        if self.new_labels:
            parts.append(f"new labels: {', '.join(self.new_labels)}")
        return "; ".join(parts)


def with_labels(
    corpus: Corpus, filled: str | Path | pl.DataFrame, labels: str = "act"
) -> tuple[Corpus, Filled]:
    """Put labels that were filled in back into a corpus.

    Parameters
    ----------
    corpus : Corpus
    filled : path or polars.DataFrame
        What `palaver label` or :func:`palaver.to_label` made, with some labels filled in: columns
        conversation, id and label; others are ignored.
    labels : str
        Column of the corpus to put them into; it is made if there is none.

    Returns
    -------
    corpus : Corpus
    filled : Filled
        Counts of what was used and what was not.
    """
    rows = _rows(filled)
    table = corpus.table
    old = (
        table[labels]
        if labels in table.columns
        else pl.Series([None] * len(table), dtype=pl.String)
    )
    if old.dtype != pl.String:
        raise ParameterError(f"{labels!r} is not a column of names")
    given = rows.drop_nulls("label")
    places = table.select("conversation", "id").with_row_index("row")
    known = given.join(places, on=["conversation", "id"], how="left", maintain_order="left")
    found = known.drop_nulls("row")
    last = found.unique("row", keep="last", maintain_order=True)
    index, names = last["row"].to_list(), last["label"].to_list()
    before = old.gather(index)
    had = set(old.drop_nulls().unique())
    counts = Filled(
        last.height, rows.height - given.height, known.height - found.height,
        found.height - last.height, int((before != last["label"]).sum() or 0),
        sorted(set(names) - had) if had else [],
    )  # fmt: skip
    return corpus.with_columns(**{labels: old.scatter(index, names)}), counts


def _rows(filled: str | Path | pl.DataFrame) -> pl.DataFrame:
    """Read a table of labels as texts; blanks are null, marks against formulas are removed."""
    if isinstance(filled, pl.DataFrame):
        table, name = filled, "the table"
    else:
        name = str(filled)
        try:
            table = pl.read_csv(filled, infer_schema=False)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{name}: cannot be read as CSV ({error})") from error
    missing = [column for column in _NEEDED if column not in table.columns]
    if missing:
        raise InputError(f"{name}: has no column {missing[0]!r}; it needs {', '.join(_NEEDED)}")
    text = pl.col(*_NEEDED).cast(pl.String)
    rows = table.select(text.str.replace(r"^'([=+\-@])", "$1"))
    label = pl.col("label").str.strip_chars()
    return rows.with_columns(pl.when(label != "").then(label).alias("label"))
