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
        Share of each class, times log(1 + number of known words), as long messages say more.
    replies : array of float32, shape (n_messages + 1, K)
        Log probabilities; the last row is for starts.
    """

    shares: NDArray[np.float32]
    replies: NDArray[np.float32]


def unlinked(corpus: Corpus) -> Corpus:
    """Return the corpus without its replies."""
    table = corpus.table.with_columns(pl.lit(None, pl.String).alias("reply_to"))
    return replace(corpus, table=table, parents=np.full(corpus.n_messages, -1, np.int32))


def check_model(model: Any) -> None:
    """Reject a model without transitions between classes."""
    if model is not None and not hasattr(model, "reconstruct"):
        raise ParameterError(
            f"ThreadRebuilder: a {getattr(model, 'name', type(model).__name__)} does not model "
            "how classes follow each other; use M4 or BlockHMM"
        )


def transitions_of(model: Any, corpus: Corpus) -> Transitions:
    """Apply a model to each message alone, since who replies to whom is unknown.

    Parameters
    ----------
    model : M4 or BlockHMM
        Fitted.
    corpus : Corpus
    """
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
        rows = np.vstack((shares @ weights[:n_classes], weights[n_classes]))
        replies = np.log(np.maximum(rows, 1e-12))
    known = np.log1p(np.diff(encoded.message_offsets))[:, None]
    return Transitions((shares * known).astype(np.float32), replies.astype(np.float32))
