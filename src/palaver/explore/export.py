"""Files of what is in view: the messages that pass a question, with their acts."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO

import numpy as np
import polars as pl

from palaver.corpus.write import without_formulas
from palaver.explore.comparing import differences, groups_of, read_groups, sums_of
from palaver.explore.hits import in_order
from palaver.explore.question import Answers, Question

#: Messages in one file; more would fill the memory of the server.
MOST = 200_000


def messages_table(answers: Answers, question: Question, sort: str = "thread") -> pl.DataFrame:
    """Return the first :data:`MOST` messages that pass, with their acts and groups."""
    index, classified = answers.index, answers.classified
    rows = in_order(answers, question, sort, MOST)
    found = index.texts.messages(rows.tolist())
    titles = index.texts.titles(np.unique(index.conversation[rows])[:MOST].tolist())
    acts = [act.name for act in classified.acts]
    seconds = [int(index.time[row]) if index.has_time[row] else None for row in rows]
    groups = {}
    for field in index.fields:
        names, codes = index.names(field), index.codes(field)[rows].tolist()
        groups[field] = pl.Series([names[c] if c >= 0 else None for c in codes], dtype=pl.String)
    own = {
        "thread": pl.Series(
            [titles[c] for c in index.conversation[rows].tolist()], dtype=pl.String
        ),
        "place": index.place[rows] + 1,
        "id": pl.Series([one for _, one, _, _ in found], dtype=pl.String),
        "time": pl.from_epoch(pl.Series(seconds, dtype=pl.Int64), "s"),
        "act_name": pl.Series(
            [acts[k] if k >= 0 else None for k in classified.main[rows].tolist()], dtype=pl.String
        ),
        "act_share": classified.strength[rows].round(4),
        "text": pl.Series([text for _, _, text, _ in found], dtype=pl.String),
    }
    return pl.DataFrame({**{k: v for k, v in groups.items() if k not in own}, **own})


def comparison_table(answers: Answers, given: Mapping[str, str]) -> pl.DataFrame:
    """Return the shares of acts in two groups, with intervals; see :mod:`.comparing`."""
    groups = groups_of(answers, *read_groups(given))
    names = given.get("name.a", ""), given.get("name.b", "")
    return differences(answers, sums_of(answers, groups), names)


def encoded(table: pl.DataFrame, kind: str) -> bytes:
    """Return a table as a file, ``csv`` or ``parquet``; in CSV nothing is a formula."""
    target = BytesIO()
    if kind == "csv":
        without_formulas(table).write_csv(target)
    else:
        table.write_parquet(target)
    return target.getvalue()
