"""Parts of the shared corpora on which settings are chosen; other parts are for judging alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import palaver as pv
from palaver.corpus.table import Corpus

#: Conversations to take, evenly spread; None for all.
PARTS: dict[str, int | None] = {"swda": 40, "mrda": 5, "dailydialog": None, "nps-chat": None}


def training_part(data: Path, name: str) -> Corpus:
    """Return a part of a corpus with gold acts; each message replies to the one before.

    Switchboard's training conversations without ``+`` and ``@``, MRDA's with the transcript, which
    has marks, DailyDialog's development part, the first eight rooms of NPS Chat without system
    messages; "sample" is the synthetic forum with its own replies.
    """
    if name == "sample":
        return pv.sample(200)
    table = pv.read(data / name / _FILES[name]).table
    rooms = table["conversation"].unique(maintain_order=True)[:8].implode()
    chosen = {
        "swda": (pl.col("split") == "train") & ~pl.col("raw_act").str.contains("[+@]"),
        "mrda": pl.col("split") == "train",
        "dailydialog": pl.col("split") == "dev",
        "nps-chat": pl.col("conversation").is_in(rooms) & (pl.col("act") != "System"),
    }[name]
    text = pl.col("transcript" if name == "mrda" else "text")
    table = table.filter(chosen).with_columns(text=text, reply_to=pl.lit(None, pl.String))
    corpus = Corpus.from_polars(table)
    wanted = PARTS[name]
    if wanted is not None:
        step = max(corpus.n_conversations // wanted, 1)
        corpus = corpus.take(np.arange(corpus.n_conversations)[::step][:wanted])
    return corpus.chained()


_FILES = {"swda": "swda-full.jsonl.gz", "mrda": "mrda.jsonl.gz",
          "dailydialog": "dailydialog.jsonl.gz", "nps-chat": "nps-chat.jsonl.gz"}  # fmt: skip
