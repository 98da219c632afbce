"""A corpus as a fitted model reads it: split, encoded and folded in once, for all who ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, encode
from palaver.encoding.numbering import split_all
from palaver.models.views.marks import with_marks

if TYPE_CHECKING:
    from palaver.models.base.model import Model


@dataclass(frozen=True, eq=False)
class TokenReading:
    """Classes of messages and of their tokens, from the same pass over a corpus.

    Attributes
    ----------
    shares : array of float64, shape (n_messages, n_classes)
        As ``transform`` returns them.
    classes : array of int16, shape (n_tokens,)
        -1 for tokens without a class: background, or a topic's.
    topics : array of int16, shape (n_tokens,), or None
        Topic of each token, -1 for those without; None for a model without topics.
    """

    shares: NDArray[np.float64]
    classes: NDArray[np.int16]
    topics: NDArray[np.int16] | None = None


@runtime_checkable
class ReadsTokens(Protocol):
    """A model whose tokens have classes of their own."""

    def read_tokens(self, encoded: Encoded) -> TokenReading:
        """Return the classes of messages and tokens."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Reading:
    """What a model makes of a corpus.

    Attributes
    ----------
    words : polars.Series of list of str
        The words of each message as its text has them, in lower case.
    encoded : Encoded
        With the model's vocabulary.
    known : array of bool, shape (n_messages,)
        Messages about which the model can say something.
    shares : array of float64, shape (n_messages, n_classes)
        As ``message_shares`` returns them, with what people said about messages.
    tokens : TokenReading or None
        None for a model whose tokens have no classes of their own.
    """

    words: pl.Series
    encoded: Encoded
    known: NDArray[np.bool_]
    shares: NDArray[np.float64]
    tokens: TokenReading | None


def contained(tokens: TokenReading, encoded: Encoded) -> NDArray[np.bool_]:
    """Return which classes the tokens of each message have, shape (n_messages, n_classes)."""
    messages = np.repeat(np.arange(encoded.n_messages), np.diff(encoded.message_offsets))
    found = np.zeros(tokens.shares.shape, bool)
    has = tokens.classes >= 0
    found[messages[has], tokens.classes[has]] = True
    return found


def read(model: Model, corpus: Corpus) -> Reading:
    """Let a fitted model read a corpus.

    The texts are split into words once, and those words are what the model encodes. Shares of
    messages and classes of tokens come from one fold-in, so they agree with each other.
    """
    words = split_all(corpus.table["text"])
    given = "tokens" in corpus.table.columns  # words that somebody else split the texts into
    split = corpus if given else corpus.with_columns(tokens=words)
    encoded = encode(
        split, model.vocabulary_, sentences=model.needs_sentences, keep_unknown=model.keeps_unknown
    )
    source = split if model.needs_texts else encoded
    has_tokens = isinstance(model.origin, ReadsTokens)
    tokens = cast(ReadsTokens, model).read_tokens(encoded) if has_tokens else None
    return Reading(
        words=words,
        encoded=encoded,
        known=model.known_messages(source),
        shares=with_marks(
            model, corpus, model.message_shares(source) if tokens is None else tokens.shares
        ),
        tokens=tokens,
    )
