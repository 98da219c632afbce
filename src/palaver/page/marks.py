"""Which stretches of a text have which class: words found again in the texts they come from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.encoding.tokenizer import word_type

BACKGROUND, UNKNOWN = -1, -2
_CHUNK = 5_000  # messages
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
#: A line of at least this many characters may have been wrapped; within a sentence, that is
#: before a small letter, fewer will do.
_WRAPPED, _WITHIN = 50, 30


@dataclass(frozen=True, eq=False)
class Marks:
    """Words of messages, where they stand, and their classes.

    Attributes
    ----------
    runs : list of str
        For each message its coloured stretches in the text as it is shown, as :func:`pack`
        writes them: characters skipped, characters covered, rank of the class, and so on.
        Characters are UTF-16 units, as in JavaScript.
    words : list of str
        All words of all messages, known to the model or not.
    ranks : array of int16, shape (n_words,)
        Rank of the class, -1 for background, -2 for unknown words.
    messages : array of int32, shape (n_words,)
    starts : array of int32, shape (n_words,)
        Place in the text; where the word before ends if a word is not found.
    breaks : array of bool, shape (n_words,)
        Whether a line or a message begins with the word. Lines that mail programs broke continue:
        a single end of line after fifty characters (thirty before a small letter) is a space.
    """

    runs: list[str]
    words: list[str]
    ranks: NDArray[np.int16]
    messages: NDArray[np.int32]
    starts: NDArray[np.int32]
    breaks: NDArray[np.bool_]


def mark(
    texts: pl.Series,
    words: pl.Series,
    ranks: NDArray[np.int16],
    lengths: NDArray[np.int64],
    *,
    known: Collection[str] | None,
    limit: int,
    n_classes: int = 32_767,
    shown: tuple[pl.Series, pl.Series] | None = None,
) -> Marks:
    """Find the words of messages in their texts.

    Parameters
    ----------
    texts : polars.Series of str
    words : polars.Series of list of str
        As :func:`split_words` returns them.
    ranks : array of int16, shape (n_tokens,)
        Classes of the known words of all messages, one after the other.
    lengths : array of int64, shape (n_messages,)
        Known words of each message.
    known : collection of str or None
        The vocabulary; None if the model reads unknown words, too.
    limit : int
        Characters of a text beyond which nothing is marked, for it is not shown.
    n_classes : int
        Ranks from here on are topics: marked, but of no class.
    shown : tuple of two polars.Series, optional
        The same texts and words as they are shown, where people were taken out of them. Words
        that are in both keep their class, words that were put in have none.
    """
    runs: list[str] = []
    said: list[str] = []
    flat: list[int] = []
    starts: list[int] = []
    breaks: list[bool] = []
    counts = np.zeros(len(texts), np.int64)
    done = 0
    both = zip(_messages(texts, words), _messages(*(shown or (texts, words))), strict=True)
    for i, ((text, found), other) in enumerate(both):
        own = ranks[done : done + lengths[i]].tolist()
        done += int(lengths[i])
        classes = _classes(found, own, known)
        spans = _spans(text, found)
        runs.append(pack(_stretches(*_as_shown(text, spans, found, classes, other), limit)))
        starts += [start for start, _ in spans]
        breaks += _line_starts(text, spans)
        said += found
        flat += [rank if rank < n_classes else BACKGROUND for rank in classes]
        counts[i] = len(found)
    messages = np.repeat(np.arange(len(texts), dtype=np.int32), counts)
    return Marks(runs, said, np.array(flat, np.int16), messages, np.array(starts, np.int32),
                 np.array(breaks, bool))  # fmt: skip


def _messages(texts: pl.Series, words: pl.Series) -> Iterator[tuple[str, list[str]]]:
    """Yield texts with their words; only a part of them is in memory as Python strings."""
    for start in range(0, len(texts), _CHUNK):
        part = slice(start, start + _CHUNK)
        yield from zip(texts[part].to_list(), words[part].to_list(), strict=True)


def _classes(found: Sequence[str], own: Sequence[int], known: Collection[str] | None) -> list[int]:
    """Give each word its class; texts that were split in another way are left unmarked."""
    if known is None:
        return list(own) if len(own) == len(found) else [UNKNOWN] * len(found)
    is_known = [word in known or word_type(word) in known for word in found]
    if sum(is_known) != len(own):
        return [UNKNOWN] * len(found)
    following = iter(own)
    return [next(following) if hit else UNKNOWN for hit in is_known]


def _as_shown(
    text: str,
    spans: list[tuple[int, int]],
    found: Sequence[str],
    classes: list[int],
    shown: tuple[str, list[str]],
) -> tuple[str, list[tuple[int, int]], list[int]]:
    """Return a text as it is shown, where its words stand, and their classes."""
    other, others = shown
    if other == text:
        return text, spans, classes
    carried = [UNKNOWN] * len(others)
    for first, there, size in SequenceMatcher(None, found, others).get_matching_blocks():
        carried[there : there + size] = classes[first : first + size]
    return other, _spans(other, others), carried


def _spans(text: str, found: Sequence[str]) -> list[tuple[int, int]]:
    """Return where each word begins and ends; an empty span where it is not found."""
    lower = text.lower()
    cursor, spans, find = 0, [], lower.find
    for word in found:
        here = find(word, cursor)
        if here < 0:
            here = end = cursor
        else:
            end = here + len(word)
        spans.append((here, end))
        cursor = end
    if len(lower) != len(text):
        at = _places(text)
        return [(at[here], at[end]) for here, end in spans]
    return spans


def _line_starts(text: str, spans: Sequence[tuple[int, int]]) -> list[bool]:
    """Say of each word whether it begins a line, wrapped lines taken for one; the first does."""
    if "\n" not in text:
        return [i == 0 for i in range(len(spans))]
    starts, found = [start for start, _ in spans], [False] * len(spans)
    at = text.find("\n")
    while at >= 0:  # there are far fewer lines than words
        i = bisect_right(starts, at)
        if i == len(starts):
            break
        if i and not found[i]:
            found[i] = _is_break(text, spans[i - 1][1], starts[i])
        at = text.find("\n", max(at + 1, starts[i]))
    found[:1] = [True] * bool(found)
    return found


def _is_break(text: str, end: int, start: int) -> bool:
    """Whether a line ends between two words, and not for want of room alone."""
    at = text.find("\n", end, start)
    if at < 0:
        return False
    length = at - text.rfind("\n", 0, at) - 1
    is_full = length >= (_WITHIN if text[start : start + 1].islower() else _WRAPPED)
    return not is_full or "\n" in text[at + 1 : start]


def _stretches(
    text: str, spans: Sequence[tuple[int, int]], classes: Sequence[int], limit: int
) -> list[int]:
    """Return gap, length and class of each coloured stretch in turn; equal neighbours are one."""
    found: list[int] = []
    wide = not text.isascii()
    shown = start = end = 0
    open_class = BACKGROUND
    for (first, last), rank in zip(spans, classes, strict=True):
        if last > limit:
            break
        if rank == open_class:
            end = last
            continue
        if open_class >= 0:
            if wide:
                found += (_units(text, shown, start), _units(text, start, end), open_class)
            else:
                found += (start - shown, end - start, open_class)
            shown = end
        open_class, start, end = rank, first, last
    if open_class >= 0:
        gap, length = start - shown, end - start
        if wide:
            gap, length = _units(text, shown, start), _units(text, start, end)
        found += (gap, length, open_class)
    return found


def _places(text: str) -> list[int]:
    """Return, for each place of the lower-cased text, the place in the text."""
    places = [i for i, character in enumerate(text) for _ in character.lower()]
    return [*places, len(text)]


def _units(text: str, start: int, end: int) -> int:
    """Return the length of a piece in UTF-16 units."""
    return len(text[start:end].encode("utf-16-le", "surrogatepass")) // 2


def pack(numbers: Iterable[int]) -> str:
    """Write whole numbers as text, five bits per character, small numbers in one."""
    few = _FEW
    most = len(few)
    return "".join([few[n] if n < most else _digits(n) for n in numbers])


def _digits(number: int) -> str:
    """Write one number."""
    characters = ""
    while number > 31:
        characters += _DIGITS[32 + (number & 31)]
        number >>= 5
    return characters + _DIGITS[number]


#: Small numbers, written.
_FEW = [_digits(number) for number in range(1_024)]
