"""Replies for a file that records none, or only a few: inferred if that pays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from palaver.corpus.table import Corpus

#: The largest file whose replies are inferred, and how many speakers make that worth while.
_MOST, _SEVERAL = 50_000, 3
#: A conversation of so many messages by so many people is a channel if its messages are this
#: short, in words, and fewer than half of them are known to be replies.
_LONG, _CROWD, _SHORT = 100, 15, 20.0
#: Formats whose messages outside threads form a conversation per channel and day, and the share of
#: such messages from which on it is worth while to infer who answers whom among them.
_DAILY, _LOOSE = ("slack", "discord", "google-chat", "telegram"), 0.2


class Inferred(NamedTuple):
    """A corpus with replies, what to say about it, and whether they are Palaver's."""

    corpus: Corpus
    said: list[str]
    is_rebuilt: bool


def with_replies(corpus: Corpus, reading: dict[str, Any]) -> Inferred:
    """Find out who answers whom in a file that does not say so.

    A channel, in which conversations overlap, is split into them, and so are its days, if people
    write outside threads; replies that the file records stay. Otherwise a file with replies is
    left as it is.

    Parameters
    ----------
    corpus : Corpus
    reading : dict
        How the file is read; ``chain`` is set if each message answers the one before it.
    """
    recorded = bool((corpus.parents >= 0).any())
    if not reading["chain"] and corpus.n_messages <= _MOST and is_channel(corpus):
        return _split(corpus, recorded)
    if recorded:
        loose = 0.0 if reading["chain"] or corpus.n_messages > _MOST else _outside_threads(corpus)
        return Inferred(corpus, [], False) if loose < _LOOSE else _threaded(corpus, loose)
    several = _people_of_a_message(corpus)
    if reading["chain"] or several < _SEVERAL or corpus.n_messages > _MOST:
        reading["chain"] = True
        why = "" if several < _SEVERAL else " (palaver reconstruct can find out more)"
        how = ("the file records no replies: each message counts as answering the one before "
               f"it{why}")  # fmt: skip
        return Inferred(corpus.chained(), [how], False)
    rebuilt = _rebuilt(corpus, channel=False)
    share = float((rebuilt.parents >= 0).mean())
    how = (f"the file records no replies: inferred them for {share:.0%} of the messages, from "
           "names, shared words and turns (see docs/threads.md for how often that is right)"
           )  # fmt: skip
    return Inferred(rebuilt, [how], True)


def is_channel(corpus: Corpus) -> bool:
    """Whether most messages are in long conversations of many people who say little at a time.

    Forum threads have longer messages, meetings fewer people, and both are one conversation.
    """
    import polars as pl

    words = pl.col("text").str.count_matches(r"\w+")
    answers = pl.Series("answers", corpus.parents >= 0)
    groups = corpus.table.with_columns(answers).group_by("conversation")
    facts = groups.agg(
        size=pl.len(), people=pl.col("speaker").drop_nulls().n_unique(),
        answered=pl.col("answers").mean(), words=words.median(),
    )  # fmt: skip
    channels = facts.filter(
        (pl.col("size") >= _LONG) & (pl.col("people") >= _CROWD)
        & (pl.col("answered") < 0.5) & (pl.col("words") < _SHORT)
    )  # fmt: skip
    return bool(2 * channels["size"].sum() > corpus.n_messages)


def _outside_threads(corpus: Corpus) -> float:
    """Return the share of messages in days of channels in which no reply is recorded."""
    import polars as pl

    if corpus.format not in _DAILY:
        return 0.0
    answers = pl.Series("answers", corpus.parents >= 0)
    groups = corpus.table.with_columns(answers).group_by("conversation")
    facts = groups.agg(
        size=pl.len(), people=pl.col("speaker").drop_nulls().n_unique(),
        answered=pl.col("answers").any(),
    )  # fmt: skip
    loose = facts.filter(~pl.col("answered") & (pl.col("size") > 2) & (pl.col("people") > 1))
    return float(loose["size"].sum() / corpus.n_messages)


def _threaded(corpus: Corpus, loose: float) -> Inferred:
    """Infer the replies of messages outside threads, and split days into conversations."""
    from palaver.cli.output import counted

    rebuilt = _rebuilt(corpus, channel=True, keep=True)
    n_found = counted(rebuilt.n_conversations, "conversation")
    how = (f"{loose:.0%} of the messages are outside threads: inferred who answers whom among "
           f"them, from names, turns and pauses, which makes {n_found} in all; threads stay as "
           "they are (see docs/threads.md for how often that is right; --chain leaves days whole)"
           )  # fmt: skip
    return Inferred(rebuilt, [how], True)


def _split(corpus: Corpus, recorded: bool) -> Inferred:
    """Split channels into the conversations that overlap in them."""
    from palaver.cli.output import counted

    rebuilt = _rebuilt(corpus, channel=True, keep=recorded)
    kept = "; the replies that the file records were kept" if recorded else ""
    n_found = counted(rebuilt.n_conversations, "conversation")
    how = (f"several conversations overlap in this channel: split it into {n_found} by inferring "
           f"who answers whom, from names, turns and pauses{kept} (see docs/threads.md for how "
           "often that is right; --chain leaves it as it is)")  # fmt: skip
    return Inferred(rebuilt, [how], True)


def _rebuilt(corpus: Corpus, *, channel: bool, keep: bool = False) -> Corpus:
    from palaver.cli.output import sharing
    from palaver.threads import ThreadRebuilder

    with sharing("inferring who answers whom") as progress:
        rebuilder = ThreadRebuilder.default(channel=channel)
        return rebuilder.rebuild(corpus, keep=keep, progress=progress)


def _people_of_a_message(corpus: Corpus) -> float:
    """Return how many people take part in the conversation of a typical message."""
    import polars as pl

    spoken = corpus.table.drop_nulls("speaker").group_by("conversation")
    people = spoken.agg(pl.col("speaker").n_unique().alias("n"), pl.len().alias("size"))
    return float(people["n"].repeat_by(people["size"]).explode().median() or 0)  # type: ignore[arg-type]
