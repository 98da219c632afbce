"""What a model says about a corpus, gathered once: the sections of the page are made from it.

Classes are in order of rank here, the largest first: rank 0 is A.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from palaver.corpus.ahead import beside
from palaver.corpus.table import Corpus
from palaver.encoding import Encoded
from palaver.encoding.act_view import is_mark
from palaver.encoding.hidden import hidden_words, tells
from palaver.encoding.part import members
from palaver.encoding.tokenizer import split_words
from palaver.models.curated import curation_of
from palaver.models.summary import ModelSummary
from palaver.models.views.reading import Reading, contained, read
from palaver.page.embed import MAX_CHARACTERS, MAX_MESSAGES, Shown, choose
from palaver.page.flow import Flow, find_flow
from palaver.page.marks import BACKGROUND, Marks, mark
from palaver.page.prediction import Prediction, PredictsWords, predict_words
from palaver.page.progress import Work, part_of_work
from palaver.page.relevance import TopicView, topic_view
from palaver.page.text import MAX_TEXT
from palaver.page.walks import Walk, find_walks
from palaver.page.wording import Wording, wording_of
from palaver.questions.talk import Talk, as_marked
from palaver.ranking.exemplars import N_WORDS, choose_examples

if TYPE_CHECKING:
    from palaver.models.base.model import Model

_EXAMPLES = 3
_HALF = 0.5  # of the largest share in a message, to be a further example of a class


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """Everything the page is made from.

    Attributes
    ----------
    summary : ModelSummary
    corpus : Corpus
        As it is shown: without people, if the page is anonymized.
    encoded : Encoded
        What the model has read: all numbers are about this.
    order : array of int64, shape (n_classes,)
        Class number of each rank.
    shares : array of float64, shape (n_messages, n_classes)
        By rank; zero in messages about which the model can say nothing.
    speaking : array of bool, shape (n_messages,)
        The other messages: those with known words.
    same_texts : bool
        Whether these are the texts that the model learned from.
    flow : Flow
        What follows what.
    examples : list of list of int
        Rows of messages that are characteristic of each rank.
    shown : Shown
        Conversations that the reader carries.
    texts : list of str
        Their texts as the model has read them.
    marks : Marks
        Classes of their words.
    prediction : Prediction or None
        How well the model predicts words, for a model that can.
    predict_heldout : bool
        Whether that was asked for.
    can_predict : bool
        Whether the model can.
    walks : list of Walk
        Walks of characteristic documents, for a model that has them.
    words_apart : bool
        Whether every word has a class of its own, and not that of its message or sentence.
    telling : frozenset of str or None
        Words that may stand for classes; None if all may.
    reads_all : bool
        Whether the model reads unknown words, too.
    anonymized : bool
    hidden : frozenset of str
        Words that an anonymized page does not list: those of what was replaced somewhere, those
        of speakers' names, and words of the model that are in no text of the page.
    units : str
        What shares on the page are shares of.
    contains : array of bool, shape (n_messages, n_classes), or None
        Which ranks the sentences of each message have, where sentences have classes.
    topic_view : TopicView or None
        Topics next to each other, for a model that has topics.
    """

    summary: ModelSummary
    corpus: Corpus
    encoded: Encoded
    order: NDArray[np.int64]
    shares: NDArray[np.float64]
    speaking: NDArray[np.bool_]
    same_texts: bool
    flow: Flow
    examples: list[list[int]]
    shown: Shown
    texts: list[str]
    marks: Marks
    prediction: Prediction | None
    predict_heldout: bool
    can_predict: bool
    walks: list[Walk]
    words_apart: bool
    telling: frozenset[str] | None
    reads_all: bool
    anonymized: bool
    hidden: frozenset[str]
    units: str
    topic_view: TopicView | None
    contains: NDArray[np.bool_] | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.order)

    @property
    def wording(self) -> Wording:
        """What the page calls things."""
        alone = self.corpus.n_conversations == self.corpus.n_messages
        return wording_of(self.summary, self.flow.steps, documents=alone)


def gather(
    model: Model,
    corpus: Corpus,
    max_messages: int = MAX_MESSAGES,
    max_characters: int = MAX_CHARACTERS,
    *,
    summary: ModelSummary | None = None,
    work: Work | None = None,
    test: Corpus | None = None,
    predict_heldout: bool = True,
    anonymize: bool = False,
    reading: Reading | None = None,
    displayed: Corpus | None = None,
) -> Findings:
    """Let a model read a corpus once, and predict words of it, or of ``test`` if that is given.

    Prediction, and the first time its compilation, runs alongside the search for what is shown.
    The model reads the texts as they are, even where they are shown anonymized. If it has read
    them before, pass its ``reading``; if the corpus was anonymized before, pass that, too
    (``displayed``).
    """
    summary = model.summary() if summary is None else summary
    order = summary.order
    if work is None:
        work = Work.expected(model, corpus, max_characters, predict=predict_heldout)
    with part_of_work(work.reading):
        reading = reading or read(model, corpus)
    shares = reading.shares[:, order] * reading.known[:, None]
    same = learned_from(reading.encoded)
    units = "messages" if model.origin.one_class_per_message else summary.units
    lengths = _lengths(reading, units)

    def predict() -> Prediction | None:
        with part_of_work(work.prediction):
            if not predict_heldout:
                return None
            return predict_words(model.origin, reading.encoded, test, learned=same)

    with beside(predict) as predicted:
        with part_of_work(work.showing):
            examples = _examples(model, corpus, reading)
            shown = choose(corpus, _conversations(corpus, examples), max_messages, max_characters)
            if displayed is None:
                displayed = corpus.anonymized() if anonymize else corpus
            words = split_words(displayed.table["text"]) if anonymize else reading.words
            rows = rows_of(corpus, shown)
            texts = corpus.table["text"].gather(rows)
            marks = mark(
                texts,
                reading.words.gather(rows),
                *token_ranks(reading, order, shares, summary.tables.get("topics"), rows),
                known=None if model.keeps_unknown else reading.encoded.vocabulary.index,
                limit=MAX_TEXT,
                n_classes=len(order),
                shown=(displayed.table["text"].gather(rows), words.gather(rows)),
            )
            quoted = sorted({row for own in examples for row in own})
            walks = find_walks(
                model.origin, corpus, reading.encoded, order, quoted, _numbers(model)
            )
        prediction = predicted()
    hidden: frozenset[str] = frozenset()
    if anonymize:
        known = reading.encoded.vocabulary.words
        hidden = hidden_words(corpus.table["speaker"], reading.words, words, known)
    return Findings(
        summary=summary,
        corpus=displayed,
        encoded=reading.encoded,
        order=order,
        shares=shares,
        speaking=reading.known,
        same_texts=same,
        flow=find_flow(
            summary, corpus, order, shares, lengths, same_texts=same, recount=units != summary.units
        ),
        examples=[examples[k] for k in order.tolist()],
        shown=shown,
        texts=texts.to_list(),
        marks=marks,
        prediction=prediction,
        predict_heldout=predict_heldout,
        can_predict=isinstance(model.origin, PredictsWords),
        walks=walks,
        words_apart=reading.tokens is not None and summary.units == "words",
        telling=_telling(model),
        reads_all=model.keeps_unknown,
        anonymized=anonymize,
        hidden=hidden,
        units=units,
        topic_view=_topics_apart(model, summary, order, reading.encoded.n_tokens, hidden),
        contains=_contains(reading, summary, order),
    )


def _contains(
    reading: Reading, summary: ModelSummary, order: NDArray[np.int64]
) -> NDArray[np.bool_] | None:
    """Return which ranks the sentences of each message have, where sentences have classes."""
    if reading.tokens is None or summary.units != "sentences":
        return None
    found = as_marked(contained(reading.tokens, reading.encoded), reading.shares)
    return found[:, order]


def _numbers(model: Model) -> list[int]:
    """Return the number of each class of the origin; of its first part, if it was divided."""
    state = curation_of(model)
    return [state.numbers_of(id)[0] for id in range(state.n_classes)]


def _topics_apart(
    model: Model,
    summary: ModelSummary,
    order: NDArray[np.int64],
    n_tokens: int,
    hidden: frozenset[str],
) -> TopicView | None:
    """Return topics next to each other, for a model whose classes are topics."""
    if wording_of(summary).noun != "topic" or not hasattr(model, "class_words_"):
        return None
    return topic_view(model, order, n_tokens, hidden)


def _lengths(reading: Reading, units: str) -> NDArray[np.int64]:
    """Return how many words, sentences or messages each message counts for, (n_messages,)."""
    encoded = reading.encoded
    if units == "words":
        return np.diff(encoded.message_offsets)
    if units == "sentences":
        bounds = encoded.sentence_offsets  # those of messages are among them
        bounds = bounds if len(bounds) else np.unique(encoded.message_offsets)
        return np.diff(np.searchsorted(bounds, encoded.message_offsets))
    return reading.known.astype(np.int64)


def _telling(model: Model) -> frozenset[str] | None:
    """Return the words that may stand for classes; None if all may."""
    found = model._telling_words()
    if found is None:
        return None
    return frozenset(model.vocabulary_.words[i] for i in np.flatnonzero(found))


def _examples(model: Model, corpus: Corpus, reading: Reading) -> list[list[int]]:
    """Return rows of messages that are characteristic of each class, by class number."""
    words = model.top_words(N_WORDS, by="distinctiveness")
    shares = reading.shares * reading.known[:, None]
    with threadpool_limits(1):  # small matrices: threads would only be in each other's way
        rows = choose_examples(corpus.table["text"], shares, words, _EXAMPLES, split=reading.words)
    near = shares >= _HALF * shares.max(axis=1, keepdims=True, initial=0)
    return [[row for i, row in enumerate(own.tolist()) if not i or near[row, k]]
            for k, own in enumerate(rows)]  # fmt: skip


def _conversations(corpus: Corpus, examples: list[list[int]]) -> list[int]:
    """Return the conversations of messages."""
    rows = np.array([row for own in examples for row in own], np.int64)
    found = np.searchsorted(corpus.conversation_offsets, rows, side="right") - 1
    return [int(number) for number in found]


def token_ranks(
    reading: Reading,
    order: NDArray[np.int64],
    shares: NDArray[np.float64],
    topics: pl.DataFrame | None,
    rows: NDArray[np.int64],
) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    """Return the ranks of the known words of some messages, and how many words each has.

    The words of a model that has no classes for tokens get that of their message. Topics have
    the ranks beyond those of the classes.
    """
    encoded = reading.encoded
    tokens, offsets = members(encoded.message_offsets, rows)
    lengths = np.diff(offsets)
    if encoded.vocabulary.view == "acts":  # marks of beginnings and ends are no words of the text
        marks = np.array([is_mark(word) for word in encoded.vocabulary.words])
        is_word = ~marks[np.asarray(encoded.tokens)[tokens]]
        lengths = np.diff(np.concatenate(([0], np.cumsum(is_word)))[offsets])
        tokens = tokens[is_word]
    if reading.tokens is None:
        return np.repeat(shares[rows].argmax(axis=1), lengths).astype(np.int16), lengths
    rank_of = np.empty(len(order) + 1, np.int16)
    rank_of[order], rank_of[-1] = np.arange(len(order)), BACKGROUND  # -1 is the last place
    ranks = rank_of[reading.tokens.classes[tokens]]
    if reading.tokens.topics is not None and topics is not None:
        place = np.empty(topics.height, np.int16)
        place[topics["topic"].to_numpy()] = len(order) + np.arange(topics.height)
        own = reading.tokens.topics[tokens]
        ranks = np.where(own >= 0, place[own], ranks)
    return ranks, lengths


def learned_from(encoded: Encoded) -> bool:
    """Whether a vocabulary was made from these very texts: every word is as frequent in both.

    Fingerprints of fitted models are of what they made from the texts, so they do not tell.
    """
    tokens = np.asarray(encoded.tokens)
    counts = np.bincount(tokens[tokens >= 0], minlength=len(encoded.vocabulary))
    return np.array_equal(counts, encoded.vocabulary.counts)


def talk_of_findings(findings: Findings, names: Mapping[int, str] | None = None) -> Talk:
    """Return the messages of a page and their classes, to ask about; ``names`` are a person's."""
    summary = findings.summary
    shares = np.empty_like(findings.shares)
    shares[:, findings.order] = findings.shares
    contains = None
    if findings.contains is not None:
        contains = np.empty_like(findings.contains)
        contains[:, findings.order] = findings.contains
    own = {k: name for k, name in summary.class_names.items()
           if k in summary.named or not tells(name, findings.hidden)}  # fmt: skip
    return Talk(
        corpus=findings.corpus,
        shares=shares,
        known=findings.speaking,
        names=own | dict(names or {}),
        proposed=summary.proposed - set(names or {}),
        named=summary.named | set(names or {}),
        sizes=summary.class_shares,
        words=summary.words.filter(~pl.col("word").is_in(list(findings.hidden))),
        contains=contains,
    )


def rows_of(corpus: Corpus, shown: Shown) -> NDArray[np.int64]:
    """Return the rows of the conversations that the reader carries, whole."""
    return members(corpus.conversation_offsets, shown.conversations)[0]


def characteristic_words(findings: Findings, n_words: int) -> list[list[str]]:
    """Return the most distinctive words of each rank, without those that are to be hidden."""
    words: list[list[str]] = []
    table = findings.summary.words
    for number in findings.order.tolist():
        own: Sequence[str] = table.filter(pl.col("class") == number).sort("rank")["word"].to_list()
        words.append([word for word in own if word not in findings.hidden][:n_words])
    return words
