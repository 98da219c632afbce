"""Embedded EM of hidden backoff models as the loop sees it.

The phase says what the next sweep does::

    begin    count the first states, spread evenly      -> the first word model
    score    find the words' probabilities, then as epoch
    epoch    expected starts and moves of the states    -> new ones, the word model is fixed
    align    likeliest, or drawn, states                -> a new word model
    done     nothing is left to do
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.language import Tables
from palaver.models.taggers.hidden_backoff.kernels import states as kernels
from palaver.models.taggers.hidden_backoff.words import Types, WordModel
from palaver.models.taggers.sentences import Sentences
from palaver.parallel import Arrays, Globals

PHASES = ("begin", "score", "epoch", "align", "done")


@dataclass(frozen=True, eq=False)
class TagShard:
    """Sentences of whole conversations and their types of events."""

    sentences: Sentences
    types: Types
    first_conversation: int

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each sentence begins."""
        return self.sentences.message_offsets


@dataclass(frozen=True)
class Rounds:
    """The course of embedded EM.

    Attributes
    ----------
    max_rounds, epochs, final_epochs : int
    tolerance : float
        Relative change of the log-likelihood from round to round at which it has converged.
    alignment : {"viterbi", "sampled", "averaged"}
    n_alignments : int
        Drawn alignments, each with a word model of its own, of which the mean is taken.
    """

    max_rounds: int
    epochs: int
    final_epochs: int
    tolerance: float
    alignment: str
    n_alignments: int

    @property
    def n_sweeps(self) -> int:
        """The most sweeps there can be."""
        return 1 + self.max_rounds * (self.epochs + 1) + self.final_epochs + 1


