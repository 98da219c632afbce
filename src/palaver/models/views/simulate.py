"""Threads from a model's generative story, in the shape of given ones or of random trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import rng
from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, encode
from palaver.errors import ParameterError
from palaver.params import check, whole

if TYPE_CHECKING:
    from palaver.models.words.model import ThreadModel

#: A corpus to take reply trees and lengths from, or
#: (conversations, messages per conversation, tokens per message).
Shape = Corpus | Encoded | tuple[int, int, int]


@dataclass(frozen=True)
class Layout:
    """Reply trees and lengths of messages, without words.

    Attributes
    ----------
    parents : array of int32, shape (n_messages,)
    conversation_offsets : array of int64, shape (n_conversations + 1,)
    lengths : array of int64, shape (n_messages,)
    data : Encoded, optional
        The corpus whose layout it is; its words are not used, its other columns are.
    """

    parents: NDArray[np.int32]
    conversation_offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    data: Encoded | None = None

    @classmethod
    def of(cls, shape: Shape, generator: np.random.Generator) -> Layout:
        """Take the layout of a corpus, or draw random trees, each earlier message as likely."""
        if isinstance(shape, Corpus):
            shape = encode(shape, min_count=1)
        if isinstance(shape, Encoded):
            lengths = np.diff(shape.message_offsets)
            return cls(shape.parents, shape.conversation_offsets, lengths, shape)
        if len(shape) != 3 or min(shape) < 0:
            raise ParameterError(
                "simulate: shape must be a corpus or (conversations, messages per conversation, "
                f"tokens per message), got {shape!r}"
            )
        n_conversations, n_messages, n_tokens = shape
        offsets = np.arange(n_conversations + 1, dtype=np.int64) * n_messages
        position = np.tile(np.arange(n_messages), n_conversations)
        earlier = (generator.random(len(position)) * position).astype(np.int64)
        first = np.repeat(offsets[:-1], n_messages)
        parents = np.where(position == 0, -1, first + earlier).astype(np.int32)
        return cls(parents, offsets, np.full(len(position), n_tokens, np.int64))


def simulate(model: ThreadModel, shape: Shape, random_state: int = 0) -> Corpus:
    """Draw threads from a fitted model; see :meth:`ThreadModel.simulate`."""
    check("simulate", {"random_state": whole(0)}, {"random_state": random_state})
    generator = rng.generator(random_state, "simulate")
    layout = Layout.of(shape, generator)
    n_tokens = int(layout.lengths.sum())
    draws = generator.random(n_tokens)
    classed = draws < model.class_probability_
    of_topics = draws >= 1 - model.topic_probability_
    messages = np.repeat(np.arange(len(layout.lengths)), layout.lengths)
    per_message = np.bincount(messages[classed], minlength=len(layout.lengths))
    classes = np.full(n_tokens, -1)
    classes[classed] = model.draw_classes(layout, per_message, generator)
    words = np.empty(n_tokens, np.int64)
    for k in range(-1, len(model.class_shares_)):
        chosen = classes == k
        distribution = model.background_words_ if k < 0 else model.class_words_[k]
        words[chosen] = generator.choice(
            len(distribution), int(chosen.sum()), p=distribution / distribution.sum()
        )
    if model.topic_probability_:
        conversation = np.repeat(
            np.arange(len(layout.conversation_offsets) - 1), np.diff(layout.conversation_offsets)
        )[messages]
        _draw_topic_words(model, conversation, of_topics, words, generator)
    return _corpus(model, layout, words, classes)


def _draw_topic_words(
    model: Any,
    conversation: NDArray[np.int64],
    of_topics: NDArray[np.bool_],
    words: NDArray[np.int64],
    generator: np.random.Generator,
) -> None:
    """Draw the words of topics, those of each conversation from its own mixture."""
    for c in np.unique(conversation[of_topics]):
        chosen = np.flatnonzero(of_topics & (conversation == c))
        shares = generator.dirichlet(model.topic_prior_)
        distribution = shares @ model.topic_words_
        words[chosen] = generator.choice(
            len(distribution), len(chosen), p=distribution / distribution.sum()
        )


def _corpus(
    model: ThreadModel, layout: Layout, words: NDArray[np.int64], classes: NDArray[np.int64]
) -> Corpus:
    """Make a corpus of what was drawn, with ids and the words' spellings."""
    spelled = pl.Series(model.vocabulary_.words, dtype=pl.String).gather(words)
    messages = np.repeat(np.arange(len(layout.lengths)), layout.lengths)
    lists = (
        pl.DataFrame({"message": messages, "tokens": spelled, "token_classes": classes})
        .group_by("message", maintain_order=True)
        .agg("tokens", "token_classes")
    )
    n_conversations = len(layout.conversation_offsets) - 1
    conversation = np.repeat(np.arange(n_conversations), np.diff(layout.conversation_offsets))
    reply_to = pl.Series(layout.parents).cast(pl.String).set(pl.Series(layout.parents < 0), None)
    table = pl.DataFrame(
        {
            "message": np.arange(len(layout.parents)),
            "conversation": pl.Series(conversation).cast(pl.String),
            "id": pl.Series(np.arange(len(layout.parents))).cast(pl.String),
            "reply_to": reply_to,
        }
    ).join(lists, on="message", how="left", maintain_order="left")
    table = table.drop("message").with_columns(
        pl.col("tokens").fill_null([]), pl.col("token_classes").fill_null([])
    )
    table = table.with_columns(pl.col("tokens").list.join(" ").alias("text"))
    return Corpus.from_polars(table, source=f"simulated by {model!r}")
