"""What a trained hidden backoff tagger says about sentences: scores, tags, probabilities.

Each sentence is scored under each tag first; then the tags of a conversation are chosen together.
With the best path of states of each tag, this gives the tags of Viterbi decoding over tags and
states at once (Ji & Bilmes 2006, end of section 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded
from palaver.models.taggers.hidden_backoff.kernels import states as kernels
from palaver.models.taggers.hidden_backoff.training import read_factors
from palaver.models.taggers.kernels import tag_chains
from palaver.models.taggers.sentences import (
    Sentences,
    all_words,
    as_sentences,
    coded_factors,
)

if TYPE_CHECKING:
    from palaver.models.taggers.hidden_backoff import HiddenBackoffTagger

#: Tokens of the conversations that are done at once; depends on the data alone.
SHARD_TOKENS = 100_000


def best_tags(tagger: HiddenBackoffTagger, corpus: Corpus | Encoded) -> NDArray[np.int32]:
    """Return the number of each message's tag, (n_messages,); conversations are tagged whole."""
    sentences = _sentences(tagger, corpus)
    scores = tagger.word_weight * _scores(tagger, sentences, use_max=tagger.decode == "viterbi")
    variants = np.zeros(sentences.n_messages, np.int32)
    layout = tagger._words.layout
    tag_chains.best_tags(
        scores, _kinds(tagger, sentences), sentences.conversation_offsets,
        layout.variant_moves(tagger.chains_[0]["tag_moves"]), variants,
    )  # fmt: skip
    return layout.tags[variants].astype(np.int32)


def tag_probabilities(tagger: HiddenBackoffTagger, corpus: Corpus | Encoded) -> NDArray[np.float64]:
    """Return the probability of each tag of each message, (n_messages, n_tags)."""
    sentences = _sentences(tagger, corpus)
    scores = tagger.word_weight * _scores(tagger, sentences, use_max=False)
    posteriors = np.zeros_like(scores)
    layout = tagger._words.layout
    tag_chains.tag_posteriors(
        scores, _kinds(tagger, sentences), sentences.conversation_offsets,
        layout.variant_moves(tagger.chains_[0]["tag_moves"]), posteriors,
    )  # fmt: skip
    return np.asarray(posteriors @ np.eye(len(tagger.tags_))[layout.tags])


def _sentences(tagger: HiddenBackoffTagger, corpus: Corpus | Encoded) -> Sentences:
    """Return all messages of a corpus, whatever their labels."""
    encoded = all_words(corpus)
    factors, emitted = (
        coded_factors(values, tagger.factor_values_)
        for values in read_factors(tagger, corpus, encoded)
    )
    tags = np.full(encoded.n_messages, -1, np.int32)
    return as_sentences(encoded, tagger.vocabulary_, tags, factors, encoded.fingerprint, emitted)


def _scores(
    tagger: HiddenBackoffTagger, sentences: Sentences, *, use_max: bool
) -> NDArray[np.float64]:
    """Return the log-probability of each message's words, (n_messages, n_variants of tags).

    Of the best path of states if ``use_max``, else summed over all paths.
    """
    learned, words = tagger.chains_[0], tagger._words
    scores = np.zeros((sentences.n_messages, len(words.layout.n_states)))
    for first, last in sentences.groups(SHARD_TOKENS):
        part = sentences.part(first, last)
        types = words.types(part, with_tags=False)
        emissions = words.all_emissions(tagger._tables, types)
        rows = slice(*sentences.conversation_offsets[[first, last]])
        kernels.score_sentences(
            types.of_tokens, part.message_offsets, emissions, words.layout.units,
            learned["start"], learned["moves"], use_max, scores[rows],
        )  # fmt: skip
    return scores


def _kinds(tagger: HiddenBackoffTagger, sentences: Sentences) -> NDArray[np.int8]:
    """Return which table of moves each sentence uses."""
    changes = sentences.changes
    return changes if tagger.speaker_change else np.zeros_like(changes)
