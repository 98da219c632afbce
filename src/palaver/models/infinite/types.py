"""One state per word, as the loop sees it: all occurrences of a word move together.

A collapsed Gibbs sampler over the words of the vocabulary, with all data in one shard
(:mod:`palaver.models.states.kernels.types`). Words that stand in similar company and have similar
forms share a state. Earlier models of this kind: Clark (2003), *Combining
distributional and morphological information for part of speech induction*, EACL; Blunsom & Cohn
(2011), *A hierarchical Pitman-Yor process HMM for unsupervised part of speech induction*, ACL.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver import rng
from palaver.encoding.shards import Shard
from palaver.models.states import types
from palaver.models.states.kernels.types import Links, Tallies, TypePriors
from palaver.models.states.priors import Hyperpriors
from palaver.parallel import Arrays, Globals
from palaver.parallel.restored import POSITIVE, Expected, check_arrays, check_counts, indices

#: Where learned priors start: near where they end on English text.
_FIRST_ROW, _FIRST_STATE, _FIRST_WORD, _FIRST_FORM = 0.4, 5.0, 0.75, 10.0
_PAIRS = 30  # of words whose states a sweep tries to split or merge
#: A search for at most so many states begins with as many as are allowed: states at the limit are
#: exchanged for better ones, so that it need not grow first.
_WHOLE_START = 100


@dataclass
class TypeEngine:
    """A hidden Markov model in which every word has one state.

    Attributes
    ----------
    most : int
        Largest number of states.
    fixed : bool
        Whether ``most`` was asked for: states are then neither split nor merged.
    first_states : int
        Number of states with which the search begins, if more than 100 are allowed.
    row_concentration, state_concentration, discount, word_prior : float or None
        Dirichlet prior of each transition; concentration and discount of the partition of words
        into states; Dirichlet prior of the words of a state. None learns them.
    limits : (float, float)
        Of a word prior that is learned.
    hyperpriors : Hyperpriors
    forms : array of int32, shape (n_words, n_forms)
    n_values : array of int64, shape (n_forms,)
    burn_in : int
        Sweeps after which states are also split and merged wherever that raises the log joint,
        unless their number is fixed.
    """

    most: int
    fixed: bool
    first_states: int
    row_concentration: float | None
    state_concentration: float | None
    discount: float | None
    word_prior: float | None
    limits: tuple[float, float]
    hyperpriors: Hyperpriors
    forms: NDArray[np.int32]
    n_values: NDArray[np.int64]
    burn_in: int = 0
    run: Any = field(init=False, default=map)
    exact: ClassVar[tuple[str, ...]] = ()

    def start(self, generator: np.random.Generator) -> Globals:
        """Return the first priors."""
        first = (
            ("row_concentration", self.row_concentration, _FIRST_ROW),
            ("state_concentration", self.state_concentration, _FIRST_STATE),
            ("discount", self.discount, self.hyperpriors.first_discount),
            ("word_prior", self.word_prior, min(max(_FIRST_WORD, self.limits[0]), self.limits[1])),
        )
        arrays = {name: np.array(given if given is not None else at) for name, given, at in first}
        arrays["form_priors"] = np.full(len(self.n_values), _FIRST_FORM)
        return Globals("sweep", {**arrays, "burn_in": np.array(self.burn_in)})

    def open(self, shared: Globals, shard: Shard, key: NDArray[np.uint64]) -> Arrays:
        """Find who stands next to whom, and first states."""
        n_words = len(self.forms)
        pairs = types.count_pairs(shard.tokens, shard.message_offsets, n_words)
        links = types.links_of(pairs, n_words, self.forms)
        classes = types.first_classes(links, self._n_first, self._priors(shared), 1.0, key)
        states = classes[shard.tokens].astype(np.int16)
        return {"pairs": pairs, "classes": classes, "states": states}

    def check(self, shared: Globals, shard: Shard, state: Arrays) -> None:
        """Raise ValueError unless globals and a state are what this engine makes."""
        n_words = len(self.forms)
        positive = Expected((), least=POSITIVE, most=1e100)
        wanted = dict.fromkeys(("row_concentration", "state_concentration", "word_prior"), positive)
        wanted["discount"] = Expected((), least=0, most=1)
        wanted["form_priors"] = Expected((len(self.n_values),), least=POSITIVE, most=1e100)
        check_arrays(shared.arrays, wanted)
        check_arrays(state, {"classes": indices(n_words, self.most, np.int32)})
        pairs = types.count_pairs(shard.tokens, shard.message_offsets, n_words)
        check_counts(state, {"pairs": pairs})
        states = state["classes"][shard.tokens].astype(np.int16)
        check_counts(state, {"states": states})

    @property
    def _n_first(self) -> int:
        at_limit = self.fixed or self.most <= _WHOLE_START
        return self.most if at_limit else min(self.first_states, self.most)

    def _priors(self, shared: Globals) -> TypePriors:
        arrays = shared.arrays
        return TypePriors(
            float(arrays["row_concentration"]), float(arrays["word_prior"]),
            float(arrays["state_concentration"]), float(arrays["discount"]),
            arrays["form_priors"], self.n_values,
        )  # fmt: skip

    @property
    def _learned(self) -> frozenset[str]:
        given = {
            "transition": self.row_concentration, "concentration": self.state_concentration,
            "discount": self.discount, "word": self.word_prior,
        }  # fmt: skip
        return frozenset(name for name, value in given.items() if value is None)

    def sweep(
        self, shared: Globals, shard: Shard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Draw the state of every word in a random order; then try to split and merge states.

        In the burn-in, once it has cooled down, that is a round of an optimizer, which never lowers
        the log joint; after it they are accepted by the ratio of Metropolis-Hastings.
        """
        classes, n_words = state["classes"], len(self.forms)
        links = types.links_of(state["pairs"], n_words, self.forms)
        order = _shuffled(n_words, key)
        tallies = types.resampled(
            links, classes, order, self.most, self._priors(shared), 1 / shared.temperature, key
        )
        other_key = key[::-1].copy()
        burning = shared.arrays.get("burn_in", 0) > 0 and shared.temperature == 1
        if not self.fixed and burning:
            tallies = types.searched(links, tallies, self.most, self._priors(shared), other_key)
            classes[:] = tallies.classes
        elif not self.fixed:
            types.split_or_merged(
                links, tallies, _PAIRS, self.most, self._priors(shared), 1 / shared.temperature,
                other_key,
            )  # fmt: skip
        state["states"][:] = classes[shard.tokens]
        return _statistics(links, tallies)

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Refuse: all data are in one shard, because words move one after the other."""
        raise NotImplementedError("one state per word needs all sentences in one shard")

    def update(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Move the priors that are learned, given the states of all words."""
        tallies = _tallies(statistics)
        sizes = types.used(tallies)
        priors = types.moved(
            tallies, statistics["totals"], self._priors(shared), generator, self._learned,
            self.hyperpriors, self.limits,
        )  # fmt: skip
        log_joint = types.log_density(tallies, statistics["totals"], priors)
        named = {
            "row_concentration": priors.transition,
            "state_concentration": priors.concentration,
            "discount": priors.discount,
            "word_prior": priors.word,
        }
        n_states = len(sizes)
        arrays = {name: np.array(value) for name, value in named.items()}
        arrays |= {
            "burn_in": np.maximum(shared.arrays.get("burn_in", 0) - 1, 0),
            "form_priors": priors.forms, "classes": statistics["classes"],
            "totals": statistics["totals"], "relabel": np.arange(n_states, dtype=np.int16),
            "transition_counts": tallies.transitions[:n_states, :n_states].copy(),
            "start_counts": tallies.transitions[-1, :n_states].copy(),
        }  # fmt: skip
        trace = {"log_joint": log_joint, "states": float(n_states), **named}
        return Globals("sweep", arrays), trace

    def sample(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return numbers only: states come and go, so their parameters have no mean."""
        names = ("row_concentration", "state_concentration", "discount", "word_prior")
        return {name: shared.arrays[name] for name in names}


def _shuffled(n_words: int, key: NDArray[np.uint64]) -> NDArray[np.int64]:
    return rng.generator(int(key[0] ^ key[1]), "order of words").permutation(n_words)


def _statistics(links: Links, tallies: Tallies) -> Arrays:
    """Return the tallies as named arrays, without unused room."""
    kept = np.append(np.flatnonzero(tallies.words), len(tallies.words) - 1)
    return {
        "classes": tallies.classes.copy(), "totals": links.totals,
        "transitions": tallies.transitions[np.ix_(kept, kept)], "sources": tallies.sources[kept],
        "tokens": tallies.tokens[kept], "words": tallies.words[kept],
        "forms": tallies.forms[:, kept],
    }  # fmt: skip


def _tallies(statistics: Arrays) -> Tallies:
    return Tallies(*(statistics[name] for name in Tallies._fields))


def own_words(
    classes: NDArray[np.int32], totals: NDArray[np.int64], eta: float, n_states: int
) -> NDArray[np.float64]:
    """Return the probability of each word in each state, zero outside its own, (n_states, W)."""
    words = np.zeros((n_states, len(classes)))
    words[classes, np.arange(len(classes))] = totals + eta
    return np.asarray(words / words.sum(axis=1, keepdims=True))
