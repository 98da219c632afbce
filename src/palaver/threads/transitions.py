"""What a fitted model says about the classes of messages and of replies to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Transitions:
    """Classes of messages, and of the replies to them.

    Attributes
    ----------
    shares : array of float32, shape (n_messages, K)
        Share of each class; where words have classes or emit them, times log(1 + number of known
        words), as long messages say more.
    replies : array of float32, shape (n_messages + 1, K)
        Log probabilities; the last row is for starts.
    """

    shares: NDArray[np.float32]
    replies: NDArray[np.float32]


def unlinked(corpus: Corpus) -> Corpus:
    """Return the corpus without its replies."""
    table = corpus.table.with_columns(pl.lit(None, pl.String).alias("reply_to"))
    return replace(corpus, table=table, parents=np.full(corpus.n_messages, -1, np.int32))


def apart(corpus: Corpus) -> Corpus:
    """Return the corpus without its replies, each message a conversation of its own.

    A model of acts would take the message before as context, which is but one of the candidates.
    """
    alone = unlinked(corpus)
    table = alone.table.drop("other_parents", strict=False)
    return replace(alone, table=table, conversation_offsets=np.arange(corpus.n_messages + 1))


def check_model(model: Any) -> None:
    """Reject a model without transitions between classes."""
    if model is not None and not hasattr(model, "reconstruct") and not _has_acts(model):
        raise ParameterError(
            f"ThreadRebuilder: a {getattr(model, 'name', type(model).__name__)} does not model "
            "how classes follow each other; use Acts, M4 or BlockHMM"
        )


def _has_acts(model: Any) -> bool:
    return getattr(model, "name", None) == "acts"


def transitions_of(model: Any, corpus: Corpus) -> Transitions:
    """Apply a model to each message alone, since who replies to whom is unknown.

    Parameters
    ----------
    model : Acts, M4 or BlockHMM
        Fitted.
    corpus : Corpus
    """
    if _has_acts(model):
        shares = model.transform(apart(corpus))
        return Transitions(shares.astype(np.float32), _replies(shares, model.transitions_))
    encoded = model._encode(unlinked(corpus))
    shares = model.transform(encoded)
    n_classes = shares.shape[1]
    weights = np.asarray(model.transitions_)
    if model.transition_kind == "weights":  # M4: sources, start, bias; features are neutral
        scores = np.vstack((shares @ weights[:n_classes], weights[n_classes]))
        scores += weights[n_classes + 1]
        highest = scores.max(axis=1, keepdims=True)
        replies = scores - highest
        replies -= np.log(np.exp(replies).sum(axis=1, keepdims=True))
    else:
        replies = _replies(shares, weights)
    known = np.log1p(np.diff(encoded.message_offsets))[:, None]
    return Transitions((shares * known).astype(np.float32), replies.astype(np.float32))


def _replies(
    shares: NDArray[np.float64], probabilities: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Return log probabilities of the classes of replies, with the start as the last row."""
    n_classes = shares.shape[1]
    rows = np.vstack((shares @ probabilities[:n_classes], probabilities[n_classes]))
    return np.log(np.maximum(rows, 1e-12)).astype(np.float32)
