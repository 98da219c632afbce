"""What the states of an infinite hidden Markov model emit: words, whole messages, vectors.

An emission part knows its sufficient statistics, draws the parameters of states given them, and
those of states that were not there before from their prior, from streams named by the state's
number. It knows nothing of how states follow each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from palaver import rng
from palaver.encode.shards import Shard, VectorShard
from palaver.kernels import gaussian, levels
from palaver.kernels.beam_trees import message_log_densities
from palaver.kernels.word_weights import word_slices
from palaver.models.gaussian_parts import GaussianEmissions, k_means, nearest
from palaver.parallel import Arrays

#: Which axes of each statistic run over states.
Axes = dict[str, tuple[int, ...]]
Run = Callable[..., Iterator[Any]]

_FIRST_LEVEL = 0.1


@dataclass
class Table:
    """Emissions of a shard, as :func:`palaver.kernels.beam.beam_sweep` takes them."""

    symbols: NDArray[Any]
    emissions: NDArray[Any]
    extra: NDArray[Any]
    ceilings: NDArray[np.float64]


class Emissions(Protocol):
    """A part that says what states emit."""

    axes: Axes

    def start(self, n_states: int, generator: np.random.Generator) -> Arrays:
        """Return what globals hold before anything was drawn."""
        ...

    def first(self, arrays: Arrays, shard: Any) -> NDArray[Any] | None:
        """Return first states that are better than random ones, if there are."""
        ...

    def count(self, shard: Any, states: NDArray[np.int16], n_states: int) -> Arrays:
        """Return the statistics of a shard."""
        ...

    def grown(self, arrays: Arrays, n_states: int) -> Arrays:
        """Return what the next draw starts from, with states that were born in the last sweep."""
        ...

    def draw(
        self, arrays: Arrays, statistics: Arrays, power: float, generator: np.random.Generator,
        run: Run,
    ) -> tuple[Arrays, dict[str, float]]:  # fmt: skip
        """Draw all parameters given statistics; also return ``log_emissions`` for the joint."""
        ...

    def table(self, arrays: Arrays, shard: Any, n_known: int, new: NDArray[np.bool_]) -> Table:
        """Return the emissions of a shard; ``new`` says which states beyond can be reached."""
        ...


def _keys(arrays: Arrays) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the keys of new states' levels and of their words."""
    words = arrays["stick_key"] ^ np.uint64(0x5851F42D4C957F2D)
    return words[::-1].copy(), words


