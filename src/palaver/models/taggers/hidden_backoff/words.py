"""The word model of a hidden backoff tagger: words given words before, state, tag and factors.

It is the factor P(w_{k,i} | w_{k,i-1}, s_{k,i}, d_k) of the joint probability in section 3 of
Ji & Bilmes (2006). Section 4.1 describes its backoff path in two ways: the previous word is
dropped first, then state and tag in parallel (``"word>state+tag"``); or the state first and the tag
second (``"state>tag>word"``, the default). Factors are further parents of words; what acts and
states generate themselves, as in the paper's figure 5, is in
:mod:`palaver.models.taggers.hidden_backoff.emitted`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.errors import ParameterError
from palaver.language import Events, Graph, Smoothing, Tables, estimate, parse_graph
from palaver.language.backoff import checked_path_weights, previous_words
from palaver.language.cases import Cases
from palaver.language.keys import Keys
from palaver.language.words import word_parents
from palaver.models.taggers.hidden_backoff.emitted import EmittedFactor
from palaver.models.taggers.hidden_backoff.layout import StateLayout
from palaver.models.taggers.sentences import Sentences
from palaver.parallel.restored import POSITIVE, Expected

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Tables of one alignment: of words, and of each emitted factor.
Alignment = list[Tables]


@dataclass(frozen=True, eq=False)
class Types:
    """Distinct observed events, and which one each token is.

    Attributes
    ----------
    of_tokens : array of int32, shape (n_tokens,)
    tags : array of int64, shape (n_types,)
        -1 throughout if tags are not observed.
    words : array of int64, shape (n_types,)
    observed : list of array of int64, each of shape (n_types,)
        The words before, then the factors; -1 where there is none.
    emitted : list of array of int64, each of shape (n_types,)
        Values of the emitted factors, -1 where there is none.
    """

    of_tokens: NDArray[np.int32]
    tags: Numbers
    words: Numbers
    observed: list[Numbers]
    emitted: list[Numbers]


@dataclass(frozen=True)
class WordModel:
    """How words depend on their parents; :class:`Tables` hold the probabilities.

    Attributes
    ----------
    layout : StateLayout
    n_words : int
    order : int
    factor_sizes : dict of str to int
    backoff : str
        The graph's text; "auto" drops factors, words from the farthest, state, tag, last word.
    continuation : bool or str
    smoothing : Smoothing
    emitted : dict of str to EmittedFactor
        What acts and states generate with the words.
    """

    layout: StateLayout
    n_words: int
    order: int
    factor_sizes: dict[str, int]
    backoff: str
    continuation: bool | str
    smoothing: Smoothing
    emitted: dict[str, EmittedFactor] = field(default_factory=dict)

    def weighted(self, weights: Mapping[str, float]) -> WordModel:
        """Return the model with weights of backoff paths; "state" is ignored if none is hidden.

        Raises
        ------
        ParameterError
            A weight is not a positive number, or there is no such parent.
        """
        given = {n: weight for n, weight in weights.items() if n != "state" or self.has_states}
        own = checked_path_weights(self.parents, given)
        return replace(self, smoothing=replace(self.smoothing, weights=own))

    @property
    def has_states(self) -> bool:
        """Whether anything is hidden."""
        return self.layout.most > 1

    @property
    def parents(self) -> list[str]:
        """Names of all parents of a word."""
        hidden = ["state", "tag"] if self.has_states else ["tag"]
        return [*word_parents(self.order), *hidden, *self.factor_sizes]

    @property
    def _hidden(self) -> range:
        """Places of state and tag among all parents."""
        return range(self.order - 1, self.order + self.has_states)

    @property
    def graph(self) -> Graph:
        """The backoff graph; "state" is left out of its text if none is hidden."""
        text = self.backoff
        if text == "auto":
            words = word_parents(self.order)
            text = ">".join([*self.factor_sizes, *words[:0:-1], "state", "tag", *words[:1]])
        if not self.has_states:
            steps = (
                [n for n in step.split("+") if n.strip() != "state"] for step in text.split(">")
            )
            text = ">".join("+".join(step) for step in steps if step)
        return parse_graph(text, self.parents)

    @property
    def sizes(self) -> list[int]:
        """Number of values of each parent."""
        hidden = [self.layout.n_word_tags]
        if self.has_states:
            hidden = [self.layout.most, *hidden]
        return [self.n_words + 1] * (self.order - 1) + hidden + list(self.factor_sizes.values())

    @property
    def empty(self) -> Tables:
        """Tables without probabilities."""
        smoothing = self.smoothing
        return Tables(self.graph, self.sizes, self.n_words, smoothing.combine, smoothing.weights)

    def types(self, sentences: Sentences, *, with_tags: bool) -> Types:
        """Find the distinct events of sentences."""
        tokens = sentences.tokens.astype(np.int64)
        offsets = sentences.message_offsets - sentences.message_offsets[0]
        observed = [
            previous_words(tokens, offsets, distance, self.n_words)
            for distance in range(1, self.order)
        ]
        observed += [sentences.factors[name].astype(np.int64) for name in self.factor_sizes]
        tags = (
            np.repeat(sentences.tags, np.diff(offsets)) if with_tags else np.full_like(tokens, -1)
        )
        sizes = [self.n_words + 1] * (self.order - 1) + list(self.factor_sizes.values())
        emitted = [sentences.factors[name].astype(np.int64) for name in self.emitted]
        values = [factor.n_values + 1 for factor in self.emitted.values()]
        keys, numbers = Keys.number(  # contexts first: lookups in sorted tables then go upwards
            [tags + 1, *(column + 1 for column in observed), tokens, *(e + 1 for e in emitted)],
            [len(self.layout.n_states) + 1, *(size + 1 for size in sizes), self.n_words, *values],
        )
        found_tags, *columns = keys.columns()
        place = len(observed)
        return Types(
            numbers.astype(np.int32), found_tags - 1, columns[place],
            [c - 1 for c in columns[:place]], [c - 1 for c in columns[place + 1 :]],
        )  # fmt: skip

    def _parents(self, observed: Sequence[Numbers], units: Numbers) -> list[Numbers]:
        """Return the columns of all parents of events in the given units."""
        hidden = [self.layout.word_tags[units]]
        if self.has_states:
            hidden = [self.layout.word_states[units], *hidden]
        return [*observed[: self.order - 1], *hidden, *observed[self.order - 1 :]]

    def train(self, words: Numbers, observed: list[Numbers], emitted: list[Numbers],
              units: Numbers, counts: Numbers) -> Alignment:  # fmt: skip
        """Estimate the probabilities from events with their units.

        Parameters
        ----------
        words, units, counts : array of int64, shape (n_events,)
        observed, emitted : list of array of int64, each of shape (n_events,)
        """
        events = Events(words, self._parents(observed, units), counts)
        types = [self._counts_types(name) for name in self.parents]
        sizes = self.sizes
        tables = estimate(
            events.unique(sizes, self.n_words), self.graph, sizes, self.n_words, types,
            self.smoothing,
        )  # fmt: skip
        factors = zip(self.emitted.values(), emitted, strict=True)
        return [tables, *(factor.train(values, words, units, counts) for factor, values in factors)]

    def _counts_types(self, name: str) -> bool:
        if self.continuation == "words":
            return name.startswith("word") and name not in self.factor_sizes
        return bool(self.continuation)

    def emissions(self, tables: Sequence[Alignment], types: Types) -> Floats:
        """Return the probability of each type in each state of its own tag.

        Returns
        -------
        array of float64, shape (n_types, most states)
        """
        sizes = np.array(self.layout.n_states)[types.tags]
        found = np.zeros((len(types.words), self.layout.most))
        for state in range(self.layout.most):
            rows = np.flatnonzero(sizes > state)
            units = self.layout.units[types.tags[rows]] + state
            found[rows, state] = self._mean(tables, types, rows, units)
        return found

    def all_emissions(self, tables: Sequence[Alignment], types: Types) -> Floats:
        """Return the probability of each type in each unit, (n_types, n_units)."""
        found = np.empty((len(types.words), self.layout.n_units))
        known: dict[tuple[int, ...], int] = {}
        layout = self.layout
        cases = [Cases(own, types.words, self._observed(types)) for own, *_ in tables]
        for unit in range(layout.n_units):
            parts = [layout.word_tags[unit], layout.word_states[unit]]
            if self.emitted:
                parts += [layout.tags[layout.unit_tags[unit]], layout.unit_states[unit]]
            same = tuple(int(part) for part in parts)  # of tied states, and of variants
            if same in known:
                found[:, unit] = found[:, known[same]]
                continue
            known[same] = unit
            found[:, unit] = self._mean_of_unit(tables, cases, types, unit)
        return found

    def _observed(self, types: Types) -> dict[int, Numbers]:
        """Return the observed parents of types, by their place among all parents."""
        places = [n for n in range(len(self.parents)) if n not in self._hidden]
        return dict(zip(places, types.observed, strict=True))

    def _mean_of_unit(self, tables: Sequence[Alignment], cases: Sequence[Cases], types: Types,
                      unit: int) -> Floats:  # fmt: skip
        """Return the probabilities of all types in a unit, averaged over several alignments."""
        own = {"tag": self.layout.word_tags[unit], "state": self.layout.word_states[unit]}
        given = {place: int(own[self.parents[place]]) for place in self._hidden}
        units = np.full(len(types.words), unit)
        parts = []
        for case, (_, *others) in zip(cases, tables, strict=True):
            part = case(given)
            factors = zip(self.emitted.values(), others, types.emitted, strict=True)
            for factor, table, values in factors:
                part *= factor.probability(table, values, types.words, units)
            parts.append(part)
        return np.asarray(sum(parts) / len(parts))

    def _mean(self, tables: Sequence[Alignment], types: Types, rows: Numbers,
              units: Numbers) -> Floats:  # fmt: skip
        """Return probabilities of words and emitted values, averaged over several alignments."""
        parents = self._parents([column[rows] for column in types.observed], units)
        words = types.words[rows]
        parts = []
        for own, *others in tables:
            part = own.probability(words, parents)
            factors = zip(self.emitted.values(), others, types.emitted, strict=True)
            for factor, table, values in factors:
                part *= factor.probability(table, values[rows], words, units)
            parts.append(part)
        return np.asarray(sum(parts) / len(parts))


def alignment_arrays(number: int, tables: Alignment) -> dict[str, NDArray[Any]]:
    """Return the tables of an alignment as named arrays, for globals."""
    return {
        f"words{number}-{place}_{name}": array
        for place, table in enumerate(tables)
        for name, array in table.arrays().items()
    }


def word_tables(words: WordModel, arrays: Mapping[str, NDArray[Any]]) -> list[Alignment]:
    """Return the tables in a tagger's globals, by alignment.

    Parameters
    ----------
    words : WordModel
    arrays : mapping of str to array
        With those of :func:`alignment_arrays`.
    """
    own: dict[str, dict[str, NDArray[Any]]] = {}
    for name, array in arrays.items():
        prefix, _, rest = name.partition("_")
        if prefix.startswith("words"):
            own.setdefault(prefix, {})[rest] = array
    empty = [words.empty, *(factor.empty for factor in words.emitted.values())]
    return [
        [table.with_arrays(own[f"words{number}-{place}"]) for place, table in enumerate(empty)]
        for number in range(len(own) // len(empty))
    ]


def expected_tables(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Expected]:
    """Return what the arrays of :func:`alignment_arrays` must be: loops follow them."""
    wanted: dict[str, Expected] = {}
    for name, array in arrays.items():
        node, _, part = name.rpartition("_")
        if name.startswith("words") and part == "probability":
            of_pairs, of_contexts = (array.size,), (arrays[f"{node}_alpha"].size,)
            wanted |= {
                name: Expected(of_pairs, least=POSITIVE, most=1 + 1e-9),
                f"{node}_pairs": Expected(of_pairs, np.int64, least=0),
                f"{node}_alpha": Expected(of_contexts, least=0),
                f"{node}_totals": Expected(of_contexts, np.int64, least=0),
            }
        elif name.startswith("words") and part.startswith("level"):
            wanted[name] = Expected((array.size,), np.int64, least=0)
    return wanted


def check_backoff(text: Any) -> None:
    """Refuse what cannot be a graph, before any data are read."""
    if not isinstance(text, str) or not text:
        raise ParameterError(f"backoff must be a graph such as 'state>tag>word', got {text!r}")
