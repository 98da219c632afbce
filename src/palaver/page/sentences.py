"""Sentences that stand for a class: short ones, made of its most characteristic words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from palaver.encoding.tokenizer import word_type
from palaver.page.marks import Marks

_FEWEST, _MOST, _LONGEST = 3, 8, 48  # words, words, characters
_PURE = 0.8  # of the words that have a class
_LENGTH = 0.6  # power of the number of words that scores are divided by
_CANDIDATES = 400
_UNFIT = re.compile(r"[@<>&]|https?:|www\.")  # somebody addressed, links, torn markup
#: Computer input and output: code, paths, names of files, tables.
_CODE = re.compile(
    r"[=\[\]{}\\|~^_`$#%*]|[^\W\d][(:+]\S|\w/\w+/|(?<!\w)/\w|[^\W\d]\.\w{2,}|[^\W\d],\w|\d\s+\d|[;()]\s*$|\w;\w|\w{3,}\.\w"
)
_MARKS = ".,!?…:;()\"'“”‘’-–"
_OPEN = frozenset(",;:-–(")  # a sentence that ends with one has been cut off
_SHORTEST = frozenset("aeiouyàáéèìòóùúêôвиокасуя")  # words of one letter in some languages
_ENDS = frozenset(".!?…。！？؟।")
_BEFORE = re.compile(r"^[^\w+¿¡]+")  # bullets, quotes, pictures


def typical_sentences(
    texts: Sequence[str],
    marks: Marks,
    n_classes: int,
    n_sentences: int = 3,
    shown: Sequence[str] | None = None,
    telling: Collection[str] | None = None,
) -> list[list[str]]:
    """Return short sentences for each class, the most typical first.

    A sentence ends at ``.!?…``, at the end of a line or of a message. It counts for a class
    if it has three to eight words, at least half of them have a class, and four fifths of
    those have this one. Sentences are ranked by the sum over their different words of
    ``p(w|k) log2(p(w|k) / p(w))``, each times the share of the word's occurrences that belong
    to this class, divided by the number of words and numbers to the power 0.6: a compromise
    between the sum, which favours the longest sentence, and the mean, which favours "Thanks!".
    Left out are sentences that contain links or address somebody (``@``), that share most of
    their words with a better one, or that are not in the text as it is ``shown``. Whole
    sentences come before lines that are broken off; program code, printed tables, stuttering
    and rows of names come last, for a class that has nothing else.

    Where only some words are ``telling``, because the model looks at no others, they alone count,
    and a sentence may be as short as one word.
    """
    found: list[list[_Candidate]] = [[] for _ in range(n_classes)]
    if marks.words:
        for rank, candidate in _candidates(texts, marks, n_classes, shown or texts, telling):
            found[rank].append(candidate)
    return [
        _different([one.sentence for one in sorted(own, key=_prose_first)], n_sentences)
        for own in found
    ]


@dataclass(frozen=True)
class _Candidate:
    score: float
    sentence: str
    is_whole: bool


def _prose_first(candidate: _Candidate) -> tuple[bool, bool, float, str]:
    """Order candidates: prose before code and tables, whole before broken off, then by score."""
    sentence = candidate.sentence
    return is_code(sentence), not candidate.is_whole, -candidate.score, sentence


def is_code(sentence: str) -> bool:
    """Whether a sentence looks like computer input or output, or is torn or stuttered."""
    words = [word for word in (part.strip(_MARKS) for part in sentence.split()) if word]
    plain = [word.casefold() for word in words]
    letters = sum(map(str.isalpha, sentence))
    single = sum(len(w) == 1 and w != w.upper() and w not in _SHORTEST for w in plain)
    capital = [not w[0].islower() for w in words[1:]]
    return (
        any(one == other for one, other in pairwise(plain))  # as in I, I, I or NA NA
        or (len(words) > 2 and 2 * len(set(plain)) <= len(words))
        or 3 * single >= max(len(words), 1)  # as in c o m
        or 2 * sum(len(w) > 1 and w.isupper() for w in words) >= max(len(words), 1)
        or (len(capital) > 1 and all(capital) and words[1] != words[1].lower())  # rows of names
        or sentence.count("(") != sentence.count(")")
        or sum(map(str.isdigit, sentence)) > letters
        or bool(_CODE.search(sentence))
    )


def _candidates(
    texts: Sequence[str],
    marks: Marks,
    n_classes: int,
    shown: Sequence[str],
    telling: Collection[str] | None,
) -> Iterator[tuple[int, _Candidate]]:
    """Yield rank and candidate for the best sentences of each class."""
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
    ends_message = np.append(np.diff(marks.messages[firsts]) != 0, True)
    is_whole = ends[lasts] | ends_message
    is_new = _first_in_sentence(numbers, codes)
    n_words = np.bincount(numbers, weights=spoken)
    counted = np.array([any(map(str.isalnum, word)) for word in types])[codes]
    length = np.bincount(numbers, weights=counted) ** _LENGTH  # numbers say little of a class
    classed = np.bincount(numbers, weights=spoken & (marks.ranks >= 0))
    weights = _characteristic(codes, marks.ranks, len(types), n_classes)
    if telling is not None:
        weights *= np.array([word_type(word) in telling for word in types])[:, None]
    fewest = _FEWEST if telling is None else 1
    right_size = (n_words >= fewest) & (n_words <= _MOST) & (2 * classed >= n_words)
    for rank in range(n_classes):
        own = np.bincount(numbers, weights=spoken & (marks.ranks == rank))
        chosen = np.flatnonzero(right_size & (own > 0) & (own >= _PURE * classed))
        score = np.bincount(numbers, weights=spoken * is_new * weights[codes, rank])[chosen]
        score *= own[chosen] / classed[chosen] / length[chosen]
        for i in np.argsort(-score, kind="stable")[:_CANDIDATES]:
            first, last = int(firsts[chosen[i]]), int(lasts[chosen[i]])
            sentence = _cut(texts, marks, first, last)
            if sentence and sentence in " ".join(shown[int(marks.messages[first])].split()):
                broken = sentence[-1] in _OPEN
                yield (
                    rank,
                    _Candidate(float(score[i]), sentence, is_whole[chosen[i]] and not broken),
                )


def _first_in_sentence(numbers: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each token is the first of its word in its sentence."""
    order = np.lexsort((codes, numbers))  # stable: equal words stay in their order
    again = (np.diff(numbers[order]) == 0) & (np.diff(codes[order]) == 0)
    is_new = np.ones(len(codes), bool)
    is_new[order[1:][again]] = False
    return is_new


