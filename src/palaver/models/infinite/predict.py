"""States of new sentences under a fitted infinite HMM, and how likely the sentences are.

Everything is exact given the model's parameters, by summing over all sequences of states. States
are visited in blocks, so that the probabilities of all words are never held at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, cut, cut_sentences, encode_sentences
from palaver.encoding.shards import Shard
from palaver.encoding.tokenizer import split_words
from palaver.errors import ParameterError
from palaver.fit.fold import map_shards
from palaver.kernels.chains import chain_posteriors
from palaver.models.states.kernels.beam_trees import message_log_densities, tree_posteriors
from palaver.models.views.reading import TokenReading

if TYPE_CHECKING:
    from palaver.models.infinite import InfiniteHMM

_BLOCK = 20_000  # words whose posteriors are held at a time
#: Called with the number of a block's first position and its posteriors, (n, n_states).
Visitor = Callable[[int, NDArray[np.float64]], None]


def new_sentences(model: InfiniteHMM, X: Any, lengths: ArrayLike | None = None) -> Encoded:
    """Return new sentences in the model's own word numbers."""
    model._check_fitted()
    data = encode_sentences(X, lengths, model.vocabulary_)
    if data.vocabulary.words != model.vocabulary_.words:
        raise ParameterError(
            "the encoded corpus has another vocabulary; encode it with vocabulary=model.vocabulary_"
        )
    return data


def number_of_positions(model: InfiniteHMM, data: Encoded) -> int:
    """Return how many words, or messages, have a state."""
    return data.n_messages if model.unit == "message" else len(data.tokens)


def visit_posteriors(model: InfiniteHMM, data: Encoded, visit: Visitor) -> NDArray[np.float64]:
    """Call ``visit`` for each block of positions, in any order.

    Returns
    -------
    array of float64, shape (n_sentences,), with ``unit="message"`` (n_conversations,)
        Log-likelihood of each sequence.
    """
    if model.unit == "message":
        return _visit_messages(model, data, visit)
    return _visit_words(model, data, visit)


def _visit_words(model: InfiniteHMM, data: Encoded, visit: Visitor) -> NDArray[np.float64]:
    """Do the work of :func:`visit_posteriors` where every word has a state."""
    rows, logs = _safe_parameters(model)
    with_unknown = np.vstack((logs, np.zeros(logs.shape[1])))  # which -1 stands for

    def words(shard: Shard) -> NDArray[np.float64]:
        densities = with_unknown[shard.tokens]
        posteriors = np.empty_like(densities)
        found = chain_posteriors(densities, shard.message_offsets, rows, posteriors)
        visit(shard.first_token, posteriors)
        return np.asarray(found)

    blocks = cut_sentences(data, smallest=_BLOCK, most=None)
    return np.concatenate(map_shards(words, blocks, model.n_jobs))


def _visit_messages(model: InfiniteHMM, data: Encoded, visit: Visitor) -> NDArray[np.float64]:
    """Do the work of :func:`visit_posteriors` where every message has a state."""
    rows, logs = _safe_parameters(model)

    def messages(shard: Shard) -> NDArray[np.float64]:
        densities = np.empty((shard.n_messages, logs.shape[1]))
        message_log_densities(shard.tokens, shard.message_offsets, logs, 1.0, densities)
        posteriors = np.empty_like(densities)
        found = tree_posteriors(
            densities, shard.parents, shard.conversation_offsets, rows, posteriors
        )
        visit(shard.first_message, posteriors)
        return np.asarray(found)

    return np.concatenate(map_shards(messages, cut(data), model.n_jobs))


def _safe_parameters(model: InfiniteHMM) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rows, and the log probabilities of words (W, K), without zeros."""
    rows = np.maximum(model.transitions_, 1e-290)
    return rows, np.log(np.maximum(model.class_words_.T, 1e-290))


def likeliest(model: InfiniteHMM, data: Encoded) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Return the likeliest state of each position and its probability, both (n_positions,)."""
    n = number_of_positions(model, data)
    states, probabilities = np.empty(n, np.int16), np.empty(n, np.float32)

    def visit(first: int, posteriors: NDArray[np.float64]) -> None:
        states[first : first + len(posteriors)] = posteriors.argmax(axis=1)
        probabilities[first : first + len(posteriors)] = posteriors.max(axis=1)

    visit_posteriors(model, data, visit)
    return states, probabilities


