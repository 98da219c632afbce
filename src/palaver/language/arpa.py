"""ARPA files of plain n-gram models, as read and written by SRILM and KenLM."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palaver.errors import FormatError
from palaver.language.graph import parse_graph
from palaver.language.keys import Keys
from palaver.language.tables import NodeTable, Tables
from palaver.language.words import END, START, UNKNOWN, WordNumbers, word_parents

_NEVER = -99.0
#: Log probability of the unknown word in files without one, as in KenLM.
_MISSING = -100.0


def arpa_text(tables: Tables, words: WordNumbers) -> Iterator[str]:
    """Yield the lines of an ARPA file."""
    entries = [_entries(tables, size, words) for size in range(1, len(tables.sizes) + 2)]
    yield "\\data\\\n"
    for size, lines in enumerate(entries, 1):
        yield f"ngram {size}={len(lines)}\n"
    for size, lines in enumerate(entries, 1):
        yield f"\n\\{size}-grams:\n"
        yield from lines
    yield "\n\\end\\\n"


def _entries(tables: Tables, size: int, words: WordNumbers) -> list[str]:
    """Return the lines for n-grams of one size.

    An n-gram is listed if it has its own probability or is the context of longer ones.
    """
    names = [*words.words, START]
    rows = _ngrams(tables, size)
    if size == 1:
        everything = np.arange(len(names))[:, None]
        rows = np.unique(np.concatenate([rows, everything]), axis=0)
    last, before = rows[:, -1], rows[:, -2::-1]
    logs = np.full(len(rows), _NEVER)
    real = last < len(words)
    node = len(tables.sizes) - size + 1
    columns = [before[real, n] for n in range(size - 1)]
    padding = [np.full(int(real.sum()), -1)] * (len(tables.sizes) - size + 1)
    logs[real] = np.log10(tables.probability(last[real], columns + padding, node))
    backoff = _backoffs(tables, size, rows)
    lines = []
    for row, log, weight in zip(rows.tolist(), logs.tolist(), backoff.tolist(), strict=True):
        line = f"{log:.9g}\t{' '.join(names[word] for word in row)}"
        lines.append(f"{line}\t{weight:.9g}\n" if size <= len(tables.sizes) else f"{line}\n")
    return lines


def _ngrams(tables: Tables, size: int) -> NDArray[np.int64]:
    """Return n-grams of one size as sorted rows, with words in reading order."""
    node = tables.nodes[len(tables.sizes) - size + 1]
    contexts = node.pairs // tables.n_words
    before = [column[contexts] for column in node.contexts.columns()]
    rows = [np.stack([*before[::-1], node.pairs % tables.n_words], axis=1)]
    if size <= len(tables.sizes):
        above = tables.nodes[len(tables.sizes) - size]
        rows.append(np.stack(above.contexts.columns()[::-1], axis=1))
    return np.unique(np.concatenate(rows), axis=0)


def _backoffs(tables: Tables, size: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the log backoff weight of each n-gram as a context."""
    if size > len(tables.sizes):
        return np.zeros(len(rows))
    above = tables.nodes[len(tables.sizes) - size]
    found = above.contexts.find([rows[:, size - 1 - n] for n in range(size)], len(rows))
    weights = np.where(found < 0, 1.0, above.alpha[found])
    return np.asarray(np.log10(np.maximum(weights, 1e-99)))


def parse_arpa(path: Path) -> tuple[Tables, WordNumbers]:
    """Read an ARPA file."""
    sections = _sections(path)
    if not sections:
        raise FormatError(f"{path}: no n-grams; an ARPA file needs a section \\1-grams:")
    singles = [gram[0] for gram, _, _ in sections[0]]
    end = END in singles
    special = [UNKNOWN, END] if end else [UNKNOWN]
    words = WordNumbers(special + [w for w in singles if w not in (*special, START)], end)
    if UNKNOWN not in singles:
        sections[0].append(([UNKNOWN], _MISSING, 0.0))
    index = {**words.index, START: len(words)}
    parents = word_parents(len(sections))
    graph = parse_graph(">".join(parents[::-1]), parents)
    size = len(words) + 1
    tables = Tables(graph, [size] * (len(sections) - 1), len(words))
    for n in range(1, len(sections) + 1):
        lower = sections[n - 2] if n > 1 else []
        tables.nodes[len(sections) - n] = _table(sections[n - 1], lower, index, path)
    return tables, words


Entry = tuple[list[str], float, float]


def _sections(path: Path) -> list[list[Entry]]:
    """Return the n-grams of each size with their logarithms."""
    found: list[list[Entry]] = []
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            line = line.strip("\n\r ")
            if line.startswith("\\") and line.endswith("-grams:"):
                found.append([])
            elif line.startswith("\\"):
                if line == "\\end\\":
                    break
            elif line and found:
                found[-1].append(_entry(line, len(found), path, number))
    return found


def _entry(line: str, size: int, path: Path, number: int) -> Entry:
    fields = line.split()
    if len(fields) not in (size + 1, size + 2):
        raise FormatError(
            f"{path}, line {number}: expected a probability, {size} words and an optional backoff "
            f"weight, got {line!r}"
        )
    try:
        weight = float(fields[-1]) if len(fields) == size + 2 else 0.0
        return fields[1 : size + 1], float(fields[0]), weight
    except ValueError as error:
        raise FormatError(f"{path}, line {number}: not a number in {line!r}") from error


def _table(
    entries: list[Entry], contexts: list[Entry], index: dict[str, int], path: Path
) -> NodeTable:
    """Create the table of one size; ``contexts`` are the shorter n-grams with their weights."""
    n_words = len(index) - 1
    size = len(entries[0][0]) if entries else len(contexts[0][0]) + 1
    rows = _numbered([gram for gram, _, _ in entries], size, index, path)
    logs = np.array([log for _, log, _ in entries])
    before = _numbered([gram for gram, _, _ in contexts], size - 1, index, path)
    reading = [rows[:, size - 2 - n] for n in range(size - 1)]
    known = [before[:, size - 2 - n] for n in range(size - 1)]
    columns = [np.concatenate(pair) for pair in zip(reading, known, strict=True)]
    keys, numbers = Keys.number(columns, [n_words + 1] * (size - 1))
    if size == 1:
        numbers = np.zeros(len(rows), np.int64)
    alpha = np.ones(len(keys))
    alpha[numbers[len(rows) :]] = 10 ** np.array([weight for _, _, weight in contexts])
    real = rows[:, -1] < n_words
    pairs = numbers[: len(rows)][real] * n_words + rows[real, -1]
    order = np.argsort(pairs)
    totals = np.zeros(len(keys), np.int64)
    return NodeTable(keys, pairs[order], 10 ** logs[real][order], alpha, totals)


def _numbered(
    grams: list[list[str]], size: int, index: dict[str, int], path: Path
) -> NDArray[np.int64]:
    try:
        rows = [[index[word] for word in gram] for gram in grams]
    except KeyError as error:
        raise FormatError(
            f"{path}: {error} occurs in an n-gram but has no entry of its own"
        ) from error
    return np.array(rows, np.int64).reshape(len(rows), size)