def _characteristic(
    codes: NDArray[np.int64], ranks: NDArray[np.int16], n_types: int, n_classes: int
) -> NDArray[np.float64]:
    """Return how characteristic each word is of each class, (n_types, n_classes), at least 0.

    A word that other classes use as well, such as thanks when asking, counts less.
    """
    counts = np.zeros((n_types, n_classes))
    classed = (ranks >= 0) & (ranks < n_classes)
    np.add.at(counts, (codes[classed], ranks[classed]), 1)
    within = counts / np.maximum(counts.sum(axis=0), 1)
    overall = np.bincount(codes, minlength=n_types)[:, None] / len(codes)
    ratio = np.maximum(within / overall, 1e-12)
    part = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return np.asarray(np.maximum(within * np.log2(ratio), 0) * part)


def _cut(texts: Sequence[str], marks: Marks, first: int, last: int) -> str | None:
    """Return a sentence as it was written, or None if it is unfit to be shown."""
    text = texts[int(marks.messages[first])]
    start, end = int(marks.starts[first]), int(marks.starts[last]) + len(marks.words[last])
    written = " ".join(text[start:end].split())
    sentence = _BEFORE.sub("", written)
    fits = 0 < len(sentence) <= _LONGEST and not _ENDS.issuperset(sentence)
    return sentence if fits and not _UNFIT.search(written) else None


def _different(candidates: Sequence[str], n_sentences: int) -> list[str]:
    """Keep the best sentences that share less than half of their words with a better one."""
    kept: list[str] = []
    for sentence in candidates:
        own = set(sentence.casefold().split())
        if all(len(own & set(other.casefold().split())) * 2 < len(own) for other in kept):
            kept.append(sentence)
        if len(kept) == n_sentences:
            break
    return kept
