"""Yes-or-no marks of messages: a question or exclamation mark, a number, a link, few words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from palaver.encoding.tokenizer import MAIL, URL
from palaver.encoding.tokens import Encoded

#: Question marks of Latin, Arabic, Armenian, Ethiopic, Greek and full-width writing.
QUESTION_MARKS = "?\u061f\u055e\u1367\u037e\uff1f\u2047\u2048\u2049"
EXCLAMATION_MARKS = "!\u055c\uff01\u203c\u2048\u2049"

#: Marks that a message has if one of its words has them.
_OF_WORDS: dict[str, Callable[[str], bool]] = {
    "question": lambda word: any(sign in QUESTION_MARKS for sign in word),
    "exclamation": lambda word: any(sign in EXCLAMATION_MARKS for sign in word),
    "number": lambda word: any(sign.isdigit() for sign in word),
    "link": lambda word: word in (URL, MAIL),
}
#: A short message has at most so many known words; its full stop is one.
_SHORT = 2

#: Names of all marks.
MARKS = (*_OF_WORDS, "short")


def message_marks(encoded: Encoded, names: Sequence[str]) -> NDArray[np.float64]:
    """Return which marks each message has, as zeros and ones.

    Parameters
    ----------
    encoded : Encoded
        Marks are those of its words: what the vocabulary lacks is not seen.
    names : sequence of str
        Of :data:`MARKS`.

    Returns
    -------
    array of float64, shape (n_messages, n_names)
    """
    found = np.zeros((encoded.n_messages, len(names)))
    tokens, lengths = np.asarray(encoded.tokens), np.diff(encoded.message_offsets)
    messages = np.repeat(np.arange(encoded.n_messages), lengths)
    for column, name in enumerate(names):
        if name == "short":
            found[:, column] = encoded.known_words <= _SHORT
        else:
            carries = np.array([_OF_WORDS[name](word) for word in encoded.vocabulary.words], bool)
            found[messages[carries[tokens]], column] = 1.0
    return found
