"""Which words models of topics may see in place of all: those that say what a text is about.

Words that everybody uses (the, have, one) come up in every topic, and so do punctuation and
numbers. Without them the top words of a topic belong together (docs/models/README.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Words in more than this share of the messages are everybody's.
COMMON_SHARE = 0.1
#: From here on a single character can be a word: scripts without spaces.
_FIRST_IDEOGRAPH = "\u2e80"
#: What follows the apostrophe of words such as don't, we've and I'll.
_ENDS = {"t", "re", "ve", "ll", "d", "m"}


def is_subject(word: str) -> bool:
    """Whether a word may say what a text is about, by its letters and the list of common words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    stem, _, end = word.replace("’", "'").partition("'")
    bare = (stem + end).replace("'", "").replace("-", "").replace("_", "")
    is_long = len(bare) > 2 or bare >= _FIRST_IDEOGRAPH
    is_common = end in _ENDS or not ENGLISH_STOP_WORDS.isdisjoint((bare, stem))
    return bare.isalpha() and is_long and not is_common


def without_common_words(
    words: Sequence[str],
    counts: NDArray[np.int64],
    message_counts: NDArray[np.int64],
    n_messages: int,
) -> NDArray[np.int64]:
    """Return counts in which words that say nothing about a topic have none.

    Parameters
    ----------
    words, counts, message_counts : sequences, shape (n_types,)
        The types, how often each occurs, and in how many messages.
    n_messages : int
    """
    subject = np.fromiter((is_subject(word) for word in words), bool, len(words))
    rare = np.asarray(message_counts) <= max(COMMON_SHARE * n_messages, 1)
    return np.where(subject & rare, counts, 0)
