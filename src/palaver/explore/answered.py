"""What each message replies to, and how soon somebody else answers, worked out for the index."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from palaver.corpus.describe import by_bots
from palaver.corpus.table import Corpus
from palaver.questions.answers import first_answers, replied_to


def answered_arrays(corpus: Corpus) -> dict[str, NDArray[np.generic]]:
    """Return how messages are answered by somebody else, as arrays of the index.

    As on the page and in ``palaver unanswered``; see :mod:`palaver.questions.answers`.

    Returns
    -------
    dict
        ``replied``, of int32, (n_messages,): what each message replies to, -1 for nothing;
        ``by_bot`` and ``answered``, of bool, (n_messages,): whether a bot wrote a message, and
        somebody else answers it; ``waited``, of int32, (n_waits,): the messages whose first answer
        has a time, the soonest answered first; ``waits``, of float64, (n_waits,): after how many
        seconds.
    """
    by_bot = by_bots(corpus)
    found = first_answers(corpus, by_bot)
    rows = np.flatnonzero(~np.isnan(found.wait))
    rows = rows[np.argsort(found.wait[rows], kind="stable")]
    return {
        "replied": replied_to(corpus, by_bot).astype(np.int32),
        "by_bot": by_bot,
        "answered": found.first >= 0,
        "waited": rows.astype(np.int32),
        "waits": found.wait[rows],
    }


def evidence_of(corpus: Corpus) -> str:
    """Return how it is known who answers whom.

    "recorded" by the file; "inferred", at least in part; or "order": whoever speaks next answers.
    """
    if "reply_probability" in corpus.table.columns:
        return "inferred"
    return "recorded" if (corpus.parents >= 0).any() else "order"
