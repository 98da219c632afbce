"""ROUGE-1, ROUGE-2 and ROUGE-L: how much of a reference a summary has (Lin 2004).

The package ``rouge-score`` gives the same figures and tests compare with it. It needs NLTK, whose
import takes twice as long as that of everything here, so it is no dependency.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from palaver.encoding.stem import stem
from palaver.errors import InputError

_WORD = re.compile("[a-z0-9]+")
_SHORTEST_STEMMED = 4


@dataclass(frozen=True)
class Rouge:
    """Precision, recall and their harmonic mean, each between 0 and 1."""

    precision: float
    recall: float
    f: float


def rouge_scores(summary: str, reference: str, *, stemmed: bool = False) -> dict[str, Rouge]:
    """Compare a summary with one reference.

    Parameters
    ----------
    summary, reference : str
        Lower-cased letters and digits count; all else divides words.
    stemmed : bool
        Whether words of more than three letters count by their stems (English).

    Returns
    -------
    dict of str to Rouge
        Of "rouge1", "rouge2" (overlap of words, of pairs of words) and "rougeL" (the longest
        common subsequence). All zeros where a side has nothing to compare.

    Examples
    --------
    >>> rouge_scores("the cat sat", "the cat slept well")["rouge1"].recall
    0.5
    """
    return rouge_of_words(_words(summary, stemmed), _words(reference, stemmed))


def mean_rouge(
    summary: str, references: Sequence[str], *, stemmed: bool = False
) -> dict[str, Rouge]:
    """Compare a summary with several references; every figure is the mean over them, as in DUC."""
    if not references:
        raise InputError("mean_rouge: there are no references")
    mine = _words(summary, stemmed)
    each = [rouge_of_words(mine, _words(reference, stemmed)) for reference in references]
    return {
        name: Rouge(
            float(np.mean([scores[name].precision for scores in each])),
            float(np.mean([scores[name].recall for scores in each])),
            float(np.mean([scores[name].f for scores in each])),
        )
        for name in each[0]
    }


def _words(text: str, stemmed: bool) -> list[str]:
    words = _WORD.findall(text.lower())
    if stemmed:
        words = [stem(word) if len(word) >= _SHORTEST_STEMMED else word for word in words]
    return words


def rouge_of_words(summary: Sequence[str], reference: Sequence[str]) -> dict[str, Rouge]:
    """Compare words that were split already; see :func:`rouge_scores`."""
    scores = {f"rouge{n}": _ngram_score(summary, reference, n) for n in (1, 2)}
    common = _common_length(summary, reference)
    return scores | {"rougeL": _score(common, len(summary), len(reference))}


def _common_length(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the length of the longest common subsequence (Hyyrö 2004).

    A row of the usual table is one whole number: bit i is 0 where the common subsequence with the
    first i + 1 words of ``left`` is longer than that with the first i.
    """
    places: dict[str, int] = {}
    for i, word in enumerate(left):
        places[word] = places.get(word, 0) | 1 << i
    every = (1 << len(left)) - 1
    row = every
    for word in right:
        matches = row & places.get(word, 0)
        row = (row + matches | row - matches) & every
    return len(left) - row.bit_count()


def _ngram_score(summary: Sequence[str], reference: Sequence[str], n: int) -> Rouge:
    mine, theirs = (
        Counter(zip(*(words[i:] for i in range(n)), strict=False)) for words in (summary, reference)
    )
    return _score((mine & theirs).total(), mine.total(), theirs.total())


def _score(common: int, n_summary: int, n_reference: int) -> Rouge:
    precision, recall = common / max(n_summary, 1), common / max(n_reference, 1)
    f = 2 * precision * recall / (precision + recall) if common else 0.0
    return Rouge(precision, recall, f)
