"""The texts of a run in SQLite: written once, read by many; words are found with FTS5."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from palaver.errors import DamagedStoreError, MissingExtraError
from palaver.explore.kernels.messages import mark_numbers
from palaver.explore.words import Part, has_unspaced, spaced

if TYPE_CHECKING:
    import polars as pl

_CHUNK = 20_000  # messages written at a time
_KEPT = 256  # searches for words in memory, a bit per message each
#: Bytes of new index entries that are collected before they are written.
_COLLECTED = 64 << 20
#: A file is read whole to look for damage if it is not larger than this.
_CHECKED_WHOLE = 32 << 20
_ALL = "row, id, text, original"
_QUICKLY = """
PRAGMA page_size=16384; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY;
"""
_FROM_JSON = """
INSERT INTO messages SELECT key + ?, json_extract(value, '$[0]'), json_extract(value, '$[1]'),
    json_extract(value, '$[2]') FROM json_each(?)
"""
_NUL = r"\u0000"
# Lists of beginnings are a copy of all words each. One for three letters would make the index an
# eighth larger, to find them in 10 instead of 17 ms of processor time among a million messages.
_SCHEMA = """
CREATE TABLE messages (row INTEGER PRIMARY KEY, id TEXT, text TEXT NOT NULL, original TEXT);
CREATE TABLE conversations (number INTEGER PRIMARY KEY, id TEXT, title TEXT NOT NULL);
CREATE TABLE names (field TEXT, code INTEGER, name TEXT, PRIMARY KEY (field, code)) WITHOUT ROWID;
CREATE TABLE done (messages INTEGER);
CREATE VIRTUAL TABLE words USING fts5(
    text, content='', tokenize="unicode61 remove_diacritics 2", prefix='1 2');
"""


def check_fts() -> None:
    """Refuse an SQLite without FTS5.

    Raises
    ------
    MissingExtraError
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        except sqlite3.OperationalError as error:
            raise MissingExtraError(
                f"palaver explore needs SQLite with FTS5, which this Python's SQLite "
                f"{sqlite3.sqlite_version} lacks; use a Python from python.org, conda or your "
                "distribution"
            ) from error


