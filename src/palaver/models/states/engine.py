"""The infinite hidden Markov model as the loop sees it: sweeps bear states, updates drop them.

Globals hold the weights of the represented states (``betas``, the last entry is the rest), the rows
(last column: the rest; last row: the start), what is emitted, and ``stick_key``, from which every
shard draws further states by itself, lazily and all alike. States without positions are dropped by
an update, and ``relabel`` tells the shards the new numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.errors import ParameterError
from palaver.kernels import chains
from palaver.models.states import priors
from palaver.models.states.emissions import Axes, Emissions, Table
from palaver.models.states.emissions.messages import MessageEmissions
from palaver.models.states.kernels import beam, beam_trees, sticks
from palaver.models.states.tags import Tags
from palaver.parallel import Arrays, Globals

#: States that positions are put into at the start, and beyond which a fit is refused.
FIRST_STATES, MAX_STATES = 20, 1000

_ROOM = 16
_SHARED_AXES: Axes = {"start_counts": (0,), "transition_counts": (0, 1), "group_counts": (1,)}


@dataclass
class StateEngine:
    """A hidden Markov model with as many states as the data need, or a fixed number.

    Attributes
    ----------
    emissions : Emissions
    n_states : int or None
        A fixed number of states of equal weight; None for infinitely many.
    alpha, gamma, discount : float or None
        None learns them.
    first_states : int
        States that positions are put into evenly at the start.
    max_states : int
        More than these are refused.
    dense : bool
        Filter over all transitions instead of those above slices; finite models only.
    tags : Tags
        Which states positions may have.
    """

    emissions: Emissions
    n_states: int | None
    alpha: float | None
    gamma: float | None
    discount: float | None
    first_states: int
    max_states: int
    dense: bool
    tags: Tags
    run: Any = field(init=False, default=map)
    exact: ClassVar[tuple[str, ...]] = (
        "start_counts", "transition_counts", "group_counts", "word_counts",
    )  # fmt: skip

    # the five functions

    def start(self, generator: np.random.Generator) -> Globals:
        """Return the first globals; the first sweep only counts what was opened."""
        n_states = self._n_first
        rest = 0.0 if self.n_states else 1 / (n_states + 1)
        arrays: Arrays = {
            "alpha": np.array(1.0 if self.alpha is None else self.alpha),
            "gamma": np.array(1.0 if self.gamma is None else self.gamma),
            "discount": np.array(0.5 if self.discount is None else self.discount),
            "betas": np.append(np.full(n_states, (1 - rest) / n_states), rest),
            "relabel": np.arange(n_states, dtype=np.int16),
            **self.emissions.start(n_states, generator),
            **self.tags.start(n_states),
        }
        return Globals("count", arrays)

    @property
    def _n_first(self) -> int:
        return self.n_states or max(self.first_states, self.tags.n_tags)

    def open(self, shared: Globals, shard: Any, key: NDArray[np.uint64]) -> Arrays:
        """Draw every state evenly from the first ones that its position admits, if not known."""
        offsets, first = _sequences(self, shard)
        states = np.empty(offsets[-1], np.int16)
        known = self.emissions.first(shared.arrays, shard)
        if known is None:
            chains.start_states(offsets, first, self._n_first, key, states)
        else:
            states[:] = known
        self.tags.admit(shared.arrays, self._groups(shard), states)
        return {"states": states}

    def sweep(self, shared: Globals, shard: Any, state: Arrays, key: NDArray[np.uint64]) -> Arrays:
        """Resample the states of a shard; return what parameters are drawn from."""
        states, arrays = state["states"], shared.arrays
        states[:] = arrays["relabel"][states]
        n_states = len(arrays["betas"]) - 1
        if shared.phase == "sweep":
            self._resample(arrays, shard, states, key)
            n_states = max(n_states, int(states.max(initial=-1)) + 1)
        return self._count(shard, states, n_states)

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Add up statistics, padded to the larger number of states; the left are used up."""
        axes = self._axes
        sizes = [
            array.shape[axis]
            for part in (left, right)
            for name, array in part.items()
            for axis in axes[name]
        ]
        n_states = max(sizes, default=0)
        for name, value in right.items():
            left[name] = _pad(left[name], axes[name], n_states)
            left[name] += _pad(value, axes[name], n_states)
        return left

    def update(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Drop states without positions and draw everything else given the merged counts."""
        n_states = len(statistics["start_counts"])
        known = len(shared.arrays["betas"]) - 1
        grown = self.emissions.grown(shared.arrays, n_states)
        betas = self._grown_betas(shared.arrays, n_states)
        used = self._used(statistics)
        born = float(used[known:].sum())
        relabel = (np.cumsum(used) - 1).astype(np.int16)
        statistics = {n: _take(v, self._axes[n], used) for n, v in statistics.items()}
        grown = {name: value[used] for name, value in grown.items()}
        counts = _with_start(statistics)
        arrays = self._draw_weights(shared.arrays, counts, betas[:-1][used], generator)
        alpha = float(arrays["alpha"])
        shapes = alpha * np.tile(arrays["betas"], (len(counts), 1))
        shapes[:, :-1] += counts
        arrays["rows"] = priors.draw_dirichlets(shapes, generator)
        arrays["stick_key"] = generator.integers(2**64, size=2, dtype=np.uint64)
        drawn, info = self.emissions.draw(
            grown, statistics, 1 / shared.temperature, generator, self.run
        )
        tags = self.tags.draw(statistics, generator)
        log_joint = info.pop("log_emissions")
        log_joint += priors.log_states(counts, alpha, arrays["betas"][:-1])
        trace = {
            "log_joint": log_joint,
            "states": float((counts.sum(axis=0) > 0).sum()),
            "born": born,
            "alpha": alpha,
            "gamma": float(arrays["gamma"]),
            "discount": float(arrays["discount"]),
            **info,
        }
        arrays |= {"relabel": relabel, **drawn, **tags, **statistics}
        return Globals("sweep", arrays), trace

    def sample(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return numbers only: states come and go, so that their parameters have no mean."""
        return {name: shared.arrays[name] for name in ("alpha", "gamma", "discount")}

    # parts of a sweep

    @property
    def _axes(self) -> Axes:
        return {**_SHARED_AXES, **self.emissions.axes}

    def _groups(self, shard: Any) -> NDArray[np.int32]:
        offsets, _ = _sequences(self, shard)
        first = shard.first_message if _by_message(self, shard) else shard.first_token
        return self.tags.groups_of(first, int(offsets[-1]))

    def _resample(
        self, arrays: Arrays, shard: Any, states: NDArray[np.int16], key: NDArray[np.uint64]
    ) -> None:
        """Draw slices, as many new states as they can reach, and all states given both."""
        n_known = len(arrays["betas"]) - 1
        rows = arrays["rows"]
        slices, smallest = np.zeros(len(states)), np.inf
        trees = isinstance(self.emissions, MessageEmissions)
        offsets, first = _sequences(self, shard)
        if not self.dense and trees:
            smallest = beam_trees.draw_tree_slices(
                states, shard.parents, shard.conversation_offsets, shard.first_conversation, rows,
                key, slices,
            )  # fmt: skip
        elif not self.dense:
            smallest = beam.draw_slices(states, offsets, first, rows, key, slices)
        rows, new = self._reachable(arrays, smallest)
        allowed = self.tags.allowed(arrays, rows.shape[1])
        groups = self._groups(shard)
        other_key = key[::-1].copy()
        if isinstance(self.emissions, MessageEmissions):
            logs = self.emissions.log_densities(arrays, shard, n_known, new)
            beam_trees.beam_trees(
                logs, shard.parents, shard.conversation_offsets, shard.first_conversation, slices,
                not self.dense, rows, groups, allowed, other_key, states,
            )  # fmt: skip
            return
        table = self.emissions.table(arrays, shard, n_known, new)
        if self.dense:
            beam.dense_sweep(
                table.symbols, offsets, first, rows, table.emissions, groups, allowed, other_key,
                states,
            )  # fmt: skip
            return
        self._beam(table, offsets, first, slices, smallest, rows, groups, allowed, other_key,
                   states)  # fmt: skip

    def _beam(
        self, table: Table, offsets: Any, first: int, slices: Any, smallest: float, rows: Any,
        groups: Any, allowed: Any, key: Any, states: Any,
    ) -> None:  # fmt: skip
        n_rows, n_states = rows.shape
        values, targets = np.empty((n_rows, n_states + 1)), np.empty((n_rows, n_states), np.int16)
        beam.sort_rows(rows, smallest, values, targets)
        beam.beam_sweep(
            table.symbols, offsets, first, slices, rows, values, targets, table.emissions,
            table.extra, table.ceilings, groups, allowed, key, states,
        )  # fmt: skip

    def _extended(self, arrays: Arrays, smallest: float, at_least: int) -> _Sticks:
        """Break sticks until no slice reaches the rest."""
        n_states = len(arrays["betas"]) - 1
        found = _Sticks(arrays["betas"], arrays["rows"], np.ones(n_states + 1, bool), n_states)
        found = found.with_room(max(n_states, at_least) + _ROOM)
        while True:
            n_states, enough = sticks.break_sticks(
                found.betas, found.rows, found.n_states, float(arrays["alpha"]),
                float(arrays["gamma"]), float(arrays["discount"]), arrays["stick_key"], smallest,
                at_least, found.reached,
            )  # fmt: skip
            found = replace(found, n_states=n_states)
            if n_states > self.max_states:
                raise ParameterError(
                    f"InfiniteHMM: more than {self.max_states:,} states are needed (alpha "
                    f"{float(arrays['alpha']):.3g}, gamma {float(arrays['gamma']):.3g}, discount "
                    f"{float(arrays['discount']):.3g}); raise max_states, or fix smaller ones"
                )
            if enough:
                return found
            found = found.with_room(2 * len(found.betas))

    def _reachable(
        self, arrays: Arrays, smallest: float
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the rows of all states without the rest, and which new ones can be reached."""
        if self.n_states:
            return np.ascontiguousarray(arrays["rows"][:, :-1]), np.zeros(0, bool)
        found = self._extended(arrays, smallest, 0)
        places = found.places
        rows = np.ascontiguousarray(found.rows[places, : found.n_states])
        return rows, found.reached[len(arrays["betas"]) - 1 : found.n_states]

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

    def _grown_betas(self, arrays: Arrays, n_states: int) -> NDArray[np.float64]:
        """Return the weights with those of states that were born in the last sweep."""
        if n_states == len(arrays["betas"]) - 1:
            return arrays["betas"]
        found = self._extended(arrays, np.inf, n_states)
        return found.betas[found.places]

    def _draw_weights(
        self, old: Arrays, counts: NDArray[np.int64], betas: NDArray[np.float64],
        generator: np.random.Generator,
    ) -> Arrays:  # fmt: skip
        """Draw tables, concentrations, discount and weights given the transitions."""
        alpha, gamma = float(old["alpha"]), float(old["gamma"])
        discount = float(old["discount"])
        key = generator.integers(2**64, size=2, dtype=np.uint64)
        tables = sticks.draw_tables(counts, alpha * betas, key)
        if self.alpha is None:
            alpha = priors.draw_alpha(alpha, int(tables.sum()), counts.sum(axis=1), generator)
        if self.n_states:
            weights = np.append(betas, 0.0)
        else:
            if self.discount is None or discount > 0:
                gamma, discount = priors.move_pitman_yor(
                    gamma, discount, tables, generator, learn_gamma=self.gamma is None,
                    learn_discount=self.discount is None,
                )  # fmt: skip
            elif self.gamma is None:
                gamma = priors.draw_gamma(gamma, tables, generator)
            shapes = np.append(tables - discount, gamma + len(tables) * discount)
            weights = priors.draw_dirichlets(shapes, generator)
        return {
            "alpha": np.array(alpha),
            "gamma": np.array(gamma),
            "discount": np.array(discount),
            "betas": weights,
        }


@dataclass(frozen=True, eq=False)
class _Sticks:
    """Weights and rows with room for further states between the last one and the rest."""

    betas: NDArray[np.float64]
    rows: NDArray[np.float64]
    reached: NDArray[np.bool_]
    n_states: int

    @property
    def places(self) -> NDArray[np.int64]:
        """Where the states, and then the rest or the start, are."""
        return np.append(np.arange(self.n_states), len(self.betas) - 1)

    def with_room(self, room: int) -> _Sticks:
        """Return a copy with more room."""
        betas, rows = np.zeros(room + 1), np.zeros((room + 1, room + 1))
        reached = np.zeros(room + 1, bool)
        places = np.append(np.arange(self.n_states), room)
        betas[places] = self.betas[self.places]
        rows[np.ix_(places, places)] = self.rows[np.ix_(self.places, self.places)]
        reached[places] = self.reached[self.places]
        return _Sticks(betas, rows, reached, self.n_states)


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
