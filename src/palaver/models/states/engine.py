"""Hidden states as the loop sees them: sweeps create states, updates prune empty ones.

The infinite hidden Markov model of Van Gael, Vlachos & Ghahramani (2009), sections 2 and 3, on the
beam sampler of Van Gael, Saatci, Teh & Ghahramani (2008); with a fixed number of states, the finite
Bayesian one. What states emit is a component (:mod:`palaver.models.states.emissions`).

Globals hold the weights of the represented states (``state_weights``, beta; the last entry is that
of all other states together), the transition rows (last column: all other states; last row: the
start), the parameters of the emissions, and ``stick_key``, from which every shard draws further
states as it needs them, all shards the same ones. An update prunes the states that no position is
in, and ``relabel`` gives the shards the new numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.kernels import chains
from palaver.models.states import priors, search, types
from palaver.models.states.emissions import Axes, Emissions
from palaver.models.states.emissions.messages import MessageEmissions
from palaver.models.states.emissions.words import WordEmissions
from palaver.models.states.kernels import beam, beam_trees, sticks
from palaver.models.states.sticks import Sticks, concentrations, extend_sticks
from palaver.models.states.tags import Tags
from palaver.parallel import Arrays, Globals
from palaver.parallel.restored import Expected, check_arrays, check_rows, indices

#: Default number of states at the start, and the number beyond which a fit is refused.
FIRST_STATES, MAX_STATES = 20, 1000

_SHARED_AXES: Axes = {"start_counts": (0,), "transition_counts": (0, 1), "group_counts": (1,)}


@dataclass
class StateEngine:
    """A hidden Markov model with as many states as the data need, or a fixed number.

    Attributes
    ----------
    emissions : Emissions
    n_states : int or None
        A fixed number of states of equal weight; None for infinitely many.
    row_concentration : float or None
        alpha: how close transition rows are to the weights that they share; None learns it.
    state_concentration : float or None
        gamma: the larger, the more states; None learns it.
    discount : float or None
        d, of the Pitman-Yor process; 0 is the Dirichlet process, None learns it.
    first_states : int
        Number of states at the start, among which positions are spread evenly.
    max_states : int
        Fail beyond this many states.
    dense : bool
        Filter over all transitions instead of those above slices; finite models only.
    tags : Tags
        Which states each position may have.
    begin : {"emissions", "types", "random"}
        Where the first states come from: the emissions, if they suggest any; classes of word types,
        as many as the words call for, found after the first pass over the data; or chance alone.
    hyperpriors : Hyperpriors
    search : int
        Sweeps, as soon as the temperature is one, that also look for better states
        (:mod:`palaver.models.states.search`), without slices if the states are few.
    """

    emissions: Emissions
    n_states: int | None
    row_concentration: float | None
    state_concentration: float | None
    discount: float | None
    first_states: int
    max_states: int
    dense: bool
    tags: Tags
    begin: str = "emissions"
    hyperpriors: priors.Hyperpriors = priors.HYPERPRIORS
    search: int = 0
    run: Any = field(init=False, default=map)
    exact: ClassVar[tuple[str, ...]] = (
        "start_counts", "transition_counts", "group_counts", "word_counts", "pairs",
    )  # fmt: skip

    # the five functions

    def start(self, generator: np.random.Generator) -> Globals:
        """Return the first globals; the first sweep only counts the first states."""
        return Globals("count", self._first_arrays(self._n_first, generator))

    def _first_arrays(self, n_states: int, generator: np.random.Generator) -> Arrays:
        """Return what globals hold before the first draw."""
        rest = 0.0 if self.n_states else 1 / (n_states + 1)
        return {
            "row_concentration": _given_or(self.row_concentration, 1.0),
            "state_concentration": _given_or(self.state_concentration, 1.0),
            "discount": _given_or(self.discount, self.hyperpriors.first_discount),
            "state_weights": np.append(np.full(n_states, (1 - rest) / n_states), rest),
            "relabel": np.arange(n_states, dtype=np.int16),
            "search": np.array(self.search),
            **self.emissions.start(n_states, generator),
            **self.tags.start(n_states),
        }

    @property
    def _n_first(self) -> int:
        return self.n_states or max(self.first_states, self.tags.n_tags)

    def open(self, shared: Globals, shard: Any, key: NDArray[np.uint64]) -> Arrays:
        """Return first states: those that the emissions suggest, or each drawn evenly.

        A state that its position does not admit is replaced by the next one that it does.
        """
        offsets, first = _sequences(self, shard)
        states = np.empty(offsets[-1], np.int16)
        known = None if self.begin == "random" else self.emissions.first(shared.arrays, shard)
        if known is None:
            chains.start_states(offsets, first, self._n_first, key, states)
        else:
            states[:] = known
        self.tags.admit(shared.arrays, self._groups(shard), states)
        return {"states": states}

    def check(self, shared: Globals, shard: Any, state: Arrays) -> None:
        """Raise ValueError unless globals and a state are what this engine makes."""
        own = shared.arrays
        n_states, n_old = len(own["state_weights"]) - 1, len(own["relabel"])
        check_rows(own["state_weights"], (n_states + 1,))
        check_arrays(own, {"relabel": Expected((n_old,), np.int16, -1, max(n_states, 1))})
        if "search" in own:  # there was no search once
            check_arrays(own, {"search": Expected((), np.int64, 0, self.search + 1)})
        offsets, _ = _sequences(self, shard)
        if shared.phase == "place":
            check_arrays(own, {"places": indices(shard.n_words, n_states, own["places"].dtype)})
        else:
            check_arrays(state, {"states": indices(int(offsets[-1]), n_old)})
            if own["relabel"][state["states"]].min(initial=0) < 0:
                raise ValueError("relabel removes a state that is used")
        for name, axes in self._axes.items():
            if name in own and not all(own[name].shape[axis] == n_states for axis in axes):
                raise ValueError(f"{name} has the shape {own[name].shape}")
        if shared.phase != "count":
            check_rows(own["rows"], (n_states + 1, n_states + 1))
            check_arrays(own, self.emissions.forms(own, n_states))

    def sweep(self, shared: Globals, shard: Any, state: Arrays, key: NDArray[np.uint64]) -> Arrays:
        """Resample the states of a shard; return what parameters are drawn from."""
        states, arrays = state["states"], shared.arrays
        if shared.phase == "place":
            states[:] = arrays["places"][shard.tokens]
        else:
            states[:] = arrays["relabel"][states]
        n_states = len(arrays["state_weights"]) - 1
        found: Arrays = {}
        if shared.phase != "count":
            self._resample(shared, shard, states, key)
            n_states = max(n_states, int(states.max(initial=-1)) + 1)
            if self._divides(shared):
                half = self._n_dense(arrays)
                states += half * self.emissions.cut(arrays, shard, states, key)
                n_states = 2 * half
        elif self.begin == "types":
            found["pairs"] = types.count_pairs(shard.tokens, shard.message_offsets, shard.n_words)
        return {**self._count(shard, states, n_states), **found}

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Add up statistics, padded to the larger number of states; the left are used up."""
        axes = self._axes
        sizes = [
            array.shape[axis]
            for part in (left, right)
            for name, array in part.items()
            for axis in axes.get(name, ())
        ]
        n_states = max(sizes, default=0)
        for name, value in right.items():
            if name == "pairs":
                left[name] = types.add_pairs(np.hstack((left[name], value)))
                continue
            left[name] = _pad(left[name], axes[name], n_states)
            left[name] += _pad(value, axes[name], n_states)
        return left

    def update(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Prune states without positions, then draw all parameters given the merged counts.

        The parameter and hyperparameter steps of Van Gael et al. (2009), section 3: weights and
        concentrations given the transitions, then the rows, then the emissions.
        """
        placed: Arrays = {}
        if "pairs" in statistics:
            shared, statistics = self._placed(statistics, generator)
            placed = {"places": shared.arrays["places"]}
        n_states = len(statistics["start_counts"])
        known = len(shared.arrays["state_weights"]) - 1
        grown, weights = self._grown(shared, n_states)
        used = self._used(statistics)
        n_new = 0.0 if self._divides(shared) else float(used[known:].sum())
        relabel = (np.cumsum(used) - 1).astype(np.int16)
        statistics = {n: _take(v, self._axes[n], used) for n, v in statistics.items()}
        grown = {name: value[used] for name, value in grown.items()}
        weights = weights[np.append(used, True)]
        if self._left(shared) and search.merges(self._left(shared)):
            numbers, statistics, grown, weights = search.merged(
                statistics, self._axes, grown, weights, concentrations(shared.arrays),
                self.emissions,
            )  # fmt: skip
            relabel = np.where(used, numbers[relabel], -1).astype(np.int16)
        counts = _with_start(statistics)
        arrays = self._draw_weights(shared.arrays, counts, weights[:-1], generator)
        concentration = float(arrays["row_concentration"])
        shapes = concentration * np.tile(arrays["state_weights"], (len(counts), 1))
        shapes[:, :-1] += counts
        arrays["rows"] = priors.draw_dirichlets(shapes, generator)
        arrays["stick_key"] = generator.integers(2**64, size=2, dtype=np.uint64)
        drawn, info = self.emissions.draw(
            grown, statistics, 1 / shared.temperature, generator, self.run
        )
        tags = self.tags.draw(statistics, generator)
        log_joint = info.pop("log_emissions")
        log_joint += priors.log_states(counts, concentration, arrays["state_weights"][:-1])
        trace = {
            "log_joint": log_joint,
            "states": float((counts.sum(axis=0) > 0).sum()),
            "new_states": n_new,
            "row_concentration": concentration,
            "state_concentration": float(arrays["state_concentration"]),
            "discount": float(arrays["discount"]),
            **info,
        }
        left = int(shared.arrays.get("search", 0)) - (self._left(shared) > 0)
        arrays |= {"relabel": relabel, "search": np.array(left)}
        arrays |= {**placed, **drawn, **tags, **statistics}
        after = Globals("place" if placed else "sweep", arrays)
        if isinstance(self.emissions, WordEmissions):
            left_out = self.emissions.drawn
            after.sent = {name: arrays[name] for name in arrays if name not in left_out}
            del arrays["word_key"]
        return after, trace

    def complete(self, sent: Arrays) -> Arrays:
        """Return the arrays of globals of which a network has carried less."""
        assert isinstance(self.emissions, WordEmissions)
        arrays = {**sent, **self.emissions.redraw(sent, self.run)}
        del arrays["word_key"]
        return arrays

    def _placed(self, statistics: Arrays, generator: np.random.Generator) -> tuple[Globals, Arrays]:
        """Find classes of word types; return globals and statistics as if they were the states."""
        most = self.n_states or self.max_states
        counts = types.cluster(
            statistics["pairs"], len(statistics["word_counts"]), self._n_first, most,
            self.n_states is not None, generator,
        )  # fmt: skip
        n_states = self.n_states or len(counts.starts)
        arrays = {**self._first_arrays(n_states, generator), "places": counts.classes}
        words = np.zeros((len(counts.classes), n_states), np.int32)
        words[np.arange(len(words)), counts.classes] = counts.totals
        found = {
            "start_counts": _pad(counts.starts, (0,), n_states),
            "transition_counts": _pad(counts.transitions, (0, 1), n_states),
            "word_counts": words,
        }
        return Globals("count", arrays), found

    def sample(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return numbers only: states come and go, so their parameters have no mean."""
        names = ("row_concentration", "state_concentration", "discount")
        return {name: shared.arrays[name] for name in names}

    # parts of a sweep

    @property
    def _axes(self) -> Axes:
        return {**_SHARED_AXES, **self.emissions.axes}

    def _groups(self, shard: Any) -> NDArray[np.int32]:
        offsets, _ = _sequences(self, shard)
        first = shard.first_message if _by_message(self, shard) else shard.first_token
        return self.tags.groups_of(first, int(offsets[-1]))

    def _left(self, shared: Globals) -> int:
        """Return how many sweeps are left to the search, with this one; 0 if it does not search."""
        if self.n_states or shared.phase == "count" or shared.temperature != 1:
            return 0
        return int(shared.arrays.get("search", 0))

    def _without_slices(self, shared: Globals) -> bool:
        few = len(shared.arrays["state_weights"]) - 1 <= search.AFFORDABLE
        return self.dense or (few and self._left(shared) > 0)

    def _divides(self, shared: Globals) -> bool:
        return (
            not self.dense and self._without_slices(shared) and search.divides(self._left(shared))
        )

    @staticmethod
    def _n_dense(arrays: Arrays) -> int:
        """Return the number of states of a sweep of the search, empty ones among them."""
        return len(arrays["state_weights"]) - 1 + search.EMPTY

    def _resample(
        self, shared: Globals, shard: Any, states: NDArray[np.int16], key: NDArray[np.uint64]
    ) -> None:
        """Draw slices, as many new states as they can reach, then all states given both.

        Without slices there are all represented states, and in a search a few empty ones.
        """
        arrays, dense = shared.arrays, self._without_slices(shared)
        n_known = len(arrays["state_weights"]) - 1
        rows = arrays["rows"]
        slices, smallest = np.zeros(len(states)), np.inf
        trees = isinstance(self.emissions, MessageEmissions)
        offsets, first = _sequences(self, shard)
        if not dense and trees:
            smallest = beam_trees.draw_tree_slices(
                states, shard.parents, shard.conversation_offsets, shard.first_conversation, rows,
                key, slices,
            )  # fmt: skip
        elif not dense:
            smallest = beam.draw_slices(states, offsets, first, rows, key, slices)
        rows, new = self._reachable(arrays, smallest)
        if dense and not self.n_states:
            new[:] = True
        allowed = self.tags.allowed(arrays, rows.shape[1])
        groups = self._groups(shard)
        other_key = key[::-1].copy()
        if isinstance(self.emissions, MessageEmissions):
            logs = self.emissions.log_densities(arrays, shard, n_known, new)
            beam_trees.beam_trees(
                logs, shard.parents, shard.conversation_offsets, shard.first_conversation, slices,
                not dense, rows, groups, allowed, other_key, states,
            )  # fmt: skip
            return
        table = self.emissions.table(arrays, shard, n_known, new)
        beam.resample_states(
            table.symbols, offsets, first, slices, not dense, rows, table.limits,
            table.listed, table.values, table.emissions, table.extra, groups, allowed, other_key,
            states,
        )  # fmt: skip

    def _extended(self, arrays: Arrays, smallest: float, at_least: int) -> Sticks:
        """Represent further states until no slice reaches those that are not represented."""
        return extend_sticks(arrays, smallest, at_least, self.max_states)

    def _reachable(
        self, arrays: Arrays, smallest: float
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the rows of all represented states, and which new states can be reached."""
        if self.n_states:
            return np.ascontiguousarray(arrays["rows"][:, :-1]), np.zeros(0, bool)
        at_least = 0 if np.isfinite(smallest) else self._n_dense(arrays)
        found = self._extended(arrays, smallest, at_least)
        places = found.places
        rows = np.ascontiguousarray(found.rows[places, : found.n_states])
        return rows, found.reached[len(arrays["state_weights"]) - 1 : found.n_states]

    def _count(self, shard: Any, states: NDArray[np.int16], n_states: int) -> Arrays:
        """Return the statistics of a shard."""
        counts = np.zeros((n_states + 1, n_states), np.int64)
        if isinstance(self.emissions, MessageEmissions):
            beam_trees.count_tree_transitions(states, shard.parents, counts)
        else:
            chains.count_transitions(states, _sequences(self, shard)[0], counts)
        return {
            "start_counts": counts[-1].copy(),
            "transition_counts": counts[:-1],
            **self.emissions.count(shard, states, n_states),
            **self.tags.count(self._groups(shard), states, n_states),
        }

    # parts of an update

    def _used(self, statistics: Arrays) -> NDArray[np.bool_]:
        """Return which states are kept."""
        if self.n_states:
            return np.ones(self.n_states, bool)
        return np.asarray(_with_start(statistics).sum(axis=0) > 0)

    def _grown(self, shared: Globals, n_states: int) -> tuple[Arrays, NDArray[np.float64]]:
        """Return emissions and weights, with those of states that the last sweep created."""
        arrays = shared.arrays
        if not self._divides(shared):
            return self.emissions.grown(arrays, n_states), self._grown_weights(arrays, n_states)
        found = self.emissions.grown(arrays, n_states // 2)
        weights = self._grown_weights(arrays, n_states // 2)
        halves = weights[:-1] / 2
        grown = {name: np.concatenate((value, value)) for name, value in found.items()}
        return grown, np.concatenate((halves, halves, weights[-1:]))

    def _grown_weights(self, arrays: Arrays, n_states: int) -> NDArray[np.float64]:
        """Return the weights, with those of states that the last sweep created."""
        if n_states == len(arrays["state_weights"]) - 1:
            return arrays["state_weights"]
        found = self._extended(arrays, np.inf, n_states)
        return found.weights[found.places]

    def _draw_weights(
        self, old: Arrays, counts: NDArray[np.int64], weights: NDArray[np.float64],
        generator: np.random.Generator,
    ) -> Arrays:  # fmt: skip
        """Draw tables, concentrations, discount and weights given the transitions.

        (a) tables m given counts, alpha and beta; (b) alpha given m; (c) gamma and the discount d
        given m; (d) ``beta ~ Dirichlet(m_1 - d, ..., m_K - d, gamma + K d)``. A fixed number of
        states keeps its equal weights, so that (c) and (d) fall away.
        """
        alpha, gamma, discount = concentrations(old)
        key = generator.integers(2**64, size=2, dtype=np.uint64)
        tables = sticks.draw_tables(counts, alpha * weights, key)
        if self.row_concentration is None:
            alpha = priors.draw_row_concentration(
                alpha, int(tables.sum()), counts.sum(axis=1), generator, self.hyperpriors
            )
        if self.n_states:
            drawn = np.append(weights, 0.0)
        else:
            gamma, discount = self._draw_state_prior(gamma, discount, tables, generator)
            shapes = np.append(tables - discount, gamma + len(tables) * discount)
            drawn = priors.draw_dirichlets(shapes, generator)
        return {
            "row_concentration": np.array(alpha),
            "state_concentration": np.array(gamma),
            "discount": np.array(discount),
            "state_weights": drawn,
        }

    def _draw_state_prior(
        self, gamma: float, discount: float, tables: NDArray[np.int64],
        generator: np.random.Generator,
    ) -> tuple[float, float]:  # fmt: skip
        """Draw the state concentration and the discount, as far as they are learned."""
        if self.discount is None or discount > 0:
            return priors.move_pitman_yor(
                gamma, discount, tables, generator, self.hyperpriors,
                learn_concentration=self.state_concentration is None,
                learn_discount=self.discount is None,
            )  # fmt: skip
        if self.state_concentration is None:
            gamma = priors.draw_state_concentration(gamma, tables, generator, self.hyperpriors)
        return gamma, discount


def _given_or(value: float | None, first: float) -> NDArray[np.float64]:
    """Return a given number, or where to start if it is learned, as an array without axes."""
    return np.array(first if value is None else value)


def _by_message(engine: StateEngine, shard: Any) -> bool:
    return isinstance(engine.emissions, MessageEmissions) or not hasattr(shard, "tokens")


def _sequences(engine: StateEngine, shard: Any) -> tuple[NDArray[np.int64], int]:
    """Return the limits of a shard's sequences of positions, and the number of the first."""
    if not hasattr(shard, "tokens"):
        return shard.offsets, shard.first_sequence
    if isinstance(engine.emissions, MessageEmissions):
        return shard.conversation_offsets, shard.first_conversation
    return shard.message_offsets, shard.first_message


def _with_start(statistics: Arrays) -> NDArray[np.int64]:
    """Return the transitions with the start as the last row."""
    return np.vstack((statistics["transition_counts"], statistics["start_counts"]))


def _pad(array: NDArray[Any], axes: tuple[int, ...], n_states: int) -> NDArray[Any]:
    """Return the array with zeros for further states."""
    widths = [(0, n_states - size if axis in axes else 0) for axis, size in enumerate(array.shape)]
    return np.pad(array, widths) if any(after for _, after in widths) else array


def _take(array: NDArray[Any], axes: tuple[int, ...], used: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the array without the states that are not used."""
    if used.all():
        return array
    for axis in axes:
        array = np.compress(used, array, axis=axis)
    return array