def write_texts(
    path: Path,
    table: pl.DataFrame,
    originals: pl.Series,
    titles: Iterable[tuple[str, str]],
    names: dict[str, Sequence[str]],
    advance: Callable[[float], None],
) -> None:
    """Write the texts and their index to a new file.

    Parameters
    ----------
    path : path
        Must not exist. The file is complete when this returns; move it into place then.
    table : polars.DataFrame
        With ``id`` and ``text``, as they are shown.
    originals : polars.Series of str
        Texts as the model reads them; stored where they differ.
    titles : iterable of (str, str)
        Id and title of each conversation.
    names : dict of str to sequence of str
        Names behind the codes of each field.
    advance : callable
        Called with shares of the work that sum to one; what it raises ends the work.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # Nobody reads the file before it is complete, so a kill need not be survived.
        connection.executescript(_QUICKLY + _SCHEMA)
        connection.execute("INSERT INTO words(words, rank) VALUES ('hashsize', ?)", [_COLLECTED])
        connection.execute("BEGIN")
        same = (table["text"] == originals).to_numpy()
        for start in range(0, table.height, _CHUNK):
            here = slice(start, start + _CHUNK)
            texts = table["text"][here].to_list()
            kept = originals[here].to_list()
            differs = [
                None if equal else text for equal, text in zip(same[here], kept, strict=True)
            ]
            _insert(connection, start, table["id"][here].to_list(), texts, differs)
            advance(len(texts) / max(table.height, 1) * 0.9)
        connection.executemany("INSERT INTO conversations VALUES (?, ?, ?)",
                               ((i, *pair) for i, pair in enumerate(titles)))  # fmt: skip
        for field, values in names.items():
            rows_of = ((field, code, value) for code, value in enumerate(values))
            connection.executemany("INSERT INTO names VALUES (?, ?, ?)", rows_of)
        connection.execute("CREATE INDEX ids ON messages (id)")
        connection.execute("INSERT INTO done VALUES (?)", [table.height])
        connection.execute("COMMIT")
        advance(0.1)


def _insert(
    connection: sqlite3.Connection,
    start: int,
    ids: list[str],
    texts: list[str],
    originals: list[str | None],
) -> None:
    """Insert messages and their words, from a row on.

    They go to SQLite as one text, so that other threads need not wait for every row.
    """
    rows = list(zip(ids, texts, originals, strict=True))
    numbers = range(start, start + len(rows))
    content = json.dumps(rows, ensure_ascii=False)
    if _NUL in content:  # ends a text within JSON
        numbered = ((row, *own) for row, own in zip(numbers, rows, strict=True))
        connection.executemany("INSERT INTO messages VALUES (?, ?, ?, ?)", numbered)
    else:
        connection.execute(_FROM_JSON, [start, content])
    if not has_unspaced(content):
        query = "INSERT INTO words(rowid, text) SELECT row, text FROM messages WHERE row >= ?"
        connection.execute(query, [start])
    else:
        connection.executemany("INSERT INTO words(rowid, text) VALUES (?, ?)",
                               zip(numbers, map(spaced, texts), strict=True))  # fmt: skip


class Texts:
    """The texts of a run, read from several threads.

    Raises
    ------
    DamagedStoreError
        From any method: the file is not what was written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._kept: OrderedDict[str, NDArray[np.uint8]] = OrderedDict()
        self._lock = threading.Lock()
        try:
            self.check()
        except DamagedStoreError:
            self.close()
            raise

    def check(self) -> None:
        """Look for damage: at the ends of a large file, everywhere in a small one."""
        (n_messages,) = self._one("SELECT messages FROM done")
        self._n_messages = int(n_messages)
        (last,) = self._one("SELECT max(row) FROM messages")
        (text,) = self._one("SELECT count(text) FROM messages WHERE row IN (0, ?)", last)
        if n_messages and (last != n_messages - 1 or not text):
            raise DamagedStoreError(f"{self._path}: holds {last} of {n_messages} messages")
        self._one("SELECT count(*) FROM (SELECT rowid FROM words WHERE words MATCH 'a' LIMIT 1)")
        if self._path.stat().st_size <= _CHECKED_WHOLE:
            (said,) = self._one("PRAGMA quick_check(1)")
            if said != "ok":
                raise DamagedStoreError(f"{self._path}: {said}")

    def matching(self, parts: Sequence[Part]) -> NDArray[np.bool_]:
        """Return which messages have all parts, (n_messages,); none without parts.

        The latest answers are kept: texts do not change, whatever is decided about acts.
        """
        if not parts:
            return np.zeros(self._n_messages, bool)
        asked = " ".join(part.match for part in parts)
        with self._lock:
            kept = self._kept.get(asked)
            if kept is not None:
                self._kept.move_to_end(asked)
        if kept is None:
            kept = np.packbits(self._find(asked))
            with self._lock:
                self._kept[asked] = kept
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return np.unpackbits(kept, count=self._n_messages).view(bool)

    def _find(self, asked: str) -> NDArray[np.bool_]:
        """Return which messages FTS5 finds, (n_messages,)."""
        found = np.zeros(self._n_messages, bool)
        # One long text instead of many small rows: others need not wait while it is made.
        query = "SELECT CAST(group_concat(rowid) AS BLOB) FROM words WHERE words MATCH ?"
        (digits,) = self._one(query, asked)
        mark_numbers(np.frombuffer(digits or b"", np.uint8), found)
        return found

    def messages(self, rows: Iterable[int]) -> list[tuple[int, str, str, str | None]]:
        """Return row, id, text and original text of some messages, in the given order."""
        rows = [int(row) for row in rows]
        found: dict[int, tuple[int, str, str, str | None]] = {}
        for start in range(0, len(rows), 500):
            part = rows[start : start + 500]
            marks = ",".join("?" * len(part))
            query = f"SELECT {_ALL} FROM messages WHERE row IN ({marks})"
            found |= {one[0]: one for one in self._all(query, *part)}
        return [found[row] for row in rows]

    def between(self, first: int, last: int) -> list[tuple[int, str, str, str | None]]:
        """Return row, id, text and original text of the messages first to last - 1."""
        query = (
            "SELECT row, id, text, original FROM messages WHERE row >= ? AND row < ? ORDER BY row"
        )
        return self._all(query, int(first), int(last))

    def rows_of(self, ids: Iterable[str]) -> Iterator[tuple[str, int]]:
        """Yield id and row of the messages with some ids."""
        for one in ids:
            yield from (
                (one, row) for (row,) in self._all("SELECT row FROM messages WHERE id = ?", one)
            )

    def titles(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return the titles of some conversations."""
        wanted = [int(number) for number in dict.fromkeys(numbers)]
        found: dict[int, str] = {}
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            marks = ",".join("?" * len(part))
            query = f"SELECT number, title FROM conversations WHERE number IN ({marks})"
            found |= dict(self._all(query, *part))
        return found

    def conversation_id(self, number: int) -> str:
        """Return what the file calls a conversation."""
        (found,) = self._one("SELECT id FROM conversations WHERE number = ?", int(number))
        return str(found)

    def names(self, field: str) -> list[str]:
        """Return the names behind the codes of a field."""
        query = "SELECT name FROM names WHERE field = ? ORDER BY code"
        return [name for (name,) in self._all(query, field)]

    def names_like(self, field: str, typed: str, most: int = 20) -> list[str]:
        """Return names that contain what was typed, those that begin with it first."""
        plain = typed.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        query = ("SELECT name FROM names WHERE field = ? AND name LIKE ? ESCAPE '\\' "
                 "ORDER BY name NOT LIKE ? ESCAPE '\\', code LIMIT ?")  # fmt: skip
        return [name for (name,) in self._all(query, field, f"%{plain}%", f"{plain}%", most)]

    def close(self) -> None:
        """Close the connections of all threads."""
        self._local = threading.local()
        while self._open:
            self._open.pop().close()

    def _all(self, query: str, *values: object) -> list[tuple]:  # type: ignore[type-arg]
        try:
            if "connection" not in self._local.__dict__:
                address = f"file:{_quoted(self._path)}?mode=ro&immutable=1"
                self._local.connection = sqlite3.connect(
                    address, uri=True, isolation_level=None, check_same_thread=False
                )  # closed by another thread at the end
                self._open.append(self._local.connection)
            with closing(self._local.connection.execute(query, values)) as cursor:
                rows: list[tuple] = cursor.fetchall()  # type: ignore[type-arg]
        except sqlite3.DatabaseError as error:
            raise DamagedStoreError(f"{self._path}: is missing or damaged ({error})") from error
        return rows

    def _one(self, query: str, *values: object) -> tuple:  # type: ignore[type-arg]
        rows = self._all(query, *values)
        if not rows:
            raise DamagedStoreError(f"{self._path}: is not complete")
        return rows[0]


def _quoted(path: Path) -> str:
    """Return a path as part of an address."""
    from urllib.parse import quote

    return quote(str(path.absolute()))
