"""Who answers whom, what nobody answers, and how long answers take.

An answer is a message by somebody else who is not a bot. It replies to the message, or to what its
author added to it. A message of which no file says what it replies to counts as replying to the one
before it; and where all replies of a thread are to its opening although people go on talking, as in
Slack, the first answer to any message is the next one by somebody else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.grouping import group_column
from palaver.corpus.table import Corpus
from palaver.encoding.tokens import coded
from palaver.errors import ParameterError
from palaver.questions.talk import Talk
from palaver.questions.verbs import asking

_HOUR, _DAY = 3600.0, 86_400.0
NOBODY = -1


class Answers(NamedTuple):
    """The first answer to each message.

    Attributes
    ----------
    first : array of int64, shape (n_messages,)
        Its row; -1 if nobody answered.
    wait : array of float64, shape (n_messages,)
        Seconds until then; nan where there is no answer or no time.
    recorded : bool
        Whether the file says what replies to what.
    """

    first: NDArray[np.int64]
    wait: NDArray[np.float64]
    recorded: bool


def first_answers(corpus: Corpus, by_bot: NDArray[np.bool_]) -> Answers:
    """Return the first answer to each message, given which messages bots wrote."""
    recorded = bool((corpus.parents >= 0).any())
    speakers = coded(corpus.table["speaker"]).codes
    flat = _in_flat_threads(corpus, speakers)
    parents = np.where(flat, _before(corpus, by_bot), replied_to(corpus, by_bot))
    seconds = corpus.table["time"].dt.epoch("us").cast(pl.Float64).to_numpy() / 1e6
    return Answers(*answers_of(parents, speakers, seconds, by_bot), recorded)


def replied_to(corpus: Corpus, by_bot: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return what each message replies to: what the file says, else the message before it.

    Parameters
    ----------
    corpus : Corpus
    by_bot : array of bool, shape (n_messages,)
        Messages of bots, to which nobody replies unless the file says so.

    Returns
    -------
    array of int64, shape (n_messages,)
        A row; -1 for what opens a conversation.
    """
    parents = corpus.parents.astype(np.int64)
    return np.where(parents >= 0, parents, _before(corpus, by_bot))


