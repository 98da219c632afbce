"""What a model says about a corpus, gathered once: all that the sections of the page are from.

Classes are in order of rank here, the largest first: rank 0 is A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from palaver.corpus.table import Corpus
from palaver.encode import Encoded, Vocabulary, encode
from palaver.models.summary import ModelSummary, messages_before, relative, replies_to
from palaver.page.embed import Shown, choose
from palaver.page.guess import Guess, guess_words
from palaver.page.marks import BACKGROUND, Marks, mark
from palaver.page.names import in_order
from palaver.page.text import MAX_TEXT
from palaver.page.walks import Walk, find_walks
from palaver.ranking.exemplars import exemplars

_EXAMPLES = 3
_TALK = 8  # messages of a conversation, on average, below which a line is a thread


class Annotator(Protocol):
    """What the page asks of a fitted model."""

    vocabulary_: Vocabulary

    def summary(self) -> ModelSummary:
        """Return the plain record."""
        ...

    def transform(self, corpus: Any) -> NDArray[np.float64]:
        """Return class shares of messages."""
        ...

    def known_messages(self, corpus: Any) -> NDArray[np.bool_]:
        """Return which messages the model can say something of."""
        ...


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything the page is made from.

    Attributes
    ----------
    summary : ModelSummary
    corpus : Corpus
        As it is shown: without people, if they are to be taken out.
    texts : list of str
        What the model has read of the messages that the reader carries.
    encoded : Encoded
        What the model has read: all numbers are of this.
    order : array of int64, shape (n_classes,)
        Class number of each rank.
    shares : array of float64, shape (n_messages, n_classes)
        By rank; zero in messages without known words.
    speaking : array of bool, shape (n_messages,)
        Messages with known words.
    same_texts : bool
        Whether these are the texts that the model learned from.
    class_shares : array of float64, shape (n_classes,)
        Share of each rank in the words of these texts that bear a class. Ranks go by what
        the model learned from, so in other texts rank 0 need not be the largest.
    following, effects : array of float64, shape (n_classes + 1, n_classes)
        By rank; the start is last.
    observed : bool
        Whether ``following`` was counted in the texts: the model has no transitions, or has
        learned them from other texts.
    answered : array of float64, shape (n_classes,), or None
        Replies to each rank in these texts; None where transitions are not about replies.
    examples : list of list of int
        Rows of the telling messages of each rank.
    shown : Shown
        What the reader carries.
    guess : Guess or None
        How well the model foretells words, of a model that can say it.
    foretell : bool
        Whether it was asked.
    marks : Marks
        Token classes of the messages that are shown.
    walks : list of Walk
        Walks of telling documents, of a model that has them.
    steps : {"replies", "messages", "document", "words"}
        What follows what: as the model has it, but messages also where every message answers the
        one before, as in talk.
    words_apart : bool
        Whether every word has a class of its own, and not that of its message.
    """

    summary: ModelSummary
    corpus: Corpus
    texts: list[str]
    encoded: Encoded
    order: NDArray[np.int64]
    shares: NDArray[np.float64]
    speaking: NDArray[np.bool_]
    same_texts: bool
    class_shares: NDArray[np.float64]
    following: NDArray[np.float64]
    effects: NDArray[np.float64]
    observed: bool
    answered: NDArray[np.float64] | None
    examples: list[list[int]]
    shown: Shown
    guess: Guess | None
    foretell: bool
    marks: Marks
    walks: list[Walk]
    steps: str = "replies"
    words_apart: bool = True

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.order)


def gather(
    model: Annotator,
    corpus: Corpus,
    max_messages: int,
    max_characters: int,
    test: Corpus | None = None,
    foretell: bool = True,
    shown_as: Corpus | None = None,
) -> Findings:
    """Let a model annotate a corpus, and foretell words of it, or of ``test`` if that is given.

    ``shown_as`` has the same messages as they are to be shown; the model reads the others.
    """
    summary = model.summary()
    order = in_order(summary)
    encoded = encode(corpus, model.vocabulary_, sentences=getattr(model, "needs_sentences", False))
    of_messages = getattr(model, "message_shares", model.transform)
    read = corpus if getattr(model, "needs_texts", False) else encoded
    speaking = model.known_messages(read)
    lengths = np.diff(encoded.message_offsets)
    if summary.units == "messages":  # all count alike, as in the model's own shares
        lengths = speaking.astype(np.int64)
    shares = of_messages(read)[:, order] * speaking[:, None]
    same = learned_from(encoded)
    own_shares = summary.class_shares[order] if same else _by_words(shares, lengths)
    links = summary.transition_steps in ("replies", "messages")
    by_order = summary.transition_steps == "messages"
    parents = messages_before(corpus, speaking) if by_order else corpus.parents
    learned = None if links and not same else summary.next_shares()
    observed = learned is None
    answered = replies_to(shares, parents) if links else None
    following = (
        _counted(parents, shares, lengths, own_shares)
        if learned is None
        else learned[:, order][[*order.tolist(), len(order)]]  # by rank, the start last
    )
    with threadpool_limits(1):  # small matrices: threads would only be in each other's way
        telling = exemplars(model, corpus, _EXAMPLES, shares=shares[:, np.argsort(order)])
    examples = [telling.filter(pl.col("class") == k)["message"].to_list() for k in order.tolist()]
    offsets = corpus.conversation_offsets
    conversation = np.searchsorted(offsets, telling["message"].to_numpy(), side="right") - 1
    shown = choose(corpus, conversation.tolist(), max_messages, max_characters)
    seen = test is None and same
    part, displayed = corpus.take(shown.conversations), shown_as or corpus
    return Findings(
        summary, displayed, part.table["text"].to_list(), encoded, order, shares, speaking,
        same, own_shares, following, relative(following, own_shares, answered), observed, answered,
        examples, shown,
        guess_words(model, corpus if test is None else test, seen=seen) if foretell else None,
        foretell,
        _marks(model, part, displayed.take(shown.conversations), order,
               shares[rows_of(corpus, shown)]),
        find_walks(model, corpus, encoded, order, sorted({row for own in examples for row in own})),
        "messages" if links and (by_order or is_talk(corpus)) else summary.transition_steps,
        hasattr(model, "token_classes"),
    )  # fmt: skip


