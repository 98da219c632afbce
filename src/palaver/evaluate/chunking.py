"""Shallow parsing: chunks as counted by conlleval, and a CRF that finds them.

The tagger is a linear-chain conditional random field (python-crfsuite, extra ``crf``) on words in a
window, with or without a further column of tags or states. It shows what the states of an
unsupervised model are worth for a task.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from palaver.errors import MissingExtraError, ParameterError

#: Start, end (exclusive) and type.
Chunk = tuple[int, int, str]
Sentences = Sequence[Sequence[str]]

_WINDOW = 2
_NOWHERE = "<>"


def find_chunks(tags: Sequence[str]) -> list[Chunk]:
    """Return the chunks of a sentence of IOB tags, as found by conlleval.

    A chunk begins at ``B-x``, and at ``I-x`` after anything but ``B-x`` or ``I-x``.

    Examples
    --------
    >>> find_chunks(["B-NP", "I-NP", "O", "I-VP", "B-VP"])
    [(0, 2, 'NP'), (3, 4, 'VP'), (4, 5, 'VP')]
    """
    chunks: list[Chunk] = []
    start, kind = 0, ""
    for i, tag in enumerate([*tags, "O"]):
        mark, _, name = tag.partition("-")
        if mark not in ("B", "I", "O") or (mark == "O") != (not name):
            raise ParameterError(f"chunks must be tagged B-x, I-x or O, got {tag!r}")
        if kind and (mark != "I" or name != kind):
            chunks.append((start, i, kind))
            kind = ""
        if name and not kind:
            start, kind = i, name
    return chunks


def chunk_scores(gold: Sentences, found: Sentences) -> dict[str, float]:
    """Return the accuracy of found chunks.

    Parameters
    ----------
    gold, found : lists of lists of str
        IOB tags, one per word.

    Returns
    -------
    dict
        accuracy (of tags), precision, recall and f1 (of whole chunks including their types).
    """
    if [len(tags) for tags in gold] != [len(tags) for tags in found]:
        raise ParameterError("gold and found must be the same sentences, with one tag per word")
    right = n_gold = n_found = same = words = 0
    for theirs, ours in zip(gold, found, strict=True):
        wanted, given = set(find_chunks(theirs)), set(find_chunks(ours))
        right += len(wanted & given)
        n_gold += len(wanted)
        n_found += len(given)
        same += sum(a == b for a, b in zip(theirs, ours, strict=True))
        words += len(theirs)
    precision, recall = right / max(n_found, 1), right / max(n_gold, 1)
    return {
        "accuracy": same / max(words, 1),
        "precision": precision,
        "recall": recall,
        "f1": 2 * right / max(n_found + n_gold, 1),
    }


def word_features(words: Sequence[str], column: Sequence[str] | None = None) -> list[list[str]]:
    """Return the features of each word of a sentence.

    Words up to two positions away and the pairs around the word; for a further column (tags,
    states) also the pairs and triples within two positions, as is usual for this task.
    """
    around = [_NOWHERE] * _WINDOW
    padded = [*around, *words, *around]
    tags = None if column is None else [*around, *column, *around]
    features = []
    for i in range(_WINDOW, len(padded) - _WINDOW):
        found = [f"w{place}={padded[i + place]}" for place in range(-_WINDOW, _WINDOW + 1)]
        found += [f"w{place}+={padded[i + place]}|{padded[i + place + 1]}" for place in (-1, 0)]
        if tags is not None:
            for size in (1, 2, 3):
                for place in range(-_WINDOW, _WINDOW + 2 - size):
                    joined = "|".join(tags[i + place : i + place + size])
                    found.append(f"t{place},{size}={joined}")
        features.append(found)
    return features


class Chunker:
    """A conditional random field that tags chunks.

    Parameters
    ----------
    penalty : float
        Penalty on the squared weights.
    max_iterations : int
        Maximum number of iterations of L-BFGS.
    """

    def __init__(self, penalty: float = 1.0, max_iterations: int = 100) -> None:
        self.penalty = penalty
        self.max_iterations = max_iterations

    def fit(
        self, sentences: Sentences, chunks: Sentences, columns: Sentences | None = None
    ) -> Chunker:
        """Learn from sentences and their IOB tags, and optionally tags or states of their words."""
        crf = _crfsuite()
        trainer = crf.Trainer(algorithm="lbfgs", verbose=False)
        trainer.set_params({"c2": self.penalty, "max_iterations": self.max_iterations})
        for features, tags in zip(_features(sentences, columns), chunks, strict=True):
            trainer.append(features, list(tags))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "chunks.crfsuite"
            trainer.train(str(path))
            self._content = path.read_bytes()
        return self

    def predict(self, sentences: Sentences, columns: Sentences | None = None) -> list[list[str]]:
        """Return the IOB tags of sentences."""
        tagger = _crfsuite().Tagger()
        tagger.open_inmemory(self._content)
        return [list(tagger.tag(features)) for features in _features(sentences, columns)]


def _features(sentences: Sentences, columns: Sentences | None) -> list[list[list[str]]]:
    if columns is None:
        return [word_features(words) for words in sentences]
    return [word_features(words, tags) for words, tags in zip(sentences, columns, strict=True)]


def _crfsuite() -> Any:
    try:
        import pycrfsuite
    except ImportError as error:
        raise MissingExtraError(
            "chunking needs python-crfsuite: pip install python-crfsuite"
        ) from error
    return pycrfsuite
