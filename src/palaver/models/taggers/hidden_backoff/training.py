"""What a hidden backoff tagger learns from: labelled sentences, states to hide, a word model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, Vocabulary
from palaver.errors import CorpusError, ParameterError
from palaver.language import Smoothing
from palaver.language.backoff import as_cutoffs
from palaver.models.taggers.hidden_backoff.emitted import EmittedFactor, graphs_of
from palaver.models.taggers.hidden_backoff.layout import StateLayout, make_layout
from palaver.models.taggers.hidden_backoff.words import WordModel
from palaver.models.taggers.sentences import (
    Sentences,
    all_words,
    as_sentences,
    choose_words,
    coded_factors,
    emitted_values,
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
        The labelled ones, with their tags.
    variants : array of int32, shape (n_messages,)
        Variants of the tags, of which each has its own states.
    label : str
        Column of the labels.
    tags : list of str
        In order of first appearance.
    factor_values : dict of str to list of str
        Values that each factor has, emitted ones included.
    words : WordModel
        Which parents words have and which states are hidden; no probabilities yet.
    medians : array of float64, shape (n_variants,)
        Tokens of the median sentence of each variant's tag.
    """

    sentences: Sentences
    variants: NDArray[np.int32]
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
    factors, emitted = read_factors(tagger, corpus, encoded)
    known = {
        name: _flat(column).drop_nulls().unique(maintain_order=True).to_list()
        for name, column in (factors | emitted).items()
    }
    vocabulary = choose_words(encoded, tagger.min_count, tagger.end)
    every = as_sentences(
        encoded, vocabulary, codes, coded_factors(factors, known), encoded.fingerprint,
        coded_factors(emitted, known),
    )  # fmt: skip
    sentences = every.take(every.tags >= 0)
    lengths = np.diff(sentences.message_offsets) - bool(tagger.end)
    by_tag = [lengths[sentences.tags == tag].astype(float) for tag in range(len(tags))]
    layout = make_layout(tagger.n_states, tags, by_tag, tagger.topology, tagger.tied)
    medians = np.array([np.median(part) if len(part) else 0.0 for part in by_tag]) + tagger.end
    words = make_word_model(tagger, layout, len(vocabulary), known)
    variants = layout.variants_of(sentences.tags, sentences.conversation_offsets)
    return Training(sentences, variants, labels, tags, known, words, medians[layout.tags])


def read_factors(
    tagger: HiddenBackoffTagger, corpus: Corpus | Encoded, encoded: Encoded
) -> tuple[dict[str, pl.Series], dict[str, pl.Series]]:
    """Return the values of factors that are parents of words, and of emitted ones.

    Raises
    ------
    ParameterError
        There is no such column, it has other lengths than the texts, or it is named twice.
    """
    emitted = graphs_of(tagger.emitted)
    both = [name for name in tagger.factors or () if name in emitted]
    if both:
        raise ParameterError(f"{both[0]!r} is in factors and in emitted; it can be one of them")
    return (
        factor_values(corpus, tagger.factors or [], encoded),
        emitted_values(corpus, list(emitted), encoded),
    )


def _flat(column: pl.Series) -> pl.Series:
    return column.explode() if column.dtype.is_nested() else column


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
    sizes = {name: len(factor_values[name]) for name in tagger.factors or ()}
    emitted = {
        name: EmittedFactor(layout, n_words, max(len(factor_values[name]), 1), text)
        for name, text in graphs_of(tagger.emitted).items()
    }
    model = WordModel(
        layout, n_words, tagger.order, sizes, tagger.backoff, tagger.continuation, smoothing,
        emitted,
    )  # fmt: skip
    return model.weighted(tagger.path_weights or {})
