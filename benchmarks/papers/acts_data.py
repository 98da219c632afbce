"""Corpora with gold acts: parts to judge on, parts to choose settings on, and labels to learn from.

Every message has at most one gold act. Sentences of the synthetic forum are messages here, so that
all models see the same units. Where nobody says who answers whom, each message replies to the one
before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

import palaver as pv
from palaver.corpus.table import Corpus

#: Conversations of Switchboard and meetings of MRDA to choose on, and calls to fit on.
TRAIN_CALLS, TRAIN_MEETINGS, FIT_CALLS = 80, 8, 100
#: Threads of the synthetic forum, and the seeds of its two parts.
N_THREADS, TRAIN_SEED, TEST_SEED = 200, 0, 1

#: Corpora that are judged, in the order of the page: what they are.
JUDGED = {
    "swda": "telephone calls",
    "mrda": "meetings, transcript with marks",
    "mrda, words": "meetings, bare words",
    "dailydialog": "written everyday dialogues",
    "nps-chat": "chat rooms",
    "sample": "sentences of a synthetic forum",
    "rumoureval2017": "tweets about rumours; stances, not acts",
}
#: Corpora with a part to choose settings on.
TRAINING = tuple(name for name in JUDGED if name != "rumoureval2017")

_FILES = {"swda": "swda/swda-full.jsonl.gz", "mrda": "mrda/mrda.jsonl.gz",
          "dailydialog": "dailydialog/dailydialog.jsonl.gz",
          "nps-chat": "nps-chat/nps-chat.jsonl.gz",
          "rumoureval2017": "rumoureval2017/rumoureval2017.jsonl.gz"}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Parts:
    """A corpus to judge on.

    Attributes
    ----------
    fitted : Corpus
        What unsupervised models are fitted to, without labels.
    judged : Corpus
    labelled : Corpus
        What the supervised tagger learns from.
    """

    fitted: Corpus
    judged: Corpus
    labelled: Corpus


@cache
def parts(data: Path, name: str) -> Parts:
    """Return the parts of a corpus."""
    train = training_part(data, name) if name in TRAINING else None
    if name == "sample":
        judged = sentences(pv.sample(N_THREADS, TEST_SEED))
        return Parts(judged, judged, _known(train, name))
    rows = _rows(data, name)
    if name == "swda":
        fitted = spread(_linear(rows.filter(pl.col("split") == "train")), FIT_CALLS)
        return Parts(fitted, _linear(rows.filter(pl.col("split") == "test")), fitted)
    if name == "nps-chat":
        judged = _linear(rows.filter(~_first_rooms(rows)))
        return Parts(judged, judged, _known(train, name))
    if name == "rumoureval2017":
        train = Corpus.from_polars(rows.filter(pl.col("split") == "train"))
        judged = Corpus.from_polars(rows.filter(pl.col("split") == "test"))
        return Parts(Corpus.from_polars(rows), judged, train)
    judged = _linear(rows.filter(pl.col("split") == "test"))
    return Parts(judged, judged, _known(train, name))


def _known(corpus: Corpus | None, name: str) -> Corpus:
    if corpus is None:
        raise ValueError(f"{name} has no training part")
    return corpus


@cache
def training_part(data: Path, name: str) -> Corpus:
    """Return the part of a corpus that settings are chosen on."""
    if name == "sample":
        return sentences(pv.sample(N_THREADS, TRAIN_SEED))
    rows = _rows(data, name)
    if name == "nps-chat":
        return _linear(rows.filter(_first_rooms(rows)))
    if name == "dailydialog":
        return _linear(rows.filter(pl.col("split") == "dev"))
    wanted = TRAIN_CALLS if name == "swda" else TRAIN_MEETINGS
    return spread(_linear(rows.filter(pl.col("split") == "train")), wanted)


@cache
def whole_train(data: Path) -> Corpus:
    """Return all training calls of Switchboard."""
    return _linear(_rows(data, "swda").filter(pl.col("split") == "train"))


@cache
def all_calls(data: Path) -> Corpus:
    """Return all calls of Switchboard, the training part among them."""
    return _linear(_rows(data, "swda"))


@cache
def _rows(data: Path, name: str) -> pl.DataFrame:
    """Return the rows in use: no ``+`` and ``@`` in Switchboard, no system messages in chat."""
    table = pv.read(data / _FILES[name.split(",")[0]]).table
    if name == "swda":
        return table.filter(~pl.col("raw_act").str.contains("[+@]").fill_null(False))
    if name == "mrda":
        return table.with_columns(text=pl.col("transcript"))
    if name == "nps-chat":
        return table.filter(pl.col("act") != "System")
    return table


def _first_rooms(rows: pl.DataFrame) -> pl.Expr:
    return pl.col("conversation").is_in(rows["conversation"].unique().sort()[:8].implode())


def _linear(rows: pl.DataFrame) -> Corpus:
    """Return a corpus in which each message replies to the one before."""
    return Corpus.from_polars(rows.with_columns(reply_to=pl.lit(None, pl.String))).chained()


def spread(corpus: Corpus, n: int) -> Corpus:
    """Return ``n`` conversations, evenly spread."""
    step = max(corpus.n_conversations // n, 1)
    return corpus.take(np.arange(corpus.n_conversations)[::step][:n])


def sentences(corpus: Corpus) -> Corpus:
    """Return a forum by sentences: each replies to the one before it in its message.

    The first one replies to the last sentence of the message that is answered.
    """
    table = corpus.table.with_columns(n=pl.col("sentences").list.len())
    last = dict(zip(table["id"], pl.select(pl.format("{}/{}", table["id"], table["n"] - 1))
                    .to_series(), strict=True))  # fmt: skip
    rows = table.select(
        "conversation", "id", "reply_to", "speaker", "sentences", "sentence_acts",
        place=pl.int_ranges("n"),
    ).explode("sentences", "sentence_acts", "place")  # fmt: skip
    before = pl.format("{}/{}", "id", pl.col("place") - 1)
    answered = pl.col("reply_to").replace_strict(last, default=None, return_dtype=pl.String)
    return Corpus.from_polars(
        rows.select(
            "conversation", "speaker",
            id=pl.format("{}/{}", "id", "place"),
            reply_to=pl.when(pl.col("place") > 0).then(before).otherwise(answered),
            text="sentences", act="sentence_acts",
        )
    )  # fmt: skip


def apart(corpus: Corpus) -> Corpus:
    """Return a corpus in which each message is a conversation of its own."""
    rows = corpus.table.with_columns(
        conversation=pl.format("{}/{}", "conversation", pl.int_range(pl.len())),
        reply_to=pl.lit(None, pl.String),
    )
    return Corpus.from_polars(rows)
