"""The threads that the page carries for its reader: which ones, and how they are packed.

**Which ones.** All, if they fit. Otherwise a sample of whole conversations: first those that the
cards quote, then others in an order drawn from a fixed random stream, until the next one would
exceed :data:`MAX_MESSAGES` messages or :data:`MAX_CHARACTERS` characters. If not even the first
one fits, it is cut to its first messages. The same corpus gives the same sample; the page says
how much is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import rng
from palaver.corpus.table import Corpus
from palaver.encoding.tokens import coded
from palaver.page.marks import Marks, pack
from palaver.page.text import MAX_TEXT, name, speaker_name, to_json, visible

MAX_MESSAGES, MAX_CHARACTERS = 20_000, 5_000_000
_CHUNK_CHARACTERS = 150_000  # texts that are unpacked together when one of them is opened
_STAMP = re.compile(r"\d{9,}(\.\d+)?")  # seconds since 1970
_LEAST_SHARE = 0.04  # of a message, for a class to be in its bar


@dataclass(frozen=True)
class Shown:
    """Which conversations the page carries.

    Attributes
    ----------
    conversations : array of int64
        Numbers in the corpus, ascending.
    lengths : array of int64
        Messages shown of each.
    """

    conversations: NDArray[np.int64]
    lengths: NDArray[np.int64]


def choose(
    corpus: Corpus,
    wanted: Iterable[int],
    max_messages: int = MAX_MESSAGES,
    max_characters: int = MAX_CHARACTERS,
) -> Shown:
    """Choose conversations as the module's docstring says; ``wanted`` come first."""
    lengths = np.diff(corpus.conversation_offsets)
    sizes = corpus.table["text"].str.len_chars().to_numpy().clip(max=MAX_TEXT).astype(np.int64)
    ends = np.concatenate(([0], np.cumsum(sizes)))
    characters = np.diff(ends[corpus.conversation_offsets])
    order = rng.generator(0, "page").permutation(corpus.n_conversations)
    first = list(dict.fromkeys(wanted))
    order = np.concatenate((np.array(first, np.int64), order[~np.isin(order, first)]))
    fits = np.cumsum(lengths[order]) <= max_messages
    fits &= np.cumsum(characters[order]) <= max_characters
    if len(order) and not fits[0]:
        start = int(corpus.conversation_offsets[order[0]])
        own = np.cumsum(sizes[start : start + lengths[order[0]]])
        kept = min(max_messages, int(np.searchsorted(own, max_characters, side="right")))
        return Shown(order[:1], np.array([max(kept, 1)]))
    chosen = np.sort(order[: int(fits.sum())])
    return Shown(chosen, lengths[chosen])


def pack_threads(
    corpus: Corpus,
    shown: Shown,
    shares: NDArray[np.float64],
    marks: Marks,
    rebuilt: NDArray[np.int64] | None = None,
    *,
    anonymized: bool = False,
    gold: pl.Series | None = None,
) -> tuple[list[str], dict[str, Any]]:
    """Write the conversations as blocks of JSON, and an index of them.

    Parameters
    ----------
    corpus : Corpus
        The conversations of ``shown`` only, whole.
    shown : Shown
    shares : array of float64, shape (n_messages, n_classes)
        Of these messages, in order of rank; rows of messages without words are zero.
    marks : Marks
    rebuilt : array of int64, shape (n_messages,), optional
        Other parents of the same messages, to be shown next to the given ones.
    anonymized : bool
        Whether to leave out subjects, which may name people.
    gold : polars.Series, optional
        Labels that people gave to these messages, to be shown next to the speakers.

    Returns
    -------
    chunks : list of str
        JSON of some conversations each: texts ``t``, coloured stretches ``r``, parents ``p``
        (within the conversation; rebuilt ones ``q``), speakers ``s``, times ``m`` (seconds, or
        null), bars ``b``, numbers of labels ``g``.
    index : dict
        ``of``: for each conversation its chunk, first message in it, messages shown, messages
        in all; ``speakers``; ``titles``; ``gold``: the column and the labels, or null.
    """
    speakers = coded(corpus.table["speaker"])
    columns = _columns(corpus, speakers.codes, shares, marks)
    if rebuilt is not None:
        columns["q"] = rebuilt.tolist()
    labels = None
    if gold is not None:
        if isinstance(gold.dtype, pl.List):
            gold = gold.list.join(", ")
        known = coded(gold.cast(pl.String))
        columns["g"] = known.codes.tolist()
        labels = {"column": name(gold.name), "labels": [name(one, 40) for one in known.names]}
    rows, chunks, of = _Rows(columns), [], []
    for i, length in enumerate(shown.lengths.tolist()):
        start, end = corpus.conversation_offsets[i : i + 2].tolist()
        if rows.size > _CHUNK_CHARACTERS:
            chunks.append(rows.flush())
        of.append([len(chunks), len(rows), length, end - start])
        rows.add(range(start, start + length), start)
    if len(rows):
        chunks.append(rows.flush())
    return chunks, {
        "of": of,
        "speakers": [speaker_name(speaker) for speaker in speakers.names],
        "gold": labels,
        "titles": titles_of(corpus.table[corpus.conversation_offsets[:-1]], anonymized),
    }


