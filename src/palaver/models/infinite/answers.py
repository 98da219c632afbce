"""What a fitted infinite hidden Markov model answers: states of new sentences, how likely they are.

Everything is exact given the model's parameters, by summing over all sequences of states.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from palaver.corpus.table import Corpus
from palaver.encode import Encoded, cut, cut_sentences, encode_sentences
from palaver.encode.shards import Shard
from palaver.encode.tokenizer import split_words
from palaver.errors import CorpusError, ParameterError
from palaver.fit.fold import map_shards
from palaver.kernels.chains import chain_posteriors
from palaver.models.base.model import FOLD_SWEEPS, Model
from palaver.models.states.kernels.beam_trees import message_log_densities, tree_posteriors
from palaver.models.views.reading import TokenReading

_BLOCK = 20_000  # words whose posteriors are held at a time


class InfiniteAnswers(Model):
    """The part of the model that is asked."""

    heldout_methods: ClassVar = ("sequential",)
    transitions_: NDArray[np.float64]
    state_tags_: list[str]
    unit: str
    n_jobs: int

    def _sentences(self, X: Any, lengths: ArrayLike | None = None) -> Encoded:
        """Return new sentences in the model's own word numbers."""
        self._check_fitted()
        data = encode_sentences(X, lengths, self.vocabulary_)
        if data.vocabulary.words != self.vocabulary_.words:
            raise ParameterError(
                "the encoded corpus has another vocabulary; encode it with "
                "vocabulary=model.vocabulary_"
            )
        return data

    def _encode(self, corpus: Corpus | Encoded) -> Encoded:
        return self._sentences(corpus)

    def _visit(self, data: Encoded, visit: Any) -> NDArray[np.float64]:
        """Call ``visit(first position, posteriors)`` block by block; return log-likelihoods."""
        rows = np.maximum(self.transitions_, 1e-290)
        logs = np.log(np.maximum(self.class_words_.T, 1e-290))
        with_unknown = np.vstack((logs, np.zeros(logs.shape[1])))  # which -1 stands for

        def words(shard: Shard) -> NDArray[np.float64]:
            densities = with_unknown[shard.tokens]
            posteriors = np.empty_like(densities)
            found = chain_posteriors(densities, shard.message_offsets, rows, posteriors)
            visit(shard.first_token, posteriors)
            return np.asarray(found)

        def messages(shard: Shard) -> NDArray[np.float64]:
            densities = np.empty((shard.n_messages, logs.shape[1]))
            message_log_densities(shard.tokens, shard.message_offsets, logs, 1.0, densities)
            posteriors = np.empty_like(densities)
            found = tree_posteriors(
                densities, shard.parents, shard.conversation_offsets, rows, posteriors
            )
            visit(shard.first_message, posteriors)
            return np.asarray(found)

        if self.unit == "message":
            found = map_shards(messages, cut(data), self.n_jobs)
        else:
            blocks = cut_sentences(data, smallest=_BLOCK, most=None)
            found = map_shards(words, blocks, self.n_jobs)
        return np.concatenate(found)

    def predict(
        self, X: Corpus | Encoded | Any, lengths: ArrayLike | None = None
    ) -> NDArray[np.int16]:
        """Return the likeliest state of each word (or message) given its whole sentence.

        Parameters
        ----------
        X, lengths
            New sentences, as :meth:`fit` takes them. A word that the model does not know is
            judged by the words around it.

        Returns
        -------
        array of int16, shape (n_positions,)
        """
        data = self._sentences(X, lengths)
        n = data.n_messages if self.unit == "message" else len(data.tokens)
        states = np.empty(n, np.int16)

        def visit(first: int, posteriors: NDArray[np.float64]) -> None:
            states[first : first + len(posteriors)] = posteriors.argmax(axis=1)

        self._visit(data, visit)
        return states

    def predict_proba(
        self, X: Corpus | Encoded | Any, lengths: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the probability of each state for each word (or message), (n, n_states_)."""
        data = self._sentences(X, lengths)
        n = data.n_messages if self.unit == "message" else len(data.tokens)
        result = np.empty((n, len(self.class_shares_)))

        def visit(first: int, posteriors: NDArray[np.float64]) -> None:
            result[first : first + len(posteriors)] = posteriors

        self._visit(data, visit)
        return result

    def transform(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.float64]:
        """Return the share of each state in each message, also of new ones.

        Exact, by summing over all state sequences: ``n_sweeps`` is not needed. A message without
        words has the corpus' shares, or with ``unit="message"`` those that its place foretells.
        """
        return self.read_tokens(self._sentences(corpus)).shares

    def read_tokens(self, encoded: Encoded) -> TokenReading:
        """Return shares of messages and states of words from one pass; see :meth:`transform`."""
        data = self._sentences(encoded)
        lengths = np.diff(data.message_offsets)
        each = np.ones_like(lengths) if self.unit == "message" else lengths
        message = np.repeat(np.arange(data.n_messages), each)
        states = np.empty(len(message), np.int16)
        shares = np.zeros((data.n_messages, len(self.class_shares_)))

        def visit(first: int, posteriors: NDArray[np.float64]) -> None:
            here = slice(first, first + len(posteriors))
            states[here] = posteriors.argmax(axis=1)
            np.add.at(shares, message[here], posteriors)

        self._visit(data, visit)
        if self.unit == "message":
            return TokenReading(shares, np.repeat(states, lengths))
        means = shares / np.maximum(lengths, 1)[:, None]
        return TokenReading(np.where(lengths[:, None] > 0, means, self.class_shares_), states)

    def token_classes(self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS) -> pl.DataFrame:
        """Return the state of each word.

        Returns
        -------
        polars.DataFrame
            Columns message (row in the corpus), token (position in the message), word (null if
            the model does not know it), class, probability.
        """
        data = self._sentences(corpus)
        lengths = np.diff(data.message_offsets)
        n = data.n_messages if self.unit == "message" else len(data.tokens)
        states, probability = np.empty(n, np.int32), np.empty(n, np.float32)

        def visit(first: int, posteriors: NDArray[np.float64]) -> None:
            states[first : first + len(posteriors)] = posteriors.argmax(axis=1)
            probability[first : first + len(posteriors)] = posteriors.max(axis=1)

        self._visit(data, visit)
        if self.unit == "message":
            states, probability = np.repeat(states, lengths), np.repeat(probability, lengths)
        messages = np.repeat(np.arange(data.n_messages, dtype=np.int32), lengths)
        positions = np.arange(len(data.tokens)) - np.repeat(data.message_offsets[:-1], lengths)
        words = pl.Series([*self.vocabulary_.words, None], dtype=pl.String)
        return pl.DataFrame(
            {
                "message": messages,
                "token": positions.astype(np.int32),
                "word": words.gather(np.where(data.tokens < 0, len(words) - 1, data.tokens)),
                "class": states,
                "probability": probability,
            }
        )

    def tag_words(self, corpus: Corpus) -> Corpus:
        """Return the corpus with a list column ``state``: the state of each word, as text.

        Words are in the column ``tokens``. With labels there is a list column ``tag`` as well, of
        the tags that the states refine. Write the result as ``x.conll``.
        """
        if self.unit != "word":
            raise ParameterError(
                f"{type(self).__name__}: messages have states here, not words; use annotate(corpus)"
            )
        if corpus.table.schema.get("tokens") == pl.List(pl.String):
            words = corpus.table["tokens"].fill_null([])
        else:
            words = split_words(corpus.table["text"])
        lengths = words.list.len().to_numpy()
        states = pl.Series(self.predict(corpus))
        columns = {"state": states.cast(pl.String)}
        if self.state_tags_:
            columns["tag"] = pl.Series(self.state_tags_, dtype=pl.String).gather(states)
        ends = np.cumsum(lengths)
        lists = {
            name: pl.Series(
                [values[end - n : end].to_list() for n, end in zip(lengths, ends, strict=True)],
                dtype=pl.List(pl.String),
            )
            for name, values in columns.items()
        }
        return corpus.with_columns(tokens=words, **lists)

    def log_likelihoods(
        self, X: Corpus | Encoded | Any, lengths: ArrayLike | None = None, *, n_particles: int = 0
    ) -> NDArray[np.float64]:
        """Return the log-likelihood of each conversation; lists of words are one each.

        Exact, states are summed out: ``n_particles`` is not needed. Unknown words count as not
        there.
        """
        data = self._sentences(X, lengths)
        found = self._visit(data, lambda first, posteriors: None)
        if self.unit == "message":
            return found
        ends = np.append(0.0, np.cumsum(found))[data.conversation_offsets]
        return np.diff(ends)

    def perplexity(
        self, X: Corpus | Encoded | Any, lengths: ArrayLike | None = None, *, n_particles: int = 0
    ) -> float:
        """Return how many words, evenly, the model hesitates between for each word it knows."""
        data = self._sentences(X, lengths)
        n_known = int((data.tokens >= 0).sum())
        if not n_known:
            raise CorpusError(f"{type(self).__name__}: there is no word that the model knows")
        return float(np.exp(-self.log_likelihoods(data).sum() / n_known))

    def score(self, X: Corpus | Encoded | Any, lengths: ArrayLike | None = None) -> float:
        """Return the mean log probability of a word, the logarithm of 1 / perplexity."""
        return -float(np.log(self.perplexity(X, lengths)))

    def _all_words(self) -> NDArray[np.float64]:
        counts = self.vocabulary_.counts
        return np.asarray(counts / max(counts.sum(), 1))
