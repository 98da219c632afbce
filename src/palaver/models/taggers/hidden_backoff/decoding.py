"""Taggers of sentences with hidden states, once they are trained: scores, tags, probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encode import Encoded
from palaver.language import Tables
from palaver.models.taggers.hidden_backoff.kernels import states as kernels
from palaver.models.taggers.hidden_backoff.kernels import tag_chains
from palaver.models.taggers.hidden_backoff.words import WordModel
from palaver.models.taggers.search import Searching
from palaver.models.taggers.sentences import (
    Sentences,
    all_words,
    as_sentences,
    coded_factors,
    factor_values,
)

#: Tokens of the conversations that are done at once; depends on the data alone.
SHARD_TOKENS = 100_000


class Decoding(Searching):
    """Score each sentence under each tag first, then choose the tags of a conversation together.

    The parameters are those of :class:`palaver.HiddenBackoffTagger`, which learns the rest.
    """

    factors: Sequence[str] | None
    speaker_change: bool
    word_weight: float
    decode: str
    factor_values_: dict[str, list[str]]
    _words: WordModel
    _tables: list[Tables]

    def _sentences(self, corpus: Corpus | Encoded) -> Sentences:
        """Return all messages of a corpus, whatever their labels."""
        self._check_fitted()
        encoded = all_words(corpus)
        values = factor_values(corpus, self.factors or [], encoded)
        coded = coded_factors(values, self.factor_values_)
        tags = np.full(encoded.n_messages, -1, np.int32)
        return as_sentences(encoded, self.vocabulary_, tags, coded, encoded.fingerprint)

    def _scores(self, sentences: Sentences, decode: str) -> NDArray[np.float64]:
        """Return the log-probability of each message's words under each tag."""
        best = self.chains_[0]
        scores = np.zeros((sentences.n_messages, len(self.tags_)))
        for first, last in sentences.groups(SHARD_TOKENS):
            part = sentences.part(first, last)
            types = self._words.types(part, with_tags=False)
            emissions = self._words.all_emissions(self._tables, types)
            rows = slice(*sentences.conversation_offsets[[first, last]])
            kernels.score_sentences(
                types.of_tokens, part.message_offsets, emissions, self._words.layout.units,
                best["start"], best["moves"], decode == "viterbi", scores[rows],
            )  # fmt: skip
        return scores

    def _kinds(self, sentences: Sentences) -> NDArray[np.int8]:
        return sentences.changes if self.speaker_change else np.zeros_like(sentences.changes)

    def _best(self, corpus: Corpus | Encoded) -> NDArray[np.int32]:
        sentences = self._sentences(corpus)
        tags = np.zeros(sentences.n_messages, np.int32)
        tag_chains.best_tags(
            self.word_weight * self._scores(sentences, self.decode), self._kinds(sentences),
            sentences.conversation_offsets, self.chains_[0]["tag_moves"], tags,
        )  # fmt: skip
        return tags

    def predict_proba(self, corpus: Corpus | Encoded) -> NDArray[np.float64]:
        """Return the probability of each tag of each message, states summed up.

        Returns
        -------
        array of float64, shape (n_messages, n_tags)
            Rows sum to one; columns are ``tags_``.
        """
        sentences = self._sentences(corpus)
        posteriors = np.zeros((sentences.n_messages, len(self.tags_)))
        tag_chains.tag_posteriors(
            self.word_weight * self._scores(sentences, "sum"), self._kinds(sentences),
            sentences.conversation_offsets, self.chains_[0]["tag_moves"], posteriors,
        )  # fmt: skip
        return posteriors