def _before(corpus: Corpus, by_bot: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the row of the message of a person before each one in its conversation, else -1."""
    people = np.where(by_bot, -1, np.arange(corpus.n_messages))
    before = np.append(-1, np.maximum.accumulate(people))[:-1]
    before[before < _opening(corpus)] = -1
    return before


def _opening(corpus: Corpus) -> NDArray[np.int64]:
    """Return the row that opens the conversation of each message."""
    return np.repeat(corpus.conversation_offsets[:-1], np.diff(corpus.conversation_offsets))


def _in_flat_threads(corpus: Corpus, speakers: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return which messages are in threads that do not say which message a reply is to.

    There all replies are to the opening, although somebody speaks again after others have.
    """
    opening = _opening(corpus)
    parents = corpus.parents
    told = pl.DataFrame({
        "conversation": opening, "who": speakers, "flat": (parents < 0) | (parents == opening),
    })  # fmt: skip
    turns = (pl.col("who") != pl.col("who").shift(1)).fill_null(True).sum()
    flat = pl.col("flat").all() & (turns > pl.col("who").n_unique())
    return told.select(flat.over("conversation")).to_series().to_numpy()


def answers_of(
    parents: NDArray[np.integer],
    speakers: NDArray[np.integer],
    seconds: NDArray[np.float64],
    by_bot: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the first answer to each message, and the seconds until then; see :class:`Answers`.

    Parameters
    ----------
    parents : array of int, shape (n_messages,)
        What each message answers, -1 for a start.
    speakers : array of int, shape (n_messages,)
        -1 where unknown.
    seconds : array of float64, shape (n_messages,)
        Times; nan where unknown.
    by_bot : array of bool, shape (n_messages,)
    """
    n_messages = len(parents)
    rows = np.flatnonzero(parents >= 0)
    above = parents[rows]
    same = (speakers[rows] == speakers[above]) & (speakers[rows] >= 0)
    # the place of each message in time; without times in that of the file
    order = np.lexsort((np.arange(n_messages), np.nan_to_num(seconds, nan=np.inf)))
    place = np.empty(n_messages + 1, np.int64)
    place[order], place[-1] = np.arange(n_messages), n_messages
    earliest = np.full(n_messages, n_messages)
    counts = ~same & ~by_bot[rows]
    np.minimum.at(earliest, above[counts], place[rows[counts]])
    for row, parent in zip(rows[same][::-1].tolist(), above[same][::-1].tolist(), strict=True):
        earliest[parent] = min(earliest[parent], earliest[row])  # added to, then answered
    first = np.append(order, NOBODY)[earliest]
    wait = np.where(first >= 0, seconds[first] - seconds, np.nan)
    wait[~(wait >= 0)] = np.nan  # clocks that go backwards say nothing
    return first, wait


def pairs(talk: Talk) -> pl.DataFrame:
    """Return who answers whom, and how often.

    Parameters
    ----------
    talk : Talk

    Returns
    -------
    polars.DataFrame
        Columns helper, helped, answers (messages of the helper that reply to the other), back
        (the same the other way round), conversations, mostly (number of the class that these
        answers mostly are; null if nothing is known of them), name (of that class). Bots,
        unknown people and answers to oneself are left out. The most frequent pairs come first.
    """
    corpus = talk.corpus
    parents = replied_to(corpus, talk.is_bot)
    rows = np.flatnonzero((parents >= 0) & ~talk.is_bot)
    speaker = corpus.table["speaker"]
    table = pl.DataFrame(
        {
            "helper": speaker.gather(rows),
            "helped": speaker.gather(parents[rows]),
            "class": talk.main[rows],
            "conversation": talk.conversations[rows],
            "bot": talk.is_bot[parents[rows]],
        }
    ).drop_nulls()
    table = table.filter(pl.col("helper") != pl.col("helped"), ~pl.col("bot"))
    known = pl.col("class").filter(pl.col("class") >= 0)
    counts = table.group_by("helper", "helped", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("answers"),
        pl.col("conversation").n_unique().cast(pl.Int64).alias("conversations"),
        known.mode().sort().first().alias("mostly"),
    )
    back = counts.select(helper="helped", helped="helper", back="answers")
    counts = counts.join(back, on=["helper", "helped"], how="left", maintain_order="left")
    called = {number: talk.called(number) for number in range(talk.n_classes)}
    name = pl.col("mostly").replace_strict(called, default=None, return_dtype=pl.String)
    return counts.select(
        "helper", "helped", "answers", pl.col("back").fill_null(0), "conversations", "mostly",
        name.alias("name"),
    ).sort("answers", "conversations", "helper", "helped",
           descending=[True, True, False, False])  # fmt: skip


def network(talk: Talk) -> pl.DataFrame:
    """Return what each person gives and gets, the most helpful first.

    Returns
    -------
    polars.DataFrame
        Columns speaker, messages, given (answers to others), people_helped, received,
        helped_by. Those who answer most people come first. People with a single message are left
        out, since one message says little about anybody.
    """
    table = pairs(talk)
    given = table.group_by("helper").agg(
        given=pl.col("answers").sum(), people_helped=pl.len().cast(pl.Int64)
    )
    got = table.group_by("helped").agg(
        received=pl.col("answers").sum(), helped_by=pl.len().cast(pl.Int64)
    )
    people = (
        talk.corpus.table.filter(pl.Series(~talk.is_bot))
        .drop_nulls("speaker")
        .group_by("speaker", maintain_order=True)
        .agg(pl.len().cast(pl.Int64).alias("messages"))
        .filter(pl.col("messages") > 1)
        .join(given, left_on="speaker", right_on="helper", how="left", maintain_order="left")
        .join(got, left_on="speaker", right_on="helped", how="left", maintain_order="left")
        .with_columns(pl.col("given", "people_helped", "received", "helped_by").fill_null(0))
    )
    return people.select(
        "speaker", "messages", "given", "people_helped", "received", "helped_by"
    ).sort("people_helped", "given", "messages", "speaker", descending=[True, True, True, False])


def starts(talk: Talk) -> NDArray[np.int64]:
    """Return the rows of messages that open a conversation, without those of bots."""
    return np.flatnonzero((replied_to(talk.corpus, talk.is_bot) < 0) & ~talk.is_bot)


def waiting(talk: Talk) -> NDArray[np.int64]:
    """Return the rows of messages that open a conversation and wait for an answer.

    Those are all that open one, if the file says who answers whom. Where replies were inferred,
    many messages stand alone because nothing ties them to others: then only questions wait, if
    any class is one.
    """
    rows = starts(talk)
    if only_questions(talk):
        rows = rows[talk.doing[rows][:, asking(talk)].max(axis=1) >= 0.5]
    return rows


def only_questions(talk: Talk) -> bool:
    """Whether only questions count as waiting for an answer; see :func:`waiting`."""
    return is_inferred(talk.corpus) and len(asking(talk)) > 0


def is_inferred(corpus: Corpus) -> bool:
    """Whether replies were inferred (:class:`palaver.ThreadRebuilder`), not recorded."""
    return "reply_probability" in corpus.table.columns


_WAITS = pl.Schema(
    {"group": pl.String(), "messages": pl.Int64(), "answered": pl.Float64(),
     "within_hour": pl.Float64(), "within_day": pl.Float64(), "median_seconds": pl.Float64()}
)  # fmt: skip


def waits(talk: Talk, by: str = "class", *, of: str | int | None = None) -> pl.DataFrame:
    """Return how much is answered and how soon, by class, person or any other group.

    Parameters
    ----------
    talk : Talk
    by : str
        "class" (of the message that waits), "speaker" (whose messages wait), "helper" (who
        gives the first answer), "all" (one row), or any column or period, as in
        :meth:`Model.shares`.
    of : str or int, optional
        Only messages of this class. Without it, "class" takes all messages, the others those
        that open a conversation (of inferred conversations, see :func:`waiting`).

    Returns
    -------
    polars.DataFrame
        Columns group, messages, answered (share of them), within_hour and within_day (shares of
        those whose wait is known or that nobody answered), median_seconds (of the known waits).
        The last three are null where no time is known. The largest groups come first.
    """
    found = talk.answers
    rows = _asked(talk, of, everything=by == "class")
    first, wait = found.first[rows], found.wait[rows]
    groups = _group(talk, by, rows, first)
    timed = ~np.isnan(wait)
    table = pl.DataFrame(
        {"group": groups, "answered": first >= 0, "wait": pl.Series(wait).fill_nan(None),
         "judged": timed | (first < 0)}
    ).drop_nulls("group")  # fmt: skip
    has_times = bool(timed.any())

    def within(limit: float) -> pl.Expr:
        soon = (pl.col("wait") <= limit).fill_null(False).sum()
        return pl.when(pl.lit(has_times) & pl.col("judged").any()).then(
            soon / pl.col("judged").sum()
        )

    made = table.group_by("group", maintain_order=True).agg(
        pl.len().alias("messages"),
        pl.col("answered").mean(),
        within(_HOUR).alias("within_hour"),
        within(_DAY).alias("within_day"),
        pl.col("wait").median().alias("median_seconds"),
    )
    if by == "helper":  # who has answered has answered
        made = made.drop_nulls("group")
    return (
        made.select(_WAITS.names()).cast(_WAITS).sort("messages", "group", descending=[True, False])
    )


def unanswered(talk: Talk, of: str | int | None = None) -> pl.DataFrame:
    """Return the messages that nobody answered, the latest first.

    Parameters
    ----------
    talk : Talk
    of : str or int, optional
        Messages of this class; by default those that open a conversation (of inferred
        conversations, see :func:`waiting`).

    Returns
    -------
    polars.DataFrame
        Columns message (row in the corpus), id, conversation, speaker, time, class, name, text.
    """
    rows = _asked(talk, of, everything=False)
    rows = rows[talk.answers.first[rows] < 0]
    said = talk.corpus.table.select("id", "conversation", "speaker", "time", "text")[rows]
    main = talk.main[rows]
    return said.select(
        pl.Series("message", rows),
        "id",
        "conversation",
        "speaker",
        "time",
        pl.Series("class", main).replace(-1, None).alias("class"),
        pl.Series("name", [talk.called(k) if k >= 0 else None for k in main.tolist()],
                  dtype=pl.String),
        "text",
    ).sort("time", "message", descending=[True, False], nulls_last=True)  # fmt: skip


def _asked(talk: Talk, of: str | int | None, *, everything: bool) -> NDArray[np.int64]:
    """Return the rows of the messages that may wait for an answer."""
    if of is not None:
        return np.flatnonzero((talk.main == talk.find_class(of)) & ~talk.is_bot)
    return np.flatnonzero(~talk.is_bot) if everything else waiting(talk)


def _group(talk: Talk, by: str, rows: NDArray[np.int64], first: NDArray[np.int64]) -> pl.Series:
    """Return the group of each of some messages; null for none."""
    if by == "all":
        return pl.repeat("all", len(rows), eager=True)
    if by == "class" and "class" not in talk.corpus.table.columns:
        main = talk.main[rows].tolist()
        return pl.Series([talk.called(k) if k >= 0 else None for k in main], dtype=pl.String)
    if by == "helper" and "helper" not in talk.corpus.table.columns:
        helper = talk.corpus.table["speaker"].gather(np.maximum(first, 0))
        return pl.select(pl.when(pl.Series(first >= 0)).then(helper)).to_series()
    column = group_column(talk.corpus, by, "waits")
    if isinstance(column.dtype, pl.List):
        raise ParameterError(f"waits: {by!r} holds lists")
    return column.cast(pl.String).gather(rows)
