"""Backoff language models: plain n-grams, and factored models with other parents.

Bilmes & Kirchhoff (2003), "Factored language models and generalized parallel backoff";
Chen & Goodman (1998) for the smoothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from palaver.errors import CorpusError, NotFittedError, ParameterError
from palaver.language.counts import Events
from palaver.language.discounts import DISCOUNTS
from palaver.language.estimate import Smoothing, estimate
from palaver.language.graph import Graph, parse_graph
from palaver.language.tables import COMBINATIONS
from palaver.language.words import WordNumbers, number_words, word_parents
from palaver.params import Limit, check, either, flag, one_of, real, text, whole

#: Sentences of words.
Sentences = Sequence[Sequence[str]]
#: Factors by name, with a value for each word of each sentence.
Factors = Mapping[str, Sequence[Sequence[Any]]]

LIMITS: dict[str, Limit] = {
    "order": whole(1, 9),
    "graph": text(),
    "smoothing": one_of(*DISCOUNTS),
    "combine": one_of(*COMBINATIONS),
    "interpolate": flag(),
    "continuation": either(flag(), one_of("words")),
    "min_count": whole(1),
    "end": flag(),
}


class BackoffModel:
    """Smoothed probabilities of words given the preceding words and other factors.

    Parameters
    ----------
    order : int
        Length of n-grams: the ``order - 1`` words before the predicted one are parents, called
        word (the nearest), word2, word3, ...
    factors : sequence of str
        Names of further parents of every word, such as ("tag", "pitch").
    graph : str
        Order in which parents are dropped, such as ``"tag>word"`` or ``"word>state+tag"``
        (:mod:`palaver.language.graph`). "auto" drops distant words first, then factors, then
        the nearest word.
    smoothing : {"modified-kneser-ney", "kneser-ney", "witten-bell"}
        How probability is taken from seen words; see
        :func:`palaver.language.discounts.estimate_discounts`, also on data that are too small.
    combine : {"mean", "max", "product", "weighted", "count-weighted"}
        How a node that backs off in parallel combines the nodes below.
    path_weights : mapping of str to float, optional
        For "weighted": weights of the paths, by the parent that each drops first.
    interpolate : bool
        Mix lower orders into the probabilities of seen words; False: only of unseen words.
    cutoffs : int or sequence of int
        Counts up to this are treated as unseen; a sequence has one value per number of parents,
        from none upwards.
    continuation : bool or "words"
        Whether a node counts the different contexts of the node above in which a word occurs
        (Kneser-Ney), or its occurrences. "words": the former if a word is dropped, the latter for
        other factors. A node with several nodes above takes its counts from the nearest node
        that all paths to it pass through.
    min_count : int
        Rarer words are replaced by the unknown word.
    end : bool
        Whether to predict the ends of sentences.

    Attributes
    ----------
    words_ : list of str
        All words that can be predicted: first the unknown word, then the end if predicted.
    n_pairs_ : int
        Number of stored probabilities.

    Examples
    --------
    >>> import palaver as pv
    >>> model = pv.BackoffModel(order=2).fit([["a", "b"], ["a", "c"], ["a", "b"]])
    >>> round(float(model.distribution(["a"]).sum()), 9)
    1.0
    """

    def __init__(
        self,
        order: int = 3,
        factors: Sequence[str] = (),
        graph: str = "auto",
        smoothing: str = "modified-kneser-ney",
        combine: str = "mean",
        path_weights: Mapping[str, float] | None = None,
        interpolate: bool = True,
        cutoffs: int | Sequence[int] = 0,
        continuation: bool | str = True,
        min_count: int = 1,
        end: bool = True,
    ) -> None:
        self.order = order
        self.factors = factors
        self.graph = graph
        self.smoothing = smoothing
        self.combine = combine
        self.path_weights = path_weights
        self.interpolate = interpolate
        self.cutoffs = cutoffs
        self.continuation = continuation
        self.min_count = min_count
        self.end = end

    @property
    def parents(self) -> list[str]:
        """Names of all parents: words, the nearest first, then factors."""
        return word_parents(self.order) + list(self.factors)

    def _graph(self) -> Graph:
        text = self.graph
        if text == "auto":
            words = word_parents(self.order)
            text = ">".join([*words[:0:-1], *self.factors, *words[:1]])
        return parse_graph(text, self.parents)

    def _check(self) -> None:
        check("BackoffModel", LIMITS, {name: getattr(self, name) for name in LIMITS})
        if len(set(self.parents)) < len(self.parents):
            raise ParameterError(f"BackoffModel: factors must have distinct names, none of them "
                                 f"{', '.join(word_parents(self.order))}")  # fmt: skip

    # learning

    def fit(self, sentences: Sentences, factors: Factors | None = None) -> Self:
        """Estimate the probabilities.

        Parameters
        ----------
        sentences : sequence of sequences of str
        factors : mapping of str to sequences
            For each of ``factors``, a value for each word of each sentence; with ``end``, a
            sentence may have one more value, for its end (otherwise, its last value is used).
            None marks a missing value; nodes that need it are skipped.
        """
        self._check()
        graph = self._graph()
        if not any(len(sentence) for sentence in sentences):
            raise CorpusError("BackoffModel: the sentences contain no words")
        self._words = WordNumbers.choose(sentences, self.min_count, self.end)
        given = factors or {}
        self._values = {
            name: number_words(value for row in self._factor(given, name) for value in row)
            for name in self.factors
        }
        events = self._events(sentences, given)
        self._tables = estimate(
            events.unique(self._sizes(), len(self._words)),
            graph,
            self._sizes(),
            len(self._words),
            [self._counts_types(name) for name in self.parents],
            self._smoothing(),
        )
        return self

    def _smoothing(self) -> Smoothing:
        return Smoothing(
            self.smoothing,
            self.combine,
            checked_path_weights(self.parents, self.path_weights),
            self.interpolate,
            as_cutoffs(self.cutoffs),
        )

    def _counts_types(self, name: str) -> bool:
        if self.continuation == "words":
            return name not in self.factors
        return bool(self.continuation)

    def _sizes(self) -> list[int]:
        n_words = len(self._words) + 1  # including the start
        return [n_words] * (self.order - 1) + [len(self._values[name]) for name in self.factors]

    def _factor(self, factors: Factors, name: str) -> Sequence[Sequence[Any]]:
        if name not in factors:
            raise ParameterError(f"BackoffModel: values of the factor {name!r} are missing; pass "
                                 f"factors={{{name!r}: [...]}}")  # fmt: skip
        return factors[name]

    def _events(self, sentences: Sentences, factors: Factors) -> Events:
        """Return all predicted words with their parents."""
        tokens, offsets = self._words.encode(sentences)
        columns = [
            previous_words(tokens, offsets, distance, len(self._words))
            for distance in range(1, self.order)
        ]
        columns += [self._factor_column(factors, name, offsets) for name in self.factors]
        return Events(tokens, columns, np.ones(len(tokens), np.int64))

    def _factor_column(
        self, factors: Factors, name: str, offsets: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return a factor's values as numbers, including those for the ends of sentences."""
        rows, known = self._factor(factors, name), self._values[name]
        if len(rows) != len(offsets) - 1:
            raise ParameterError(f"BackoffModel: the factor {name!r} has {len(rows)} sentences, "
                                 f"but the words have {len(offsets) - 1}")  # fmt: skip
        column: list[int] = []
        for number, (row, (first, last)) in enumerate(zip(rows, pairwise(offsets), strict=True)):
            values = [known.get(value, -1) for value in row]
            size = int(last - first)
            if self.end and len(values) == size - 1:
                values.append(values[-1] if values else -1)
            if len(values) != size:
                raise ParameterError(f"BackoffModel: the factor {name!r} has {len(row)} values in "
                                     f"sentence {number}, not one per word")  # fmt: skip
            column += values
        return np.array(column, np.int64)

    # using

    def _check_fitted(self) -> None:
        if not hasattr(self, "_tables"):
            raise NotFittedError("BackoffModel: not fitted yet; call fit(sentences) or read_arpa")

    @property
    def words_(self) -> list[str]:
        """All words that can be predicted."""
        self._check_fitted()
        return list(self._words.words)

    @property
    def n_pairs_(self) -> int:
        """Number of stored probabilities."""
        self._check_fitted()
        return self._tables.n_pairs

    def word_logprobs(
        self, sentences: Sentences, factors: Factors | None = None
    ) -> NDArray[np.float64]:
        """Return the natural log probability of every word, including ends, as a flat array."""
        self._check_fitted()
        events = self._events(sentences, factors or {})
        return np.asarray(np.log(self._tables.probability(events.words, events.parents)))

    def logprob(
        self, sentence: Sequence[str], factors: Mapping[str, Sequence[Any]] | None = None
    ) -> float:
        """Return the natural log probability of a sentence."""
        rows = {name: [values] for name, values in (factors or {}).items()}
        return float(self.word_logprobs([sentence], rows).sum())

    def perplexity(self, sentences: Sentences, factors: Factors | None = None) -> float:
        """Return the perplexity per word, including ends."""
        logs = self.word_logprobs(sentences, factors)
        if not len(logs):
            raise CorpusError("BackoffModel: the sentences contain no words")
        return float(np.exp(-logs.mean()))

    def distribution(
        self, before: Sequence[str] = (), factors: Mapping[str, Any] | None = None
    ) -> NDArray[np.float64]:
        """Return the probabilities of all words, in the order of ``words_``.

        Parameters
        ----------
        before : sequence of str
            The preceding words, the nearest last; ``"<s>"`` is the start of the sentence.
        factors : mapping of str to value
            Factors that are not given, or have an unseen value, count as missing.
        """
        self._check_fitted()
        before = list(before)[::-1][: self.order - 1]
        context = [self._words.context(word) for word in before]
        context += [-1] * (self.order - 1 - len(before))
        given = factors or {}
        context += [self._values[name].get(given.get(name), -1) for name in self.factors]
        return self._tables.row(context)

    # ARPA files

    def write_arpa(self, path: str | Path) -> None:
        """Write a plain n-gram model in the ARPA format."""
        from palaver.language.arpa import arpa_text

        self._check_fitted()
        if not self._is_plain():
            raise ParameterError("BackoffModel: ARPA files can hold only plain n-grams, without "
                                 "factors or parallel backoff")  # fmt: skip
        with Path(path).open("w", encoding="utf-8") as stream:
            stream.writelines(arpa_text(self._tables, self._words))

    def _is_plain(self) -> bool:
        kept = [node.kept for node in self._tables.graph.nodes]
        return kept == [tuple(range(n)) for n in range(self.order - 1, -1, -1)]

    @classmethod
    def read_arpa(cls, path: str | Path) -> BackoffModel:
        """Read a plain n-gram model from an ARPA file, as written by KenLM or SRILM."""
        from palaver.language.arpa import parse_arpa

        tables, words = parse_arpa(Path(path))
        order = len(tables.sizes) + 1
        model = cls(order=order, end=words.end)
        model._words, model._tables, model._values = words, tables, {}
        return model


