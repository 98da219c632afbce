"""What a hidden backoff tagger learns from: labelled sentences, states to hide, a word model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, Vocabulary
from palaver.errors import CorpusError
from palaver.language import Smoothing
from palaver.language.backoff import as_cutoffs
from palaver.models.taggers.hidden_backoff.layout import StateLayout, make_layout
from palaver.models.taggers.hidden_backoff.words import WordModel
from palaver.models.taggers.sentences import (
    Sentences,
    all_words,
    as_sentences,
    choose_words,
    coded_factors,
    factor_values,
    label_names,
)

if TYPE_CHECKING:
    from palaver.models.taggers.hidden_backoff import HiddenBackoffTagger


@dataclass(frozen=True, eq=False)
class Training:
    """Labelled sentences, and the word model that is to be estimated from them.

    Attributes
    ----------
    sentences : Sentences
        The labelled ones.
    label : str
        Column of the labels.
    tags : list of str
        In order of first appearance.
    factor_values : dict of str to list of str
        Values that each factor has.
    words : WordModel
        Which parents words have and which states are hidden; no probabilities yet.
    medians : array of float64, shape (n_tags,)
        Tokens of the median sentence of each tag.
    """

    sentences: Sentences
    label: str
    tags: list[str]
    factor_values: dict[str, list[str]]
    words: WordModel
    medians: NDArray[np.float64]

    @property
    def n_messages(self) -> int:
        """Number of labelled sentences."""
        return self.sentences.n_messages

    @property
    def n_tokens(self) -> int:
        """Number of tokens, ends included."""
        return self.sentences.n_tokens

    @property
    def vocabulary(self) -> Vocabulary:
        """Words that are told apart, the unknown one first."""
        return self.sentences.vocabulary

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the corpus."""
        return self.sentences.fingerprint


def training_data(tagger: HiddenBackoffTagger, corpus: Corpus | Encoded, labels: str) -> Training:
    """Return the labelled messages of a corpus as a tagger's parameters ask for them.

    Raises
    ------
    CorpusError
        No message has a label.
    ParameterError
        There is no such column, or a parameter names a tag or state that does not exist.
    """
    encoded = all_words(corpus)
    codes, tags = label_names(encoded, labels)
    if not tags:
        raise CorpusError(f"{type(tagger).__name__}: no message has a label in {labels!r}")
    values = factor_values(corpus, tagger.factors or [], encoded)
    known = {
        name: column.drop_nulls().unique(maintain_order=True).to_list()
        for name, column in values.items()
    }
    vocabulary = choose_words(encoded, tagger.min_count, tagger.end)
    factors = coded_factors(values, known)
    every = as_sentences(encoded, vocabulary, codes, factors, encoded.fingerprint)
    sentences = every.take(every.tags >= 0)
    lengths = np.diff(sentences.message_offsets) - bool(tagger.end)
    by_tag = [lengths[sentences.tags == tag].astype(float) for tag in range(len(tags))]
    layout = make_layout(tagger.n_states, tags, by_tag, tagger.topology, tagger.tied)
    medians = np.array([np.median(part) if len(part) else 0.0 for part in by_tag]) + tagger.end
    words = make_word_model(tagger, layout, len(vocabulary), known)
    return Training(sentences, labels, tags, known, words, medians)


def make_word_model(
    tagger: HiddenBackoffTagger,
    layout: StateLayout,
    n_words: int,
    factor_values: dict[str, list[str]],
) -> WordModel:
    """Return the word model that a tagger's parameters ask for, without probabilities."""
    smoothing = Smoothing(
        tagger.smoothing, tagger.combine, (), tagger.interpolate, as_cutoffs(tagger.cutoffs)
    )
    sizes = {name: len(values) for name, values in factor_values.items()}
    model = WordModel(
        layout, n_words, tagger.order, sizes, tagger.backoff, tagger.continuation, smoothing
    )
    return model.weighted(tagger.path_weights or {})
