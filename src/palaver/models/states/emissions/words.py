"""States that emit words: Dirichlet distributions whose priors, one per state, are learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.encoding.shards import Shard
from palaver.kernels.word_weights import word_slices
from palaver.models.states.emissions import Axes, Run, Table
from palaver.models.states.kernels import levels
from palaver.models.states.kernels.beam import list_states
from palaver.models.states.kernels.mergers import word_gains
from palaver.models.states.signs import signs
from palaver.parallel import Arrays
from palaver.parallel.restored import POSITIVE, Expected

_FIRST_PRIOR = 0.1
_STATES_A_SLICE = 12  # whose counts of counts a thread finds at a time


def _keys(arrays: Arrays) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the keys of new states' priors and of their words."""
    words = arrays["stick_key"] ^ np.uint64(0x5851F42D4C957F2D)
    return words[::-1].copy(), words


def _shapes(
    counts: NDArray[np.int32], run: Run
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count the counts of each state, :func:`levels.count_shapes`, some states at a time."""
    firsts = range(0, counts.shape[1], _STATES_A_SLICE)
    values, occurrences, offsets = zip(
        *run(lambda first: levels.count_shapes(counts, first, first + _STATES_A_SLICE), firsts),
        strict=True,
    )
    sizes = np.concatenate([np.diff(part) for part in offsets])
    return np.concatenate(values), np.concatenate(occurrences), _ends(sizes)


def _listed(
    emissions: NDArray[np.float32], run: Run
) -> tuple[NDArray[np.int64], NDArray[np.int16], NDArray[np.float32]]:
    """List the states that each word is likely in, :func:`list_states`, some words at a time."""
    limits, listed, values = zip(
        *run(
            lambda part: list_states(emissions[part], levels.LOWEST_EMISSION),
            word_slices(len(emissions)),
        ),
        strict=True,
    )
    sizes = np.concatenate([np.diff(part) for part in limits])
    return _ends(sizes), np.concatenate(listed), np.concatenate(values)


def _ends(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(sizes))


@dataclass
class WordEmissions:
    """One word per position; a state's words are Dirichlet, with a prior that states may share.

    Van Gael et al. (2009), section 2, "Hyperparameter choice": the priors (eta, the sparsity of
    a state's words) come from a Dirichlet process, so that states share a few levels of them.

    Attributes
    ----------
    n_words : int
    low, high : float
        Limits of the priors; equal ones fix the prior of all states.
    """

    n_words: int
    low: float
    high: float
    axes: Axes = None  # type: ignore[assignment]
    #: What is drawn from the counts, the priors and a key.
    drawn: ClassVar[tuple[str, ...]] = ("emissions", "scales", "limits", "listed", "values")

    def __post_init__(self) -> None:
        self.axes = {"word_counts": (1,)}

    def start(self, n_states: int, generator: np.random.Generator) -> Arrays:
        """Give all states one prior, and every word of the vocabulary a state to start in."""
        first = min(max(_FIRST_PRIOR, self.low), self.high)
        places = generator.integers(n_states, size=self.n_words, dtype=np.int16)
        return {"word_priors": np.full(n_states, first), "places": places}

    def first(self, arrays: Arrays, shard: Shard) -> NDArray[Any] | None:
        """Return the state of each word: all its occurrences start together.

        The paper draws each occurrence independently, after which all states have nearly the same
        words; from there the chain takes far longer (docs/results/infinite_hmm.md).
        """
        return np.asarray(arrays["places"][shard.tokens])

    def count(self, shard: Shard, states: NDArray[np.int16], n_states: int) -> Arrays:
        """Count words by state."""
        counts = np.zeros((self.n_words, n_states), np.int32)
        levels.count_words(shard.tokens, states, counts)
        return {"word_counts": counts}

    def grown(self, arrays: Arrays, n_states: int) -> Arrays:
        """Return the priors, those of new states as they were drawn for the sweep."""
        priors = arrays["word_priors"]
        n_new = n_states - len(priors)
        key = _keys(arrays)[0] if n_new else np.zeros(2, np.uint64)
        return {"word_priors": levels.extend_levels(priors, n_new, self.low, self.high, key)}

    def draw(
        self, arrays: Arrays, statistics: Arrays, power: float, generator: np.random.Generator,
        run: Run,
    ) -> tuple[Arrays, dict[str, float]]:  # fmt: skip
        """Resample the priors with words integrated out, then draw the words."""
        counts, priors = statistics["word_counts"], arrays["word_priors"].copy()
        keys = generator.integers(2**64, size=(2, 2), dtype=np.uint64)
        values, occurrences, offsets = _shapes(counts, run)
        if self.low < self.high:
            levels.resample_levels(
                values, occurrences, offsets, self.n_words, self.low, self.high, keys[0], priors
            )
        found = {"word_priors": priors, "power": np.array(power), "word_key": keys[1]}
        drawn = self.redraw({**found, "word_counts": counts}, run)
        log_emissions = 0.0
        for k, prior in enumerate(priors):
            part = slice(offsets[k], offsets[k + 1])
            log_emissions += levels.log_words(values[part], occurrences[part], prior, self.n_words)
        info = {"log_emissions": log_emissions, "levels": float(len(np.unique(priors)))}
        return {**found, **drawn}, info

    def redraw(self, arrays: Arrays, run: Run) -> Arrays:
        """Draw the words of all states from counts, priors and the key of the draw."""
        return self._draw_words(
            arrays["word_counts"], arrays["word_priors"], float(arrays["power"]),
            arrays["word_key"], run,
        )  # fmt: skip

    def forms(self, arrays: Arrays, n_states: int) -> dict[str, Expected]:
        """Return what the drawn globals of states must be."""
        found = {
            "word_priors": Expected((n_states,), least=POSITIVE, most=1e100),
            "power": Expected((), least=POSITIVE, most=1e100),
            "word_counts": Expected((self.n_words, n_states), np.int32, 0),
        }
        drawn = {
            "emissions": Expected((self.n_words, n_states), np.float32, 0),
            "scales": Expected((self.n_words,)),
            "ceilings": Expected((self.n_words,), least=0),
            "log_words": Expected((self.n_words, n_states)),
        }
        return found | {name: one for name, one in drawn.items() if name in arrays}

    def _draw_words(
        self, counts: NDArray[np.int32], priors: NDArray[np.float64], power: float,
        key: NDArray[np.uint64], run: Run,
    ) -> Arrays:  # fmt: skip
        """Draw the words of all states, in slices of the vocabulary that may run in parallel."""
        weights = np.empty(counts.shape)
        emissions = np.empty(counts.shape, np.float32)
        scales = np.empty(len(counts))
        slices = word_slices(len(counts))

        def draw(part: slice) -> NDArray[np.float64]:
            found: NDArray[np.float64] = levels.draw_log_weights(
                key, part.start, counts[part], priors, weights[part]
            )
            return found

        sums = np.logaddexp.reduce(list(run(draw, slices)), axis=0)

        def scale(part: slice) -> None:
            levels.scale_weights(weights[part], sums, power, scales[part], emissions[part])

        for _ in run(scale, slices):
            pass
        return self._kept(weights, scales, emissions, run)

    def _kept(
        self,
        weights: NDArray[np.float64],
        scales: NDArray[np.float64],
        emissions: NDArray[np.float32],
        run: Run,
    ) -> Arrays:
        """Return the parts of the draw that sweeps need."""
        limits, listed, values = _listed(emissions, run)
        return {
            "emissions": emissions, "scales": scales, "limits": limits, "listed": listed,
            "values": values,
        }  # fmt: skip

    def _new_words(self, arrays: Arrays, n_known: int, new: NDArray[np.bool_]) -> Any:
        """Return log word probabilities of new states, (W, n_new); zeros where unreachable."""
        weights = np.zeros((self.n_words, len(new)))
        numbers = np.flatnonzero(new)
        if len(numbers):
            drawn = np.empty((self.n_words, len(numbers)))
            priors = self.grown(arrays, n_known + len(new))["word_priors"][n_known + numbers]
            key = _keys(arrays)[1]
            levels.draw_new_words(priors, n_known + numbers, key, self.n_words, drawn)
            weights[:, numbers] = drawn
        return weights

    def table(self, arrays: Arrays, shard: Shard, n_known: int, new: NDArray[np.bool_]) -> Table:
        """Return the table of words, and what new states add to it."""
        extra = np.zeros((self.n_words, len(new)), np.float32)
        numbers = np.flatnonzero(new)
        if len(numbers):
            logs = self._new_words(arrays, n_known, new)[:, numbers] - arrays["scales"][:, None]
            likely = np.exp(np.minimum(float(arrays["power"]) * logs, 85))
            extra[:, numbers] = np.where(likely > levels.LOWEST_EMISSION, likely, 0.0)
        listed = (arrays[name] for name in ("limits", "listed", "values"))
        return Table(shard.tokens, arrays["emissions"], extra, *listed)

    def cut(
        self, arrays: Arrays, shard: Shard, states: NDArray[np.int16], key: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        """Put all occurrences of a word in a state into the same part."""
        return np.asarray(signs(shard.tokens, key) > 0)

    def merge_gains(self, arrays: Arrays, statistics: Arrays) -> NDArray[np.float64]:
        """Compare the words of states, their distributions integrated out."""
        return np.asarray(word_gains(statistics["word_counts"], arrays["word_priors"]))
