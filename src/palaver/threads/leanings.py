"""What words suggest: that a message continues its speaker's own, gets a reply, or starts.

Each word has the log odds of a label among messages with the word, minus those among all messages;
a message has the sum over its words, divided by the root of their number. During learning, a
message does not contribute to its own words, so that its score is that of an unseen message.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palaver.threads.evidence import Gathered

#: A message replies to its own speaker; gets a reply from another; replies to nobody.
LABELS = ("continues", "is answered", "starts")

_STRENGTH = 5.0  # strength of the prior of each word, in messages
_FEWEST = 3


@dataclass(frozen=True, eq=False)
class Leanings:
    """Words and their log odds.

    Attributes
    ----------
    words : list of str
    odds : array of float32, shape (n_words, 3)
    """

    words: list[str]
    odds: NDArray[np.float32]

    def scores(self, gathered: Gathered) -> NDArray[np.float32]:
        """Return the scores of messages, (n_messages, 3)."""
        index = {word: number for number, word in enumerate(self.words)}
        table = np.vstack((self.odds, np.zeros((1, len(LABELS)), np.float32)))
        known = [index.get(word, -1) for word in gathered.words]
        return _summed(gathered, table[np.array(known, np.int64)][gathered.bag_words])


def learn_leanings(
    gathered: Gathered, parents: NDArray[np.int64]
) -> tuple[Leanings, NDArray[np.float32]]:
    """Learn the leanings of words from known parents.

    Parameters
    ----------
    gathered : Gathered
    parents : array of int64, shape (n_messages,)
        Places of the parents, -1 for a start.

    Returns
    -------
    leanings : Leanings
    scores : array of float32, shape (n_messages, 3)
        Scores of the same messages, each as if it had been held out.
    """
    messages, words, n_words = gathered.bag_messages, gathered.bag_words, len(gathered.words)
    odds = np.zeros((n_words, len(LABELS)))
    scores = np.zeros((len(words), len(LABELS)))
    for number, (label, counts) in enumerate(_labels(gathered, parents)):
        share = np.clip(label[counts].mean() if counts.any() else 0.5, 1e-3, 1 - 1e-3)
        in_play, true = counts[messages], label[messages]
        seen = np.bincount(words[in_play], minlength=n_words)
        right = np.bincount(words[in_play & true], minlength=n_words)
        odds[:, number] = _log_odds(right, seen, share)
        others = seen[words] - in_play
        scores[:, number] = _log_odds(right[words] - (in_play & true), others, share)
    kept = np.flatnonzero(odds.any(axis=1))
    found = Leanings([gathered.words[k] for k in kept], odds[kept].astype(np.float32))
    return found, _summed(gathered, scores)


def _labels(
    gathered: Gathered, parents: NDArray[np.int64]
) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Return the labels of each message, and for which messages they are known."""
    speakers = gathered.evidence.people.speakers
    replies = np.flatnonzero(parents >= 0)
    same = np.zeros(len(parents), bool)
    same[replies] = speakers[replies] == speakers[parents[replies]]
    same &= speakers >= 0
    answered = np.zeros(len(parents), bool)
    answered[parents[replies][~same[replies]]] = True
    everybody = np.ones(len(parents), bool)
    return [(same, parents >= 0), (answered, everybody), (parents < 0, everybody)]


def _log_odds(
    right: NDArray[np.int64], seen: NDArray[np.int64], share: float
) -> NDArray[np.float64]:
    """Return smoothed log odds of words relative to all messages; zero for rare words."""
    ratio = (right + _STRENGTH * share) / (seen - right + _STRENGTH * (1 - share))
    return np.where(seen >= _FEWEST, np.log(ratio) - np.log(share / (1 - share)), 0.0)


def _summed(gathered: Gathered, values: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return sums over each message's words, divided by the root of their number."""
    n_messages = len(gathered.rows)
    counts = np.maximum(np.bincount(gathered.bag_messages, minlength=n_messages), 1)
    sums = [np.bincount(gathered.bag_messages, column, n_messages) for column in values.T]
    return (np.column_stack(sums) / np.sqrt(counts)[:, None]).astype(np.float32)
