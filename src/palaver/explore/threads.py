"""A thread as the reader shows it: texts with tinted stretches, and who answers whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding.tokenizer import split_words
from palaver.errors import InputError
from palaver.explore.acts import Classified
from palaver.explore.index import Index
from palaver.page.embed import bar_of
from palaver.page.marks import mark, pack
from palaver.page.text import MAX_TEXT, visible

#: Messages of a long thread that are shown at once.
MOST = 1_000


def thread(
    index: Index, classified: Classified, number: int, place: int = 0, *, rebuilt: bool = False
) -> dict[str, Any]:
    """Return a thread as the page's reader knows it (see :func:`palaver.page.embed.pack_threads`).

    Of a very long one, the messages around ``place``.

    Raises
    ------
    InputError
        There is no such thread.
    """
    if not 0 <= number < index.n_conversations:
        raise InputError(f"there is no thread {number}")
    start, end = index.offsets[number : number + 2].tolist()
    first = start + max(0, min(place - MOST // 2, end - start - MOST))
    last = min(end, first + MOST)
    rows = np.arange(first, last)
    messages = index.texts.between(first, last)
    shown = pl.Series([text for _, _, text, _ in messages], dtype=pl.String)
    read = pl.Series([text if own is None else own for _, _, text, own in messages],
                     dtype=pl.String)  # fmt: skip
    own = index.codes("speaker")[first:last]
    speakers = list(dict.fromkeys(own[own >= 0].tolist()))
    names = index.names("speaker")
    found = {
        "thread": number,
        "id": index.texts.conversation_id(number),
        "title": index.texts.titles([number])[number],
        "total": end - start,
        "first": first - start,
        "row": first,
        "speakers": [names[code] for code in speakers],
        "ids": [one for _, one, _, _ in messages],
        "t": [_shown(text) for text in shown],
        "r": _runs(index, classified, first, last, read, shown),
        "p": _within(index.parents[first:last], first),
        "s": [speakers.index(code) if code >= 0 else -1 for code in own.tolist()],
        "m": [int(t) if there else None for t, there in
              zip(index.time[first:last], index.has_time[first:last], strict=True)],
        "b": [pack(bar_of(row)) for row in classified.shares[rows]],
        "a": classified.main[first:last].tolist(),
        "marks": {row - first: {"right": own.right, "wrong": sorted(own.wrong)}
                  for row, own in classified.marked.items() if first <= row < last},
    }  # fmt: skip
    if rebuilt:
        found["q"] = _rebuilt(index, rows, read).tolist()
    return found


def _shown(text: str) -> str:
    more = len(text) - MAX_TEXT
    return visible(text) + (f" … [{more:,} more characters not shown]" if more > 0 else "")


def _within(parents: NDArray[np.int32], first: int) -> list[int]:
    """Return parents as places among the messages that are shown; others are starts."""
    return [parent - first if parent >= first else -1 for parent in parents.tolist()]


def _runs(
    index: Index, classified: Classified, first: int, last: int, read: pl.Series, shown: pl.Series
) -> list[str]:
    """Return the tinted stretches of texts, by the place of each act."""
    start, end = index.token_offsets[[first, last]].tolist()
    classes = index.token_classes[start:end].astype(np.int64)
    beyond = classes >= index.n_classes  # topics come after the acts
    topics = classes - index.n_classes + len(classified.acts)
    rows = np.repeat(np.arange(first, last), np.diff(index.token_offsets[first : last + 1]))
    for id, which in classified.wide.which.items():
        mine = classes == id
        classes[mine & ~beyond] = which[rows[mine & ~beyond]]
    ranks = np.where(
        beyond, topics, np.append(classified.places(), -1)[np.where(beyond, -1, classes)]
    )
    marks = mark(
        read,
        split_words(read),
        ranks.astype(np.int16),
        np.diff(index.token_offsets[first : last + 1]),
        known=index.known_words,
        limit=MAX_TEXT,
        n_classes=len(classified.acts),
        shown=(shown, split_words(shown)),
    )
    return marks.runs


def _rebuilt(index: Index, rows: NDArray[np.int64], texts: pl.Series) -> NDArray[np.int64]:
    """Return who would be answered by the texts alone, as places in the thread."""
    from palaver.threads import ThreadRebuilder

    codes = index.codes("speaker")[rows].tolist()
    table = pl.DataFrame(
        {
            "conversation": ["thread"] * len(rows),
            "id": [str(row) for row in rows],
            "speaker": [None if code < 0 else str(code) for code in codes],
            "time": [int(index.time[row]) if index.has_time[row] else None for row in rows],
            "text": texts,
        },
        schema_overrides={"speaker": pl.String, "time": pl.Int64},
    )
    part = Corpus.from_polars(table)
    found = ThreadRebuilder.default().predict(part)["parent_row"].to_numpy()
    order = part.table["id"].cast(pl.Int64).to_numpy() - rows[0]
    parents = np.full(len(rows), -1, np.int64)
    parents[order] = np.where(found >= 0, order[np.maximum(found, 0)], -1)
    return parents
