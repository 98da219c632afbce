"""What models of acts may see in place of all words: frequent words, beginnings and ends.

Acts are how something is said. Subject words drown that, so only the most frequent words are kept;
the first and the last word of a message count once more, as tokens of their own: ``first:do`` and
``last:?``. No text has such tokens, because the tokenizer splits at the colon.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FIRST, LAST = "first:", "last:"
#: Words to keep. Chosen among 100, 300, 1,000 and all on parts for choosing settings.
FREQUENT = 300

#: Numbers of words, and how many each message has.
Chunk = tuple[NDArray[np.int32], NDArray[np.int32]]


def is_mark(word: str) -> bool:
    """Whether a token of the vocabulary marks a beginning or an end."""
    return word.startswith((FIRST, LAST))


def marked_types(words: list[str]) -> list[str]:
    """Return words, then these as first words, then as last words."""
    return [*words, *(FIRST + word for word in words), *(LAST + word for word in words)]


def add_marks(chunk: Chunk, n_types: int) -> Chunk:
    """Append the numbers of its first and last word to each message that has words.

    Parameters
    ----------
    chunk : (array of int32, array of int32)
        Numbers of words below ``n_types``, and words per message.
    n_types : int
        A word's number as a first word is larger by this, as a last word by twice this.
    """
    numbers, lengths = chunk
    speaks = lengths > 0
    longer = (lengths + 2 * speaks).astype(np.int32)
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    new_starts = np.cumsum(longer, dtype=np.int64) - longer
    marked = np.empty(int(longer.sum()), np.int32)
    marked[np.arange(len(numbers)) + np.repeat(new_starts - starts, lengths)] = numbers
    ends = (new_starts + lengths)[speaks]
    marked[ends] = numbers[starts[speaks]] + n_types
    marked[ends + 1] = numbers[(starts + lengths - 1)[speaks]] + 2 * n_types
    return marked, longer


def without_rare_words(
    words: list[str], counts: NDArray[np.int64], n_types: int
) -> NDArray[np.int64]:
    """Return counts of :func:`marked_types` in which all but the frequent words have none."""
    if n_types <= FREQUENT:
        return counts
    order = sorted(range(n_types), key=lambda number: (-counts[number], words[number]))
    kept = counts.copy()
    kept[order[FREQUENT:]] = 0
    return kept
