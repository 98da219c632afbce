"""Who and when: class shares by speaker, over time and by any column of labels."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from palaver.corpus.grouping import NO_GROUP, best_period, quiet_periods
from palaver.corpus.table import Corpus
from palaver.draw.bars import stacked_bar
from palaver.draw.lines import band_chart
from palaver.encoding.tokens import coded
from palaver.models.views.shares import OTHERS, shares_table
from palaver.page.findings import Findings
from palaver.page.sections import Act
from palaver.page.text import name, speaker_name

_TOP, _LEVEL = 15, 0.95
_MOST_COLUMNS, _MOST_LABELS, _MOST_VALUES = 6, 40, 1000
_NOTABLE = 1.3  # times the share in all messages, to be said


#: Columns that are labels, however many values they have; they come first.
LABELS = ("act", "label", "tag")
#: Columns that inferring replies adds; they are no labels.
_INFERRED = ("reply_probability", "runner_up", "runner_up_probability")
#: Columns that say how the data were divided, which tell nothing about the talk.
_DIVISIONS = ("split", "fold", "subset", "partition")


def label_columns(findings: Findings) -> list[str]:
    """Return the columns whose values are labels, the certain ones first."""
    return choose_columns(findings.corpus)[0]


#: What was chosen for a corpus: going through all values of lists takes long.
_CHOSEN: WeakKeyDictionary[Corpus, tuple[list[str], dict[str, str]]] = WeakKeyDictionary()


def choose_columns(corpus: Corpus) -> tuple[list[str], dict[str, str]]:
    """Choose the columns of labels, and say why the others are left out; once per corpus."""
    if corpus not in _CHOSEN:
        _CHOSEN[corpus] = _choose_columns(corpus)
    chosen, left_out = _CHOSEN[corpus]
    return list(chosen), dict(left_out)


def _choose_columns(corpus: Corpus) -> tuple[list[str], dict[str, str]]:
    """Choose the columns of labels, and say why the others are left out.

    Labels are :data:`LABELS`, and text columns with few values. Lists count by their values.

    Returns
    -------
    chosen : list of str
    left_out : dict of str to str
        Column and reason.
    """
    chosen: dict[str, tuple[pl.Series, int]] = {}
    left_out: dict[str, str] = {}
    order = sorted(corpus.labels, key=lambda column: column not in LABELS)  # stable
    for column in order:
        if column in _INFERRED:
            continue
        values = corpus.table[column]
        if values.dtype not in (pl.String, pl.Boolean, pl.List(pl.String)):
            kind = "numbers" if values.dtype.is_numeric() else "values that are not labels"
            left_out[column] = kind if values.count() else "empty"
            continue
        n_values = values.explode().drop_nulls().n_unique()
        most = _MOST_VALUES if column in LABELS else _MOST_LABELS
        like = next((name for name, other in chosen.items()
                     if other[1] == n_values and _same(values, other[0])), None)  # fmt: skip
        if column.lower() in _DIVISIONS:
            left_out[column] = "a division of the data"
        elif n_values < 2:
            left_out[column] = "only one value" if n_values else "empty"
        elif n_values > most:
            left_out[column] = f"{n_values:,} different values"
        elif like is not None:
            left_out[column] = f"same as {like}"
        elif len(chosen) == _MOST_COLUMNS:
            left_out[column] = f"more than {_MOST_COLUMNS} columns"
        else:
            chosen[column] = values, n_values
    return list(chosen), left_out


_GLANCE = 1000  # values that differ early need not all be compared


def _same(one: pl.Series, other: pl.Series) -> bool:
    """Whether two columns say the same; the order within lists does not matter."""
    if len(one) > _GLANCE and not _same(one.head(_GLANCE), other.head(_GLANCE)):
        return False
    if one.dtype == pl.List(pl.String) == other.dtype:
        return one.equals(other) or _same_sets(one, other)
    return bool(one.equals(other))


def _same_sets(one: pl.Series, other: pl.Series) -> bool:
    """Whether the lists of two columns have the same values, row by row; nulls do not count."""
    parts = [
        lists.alias("value").to_frame().with_row_index().explode("value").drop_nulls("value")
        for lists in (one, other)
    ]
    values = coded(pl.concat([part["value"] for part in parts]))
    rows = np.concatenate([part["index"].to_numpy().astype(np.int64) for part in parts])
    pairs = rows * max(len(values.names), 1) + values.codes
    n_first = parts[0].height
    return np.array_equal(np.unique(pairs[:n_first]), np.unique(pairs[n_first:]))


def make_groups(findings: Findings, acts: list[Act], by: str | None = None) -> dict[str, Any]:
    """Return tables by speaker and label, and curves over time, where the data have them.

    Those that were asked for (``by``) come first.
    """
    columns = label_columns(findings)
    if findings.corpus.table["speaker"].n_unique() > 1:
        columns = ["speaker", *columns]
    if by is not None:
        columns = [by, *(column for column in columns if column != by)]
    tables = [_table(findings, acts, column) for column in columns]
    left_out = [
        {"column": name(column), "why": why}
        for column, why in choose_columns(findings.corpus)[1].items()
    ]
    shown = [table for table in tables if table]
    return {"tables": shown, "time": _time(findings, acts), "left_out": left_out}


def _shares(findings: Findings, by: str, top: int | None) -> pl.DataFrame:
    return shares_table(
        findings.shares, findings.corpus, findings.speaking, by=by, top=top, resample="auto",
        level=_LEVEL, random_state=0,
    )  # fmt: skip


def _table(findings: Findings, acts: list[Act], by: str) -> dict[str, Any] | None:
    """Return the groups of a column, the largest first, and where each stands out."""
    table = _shares(findings, by, _TOP if by == "speaker" else _MOST_LABELS)
    names = [act.name for act in acts]
    rows = []
    for (group,), part in table.group_by("group", maintain_order=True):
        shares = part["share"].to_numpy()
        rows.append(
            {
                "name": _spelled(str(group), by),
                "value": _value(str(group), by),
                "messages": int(part["messages"][0]),
                "bar": stacked_bar(shares, names),
                "stands_out": _standout(part, group in (OTHERS, NO_GROUP)),
                "values": [
                    [round(float(value), 3) if value is not None else None for value in row]
                    for row in part.select("share", "low", "high").iter_rows()
                ],
            }
        )
    if len(rows) < 2:
        return None
    return {
        "by": name(by),
        "column": by,
        "rows": rows,
        "unit": str(table["resampled"][0]),
        "overall": [round(float(x), 3) for x in part["overall"]],
    }


def _standout(part: pl.DataFrame, rest: bool) -> dict[str, Any] | None:
    """Return the class in which a group is most clearly above average."""
    above = part.filter(
        (pl.col("low") > pl.col("overall")) & (pl.col("share") > _NOTABLE * pl.col("overall"))
    )
    if rest or not above.height:
        return None
    best = above.sort(pl.col("low") - pl.col("overall"), descending=True).row(0, named=True)
    return {"rank": best["class"], **{key: best[key] for key in ("share", "low", "high")}}


def _value(group: str, by: str) -> str | None:
    """Return what the workbench calls a group; None for what is left of a table."""
    if group == OTHERS:
        return None
    return speaker_name(group) if by == "speaker" else name(group)


def _spelled(group: str, by: str) -> str:
    own = speaker_name(group) if by == "speaker" else group
    return {OTHERS: "all others", NO_GROUP: "(none)"}.get(group, name(own, 40))


def period(findings: Findings) -> str | None:
    """Return the finest period with neither too many nor too empty ones."""
    return best_period(findings.corpus, pl.Series(findings.speaking))


def _time(findings: Findings, acts: list[Act]) -> dict[str, Any] | None:
    """Return one small curve per class, with intervals as bands."""
    by = period(findings)
    if by is None:
        return None
    table = _shares(findings, by, None).filter(pl.col("group") != NO_GROUP)
    labels = table["group"].unique(maintain_order=True).to_list()
    low, centre, high = (
        table[column].fill_null(float("nan")).to_numpy().reshape(len(labels), -1)
        for column in ("low", "share", "high")
    )
    counts = table.group_by("group", maintain_order=True).agg(pl.col("messages").first())
    quiet = quiet_periods(counts["messages"])
    loud = [i for i in range(len(labels)) if i not in quiet]
    tops = np.nanmax(np.fmax(centre, high)[loud], axis=0)
    curves = [
        band_chart(
            centre[:, act.rank], low[:, act.rank], high[:, act.rank], labels, act.rank,
            float(tops[act.rank]),
            label=f"Share of {act.letter} from {labels[0]} to {labels[-1]}", quiet=quiet,
        )
        for act in acts
    ]  # fmt: skip
    return {"by": by, "curves": curves, "first": labels[0], "last": labels[-1],
            "quiet": [name(labels[i]) for i in quiet]}  # fmt: skip