def is_talk(corpus: Corpus) -> bool:
    """Whether conversations are long, and every message answers the one before: nobody replies."""
    first = np.zeros(corpus.n_messages, bool)
    first[corpus.conversation_offsets[:-1][np.diff(corpus.conversation_offsets) > 0]] = True
    expected = np.where(first, -1, np.arange(corpus.n_messages) - 1)
    long = corpus.n_messages > _TALK * max(corpus.n_conversations, 1)
    return bool(long and np.array_equal(expected, corpus.parents))


def _by_words(shares: NDArray[np.float64], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the shares of some messages, long ones counting more; zero if they have no words."""
    sums = lengths @ shares
    return np.asarray(sums / max(sums.sum(), np.finfo(float).tiny))


def _counted(
    parents: NDArray[np.integer],
    shares: NDArray[np.float64],
    lengths: NDArray[np.int64],
    own_shares: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Count what replies to each rank do, and what starts do; as usual where nothing is known."""
    replies, starts = np.flatnonzero(parents >= 0), parents < 0
    pairs = shares[parents[replies]].T @ shares[replies]
    table = np.vstack((pairs, _by_words(shares[starts], lengths[starts])))
    table = table + 1e-3 * (own_shares + 1e-9)
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def _marks(
    model: Annotator,
    part: Corpus,
    displayed: Corpus,
    order: NDArray[np.int64],
    shares: NDArray[np.float64],
) -> Marks:
    """Ask for the classes of the tokens that are shown.

    The words of a model that has no classes for tokens get that of their message.
    """
    token_classes = getattr(model, "token_classes", None)
    if token_classes is None:
        lengths = np.diff(encode(part, model.vocabulary_).message_offsets)
        ranks = np.repeat(shares.argmax(axis=1), lengths).astype(np.int16)
    else:
        table = token_classes(part)
        rank_of = np.empty(len(order) + 1, np.int16)
        rank_of[order], rank_of[-1] = np.arange(len(order)), BACKGROUND
        ranks = rank_of[table["class"].fill_null(len(order)).to_numpy()]
        topics = model.summary().tables.get("topics")
        if topics is not None and "topic" in table.columns:  # ranks beyond those of the classes
            place = np.empty(topics.height + 1, np.int16)
            place[topics["topic"].to_numpy()] = len(order) + np.arange(topics.height)
            own = table["topic"].fill_null(topics.height).to_numpy()
            ranks = np.where(own < topics.height, place[own], ranks)
        lengths = np.bincount(table["message"].to_numpy(), minlength=part.n_messages)
    known = set(model.vocabulary_.words)
    texts, as_shown = part.table["text"], displayed.table["text"]
    return mark(texts, ranks, lengths, known, MAX_TEXT, len(order), as_shown)


def learned_from(encoded: Encoded) -> bool:
    """Whether a vocabulary was made from these very texts: every word is as frequent in both.

    Fingerprints of fitted models are of what they made from the texts, so they do not tell.
    """
    counts = np.bincount(encoded.tokens, minlength=len(encoded.vocabulary))
    return np.array_equal(counts, encoded.vocabulary.counts)


def rows_of(corpus: Corpus, shown: Shown) -> NDArray[np.int64]:
    """Return the rows of the conversations that the reader carries, whole."""
    offsets = corpus.conversation_offsets
    parts = [np.arange(offsets[c], offsets[c + 1]) for c in shown.conversations]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def telling_words(findings: Findings, n_words: int, hidden: frozenset[str]) -> list[list[str]]:
    """Return the distinctive words of each rank, without those that are to be hidden."""
    words: list[list[str]] = []
    table = findings.summary.words
    for number in findings.order.tolist():
        own: Sequence[str] = table.filter(pl.col("class") == number).sort("rank")["word"].to_list()
        words.append([word for word in own if word not in hidden][:n_words])
    return words