def titles_of(first: pl.DataFrame, anonymized: bool = False) -> list[str]:
    """Return titles of conversations, given their first messages.

    Subjects, channel and time, or ids: threads of chat exports are called
    ``channel/timestamp``, which nobody can read.
    """
    times = first["time"].dt.strftime("%Y-%m-%d %H:%M")
    subjects = _words_of(first, "subject" if not anonymized else "")
    rows = zip(first["conversation"], subjects, _words_of(first, "channel"), times, strict=True)
    return [_title(*row) for row in rows]


def _words_of(table: pl.DataFrame, column: str) -> Iterable[str | None]:
    there = column in table.columns and table[column].dtype == pl.String
    return table[column] if there else [None] * table.height


def _title(own: str, subject: str | None, channel: str | None, time: str | None) -> str:
    if subject and subject.strip():
        return name(subject)
    if channel and own.startswith(f"{channel}/"):
        rest = own.removeprefix(f"{channel}/")
        return name(f"#{channel}, {time if time and _STAMP.fullmatch(rest) else rest}")
    return f"Thread {name(own)}"


class _Rows:
    """Messages waiting to be written as one chunk."""

    def __init__(self, columns: dict[str, Sequence[Any]]) -> None:
        self._columns = columns
        self._rows: list[int] = []
        self._starts: list[int] = []
        self.size = 0

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, rows: range, start: int) -> None:
        self._rows += rows
        self._starts += [start] * len(rows)
        self.size += sum(len(self._columns["t"][row]) for row in rows)

    def flush(self) -> str:
        """Return the waiting messages as JSON."""
        chunk = {key: [values[row] for row in self._rows] for key, values in self._columns.items()}
        for key in chunk.keys() & {"p", "q"}:
            pairs = zip(chunk[key], self._starts, strict=True)
            chunk[key] = [parent - start if parent >= 0 else -1 for parent, start in pairs]
        self._rows, self._starts, self.size = [], [], 0
        return to_json(chunk)


def _columns(
    corpus: Corpus, speakers: NDArray[np.int32], shares: NDArray[np.float64], marks: Marks
) -> dict[str, Sequence[Any]]:
    table = corpus.table
    texts = [visible(text) for text in table["text"]]
    long = table["text"].str.len_chars().to_numpy() > MAX_TEXT
    for row in np.flatnonzero(long).tolist():
        texts[row] += f" … [{len(table['text'][row]) - MAX_TEXT:,} more characters not shown]"
    return {
        "t": texts,
        "r": marks.runs,
        "p": corpus.parents.tolist(),
        "s": speakers.tolist(),
        "m": table["time"].dt.epoch("s").to_list(),
        "b": [pack(bar_of(row)) for row in shares],
    }


def bar_of(shares: NDArray[np.floating]) -> list[int]:
    """Return rank and percent of the classes that matter in a message, the largest first."""
    order = np.argsort(-shares, kind="stable")
    return [int(n) for k in order if shares[k] >= _LEAST_SHARE for n in (k, round(100 * shares[k]))]