class HiddenBackoffEngine:
    """Embedded EM as five functions."""

    exact: ClassVar[tuple[str, ...]] = ()

    def __init__(self, words: WordModel, rounds: Rounds, medians: NDArray[np.float64]) -> None:
        self.words, self.rounds, self.medians = words, rounds, medians
        self.run: Any = map

    def start(self, generator: np.random.Generator) -> Globals:
        """Begin with the first alignment."""
        return Globals("begin", {"progress": np.array([0.0, 0.0, 0.0, -np.inf])})

    def open(self, shared: Globals, shard: TagShard, key: NDArray[np.uint64]) -> Arrays:
        """Spread the states evenly along each sentence."""
        layout = self.words.layout
        states = layout.spread(shard.offsets, shard.sentences.tags, self.medians)
        return {"states": np.repeat(states[None], self.rounds.n_alignments, axis=0)}

    def sweep(
        self, shared: Globals, shard: TagShard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Do what the phase says."""
        if shared.phase in ("score", "epoch"):
            return self._epoch(shared, shard, state)
        if shared.phase == "done":
            return {}
        logs = self._align(shared, shard, state, key) if shared.phase == "align" else 0.0
        return {**self._count(shard, state), "log_likelihood": np.array(logs)}

    def _arguments(self, shared: Globals, shard: TagShard, state: Arrays) -> list[Any]:
        """Return what all kernels take."""
        return [
            shard.types.of_tokens, shard.offsets, shard.sentences.tags, state["emissions"],
            self.words.layout.units, shared.arrays["start"], shared.arrays["moves"],
        ]  # fmt: skip

    def _epoch(self, shared: Globals, shard: TagShard, state: Arrays) -> Arrays:
        if shared.phase == "score":
            state["emissions"] = self.words.emissions(self.tables(shared.arrays), shard.types)
        starts = np.zeros_like(shared.arrays["start"])
        steps = np.zeros_like(shared.arrays["moves"])
        arguments = [*self._arguments(shared, shard, state), starts, steps]
        logs = kernels.expect_states(*arguments)
        return {"starts": starts, "steps": steps, "log_likelihood": np.array(logs)}

    def _align(
        self, shared: Globals, shard: TagShard, state: Arrays, key: NDArray[np.uint64]
    ) -> float:
        arguments = self._arguments(shared, shard, state)
        if self.rounds.alignment == "viterbi":
            with np.errstate(divide="ignore"):
                return float(kernels.align_states(*[*arguments, state["states"][0]]))
        logs = 0.0
        arguments += [shard.sentences.conversation_offsets, shard.first_conversation]
        for number, states in enumerate(state["states"]):
            logs = kernels.sample_states(*[*arguments, key + np.uint64(number), states])
        return float(logs)

    def _count(self, shard: TagShard, state: Arrays) -> Arrays:
        """Count the events of every alignment, each different one once."""
        most = self.words.layout.most
        events, counts = [], []
        for number, states in enumerate(state["states"]):
            pairs = shard.types.of_tokens.astype(np.int64) * most + states
            pairs, times = np.unique(pairs, return_counts=True)
            types = pairs // most
            units = self.words.layout.units[shard.types.tags[types]] + pairs % most
            columns = [np.full(len(pairs), number), units, shard.types.words[types]]
            columns += [column[types] for column in shard.types.observed]
            events.append(np.stack(columns))
            counts.append(times)
        starts, steps = self._moves(shard, state["states"][0])
        return {"events": np.concatenate(events, axis=1), "counts": np.concatenate(counts),
                "starts": starts, "steps": steps}  # fmt: skip

    def _moves(
        self, shard: TagShard, states: NDArray[np.int8]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count starts and moves of an alignment."""
        layout, offsets = self.words.layout, shard.offsets
        lengths = np.diff(offsets)
        units = layout.units[np.repeat(shard.sentences.tags, lengths)] + states
        starts = np.bincount(units[offsets[:-1][lengths > 0]], minlength=layout.n_units)
        inside = np.ones(len(units), bool)
        inside[offsets[:-1][lengths > 0]] = False
        to = np.flatnonzero(inside)
        steps = np.zeros((layout.n_units, layout.most))
        np.add.at(steps, (units[to - 1], states[to]), 1)
        return starts.astype(float), steps

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Put events beside each other, add all else."""
        return {
            name: np.concatenate([value, right[name]], axis=-1)
            if name in ("events", "counts")
            else value + right[name]
            for name, value in left.items()
        }

    def update(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Take the next step of the embedded EM."""
        if shared.phase == "done":
            return shared, {"log_joint": np.nan, "round": np.nan, "phase": float(len(PHASES) - 1)}
        if shared.phase in ("score", "epoch"):
            new = self._after_epoch(shared, statistics)
        else:
            new = self._after_alignment(shared, statistics)
        info = {
            "log_joint": float(statistics["log_likelihood"]) if shared.phase != "begin" else np.nan,
            "round": float(shared.arrays["progress"][0]),
            "phase": float(PHASES.index(shared.phase)),
        }
        return new, info

    def _after_epoch(self, shared: Globals, statistics: Arrays) -> Globals:
        """Take over starts and moves; align after the last epoch of a round."""
        start, moves = self.words.layout.parameters(statistics["starts"], statistics["steps"])
        number, epoch, final, before = shared.arrays["progress"]
        epoch += 1
        wanted = self.rounds.final_epochs if final else self.rounds.epochs
        if epoch == wanted and not final:
            reached = float(statistics["log_likelihood"])
            small = abs(reached - before) < self.rounds.tolerance * abs(reached)
            last = small or number >= self.rounds.max_rounds
            final, before = (0.5 if last else 0.0), reached
        progress = np.array([number, epoch, final, before])
        arrays = {**shared.arrays, "start": start, "moves": moves, "progress": progress}
        return Globals("align" if epoch == wanted else "epoch", arrays)

    def _after_alignment(self, shared: Globals, statistics: Arrays) -> Globals:
        """Train the word model; go on with the next round, the final epochs, or end."""
        number, _, final, before = shared.arrays["progress"]
        arrays = self._train(statistics)
        if shared.phase == "begin":
            start, moves = self.words.layout.first_parameters(
                statistics["starts"], statistics["steps"]
            )
            arrays |= {"start": start, "moves": moves}
        else:
            arrays |= {"start": shared.arrays["start"], "moves": shared.arrays["moves"]}
        phase = "score"
        if final == 1.0 or not self.words.has_states:
            phase = "done"
        elif final == 0.5:
            final = 1.0
            phase = "score" if self.rounds.final_epochs else "done"
        arrays["progress"] = np.array([number + 1, 0.0, final, before])
        return Globals(phase, arrays)

    def _train(self, statistics: Arrays) -> Arrays:
        """Train one word model for each alignment; count the words of each unit."""
        events, counts = statistics["events"], statistics["counts"]
        arrays: Arrays = {}
        for number in range(self.rounds.n_alignments):
            mine = events[0] == number
            units, words, *observed = events[1:, mine]
            tables = self.words.train(words, list(observed), units, counts[mine])
            arrays |= {f"words{number}_{name}": a for name, a in tables.arrays().items()}
        mine = events[0] == 0
        unit_words = np.zeros((self.words.layout.n_units, self.words.n_words), np.int64)
        np.add.at(unit_words, (events[1, mine], events[2, mine]), counts[mine])
        return {**arrays, "unit_words": unit_words}

    def tables(self, arrays: Arrays) -> list[Tables]:
        """Return the word models of globals."""
        empty = self.words.empty
        found = []
        for number in range(self.rounds.n_alignments):
            prefix = f"words{number}_"
            own = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
            found.append(empty.with_arrays(own))
        return found

    def sample(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Keep nothing: the last globals are the model."""
        return {}
