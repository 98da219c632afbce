"""The corpus: a tidy table of messages and its reply structure, never changed in place."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from palaver import rng
from palaver.corpus.clean import tidy
from palaver.corpus.filter import as_condition, kept_messages
from palaver.corpus.names import PLACE
from palaver.corpus.notes import Notes
from palaver.corpus.readers import find_format
from palaver.corpus.readers.source import MAX_BYTES, OnRead, Source
from palaver.corpus.replies import ids_at
from palaver.errors import MissingExtraError, ParameterError
from palaver.params import check, one_of, real

if TYPE_CHECKING:
    import pandas as pd

OnBad = Literal["repair", "error"]
#: Formats whose conversations are named by people: files, or chats with somebody.
_NAMED_BY_PEOPLE = frozenset((
    "whatsapp", "webvtt", "whisperx", "transcript", "telegram", "messenger", "google-chat",
    "signal", "teams",
))  # fmt: skip
_TITLES = ("title", "chat", "channel")  # of such chats
_HASHED_BYTES = 1 << 20  # texts hashed at a time: few calls, little memory


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Conversations: a tidy table of messages and who replies to whom.

    Make one with :func:`palaver.read`, :func:`palaver.sample`, :meth:`from_polars` or
    :meth:`from_pandas`. A corpus is never changed; methods return new ones.

    Attributes
    ----------
    table : polars.DataFrame
        One row per message: ``conversation, id, reply_to, speaker, time, text`` and all other
        columns of the file. Messages of a conversation are adjacent; parents precede their
        replies.
    parents : array of int32, shape (n_messages,)
        Row of the message that each one replies to, -1 for a start.
    conversation_offsets : array of int64, shape (n_conversations + 1,)
        Conversation ``c`` has the rows ``conversation_offsets[c]:conversation_offsets[c + 1]``.
    notes : Notes
        What reading found and repaired.
    source, format : str
        Where the messages come from.
    columns : dict
        Maps our column names to the file's.
    """

    table: pl.DataFrame
    parents: NDArray[np.int32]
    conversation_offsets: NDArray[np.int64]
    notes: Notes = field(default_factory=Notes)
    source: str = "a table"
    format: str = "table"
    columns: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_polars(
        cls,
        table: pl.DataFrame,
        columns: Mapping[str, str] | None = None,
        *,
        on_bad: OnBad = "repair",
        source: str = "a table",
    ) -> Corpus:
        """Make a corpus from a polars table.

        Parameters
        ----------
        table : polars.DataFrame
            One row per message. Only texts are required; common column names are recognized.
        columns : mapping, optional
            Maps our names to the table's, such as ``{"text": "body"}``.
        on_bad : {"repair", "error"}
            Whether to repair and count what is broken, or to raise an error.
        source : str
            A name for messages and reports.
        """
        rows = pl.format("row {}", pl.int_range(1, pl.len() + 1)).alias(PLACE)
        return cls._tidy(table.with_columns(rows), Notes(), columns, on_bad, source, "table")

    @classmethod
    def from_pandas(
        cls,
        table: pd.DataFrame,
        columns: Mapping[str, str] | None = None,
        *,
        on_bad: OnBad = "repair",
    ) -> Corpus:
        """Make a corpus from a pandas table; see :meth:`from_polars`."""
        data = {str(name): _plain_values(table[name]) for name in table.columns}
        converted = pl.DataFrame(
            [pl.Series(name, values, strict=False) for name, values in data.items()]
        )
        return cls.from_polars(converted, columns, on_bad=on_bad, source="a pandas table")

    @classmethod
    def from_texts(cls, texts: Sequence[str], *, conversation: bool = False) -> Corpus:
        """Make a corpus from texts alone.

        Models take lists of texts, too, and read each of them as a document.

        Parameters
        ----------
        texts : sequence of str
        conversation : bool
            Whether they are the messages of one conversation, in order; by default each is a
            document by itself.
        """
        known = isinstance(texts, Sequence | pl.Series | np.ndarray) and not isinstance(texts, str)
        if not known or not all(isinstance(text, str) for text in texts):
            raise ParameterError("from_texts: takes a list of strings")
        table = pl.DataFrame({"text": pl.Series(list(texts), dtype=pl.String)})
        table = table.with_columns(pl.int_range(pl.len()).cast(pl.String).alias("id"))
        own = pl.lit("0") if conversation else pl.col("id")
        made = cls.from_polars(table.with_columns(own.alias("conversation")), source="texts")
        return made.chained() if conversation else made

    @classmethod
    def _tidy(
        cls,
        raw: pl.DataFrame,
        notes: Notes,
        columns: Mapping[str, str] | None,
        on_bad: OnBad,
        source: str,
        format: str,
    ) -> Corpus:
        check("Corpus", {"on_bad": one_of("repair", "error")}, {"on_bad": on_bad})
        clean = tidy(raw, notes, columns)
        if on_bad == "error":
            notes.refuse(source)
        return cls(
            clean.table,
            clean.parents,
            clean.conversation_offsets,
            notes,
            source,
            format,
            clean.columns,
        )

    @property
    def n_conversations(self) -> int:
        """Number of conversations."""
        return len(self.conversation_offsets) - 1

    @property
    def n_messages(self) -> int:
        """Number of messages."""
        return self.table.height

    @property
    def labels(self) -> list[str]:
        """Names of the columns beyond the six that every corpus has."""
        return self.table.columns[6:]

    def __len__(self) -> int:
        return self.n_messages

    @cached_property
    def conversations(self) -> pl.DataFrame:
        """One row per conversation, in their order.

        Columns conversation, messages, people (speakers other than bots), words, start, end,
        duration (null where times are unknown), depth (of the longest chain of replies: 1 if
        nobody replies), and, for messages that have acts (``model.annotate(corpus)``, or labels),
        ``acts``: the acts of the conversation and how many messages have each, the most frequent
        first.
        """
        from palaver.corpus.conversations import conversations_table

        return conversations_table(self)

    @cached_property
    def fingerprint(self) -> str:
        """A short hash of ids, reply structure and texts; equal for equal data."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(self.parents.tobytes())
        digest.update(self.conversation_offsets.tobytes())
        sizes = self.table["text"].str.len_bytes()
        n_rows = int(_HASHED_BYTES / max(sizes.mean() or 1, 1)) + 1  # type: ignore[operator]
        for part in self.table.select("id", "text").iter_slices(n_rows):
            for name in ("id", "text"):
                column = part[name]
                digest.update(column.str.len_bytes().to_numpy().tobytes())
                digest.update(column.str.join("").item().encode())
        return digest.hexdigest()

    def take(self, conversations: ArrayLike) -> Corpus:
        """Return a corpus of some conversations, given by number, in the given order."""
        chosen = np.asarray(conversations, np.int64)
        if len(chosen) and (chosen.min() < 0 or chosen.max() >= self.n_conversations):
            raise ParameterError(
                f"take: conversations must be numbers from 0 to {self.n_conversations - 1}"
            )
        starts = self.conversation_offsets[chosen]
        lengths = self.conversation_offsets[chosen + 1] - starts
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        shift = np.repeat(offsets[:-1] - starts, lengths)
        rows = np.arange(offsets[-1]) - shift
        old = self.parents[rows]
        parents = np.where(old < 0, -1, old + shift).astype(np.int32)
        return replace(self, table=self.table[rows], parents=parents, conversation_offsets=offsets)

    def filter(self, *conditions: pl.Expr | str) -> Corpus:
        """Return a corpus of the messages that meet all conditions.

        A reply to a dropped message becomes a reply to that message's parent.

        Parameters
        ----------
        *conditions : polars expression or str
            Such as ``pl.col("likes") > 3``, ``"bot=false"``, ``"time>=2002-03"`` (March or
            later) or ``"channel!="`` (not missing).

        Examples
        --------
        >>> threads = corpus.filter("split=train", ~pl.col("bot"))   # doctest: +SKIP
        """
        checks = [as_condition(c, self.table) for c in conditions]
        keep = self.table.select(
            pl.all_horizontal(pl.repeat(True, pl.len()), *checks).fill_null(False)
        ).to_series()
        kept = kept_messages(self.table, self.parents, self.conversation_offsets, keep.to_numpy())
        return replace(self, **kept._asdict())

    def split(self, test: float = 0.25, random_state: rng.RandomState = 0) -> tuple[Corpus, Corpus]:
        """Split the conversations at random into two corpora.

        Parameters
        ----------
        test : float
            Share of the conversations that go into the second corpus.
        random_state : int, numpy.random.Generator or None

        Returns
        -------
        train, test : Corpus
            Conversations keep their order.
        """
        check("split", {"test": real(0, 1)}, {"test": test})
        seed = rng.resolve_seed(random_state)
        order = rng.generator(seed, "split").permutation(self.n_conversations)
        n_test = round(test * self.n_conversations)
        return self.take(np.sort(order[n_test:])), self.take(np.sort(order[:n_test]))

    def chained(self) -> Corpus:
        """Return the corpus with each start but the first made a reply to the previous message.

        For talk and chats whose files do not record who replies to whom.
        """
        parents = self.parents.copy()
        rows = np.arange(self.n_messages, dtype=np.int32)
        first = np.zeros(self.n_messages, bool)
        first[self.conversation_offsets[:-1]] = True
        loose = (parents < 0) & ~first
        parents[loose] = rows[loose] - 1
        table = self.table.with_columns(reply_to=ids_at(self.table["id"], parents))
        return replace(self, table=table, parents=parents)

    def separated(self) -> Corpus:
        """Return the corpus with every message a conversation of its own, for documents."""
        table = self.table.with_columns(
            conversation=pl.col("id"), reply_to=pl.lit(None, self.table.schema["reply_to"])
        )
        parents = np.full(self.n_messages, -1, np.int32)
        offsets = np.arange(self.n_messages + 1, dtype=np.int64)
        return replace(self, table=table, parents=parents, conversation_offsets=offsets)

    def with_columns(self, **columns: pl.Series | NDArray[Any]) -> Corpus:
        """Return the corpus with further columns, each with one value per message."""
        reserved = set(columns) & set(self.table.columns[:6])
        if reserved:
            raise ParameterError(f"with_columns: {reserved.pop()!r} cannot be replaced")
        series = [pl.Series(name, values) for name, values in columns.items()]
        return replace(self, table=self.table.with_columns(series))

    def anonymized(self) -> Corpus:
        """Return the corpus without names; see :func:`palaver.corpus.anonymize.anonymize`."""
        from palaver.corpus.anonymize import anonymize

        is_named = self.format in _NAMED_BY_PEOPLE
        table = self.table.drop(_TITLES, strict=False) if is_named else self.table
        table = anonymize(table, titled=is_named)
        return replace(self, table=table, source="anonymized")

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a pandas DataFrame (extra ``notebook``: pandas and pyarrow)."""
        try:
            return self.table.to_pandas()
        except ImportError as error:
            raise MissingExtraError(
                f"to_pandas needs {error.name}: pip install pandas pyarrow"
            ) from error

    def write(self, path: str | Path, *, spreadsheet: bool = False) -> Path:
        """Write the corpus as JSONL, Parquet or CSV, by suffix, or else as a ConvoKit folder.

        Parameters
        ----------
        path : path
        spreadsheet : bool
            In CSV, put an apostrophe before texts that a spreadsheet would treat as formulas
            (``=``, ``+``, ``-``, ``@``). For files that people open, not for reading back.

        Returns
        -------
        path
        """
        from palaver.corpus.write import write

        return write(self.table, Path(path), spreadsheet=spreadsheet)

    def _repr_html_(self) -> str:
        from palaver.draw.tables import notebook_table

        facts = {
            "conversations": f"{self.n_conversations:,}",
            "messages": f"{self.n_messages:,}",
            "speakers": f"{self.table['speaker'].drop_nulls().n_unique():,}",
        }
        if self.labels:
            facts["other columns"] = ", ".join(self.labels[:8])
        repaired = sum(self.notes.of("repair", "loss").values())
        if repaired:
            facts["repairs and losses"] = f"{repaired:,}"
        shown = self.table.select("conversation", "reply_to", "speaker", "time", "text").head(5)
        rows = [["" if cell is None else str(cell) for cell in row] for row in shown.iter_rows()]
        return notebook_table(f"Corpus: {self.source}", facts, shown.columns, rows)

    def __repr__(self) -> str:
        return (
            f"Corpus({_counted(self.n_conversations, 'conversation')}, "
            f"{_counted(self.n_messages, 'message')}, {self.source})"
        )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def as_corpus(data: Any) -> Any:
    """Return a list of texts as a corpus of documents, and anything else as it is."""
    if isinstance(data, pl.Series) and data.dtype == pl.String:
        return Corpus.from_texts(data.fill_null("").to_list())
    if type(data).__name__ == "Series" or (
        isinstance(data, np.ndarray) and data.ndim == 1 and data.dtype.kind in "OU"
    ):
        data = np.asarray(data).tolist()  # of pandas or NumPy
    if isinstance(data, list | tuple) and data and all(isinstance(text, str) for text in data):
        return Corpus.from_texts(list(data))
    return data