_WEIGHT = real(above=0, high=np.finfo(float).max)


def checked_path_weights(
    parents: Sequence[str], weights: Mapping[str, float] | None
) -> tuple[float, ...]:
    """Return the weights of paths in the order of the parents."""
    given = weights or {}
    for name, weight in given.items():
        if name not in parents or not _WEIGHT.admits(weight):
            raise ParameterError(f"path weights must map {', '.join(parents)} to positive numbers, "
                                 f"got {name!r}: {weight!r}")  # fmt: skip
    return tuple(float(given.get(name, 1.0)) for name in parents)


def as_cutoffs(cutoffs: int | Sequence[int]) -> tuple[int, ...]:
    """Return cut-offs as a tuple of whole numbers."""
    found = (cutoffs,) if isinstance(cutoffs, int) else tuple(cutoffs)
    if not found or not all(isinstance(c, int) and not isinstance(c, bool) and c >= 0
                            for c in found):  # fmt: skip
        raise ParameterError(f"cutoffs must be whole numbers >= 0, got {cutoffs!r}")
    return found


def previous_words(
    tokens: NDArray[np.int64], offsets: NDArray[np.int64], distance: int, start: int
) -> NDArray[np.int64]:
    """Return the word ``distance`` positions back, the start of the sentence, or -1 before it."""
    column = np.full(len(tokens), -1, np.int64)
    column[distance:] = tokens[: max(len(tokens) - distance, 0)]
    positions = np.arange(len(tokens)) - np.repeat(offsets[:-1], np.diff(offsets))
    column[positions == distance - 1] = start
    column[positions < distance - 1] = -1
    return column
