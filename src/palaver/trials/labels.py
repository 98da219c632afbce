"""Judging a fitted model by the labels of a corpus."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import evaluate, rng
from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, encode
from palaver.errors import ParameterError
from palaver.evaluate.labels import one_per_token
from palaver.models import Model
from palaver.trials.rivals import rival_classes, texts_of

_MOST_LABELS = 1000


@dataclass(frozen=True, eq=False)
class Judgement:
    """How well a model's classes agree with labels.

    Attributes
    ----------
    scores : polars.DataFrame
        Columns level ("words": each token against its label or the labels of its message;
        "messages": the largest class of each message, unless labels are those of words), measure,
        value, low, high, random.
    rivals : polars.DataFrame
        What trivial rivals make of the same messages (:mod:`palaver.trials.rivals`); columns
        rival, classes, and every measure.
    classes : polars.DataFrame
        Columns class, label (the most frequent one among the class's words or messages), share
        (of that label), messages (whose largest class it is); one row per class that occurs.
    gold : str
        The column of labels.
    n_labels, n_messages : int
        Number of different labels, and of messages that were judged.
    n_silent, n_unlabelled : int
        Messages that were not judged: labelled but without a known word; without a label.
    resampled : {"conversations", "messages"}
        What intervals are about.
    """

    scores: pl.DataFrame
    rivals: pl.DataFrame
    classes: pl.DataFrame
    gold: str
    n_labels: int
    n_messages: int
    n_silent: int = 0
    n_unlabelled: int = 0
    resampled: str = "conversations"


def judge(
    model: Model,
    corpus: Corpus,
    gold: str,
    *,
    n_sweeps: int = 50,
    n_resamples: int = 1000,
    random_state: rng.RandomState = 0,
) -> Judgement:
    """Compare the classes that a model gives a corpus with a column of labels.

    Lists with one label per word are compared word by word, known words only. Otherwise messages
    with several labels count once per label (Paul 2012). Those without a label are left out, as
    are background words and messages without a known word. Intervals come from resampling
    conversations, or messages where there is one conversation; ``random`` is the value for classes
    drawn uniformly at random.
    Rivals are judged by the same messages: k-means of tf-idf with as many classes, the rule "has
    a ?", and a single class.

    Parameters
    ----------
    model : Model
        A fitted model.
    corpus : Corpus
    gold : str
        A column with a label, or a list of labels, per message.
    n_sweeps : int
        Number of sweeps to fold in the corpus.
    n_resamples : int
    random_state : int, numpy.random.Generator or None
        Options of the bootstrap.
    """
    labels = label_column(corpus, gold)
    seed = rng.resolve_seed(random_state)
    encoded = encode(
        corpus, model.vocabulary_, sentences=model.needs_sentences,
        keep_unknown=model.keeps_unknown,
    )  # fmt: skip
    labels = word_labels(corpus, encoded, labels)
    by_word = one_per_token(labels, np.diff(encoded.message_offsets))
    lengths = np.diff(corpus.conversation_offsets)
    conversation = np.repeat(np.arange(corpus.n_conversations), lengths)
    resampled = "conversations"
    if corpus.n_conversations < 2:  # documents, or one long talk: there is nothing to resample
        conversation, resampled = np.arange(corpus.n_messages), "messages"
    levels: dict[str, tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = {}
    if hasattr(model, "token_classes"):
        classes = model.token_classes(encoded, n_sweeps)["class"].fill_null(-1).to_numpy()
        tokens = evaluate.labelled_tokens(classes, encoded.message_offsets, labels)
        levels["words"] = tokens.found, tokens.gold, conversation[tokens.message]
    seen = corpus if model.needs_texts else encoded
    largest = model.message_classes(seen, n_sweeps)
    known = model.known_messages(seen)
    largest[~known] = -1
    pairs = evaluate.message_labels(labels)
    places = pairs.message
    if by_word and levels:
        places = tokens.message
    else:
        levels["messages"] = largest[places], pairs.label, conversation[places]
    scores = [
        _scores(level, *arrays, len(model.class_shares_), n_resamples, seed)
        for level, arrays in levels.items()
    ]
    judged_by = list(levels.values())[-1][:2]
    rivals = _rivals(corpus, *judged_by, places, len(model.class_shares_), seed)
    found, truth, _ = next(iter(levels.values()))
    labelled = np.unique(pairs.message)
    judged = labelled[known[labelled]]
    sizes = np.bincount(largest[judged], minlength=len(model.class_shares_))
    classes = _majority(found, truth, pairs.names)
    return Judgement(
        pl.concat(scores), rivals,
        classes.with_columns(messages=pl.Series(sizes[classes["class"]])), gold,
        len(pairs.names), len(judged), len(labelled) - len(judged),
        corpus.n_messages - len(labelled), resampled,
    )  # fmt: skip


def label_column(corpus: Corpus, gold: str) -> pl.Series:
    """Return the column of labels, or say which columns there are."""
    usable = [name for name in corpus.labels if _label_type(corpus.table.schema[name])]
    if gold not in corpus.labels:
        known = f"there are {', '.join(usable)}" if usable else "no column could be one"
        raise ParameterError(f"there is no column of labels {gold!r}; {known}")
    column = corpus.table[gold]
    if not _label_type(column.dtype):
        raise ParameterError(f"the column {gold!r} holds {column.dtype}, which cannot be labels")
    flat = column.explode() if isinstance(column.dtype, pl.List) else column
    n_labels = flat.drop_nulls().n_unique()
    if not n_labels:
        raise ParameterError(f"no message has a label in the column {gold!r}")
    if n_labels > _MOST_LABELS:
        raise ParameterError(
            f"the column {gold!r} has {n_labels:,} different values, too many for labels"
        )
    return column.cast(pl.String) if column.dtype == pl.Boolean else column


def word_labels(corpus: Corpus, encoded: Encoded, labels: pl.Series) -> pl.Series:
    """Return lists of labels without those of unknown words, if there is one label per word.

    Other labels are returned as they are.

    Parameters
    ----------
    corpus : Corpus
    encoded : Encoded
        The corpus, with or without unknown words.
    labels : polars.Series, shape (n_messages,)
    """
    if not isinstance(labels.dtype, pl.List) or encoded.n_messages != len(labels):
        return labels
    every = encode(corpus, encoded.vocabulary, keep_unknown=True)
    if not one_per_token(labels, np.diff(every.message_offsets)):
        return labels
    if every.n_tokens == encoded.n_tokens:
        return labels
    known = every.tokens >= 0
    return pl.Series(
        labels.name,
        [
            None if row is None else row.filter(pl.Series(known[first:last])).to_list()
            for row, (first, last) in zip(labels, pairwise(every.message_offsets), strict=True)
        ],
        dtype=labels.dtype,
    )


def _label_type(dtype: pl.DataType) -> bool:
    inner = dtype.inner if isinstance(dtype, pl.List) else dtype
    return inner == pl.String or inner == pl.Boolean or inner.is_integer()


def _scores(
    level: str,
    found: NDArray[Any],
    gold: NDArray[Any],
    groups: NDArray[Any],
    n_classes: int,
    n_resamples: int,
    seed: int,
) -> pl.DataFrame:
    """Return all measures with intervals, and their values for random classes."""
    kept = (found >= 0) & (gold >= 0)
    found, gold, groups = found[kept], gold[kept], groups[kept]
    intervals = evaluate.clustering_intervals(
        found, gold, groups, n_resamples=n_resamples, random_state=seed
    )
    random = evaluate.clustering_scores(evaluate.random_classes(len(found), n_classes, seed), gold)
    rows = [(level, name, *interval, random[name]) for name, interval in intervals.items()]
    return pl.DataFrame(rows, ["level", "measure", "value", "low", "high", "random"], orient="row")


def _rivals(
    corpus: Corpus,
    found: NDArray[Any],
    gold: NDArray[Any],
    message: NDArray[Any],
    n_classes: int,
    seed: int,
) -> pl.DataFrame:
    """Return what rivals make of the messages that the model was judged by."""
    kept = (found >= 0) & (gold >= 0)
    gold, message = gold[kept], message[kept]
    rows = []
    for name, number, classes in rival_classes(texts_of(corpus), [n_classes], seed):
        scores = evaluate.clustering_scores(classes[message], gold)
        rows.append({"rival": name, "classes": number} | {m: scores[m] for m in evaluate.MEASURES})
    return pl.DataFrame(rows)


def _majority(found: NDArray[Any], gold: NDArray[Any], names: list[Any]) -> pl.DataFrame:
    """Return the most frequent label of each class, and its share."""
    kept = (found >= 0) & (gold >= 0)
    table = evaluate.contingency(found[kept], gold[kept])
    best = table.argmax(axis=1)
    present = np.unique(gold[kept])
    return pl.DataFrame(
        {
            "class": np.unique(found[kept]).astype(np.int64),
            "label": [str(names[present[column]]) for column in best],
            "share": table.max(axis=1) / table.sum(axis=1),
        }
    )
