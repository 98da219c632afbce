"""Prominent and diverse people: GRASSHOPPER on who replies to whom (Zhu et al. 2007, 3.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from palaver.corpus.describe import bots
from palaver.corpus.table import Corpus
from palaver.encoding.tokens import coded
from palaver.errors import InputError
from palaver.params import check, flag, one_of, real, whole
from palaver.ranking.grasshopper import grasshopper, stationary_scores

_LIMITS = {
    "top": whole(1),
    "weight": real(0, 1),
    "direction": one_of("both", "answered", "answering"),
    "everyone": flag(),
}


def reply_graph(corpus: Corpus, direction: str = "both") -> tuple[Any, list[str]]:
    """Return how often people reply to each other, and their names.

    Parameters
    ----------
    corpus : Corpus
        Messages without a speaker are left out.
    direction : {"both", "answered", "answering"}
        Edges go both ways, from the replier to the person replied to, or the other way round.

    Returns
    -------
    graph : csr matrix, shape (n_people, n_people)
        Numbers of replies; everybody has an edge of weight one to themselves.
    names : list of str
        In order of first appearance.
    """
    speakers = coded(corpus.table["speaker"])
    codes, names = speakers.codes, speakers.names
    if not names:
        raise InputError(
            "people: the messages have no speakers; if the file names them differently, "
            'read it with columns={"speaker": "that name"} (--column speaker=...)'
        )
    if not (corpus.parents >= 0).any():
        raise InputError(
            "people: no message replies to another; for talk without reply links, treat each "
            "message as a reply to the previous one: corpus.chained() (--chain)"
        )
    rows = np.flatnonzero(corpus.parents >= 0)
    source, target = codes[rows], codes[corpus.parents[rows]]
    kept = (source >= 0) & (target >= 0) & (source != target)
    source, target = source[kept], target[kept]
    shape = (len(names), len(names))
    replies = sparse.csr_matrix((np.ones(len(source)), (source, target)), shape=shape)
    if direction != "answered":
        replies = replies.T if direction == "answering" else replies + replies.T
    return sparse.csr_matrix(replies + sparse.eye(len(names))), names


def people(
    corpus: Corpus,
    top: int = 20,
    weight: float = 0.95,
    direction: str = "both",
    *,
    everyone: bool = False,
) -> pl.DataFrame:
    """Rank the people of a corpus by prominence and diversity.

    People are prominent if they write a lot and talk to others who are prominent. Each person
    ranked makes their neighbours less likely to follow, so the list covers the whole network.

    Parameters
    ----------
    corpus : Corpus
    top : int
    weight : float
        Weight of the reply graph relative to the number of messages.
    direction : {"both", "answered", "answering"}
        See :func:`reply_graph`. "answered" finds people whom others reply to, "answering"
        for those who reply.
    everyone : bool
        Also rank bots (column ``bot``) and people who neither received nor wrote a reply;
        :func:`left_out` counts them.

    Returns
    -------
    polars.DataFrame
        Columns rank, speaker, prominence, messages, conversations, replies_received,
        replies_given (without those to oneself), and nearby: how many people are closer to this
        one than to anyone else in the table, by where walks end. Prominence is the share of its
        time that an endless walk along the replies spends with a person, 0 to 1. The first has
        the most; after that it need not fall from rank to rank, since closeness to those above
        counts against a person.
    """
    given = {"top": top, "weight": weight, "direction": direction, "everyone": everyone}
    check("people", _LIMITS, given)
    graph, names = reply_graph(corpus, direction)
    facts = _facts(corpus, names)
    if not everyone:
        silent, is_bot = _set_aside(corpus, facts)
        kept = np.flatnonzero(~(silent | is_bot))
        if not len(kept):
            raise InputError(
                "people: nobody replies to anybody else; everyone=True (--all) ranks them anyway"
            )
        graph, facts = graph[kept][:, kept], facts[kept]
    ranking = grasshopper(graph, facts["messages"].to_numpy(), weight, top)
    nearby = np.bincount(ranking.absorbed_by, minlength=facts.height) - 1
    return facts[ranking.order].select(
        pl.int_range(1, pl.len() + 1).alias("rank"),
        "speaker",
        pl.Series("prominence", stationary_scores(ranking.walk)[ranking.order]),
        "messages",
        "conversations",
        "replies_received",
        "replies_given",
        pl.Series("nearby", nearby[ranking.order]),
    )


def left_out(corpus: Corpus) -> tuple[int, int]:
    """Return the numbers of people without any reply and of bots that :func:`people` leaves out."""
    facts = _facts(corpus, coded(corpus.table["speaker"]).names)
    silent, is_bot = _set_aside(corpus, facts)
    return int((silent & ~is_bot).sum()), int(is_bot.sum())


def _set_aside(corpus: Corpus, facts: pl.DataFrame) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return, for each speaker, whether they have no replies, and whether they are a bot."""
    silent = (facts["replies_received"] + facts["replies_given"] == 0).to_numpy()
    return silent, facts["speaker"].is_in(bots(corpus)).to_numpy()


def _facts(corpus: Corpus, names: list[str]) -> pl.DataFrame:
    """Count each person's messages, conversations and replies."""
    table = corpus.table.select("speaker", "conversation")
    answered = table["speaker"].gather(np.maximum(corpus.parents, 0))
    is_reply = pl.Series(corpus.parents >= 0) & (answered != table["speaker"]).fill_null(False)
    given = table["speaker"].filter(is_reply)
    counts = (
        table.drop_nulls("speaker")
        .group_by("speaker")
        .agg(pl.len().alias("messages"), pl.col("conversation").n_unique().alias("conversations"))
    )
    facts = pl.DataFrame({"speaker": pl.Series(names, dtype=pl.String)})
    facts = facts.join(counts, on="speaker", how="left", maintain_order="left")
    for name, column in (("replies_received", answered.filter(is_reply)), ("replies_given", given)):
        numbers = column.value_counts(name=name)
        numbers = numbers.rename({column.name: "speaker"})
        facts = facts.join(numbers, on="speaker", how="left", maintain_order="left")
    return facts.fill_null(0)
