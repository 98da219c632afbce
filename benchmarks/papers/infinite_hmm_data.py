"""Tagged text for the experiments of the infinite HMM, and what is measured on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from palaver.evaluate import Chunker, chunk_scores, clustering_scores


@dataclass(frozen=True, eq=False)
class Tagged:
    """Sentences, the gold tag of every word (None if it has none), and chunks of the first ones."""

    sentences: list[list[str]]
    tags: list[str | None]
    n_train: int = 0
    n_chunked: int = 0
    chunks: tuple[list[str], ...] = ()
    given: tuple[list[str], ...] = ()

    def lists(self, states: Any) -> list[list[str]]:
        """Return one value per word as lists, one list per sentence."""
        ends = np.cumsum([0, *map(len, self.sentences)])
        return [[str(s) for s in states[first:last]] for first, last in pairwise(ends)]


@cache
def corpus(data: Path, name: str, size: str) -> Tagged:
    """Return a corpus; a quick one has wsj-sample and few sentences to chunk.

    ``ud-dev`` is the dev part of UD English, ``ud`` the training part.
    """
    if name in ("ud", "ud-dev"):
        parts = ("train",) if size != "quick" and name == "ud" else ("dev",)
        tables = [pv.read(data / f"ud-english-ewt/en_ewt-ud-{p}.conllu.gz").table for p in parts]
        sentences = [list(row) for table in tables for row in table["tokens"]]
        return Tagged(sentences, [tag for table in tables for row in table["xpos"] for tag in row])
    chunked = [pv.read(data / f"conll2000/{part}.txt.gz").table for part in ("train", "test")]
    if size == "quick":
        chunked = [table.head(400) for table in chunked]
    gold = pv.read(data / "wsj-sample/wsj-sample.txt.gz").table
    sentences = [list(row) for table in (*chunked, gold) for row in table["tokens"]]
    n_words = sum(len(row) for table in chunked for row in table["tokens"])
    tags: list[str | None] = [None] * n_words
    tags += [tag for row in gold["pos"] for tag in row]
    chunks = tuple(list(row) for table in chunked for row in table["chunk"])
    given = tuple(list(row) for table in chunked for row in table["pos"])
    return Tagged(sentences, tags, chunked[0].height, len(chunks), chunks, given)


def judged(found: Any, tags: list[str | None]) -> dict[str, float]:
    """Return all measures on the words with a gold tag."""
    known = np.array([tag is not None for tag in tags])
    gold = [tag for tag in tags if tag is not None]
    return clustering_scores(np.asarray(found)[known], gold)


def chunk_scores_of(
    text: Tagged, column: Any, penalty: float, max_iterations: int
) -> dict[str, float]:
    """Learn to parse from the training sentences, with a column or without; score the others."""
    sentences, split = text.sentences[: text.n_chunked], text.n_train
    known, new = (None, None) if column is None else (column[:split], column[split:])
    chunker = Chunker(penalty, max_iterations)
    chunker.fit(sentences[:split], text.chunks[:split], known)
    return chunk_scores(text.chunks[split:], chunker.predict(sentences[split:], new))
