"""Sentences that stand for a class: short ones, made of its most telling words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from palaver.page.marks import Marks

_FEWEST, _MOST, _LONGEST = 3, 8, 48  # words, words, characters
_PURE = 0.8  # of the words that bear a class
_CANDIDATES = 400
_UNFIT = re.compile(r"[@<>&]|https?:|www\.")  # somebody addressed, links, torn markup
#: What people type into a computer, or it prints: code, paths, names of files, tables.
_CODE = re.compile(
    r"[=\[\]{}\\|~^_`$#%*]|[^\W\d][(:+]\S|\w/\w+/|(?<!\w)/\w|[^\W\d]\.\w{2,}|[^\W\d],\w|\d\s+\d|[;()]\s*$"
)
_ENDS = frozenset(".!?…。！？؟।")
_BEFORE = re.compile(r"^[^\w+¿¡]+")  # bullets, quotes, pictures


def typical_sentences(
    texts: Sequence[str],
    marks: Marks,
    n_classes: int,
    n_sentences: int = 3,
    shown: Sequence[str] | None = None,
) -> list[list[str]]:
    """Return short sentences for each class, the most typical first.

    A sentence ends at ``.!?…``, at the end of a line or of a message. It counts for a class
    if it has three to eight words, at least half of them bear a class, and four fifths of
    these the same. It is the more typical the more telling its words are: the mean of
    the roots of ``p(w|k) log2(p(w|k) / p(w))`` over the words that are shown; the root, so
    that no single word decides. Sentences with links
    or that address somebody (``@``) are left out, those that share most words with a
    better one, and those that are not in the text as it is ``shown``. Program code and
    printed tables come last, for a class that has nothing else.
    """
    found: list[list[tuple[float, str]]] = [[] for _ in range(n_classes)]
    if marks.words:
        for rank, score, sentence in _candidates(texts, marks, n_classes, shown or texts):
            found[rank].append((score, sentence))
    return [_different(sorted(own, key=_prose_first), n_sentences) for own in found]


def _prose_first(candidate: tuple[float, str]) -> tuple[bool, float, str]:
    """Order candidates: what people say before code and tables, then by score."""
    score, sentence = candidate
    return _is_code(sentence), -score, sentence


def _is_code(sentence: str) -> bool:
    """Whether a sentence looks typed into a computer, printed by it, or torn."""
    words = sentence.casefold().split()
    letters = sum(map(str.isalpha, sentence))
    is_printed = len(words) > 2 and (
        2 * len(set(words)) <= len(words)  # as in FALSE FALSE TRUE TRUE
        or max(map(len, words)) == 1  # as in c o m
    )
    is_torn = sentence.count("(") != sentence.count(")")
    has_numbers = sum(map(str.isdigit, sentence)) > letters
    return is_printed or is_torn or has_numbers or bool(_CODE.search(sentence))


def _candidates(
    texts: Sequence[str], marks: Marks, n_classes: int, shown: Sequence[str]
) -> Iterator[tuple[int, float, str]]:
    """Yield (rank, score, sentence) of the best sentences of each class."""
    numbers_of = {word: number for number, word in enumerate(dict.fromkeys(marks.words))}
    types = list(numbers_of)
    codes = np.array([numbers_of[word] for word in marks.words])
    spoken = np.array([any(map(str.isalpha, word)) for word in types])[codes]
    stops = np.array([not _ENDS.isdisjoint(w) and not any(map(str.isalnum, w)) for w in types])
    lengths = np.array([len(word) for word in types])[codes]
    glued = marks.starts[1:] == marks.starts[:-1] + lengths[:-1]  # as in 2.4 or example.org
    ends = stops[codes] & ~np.append(glued, False)
    begins = marks.breaks | np.concatenate(([True], ends[:-1]))
    numbers = np.cumsum(begins) - 1
    firsts = np.flatnonzero(begins)
    lasts = np.concatenate((firsts[1:], [len(begins)])) - 1
    n_words = np.bincount(numbers, weights=spoken)
    bearing = np.bincount(numbers, weights=spoken & (marks.ranks >= 0))
    telling = _telling(codes, marks.ranks, len(types), n_classes)
    right_size = (n_words >= _FEWEST) & (n_words <= _MOST) & (2 * bearing >= n_words)
    for rank in range(n_classes):
        own = np.bincount(numbers, weights=spoken & (marks.ranks == rank))
        chosen = np.flatnonzero(right_size & (own > 0) & (own >= _PURE * bearing))
        score = np.bincount(numbers, weights=spoken * np.sqrt(telling[codes, rank]))[chosen]
        score *= own[chosen] / np.maximum(bearing[chosen] * n_words[chosen], 1)
        for i in np.argsort(-score, kind="stable")[:_CANDIDATES]:
            first, last = int(firsts[chosen[i]]), int(lasts[chosen[i]])
            sentence = _cut(texts, marks, first, last)
            if sentence and sentence in " ".join(shown[int(marks.messages[first])].split()):
                yield rank, float(score[i]), sentence


def _telling(
    codes: NDArray[np.int64], ranks: NDArray[np.int16], n_types: int, n_classes: int
) -> NDArray[np.float64]:
    """Return how telling each word is of each class, (n_types, n_classes), not below zero."""
    counts = np.zeros((n_types, n_classes))
    borne = ranks >= 0
    np.add.at(counts, (codes[borne], ranks[borne]), 1)
    within = counts / np.maximum(counts.sum(axis=0), 1)
    overall = np.bincount(codes, minlength=n_types)[:, None] / len(codes)
    ratio = np.maximum(within / overall, 1e-12)
    return np.asarray(np.maximum(within * np.log2(ratio), 0))


def _cut(texts: Sequence[str], marks: Marks, first: int, last: int) -> str | None:
    """Return a sentence as it was written, None if it is not fit to be shown."""
    text = texts[int(marks.messages[first])]
    start, end = int(marks.starts[first]), int(marks.starts[last]) + len(marks.words[last])
    written = " ".join(text[start:end].split())
    sentence = _BEFORE.sub("", written)
    fits = 0 < len(sentence) <= _LONGEST and not _ENDS.issuperset(sentence)
    return sentence if fits and not _UNFIT.search(written) else None


def _different(candidates: Sequence[tuple[float, str]], n_sentences: int) -> list[str]:
    """Keep the best sentences that share less than half of their words with a better one."""
    kept: list[str] = []
    for _, sentence in candidates:
        own = set(sentence.casefold().split())
        if all(len(own & set(other.casefold().split())) * 2 < len(own) for other in kept):
            kept.append(sentence)
        if len(kept) == n_sentences:
            break
    return kept
