"""Word vectors: reading common file formats, looking up words and contractions, coverage."""

from __future__ import annotations

import gzip
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.encoding.tokens import Encoded
from palaver.errors import FormatError

#: What clitics are short for, for vocabularies without clitics.
_CLITICS = {
    "n't": "not", "'s": "is", "'m": "am", "'re": "are", "'ve": "have", "'ll": "will",
    "'d": "would",
}  # fmt: skip
_STEMS = {"wo": "will", "ca": "can", "sha": "shall", "ai": "is"}
_LINES_A_CHUNK = 20_000


@dataclass(frozen=True, eq=False, repr=False)
class WordVectors:
    """Words and their vectors.

    Attributes
    ----------
    words : list of str
    vectors : array of float32, shape (n_words, n_dimensions)

    Examples
    --------
    >>> vectors = pv.WordVectors.read("glove.6B.100d.txt")           # doctest: +SKIP
    >>> vectors.coverage(palaver.encoding.encode(corpus))              # doctest: +SKIP
    """

    words: Sequence[str]
    vectors: NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or len(self.words) != len(self.vectors):
            raise FormatError(
                f"WordVectors: {len(self.words):,} words need a table with as many rows, "
                f"got shape {self.vectors.shape}"
            )
        bad = np.flatnonzero(~np.isfinite(self.vectors).all(axis=1))
        if len(bad):
            raise FormatError(f"WordVectors: the vector of {self.words[bad[0]]!r} is not finite")

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"WordVectors({len(self):,} words, {self.n_dimensions} dimensions)"

    @property
    def n_dimensions(self) -> int:
        """Length of each vector."""
        return int(self.vectors.shape[1])

    @cached_property
    def index(self) -> dict[str, int]:
        """Row of each word; if a file repeats a word, the first counts."""
        rows: dict[str, int] = {}
        for row, word in enumerate(self.words):
            rows.setdefault(word, row)
        return rows

    @classmethod
    def read(cls, path: str | Path, keep: Collection[str] | None = None) -> WordVectors:
        """Read word vectors.

        Parameters
        ----------
        path : path
            GloVe text (``word v1 v2 ...``), word2vec text or fastText ``.vec`` (the same after
            a line with two counts), optionally gzipped; word2vec binary (``.bin``); or a
            folder or ``.npz`` file with an array ``vectors`` and its words, one per line, in
            ``vocab.txt`` or ``vocab.txt.gz`` next to it. ``extra.npz`` and ``extra-vocab.txt``
            in the same folder are read as well.
        keep : collection of str, optional
            Read only these words (and the parts of contractions).
        """
        path = Path(path)
        if not path.exists():
            raise FormatError(f"{path}: no such file of word vectors")
        wanted = None if keep is None else _with_parts(keep)
        if path.is_dir() or path.suffix == ".npz":
            words, vectors = _read_arrays(path)
        elif path.name.removesuffix(".gz").endswith(".bin"):
            words, vectors = _read_binary(path, wanted)
        else:
            words, vectors = _read_text(path, wanted)
        if not len(words):
            raise FormatError(f"{path}: contains no word vectors" if wanted is None else
                              f"{path}: contains none of the {len(wanted):,} words")  # fmt: skip
        return cls(words, vectors)

    def look_up(self, words: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the vectors of words, and which words are known.

        A missing word is tried in lower case, then split at its apostrophe
        (``don't``: ``do`` and ``n't`` or ``not``), in which case it gets the mean of the parts. An
        unknown word gets the zero vector.

        Returns
        -------
        vectors : array of float64, shape (len(words), n_dimensions)
        known : array of bool, shape (len(words),)
        """
        found = np.zeros((len(words), self.n_dimensions))
        known = np.zeros(len(words), bool)
        for i, word in enumerate(words):
            rows = self._rows(word)
            if rows:
                found[i] = self.vectors[rows].mean(axis=0, dtype=np.float64)
                known[i] = True
        return found, known

    def _rows(self, word: str) -> list[int]:
        """Return the rows that make up a word; none if a part is unknown."""
        for spelled in (word, word.lower(), word.lower().replace("’", "'")):
            if spelled in self.index:
                return [self.index[spelled]]
        for parts in _splits(word.lower().replace("’", "'")):
            if all(part in self.index for part in parts):
                return [self.index[part] for part in parts]
        return []

    def coverage(self, encoded: Encoded) -> float:
        """Return the share of a corpus's tokens whose words have vectors.

        Words that are not in the vocabulary of the corpus count as missing; encode with
        ``min_count=1`` to count all.
        """
        _, known = self.look_up(encoded.vocabulary.words)
        total = encoded.n_tokens + encoded.n_dropped
        return float(known[encoded.tokens].sum() / total) if total else 1.0

    def missing(self, encoded: Encoded, n: int = 20) -> pl.DataFrame:
        """Return the most frequent words of a corpus that have no vector, with their counts."""
        _, known = self.look_up(encoded.vocabulary.words)
        counts = np.bincount(encoded.tokens, minlength=len(known))
        order = [i for i in np.argsort(-counts, kind="stable").tolist() if not known[i]][:n]
        words = [encoded.vocabulary.words[i] for i in order]
        return pl.DataFrame({"word": pl.Series(words, dtype=pl.String), "count": counts[order]})


def _splits(word: str) -> Iterator[list[str]]:
    """Yield the ways to split a contraction, most likely first."""
    if word.endswith("n't"):
        stem, clitic = word[:-3], "n't"
    elif "'" in word[1:]:
        place = word.rindex("'")
        stem, clitic = word[:place], word[place:]
    else:
        return
    stems = [stem, _STEMS[stem]] if stem in _STEMS else [stem]
    for short in (clitic, _CLITICS.get(clitic)):
        for whole in stems:
            if short and whole:
                yield [whole, short]
    if clitic == "'s":  # a possessive stands for its noun
        yield [stem]


def _with_parts(words: Collection[str]) -> set[str]:
    """Return the words and everything that looking them up may need."""
    wanted = set(words)
    for word in words:
        plain = word.lower().replace("’", "'")
        wanted |= {word.lower(), plain}
        wanted.update(part for parts in _splits(plain) for part in parts)
    return wanted


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with open(path, "rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if not packed:
            yield raw
            return
        with gzip.open(raw) as stream:
            try:
                yield stream  # type: ignore[misc]
            except (EOFError, gzip.BadGzipFile) as error:
                raise FormatError(f"{path}: the gzip file is truncated or broken") from error


def _read_arrays(path: Path) -> tuple[list[str], NDArray[np.float32]]:
    """Read a table of vectors and its words, and then the extra ones, if any."""
    folder, main = (path, path / "vectors.npz") if path.is_dir() else (path.parent, path)
    words, tables = [], []
    for file, stem in ((main, "vocab"), (folder / "extra.npz", "extra-vocab")):
        if file != main and not file.exists():
            continue
        names = [folder / f"{stem}.txt.gz", folder / f"{stem}.txt"]
        listed = next((name for name in names if name.exists()), None)
        if listed is None or not file.exists():
            raise FormatError(f"{folder}: needs {file.name}, and its words in {names[0].name}")
        with np.load(file, allow_pickle=False) as arrays:
            if "vectors" not in arrays:
                raise FormatError(f"{file}: has no array 'vectors'")
            tables.append(np.asarray(arrays["vectors"], np.float32))
        with _opened(listed) as stream:
            found = stream.read().decode("utf-8").split("\n")
        found = found[:-1] if found and not found[-1] else found
        if len(found) != len(tables[-1]):
            raise FormatError(f"{listed}: has {len(found):,} words for {len(tables[-1]):,} vectors")
        words += found
    if len({table.shape[1] for table in tables}) > 1:
        raise FormatError(f"{folder}: extra.npz has a different number of dimensions")
    return words, np.concatenate(tables)


def _read_text(path: Path, wanted: set[str] | None) -> tuple[list[str], NDArray[np.float32]]:
    """Read ``word v1 v2 ...``; the numbers are the last fields, as words may contain spaces."""
    words: list[str] = []
    numbers: list[bytes] = []
    tables: list[NDArray[np.float32]] = []
    size = 0
    with _opened(path) as stream:
        for place, line in enumerate(stream, 1):
            fields = line.split()
            if place == 1 and len(fields) == 2 and all(field.isdigit() for field in fields):
                size = int(fields[1])
                continue
            if not fields:
                continue
            size = size or len(fields) - 1
            word, *rest = line.rstrip().rsplit(None, size)
            if len(rest) != size or size < 1:
                raise FormatError(f"{path}: line {place} does not have a word and {size} numbers")
            text = word.decode("utf-8", errors="replace").strip()
            if wanted is not None and text not in wanted:
                continue
            words.append(text)
            numbers.append(b" ".join(rest))
            if len(numbers) == _LINES_A_CHUNK:
                tables.append(_parse(path, words, numbers, size))
                numbers = []
    tables.append(_parse(path, words, numbers, size))
    return words, np.concatenate(tables)


def _parse(path: Path, words: list[str], lines: list[bytes], size: int) -> NDArray[np.float32]:
    try:
        flat = np.array(b" ".join(lines).split(), dtype="S").astype(np.float32)
    except ValueError:
        for word, line in zip(words[-len(lines) :], lines, strict=True):
            try:
                np.array(line.split(), dtype="S").astype(np.float32)
            except ValueError:
                raise FormatError(f"{path}: the vector of {word!r} is not numbers") from None
        raise
    return flat.reshape(len(lines), size)


def _read_binary(path: Path, wanted: set[str] | None) -> tuple[list[str], NDArray[np.float32]]:
    """Read word2vec's binary form: a line with two counts, then word, space, raw floats."""
    words: list[str] = []
    rows: list[Any] = []
    with _opened(path) as stream:
        header = stream.readline().split()
        if len(header) != 2 or not all(field.isdigit() for field in header):
            raise FormatError(f"{path}: does not start with word2vec's two counts")
        n_words, size = map(int, header)
        for number in range(n_words):
            name = bytearray()
            while (byte := stream.read(1)) not in (b" ", b""):
                name += byte
            data = stream.read(4 * size)
            if len(data) < 4 * size:
                raise FormatError(f"{path}: ends within word {number + 1} of {n_words:,}")
            word = name.decode("utf-8", errors="replace").lstrip("\n")
            if wanted is None or word in wanted:
                words.append(word)
                rows.append(np.frombuffer(data, "<f4"))
    return words, np.array(rows, np.float32).reshape(len(rows), size)