@dataclass
class WordEmissions:
    """One word a position; each state's words are Dirichlet with a level that states share.

    Attributes
    ----------
    n_words : int
    low, high : float
        Limits of the levels; equal ones fix the level of all states.
    """

    n_words: int
    low: float
    high: float
    axes: Axes = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self.axes = {"word_counts": (1,)}

    def start(self, n_states: int, generator: np.random.Generator) -> Arrays:
        """Give all states one level, and every word of the vocabulary a state to start in."""
        first = min(max(_FIRST_LEVEL, self.low), self.high)
        places = generator.integers(n_states, size=self.n_words, dtype=np.int16)
        return {"etas": np.full(n_states, first), "places": places}

    def first(self, arrays: Arrays, shard: Shard) -> NDArray[Any] | None:
        """Return the state of each word: all its occurrences start together.

        The paper draws each by itself, after which no state knows a word from another; the chain
        is far longer on its way from there (docs/results/infinite_hmm.md).
        """
        return np.asarray(arrays["places"][shard.tokens])

    def count(self, shard: Shard, states: NDArray[np.int16], n_states: int) -> Arrays:
        """Count words by state."""
        counts = np.zeros((self.n_words, n_states), np.int32)
        levels.count_words(shard.tokens, states, counts)
        return {"word_counts": counts}

    def grown(self, arrays: Arrays, n_states: int) -> Arrays:
        """Return the levels, those of new states as they were drawn for the sweep."""
        etas = arrays["etas"]
        n_new = n_states - len(etas)
        key = _keys(arrays)[0] if n_new else np.zeros(2, np.uint64)
        return {"etas": levels.extend_levels(etas, n_new, self.low, self.high, key)}

    def draw(
        self, arrays: Arrays, statistics: Arrays, power: float, generator: np.random.Generator,
        run: Run,
    ) -> tuple[Arrays, dict[str, float]]:  # fmt: skip
        """Resample the levels with words integrated out, then draw the words."""
        counts, etas = statistics["word_counts"], arrays["etas"].copy()
        keys = generator.integers(2**64, size=(2, 2), dtype=np.uint64)
        values, occurrences, offsets = levels.count_shapes(counts)
        if self.low < self.high:
            levels.resample_levels(
                values, occurrences, offsets, self.n_words, self.low, self.high, keys[0], etas
            )
        drawn = self._draw_words(counts, etas, power, keys[1], run)
        log_emissions = 0.0
        for k, eta in enumerate(etas):
            part = slice(offsets[k], offsets[k + 1])
            log_emissions += levels.log_words(values[part], occurrences[part], eta, self.n_words)
        info = {"log_emissions": log_emissions, "levels": float(len(np.unique(etas)))}
        return {"etas": etas, "power": np.array(power), **drawn}, info

    def _draw_words(
        self, counts: NDArray[np.int32], etas: NDArray[np.float64], power: float,
        key: NDArray[np.uint64], run: Run,
    ) -> Arrays:  # fmt: skip
        """Draw the words of all states, in slices of the words that may run side by side."""
        weights = np.empty(counts.shape)
        emissions = np.empty(counts.shape, np.float32)
        scales = np.empty(len(counts))
        slices = word_slices(len(counts))

        def draw(part: slice) -> NDArray[np.float64]:
            found: NDArray[np.float64] = levels.draw_log_weights(
                key, part.start, counts[part], etas, weights[part]
            )
            return found

        sums = np.logaddexp.reduce(list(run(draw, slices)), axis=0)

        def scale(part: slice) -> None:
            levels.scale_weights(weights[part], sums, power, scales[part], emissions[part])

        for _ in run(scale, slices):
            pass
        return self._kept(weights, scales, emissions)

    def _kept(
        self,
        weights: NDArray[np.float64],
        scales: NDArray[np.float64],
        emissions: NDArray[np.float32],
    ) -> Arrays:
        """Return what sweeps need of the draw."""
        ceilings = emissions.sum(axis=1, dtype=np.float64)
        return {"emissions": emissions, "scales": scales, "ceilings": ceilings}

    def _new_words(self, arrays: Arrays, n_known: int, new: NDArray[np.bool_]) -> Any:
        """Return log word probabilities of new states, (W, n_new); zeros where out of reach."""
        weights = np.zeros((self.n_words, len(new)))
        numbers = np.flatnonzero(new)
        if len(numbers):
            drawn = np.empty((self.n_words, len(numbers)))
            etas = self.grown(arrays, n_known + len(new))["etas"][n_known + numbers]
            key = _keys(arrays)[1]
            levels.draw_new_words(etas, n_known + numbers, key, self.n_words, drawn)
            weights[:, numbers] = drawn
        return weights

    def table(self, arrays: Arrays, shard: Shard, n_known: int, new: NDArray[np.bool_]) -> Table:
        """Return the table of words, and what new states add to it."""
        extra, ceilings = np.zeros((self.n_words, len(new)), np.float32), arrays["ceilings"]
        if new.any():
            logs = self._new_words(arrays, n_known, new) - arrays["scales"][:, None]
            extra = np.exp(np.clip(float(arrays["power"]) * logs, -85, 85)).astype(np.float32)
            ceilings = ceilings + extra.sum(axis=1, dtype=np.float64)
        return Table(shard.tokens, arrays["emissions"], extra, ceilings)