def probabilities(model: InfiniteHMM, data: Encoded) -> NDArray[np.float64]:
    """Return the probability of each state for each position, (n_positions, n_states)."""
    result = np.empty((number_of_positions(model, data), len(model.class_shares_)))

    def visit(first: int, posteriors: NDArray[np.float64]) -> None:
        result[first : first + len(posteriors)] = posteriors

    visit_posteriors(model, data, visit)
    return result


def read_tokens(model: InfiniteHMM, data: Encoded) -> TokenReading:
    """Return the shares of messages and the states of their words from one pass."""
    lengths = np.diff(data.message_offsets)
    positions = np.ones_like(lengths) if model.unit == "message" else lengths
    message = np.repeat(np.arange(data.n_messages), positions)
    states = np.empty(len(message), np.int16)
    shares = np.zeros((data.n_messages, len(model.class_shares_)))

    def visit(first: int, posteriors: NDArray[np.float64]) -> None:
        here = slice(first, first + len(posteriors))
        states[here] = posteriors.argmax(axis=1)
        np.add.at(shares, message[here], posteriors)

    visit_posteriors(model, data, visit)
    if model.unit == "message":
        return TokenReading(shares, np.repeat(states, lengths))
    means = shares / np.maximum(lengths, 1)[:, None]
    return TokenReading(np.where(lengths[:, None] > 0, means, model.class_shares_), states)


def token_classes(model: InfiniteHMM, data: Encoded) -> pl.DataFrame:
    """Return the state of each word; see :meth:`InfiniteHMM.token_classes`."""
    lengths = np.diff(data.message_offsets)
    states, probability = likeliest(model, data)
    if model.unit == "message":
        states, probability = np.repeat(states, lengths), np.repeat(probability, lengths)
    messages = np.repeat(np.arange(data.n_messages, dtype=np.int32), lengths)
    positions = np.arange(len(data.tokens)) - np.repeat(data.message_offsets[:-1], lengths)
    words = pl.Series([*model.vocabulary_.words, None], dtype=pl.String)
    return pl.DataFrame(
        {
            "message": messages,
            "token": positions.astype(np.int32),
            "word": words.gather(np.where(data.tokens < 0, len(words) - 1, data.tokens)),
            "class": states.astype(np.int32),
            "probability": probability,
        }
    )


def tag_words(model: InfiniteHMM, corpus: Corpus) -> Corpus:
    """Return the corpus with the state of each word; see :meth:`InfiniteHMM.tag_words`."""
    if model.unit != "word":
        raise ParameterError(
            f"{type(model).__name__}: with unit='message', messages have states but words do not; "
            "use annotate(corpus)"
        )
    if corpus.table.schema.get("tokens") == pl.List(pl.String):
        words = corpus.table["tokens"].fill_null([])
    else:
        words = split_words(corpus.table["text"])
    lengths = words.list.len().to_numpy()
    states = pl.Series(model.predict(corpus))
    columns = {"state": states.cast(pl.String)}
    if model.state_tags_:
        columns["tag"] = pl.Series(model.state_tags_, dtype=pl.String).gather(states)
    ends = np.cumsum(lengths)
    lists = {
        name: pl.Series(
            [values[end - n : end].to_list() for n, end in zip(lengths, ends, strict=True)],
            dtype=pl.List(pl.String),
        )
        for name, values in columns.items()
    }
    return corpus.with_columns(tokens=words, **lists)


def log_likelihoods(model: InfiniteHMM, data: Encoded) -> NDArray[np.float64]:
    """Return the log-likelihood of each conversation, (n_conversations,)."""
    found = visit_posteriors(model, data, lambda first, posteriors: None)
    if model.unit == "message":
        return found
    ends = np.append(0.0, np.cumsum(found))[data.conversation_offsets]
    return np.diff(ends)
