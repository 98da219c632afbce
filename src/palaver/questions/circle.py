"""The people of a corpus: who asks, who helps whom, how soon, and whom nobody answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.describe import by_bots
from palaver.corpus.table import Corpus
from palaver.draw.network import network
from palaver.draw.svg import Svg
from palaver.errors import InputError
from palaver.questions.answers import first_answers, replied_to
from palaver.ranking.people import people as central_people

_MORE = 2.0  # times as many answers as conversations opened, to be called a helper


@dataclass(frozen=True, eq=False)
class Circle:
    """People and the answers between them; without bots.

    Attributes
    ----------
    people : polars.DataFrame
        Columns speaker, role, messages, opened (conversations), unanswered (of these), waited
        (median seconds until the first answer to what they opened), given (answers to others),
        people_helped, received, responds (median seconds until their first answers). A role is
        the most frequent one of a column ``role``, else "helps" (at least twice as many answers in
        conversations of others as conversations opened), "asks" (the reverse), "both", or "" for
        neither.
    links : polars.DataFrame
        Columns helper, helped, answers; the most frequent first.
    recorded : bool
        Whether the file says what replies to what; else whoever speaks next answers.
    replies : Corpus
        The corpus with the replies that count.
    """

    people: pl.DataFrame
    links: pl.DataFrame
    recorded: bool
    replies: Corpus

    def central(self, top: int) -> pl.DataFrame:
        """Return central people from different parts of the network, with what they do.

        Columns are those of ``people`` and ``nearby``; see :func:`palaver.people`. People with a
        single message are left out, unless they are all there is.
        """
        often = self.people.filter(pl.col("messages") > 1)["speaker"].implode()
        among = self.replies.filter(pl.col("speaker").is_in(often).fill_null(False))
        several = bool((among.parents >= 0).any()) and among.table["speaker"].n_unique() > 1
        try:
            ranked = central_people(among if several else self.replies, top)
        except InputError:  # those who remain answer only themselves
            ranked = central_people(self.replies, top)
        ranked = ranked.select("speaker", "nearby")
        return ranked.join(self.people, on="speaker", how="left", maintain_order="left")

    def forgotten(self) -> pl.DataFrame:
        """Return people who opened conversations and never got an answer, most messages first."""
        lost = self.people.filter(
            pl.col("opened") > 0, pl.col("unanswered") == pl.col("opened"), pl.col("received") == 0
        )
        return lost.sort("opened", "messages", "speaker", descending=[True, True, False])

    def picture(self, n_people: int = 16, n_links: int = 40) -> Svg:
        """Draw who answers whom, among those who answer and are answered most."""
        both = self.people.with_columns(both=pl.col("given") + pl.col("received"))
        both = both.filter(pl.col("both") > 0)
        shown = both.sort("both", "speaker", descending=[True, False]).head(n_people)
        place = {speaker: number for number, speaker in enumerate(shown["speaker"])}
        links = [(place[helper], place[helped], number)
                 for helper, helped, number in self.links.rows()
                 if helper in place and helped in place]  # fmt: skip
        return network(list(place), shown["given"].to_list(), links[:n_links])


def circle_of(corpus: Corpus) -> Circle:
    """Return the people of a corpus."""
    table = corpus.table
    is_bot = by_bots(corpus)
    found = first_answers(corpus, is_bot)
    parents = replied_to(corpus, is_bot)
    rows = np.flatnonzero((parents >= 0) & ~is_bot)
    rows = rows[~is_bot[parents[rows]]]
    lengths = np.diff(corpus.conversation_offsets)
    opener = np.repeat(corpus.conversation_offsets[:-1], lengths)[rows]
    links = pl.DataFrame(
        {"helper": table["speaker"].gather(rows), "helped": table["speaker"].gather(parents[rows]),
         "opener": table["speaker"].gather(opener)}
    ).drop_nulls(["helper", "helped"])  # fmt: skip
    links = links.filter(pl.col("helper") != pl.col("helped"))
    elsewhere = links.filter(pl.col("helper").ne_missing(pl.col("opener")))
    elsewhere = elsewhere.group_by(speaker="helper").agg(elsewhere=pl.len().cast(pl.Int64))
    counts = links.group_by("helper", "helped").agg(answers=pl.len().cast(pl.Int64))
    counts = counts.sort("answers", "helper", "helped", descending=[True, False, False])
    opens = np.flatnonzero((parents < 0) & ~is_bot)
    people = _messages(corpus, is_bot)
    for part in (_opened(corpus, opens, found.first, found.wait), _given(counts), elsewhere,
                 _received(counts), _responses(corpus, found.first, found.wait)):  # fmt: skip
        people = people.join(part, on="speaker", how="left", maintain_order="left")
    numbers = ("opened", "unanswered", "given", "people_helped", "received", "elsewhere")
    people = people.with_columns(pl.col(*numbers).fill_null(0))
    people = people.with_columns(_role(people)).select(
        "speaker", "role", "messages", "opened", "unanswered", "waited", "given", "people_helped",
        "received", "responds",
    )  # fmt: skip
    return Circle(people, counts, found.recorded, corpus.chained())


def _messages(corpus: Corpus, is_bot: NDArray[np.bool_]) -> pl.DataFrame:
    """Return the people, their messages, and their role in the file if it has one."""
    has_roles = "role" in corpus.table.columns
    own = pl.col("role").cast(pl.String) if has_roles else pl.lit(None, pl.String)
    table = corpus.table.select("speaker", said=own).filter(pl.Series(~is_bot))
    return (
        table.drop_nulls("speaker")
        .group_by("speaker", maintain_order=True)
        .agg(
            messages=pl.len().cast(pl.Int64),
            said=pl.col("said").drop_nulls().mode().sort().first(),
        )
    )


def _opened(
    corpus: Corpus, opens: NDArray[np.int64], first: NDArray[np.int64], wait: NDArray[np.float64]
) -> pl.DataFrame:
    return (
        pl.DataFrame(
            {
                "speaker": corpus.table["speaker"].gather(opens),
                "alone": first[opens] < 0,
                "wait": pl.Series(wait[opens]).fill_nan(None),
            }
        )
        .drop_nulls("speaker")
        .group_by("speaker")
        .agg(
            opened=pl.len().cast(pl.Int64),
            unanswered=pl.col("alone").sum().cast(pl.Int64),
            waited=pl.col("wait").median(),
        )
    )


def _given(counts: pl.DataFrame) -> pl.DataFrame:
    found = counts.group_by("helper").agg(
        given=pl.col("answers").sum(), people_helped=pl.len().cast(pl.Int64)
    )
    return found.rename({"helper": "speaker"})


def _received(counts: pl.DataFrame) -> pl.DataFrame:
    found = counts.group_by("helped").agg(received=pl.col("answers").sum())
    return found.rename({"helped": "speaker"})


def _responses(corpus: Corpus, first: NDArray[np.int64], wait: NDArray[np.float64]) -> pl.DataFrame:
    answered = np.flatnonzero((first >= 0) & ~np.isnan(wait))
    table = pl.DataFrame(
        {"speaker": corpus.table["speaker"].gather(first[answered]), "wait": wait[answered]}
    )
    found = table.drop_nulls().group_by("speaker").agg(responds=pl.col("wait").median())
    return found


def _role(people: pl.DataFrame) -> pl.Series:
    """Return the role of the file, else what people do more often."""
    given, opened = pl.col("elsewhere"), pl.col("opened")
    done = (
        pl.when((given == 0) & (opened == 0)).then(pl.lit(""))
        .when(given >= _MORE * opened).then(pl.lit("helps"))
        .when(opened >= _MORE * given).then(pl.lit("asks"))
        .otherwise(pl.lit("both"))
    )  # fmt: skip
    role = pl.coalesce("said", done).alias("role")
    return people.select(role)["role"]