def _plain_values(column: pd.Series) -> list[Any]:
    """Return a pandas column as plain values, with None for every kind of missing value."""
    missing = column.isna().to_numpy()
    return [None if gone else value for value, gone in zip(column.tolist(), missing, strict=True)]


def read(
    path: str | Path,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    *,
    on_bad: OnBad = "repair",
    max_bytes: int = MAX_BYTES,
    on_read: OnRead | None = None,
) -> Corpus:
    """Read conversations from a file, folder or archive.

    Parameters
    ----------
    path : path
        See ``docs/formats.md`` for what can be read.
    format : str, optional
        Name of the format; detected by default.
    columns : mapping, optional
        Maps our names to the file's, such as ``{"text": "body", "speaker": "nick"}``.
    on_bad : {"repair", "error"}
        Whether to repair and count what is broken (:attr:`Corpus.notes`), or to raise an error
        that lists the first ten places.
    max_bytes : int
        Largest unpacked size, as a protection against hostile archives.
    on_read : callable, optional
        Called with the number of bytes of each read from disk, for progress bars.

    Examples
    --------
    >>> corpus = pv.read("threads.jsonl")                           # doctest: +SKIP
    >>> corpus = pv.read("export.zip", format="slack")              # doctest: +SKIP
    >>> corpus = pv.read("talk.csv", columns={"text": "utterance"}) # doctest: +SKIP
    """
    notes = Notes()
    with closing(Source(path, max_bytes)) as source:
        known = find_format(source, format)
        source.on_read = on_read
        raw = known.read(source, notes)
    return Corpus._tidy(raw, notes, columns, on_bad, str(path), known.name)
