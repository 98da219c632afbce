"""Messages of a class: characteristic of it, and different from each other."""

from __future__ import annotations

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from palaver.params import check, whole
from palaver.questions.talk import Talk
from palaver.ranking.exemplars import choose_examples


def examples(talk: Talk, of: str | int, n: int = 20) -> pl.DataFrame:
    """Return messages of a class, the best examples first.

    Parameters
    ----------
    talk : Talk
    of : str or int
        The letter, name or number of the class.
    n : int
        At most so many; see :func:`palaver.exemplars` for how they are chosen.

    Returns
    -------
    polars.DataFrame
        Columns message (row in the corpus), id, conversation, speaker, time, share, text. Only
        messages that are mainly of the class.
    """
    check("examples", {"n": whole(1)}, {"n": n})
    number = talk.find_class(of)
    rows = np.flatnonzero(talk.main == number)
    own = talk.shares[rows][:, [number]]
    words = talk.words.filter(pl.col("class") == number).with_columns(
        pl.lit(0).cast(pl.Int64).alias("class")
    )
    texts = talk.corpus.table["text"].gather(rows)
    with threadpool_limits(1):  # small matrices: threads would only be in each other's way
        chosen = choose_examples(texts, own, words, n)[0] if len(rows) else rows
    said = talk.corpus.table.select("id", "conversation", "speaker", "time", "text")[rows[chosen]]
    return said.select(
        pl.Series("message", rows[chosen]),
        "id",
        "conversation",
        "speaker",
        "time",
        pl.Series("share", own[chosen, 0]),
        "text",
    )