class MessageEmissions(WordEmissions):
    """All words of a message at once: a position is a message."""

    def first(self, arrays: Arrays, shard: Shard) -> None:
        """Return nothing: messages start evenly."""

    def count(self, shard: Shard, states: NDArray[np.int16], n_states: int) -> Arrays:
        """Count words by the state of their message."""
        counts = np.zeros((self.n_words, n_states), np.int32)
        of_tokens = np.repeat(states, np.diff(shard.message_offsets))
        levels.count_words(shard.tokens, of_tokens, counts)
        return {"word_counts": counts}

    def _kept(
        self,
        weights: NDArray[np.float64],
        scales: NDArray[np.float64],
        emissions: NDArray[np.float32],
    ) -> Arrays:
        return {"log_words": weights, "scales": scales}

    def log_densities(
        self, arrays: Arrays, shard: Shard, n_known: int, new: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the log probability of each message's words in each state, powered."""
        words = arrays["log_words"]
        if len(new):
            words = np.hstack((words, self._new_words(arrays, n_known, new)))
        logs = np.empty((shard.n_messages, words.shape[1]))
        message_log_densities(
            shard.tokens, shard.message_offsets, words, float(arrays["power"]), logs
        )
        return logs


@dataclass
class VectorEmissions:
    """One vector a position, from a Gaussian distribution.

    Attributes
    ----------
    prior : GaussianEmissions
    sketch : array of float64, shape (n, M)
        Vectors on which the first states are found by k-means; none for random ones.
    """

    prior: GaussianEmissions
    sketch: NDArray[np.float64]
    axes: Axes = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        squares = () if self.prior.covariance == "tied" else (0,)
        self.axes = {"state_counts": (0,), "state_sums": (0,), "state_squares": squares}

    def start(self, n_states: int, generator: np.random.Generator) -> Arrays:
        """Find the centres of the first states."""
        return {"centres": k_means(self.sketch, n_states, generator)} if len(self.sketch) else {}

    def first(self, arrays: Arrays, shard: VectorShard) -> NDArray[Any] | None:
        """Return the state of the nearest centre."""
        return nearest(shard.vectors, arrays["centres"]) if "centres" in arrays else None

    def count(self, shard: VectorShard, states: NDArray[np.int16], n_states: int) -> Arrays:
        """Add up vectors and their squares by state."""
        found = gaussian.statistics(self.prior.kind, shard.vectors, states, shard.offsets, n_states)
        return {name: found[name] for name in self.axes}

    def grown(self, arrays: Arrays, n_states: int) -> Arrays:
        """Return nothing: the next draw depends on the statistics alone."""
        return {}

    def draw(
        self, arrays: Arrays, statistics: Arrays, power: float, generator: np.random.Generator,
        run: Run,
    ) -> tuple[Arrays, dict[str, float]]:  # fmt: skip
        """Draw means and covariances."""
        drawn = self.prior.draw(statistics, generator)
        log_emissions = self.prior.log_marginal(statistics)
        return {**drawn, "power": np.array(power)}, {"log_emissions": log_emissions}

    def _with_new(self, arrays: Arrays, n_known: int, n_new: int) -> Arrays:
        """Return the parameters with those of new states, from their prior, at the end."""
        drawn = [arrays]
        size = self.prior.size
        for number in range(n_known, n_known + n_new):
            generator = rng.generator(int(arrays["stick_key"][0]), "new state", 0, 0, number)
            drawn.append(self._draw_new(arrays, size, generator))
        names = ("means", "log_scales") + (() if self._tied else ("factors",))
        grown = {name: np.concatenate([part[name] for part in drawn]) for name in names}
        return {**arrays, **grown}

    @property
    def _tied(self) -> bool:
        return self.prior.covariance == "tied"

    def _draw_new(self, arrays: Arrays, size: int, generator: np.random.Generator) -> Arrays:
        """Draw one state; with a tied covariance, its mean given the covariance there is."""
        if self._tied:
            factor = arrays["factors"]
            noise = np.linalg.solve(factor.T, generator.standard_normal(size))
            mean = self.prior.mean + noise / np.sqrt(self.prior.strength)
            return {"means": mean[None], "log_scales": arrays["log_scales"][:1]}
        shape = (1, size) if self.prior.covariance == "diag" else (1, size, size)
        nothing = {"state_counts": np.zeros(1, np.int64), "state_sums": np.zeros((1, size)),
                   "state_squares": np.zeros(shape)}  # fmt: skip
        return self.prior.draw(nothing, generator)

    def table(
        self, arrays: Arrays, shard: VectorShard, n_known: int, new: NDArray[np.bool_]
    ) -> Table:
        """Return the densities of each vector against its largest."""
        parameters = self._with_new(arrays, n_known, len(new)) if len(new) else arrays
        logs = self.prior.log_densities(shard.vectors, parameters) * float(arrays["power"])
        logs -= logs.max(axis=1, keepdims=True)
        emissions = np.exp(np.maximum(logs, -600.0))
        nothing = np.zeros((len(logs), 0))
        return Table(np.arange(len(logs)), emissions, nothing, emissions.sum(axis=1))
