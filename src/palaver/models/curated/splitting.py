"""Dividing a class: a fit inside it, and what its parts then are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palaver import rng
from palaver.corpus.table import Corpus
from palaver.curation.state import MAX_NAME, MAX_PARTS, clean_text
from palaver.encoding import Encoded
from palaver.encoding.part import take_conversations
from palaver.errors import InputError, ParameterError
from palaver.models.base.model import Model
from palaver.models.curated.apply import curation_of
from palaver.models.curated.divided import Division, table_of, words_of
from palaver.models.curated.mixture import Floats, Mixture, fit_mixture
from palaver.models.curated.model import CuratedModel

#: Messages that a division learns from at most; it reads all of them.
_LEARNED = 5_000
#: Messages of a class per part that it should have at least.
_LEAST = 10


@dataclass(frozen=True, eq=False)
class Parts:
    """A division that is not yet part of a curation.

    Attributes
    ----------
    division : Division
    messages : array of int64, shape (n_parts,)
        How many messages are of each part, more than of any other.
    words : list of list of str
        What sets each part apart from the class as a whole.
    examples : list of array of int64
        Rows of messages that are surely of each part.
    """

    division: Division
    messages: NDArray[np.int64]
    words: list[list[str]]
    examples: list[NDArray[np.int64]]


def divide(model: Model, corpus: Corpus, id: int, n_parts: int, seed: int = 0) -> Parts:
    """Fit a model inside a class, and say what its parts are.

    A mixture of word distributions, over the words that the model itself goes by: the parts of an
    act differ in how things are said, those of a topic in what it is about.

    Parameters
    ----------
    model : Model
    corpus : Corpus
        To learn from; that which the model learned from, best of all.
    id : int
        Of the class, see ``curation_of(model)``.
    n_parts : int
    seed : int

    Raises
    ------
    InputError
        The class has too few messages, or no parts that differ.
    """
    if not 2 <= n_parts <= MAX_PARTS:
        raise ParameterError(f"a class can be divided into 2 to {MAX_PARTS} parts, not {n_parts}")
    curation = curation_of(model)
    own = curation.classes[curation.number_of(id)]
    if len(own.ids) > 1:
        raise ParameterError("the class was merged; take it apart first, then divide one of it")
    if getattr(model.origin, "tags_", None) is not None:
        raise ParameterError("the tags are labels that people gave; divide them in the data")
    curated = CuratedModel(model.origin, curation, getattr(model, "divisions_", {}))
    found = curated.find(corpus)
    part, rows = words_of(found.encoded, found.shares, found.tokens, own.ids[0])
    if len(rows) < _LEAST * n_parts:
        raise InputError(
            f"messages of this class: {len(rows):,}, too few for {n_parts} parts; "
            f"{_LEAST * n_parts} would be enough"
        )
    mixture = _fitted(model.origin, part, n_parts, seed)
    posteriors = mixture.posteriors(part)
    if len(np.unique(posteriors.argmax(axis=1))) < n_parts:
        raise InputError(f"the class has fewer than {n_parts} parts that differ; try fewer")
    base = found.shares[:, : curation.n_classes]
    weights = found.shares[rows, own.ids[0]]
    division = _counted(model.origin, found.encoded, base, rows, part, posteriors, weights,
                        mixture)  # fmt: skip
    return Parts(
        division,
        np.bincount(posteriors.argmax(axis=1), minlength=n_parts),
        _words(part, posteriors),
        [rows[np.argsort(-posteriors[:, j] * weights, kind="stable")[:5]] for j in range(n_parts)],
    )  # fmt: skip


def _fitted(origin: Model, part: Encoded, n_parts: int, seed: int) -> Mixture:
    """Return the parts of the messages of a class, learned from some of them if it is large."""
    n = part.n_conversations
    if n > _LEARNED:
        chosen = rng.generator(seed, "split").choice(n, _LEARNED, replace=False)
        part = take_conversations(part, np.sort(chosen))
    telling = origin._telling_words()
    spoken = np.array([any(map(str.isalnum, word)) for word in part.vocabulary.words], bool)
    return fit_mixture(part, n_parts, seed, spoken if telling is None else spoken & telling)


def _counted(
    origin: Model,
    encoded: Encoded,
    base: Floats,
    rows: NDArray[np.int64],
    part: Encoded,
    posteriors: Floats,
    weights: Floats,
    mixture: Mixture,
) -> Division:
    """Count how parts go with words, and with what comes before and after."""
    n_parts = posteriors.shape[1]
    lengths = np.diff(part.message_offsets)
    sizes = lengths if origin.units == "words" else weights
    shares = sizes @ posteriors
    shares = shares / shares.sum()
    counts = np.zeros((len(part.vocabulary), n_parts))
    known = part.tokens >= 0
    of_token = np.repeat(posteriors, lengths, axis=0)
    for j in range(n_parts):
        counts[:, j] = np.bincount(
            part.tokens[known], of_token[known, j], minlength=len(part.vocabulary)
        )
    n_classes = base.shape[1]
    mine = np.zeros((encoded.n_messages, n_parts))
    mine[rows] = posteriors * weights[:, None]
    parents = _links(origin, encoded)
    answers = np.flatnonzero(parents >= 0)
    follows = base[answers].T @ mine[parents[answers]]
    comes = np.zeros((n_classes + 1, n_parts))
    comes[:-1] = base[parents[answers]].T @ mine[answers]
    comes[-1] = mine[parents < 0].sum(axis=0)
    return Division(
        mixture, shares, table_of(counts, shares), table_of(follows, shares),
        table_of(comes, shares),
    )  # fmt: skip


def _links(origin: Model, encoded: Encoded) -> NDArray[np.int64]:
    """Return what each message follows as the model sees it; -1 for none."""
    if origin.transition_steps != "messages":
        return np.asarray(encoded.parents, np.int64)
    links = np.arange(-1, encoded.n_messages - 1)
    links[encoded.conversation_offsets[:-1]] = -1
    return links


def _words(part: Encoded, posteriors: Floats, n_words: int = 8) -> list[list[str]]:
    """Return the words that set each part apart, by what they add to the difference in bits."""
    known = part.tokens >= 0
    of_token = np.repeat(posteriors, np.diff(part.message_offsets), axis=0)[known]
    n = len(part.vocabulary)
    counts = np.stack([np.bincount(part.tokens[known], own, minlength=n) for own in of_token.T])
    shares = (counts + 0.01) / (counts + 0.01).sum(axis=1, keepdims=True)
    overall = counts.sum(axis=0) + 0.01
    gain = shares * np.log2(shares / (overall / overall.sum()))
    words = part.vocabulary.words
    found = []
    for own, said in zip(gain, counts, strict=True):
        order = [int(k) for k in np.argsort(-own, kind="stable") if own[k] > 0 and said[k] >= 1]
        spoken = [words[k] for k in order if any(map(str.isalnum, words[k]))]
        found.append(spoken[:n_words])
    return found


def part_names(name: str, words: list[list[str]]) -> list[str]:
    """Return names for the parts of a class: its own with the words that set each part apart."""
    return [
        clean_text(
            f"{name[: MAX_NAME - 34]}: {', '.join(w[:16] for w in own[:3])}"[:MAX_NAME], MAX_NAME
        )
        for own in words
    ]
