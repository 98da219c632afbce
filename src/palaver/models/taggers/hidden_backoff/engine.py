"""Embedded EM (Ji & Bilmes 2006, algorithm 1 and section 4.1) as the loop sees it.

This is EM, not a sampler: it borrows the loop of the samplers for its workers, checkpoints and
interruptions. A sweep is one step, and ``n_sweeps`` of the schedule is only an upper bound, for
nobody knows beforehand how many rounds there will be. What the trace calls ``log_joint`` is the
log-likelihood of the training sentences; a sweep that has none (the first) leaves it not-a-number.

The phase says what the next sweep does::

    begin    count the first states, spread or drawn    -> the first word model
    score    look up the words' probabilities, then as epoch
    epoch    expected starts and moves of the states    -> new ones; the word model stays
    align    most likely, or drawn, states              -> a new word model
    done     nothing

A round is ``epochs`` epochs and an alignment. :class:`Progress` says which round it is, and
whether another may follow.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from palaver.kernels.random import uniforms
from palaver.models.taggers.hidden_backoff.kernels import states as kernels
from palaver.models.taggers.hidden_backoff.words import (
    Types,
    WordModel,
    alignment_arrays,
    word_tables,
)
from palaver.models.taggers.sentences import Sentences
from palaver.parallel import Arrays, Globals

PHASES = ("begin", "score", "epoch", "align", "done")


#: Globals that steer the rounds and are no part of what is learned.
COURSE = ("progress", "log_reached")


class Stage(IntEnum):
    """Where in its course the embedded EM is."""

    ROUNDS = 0  #: Another round may follow this one.
    LAST_ROUND = 1  #: This round converged, or no more are allowed; its alignment is next.
    FINAL = 2  #: After the last round: final epochs, an alignment, the final word model.


@dataclass(frozen=True)
class Progress:
    """The state of the embedded EM, which travels in the globals as one array.

    Attributes
    ----------
    stage : Stage
    round : int
        Word models trained so far.
    epoch : int
        Epochs done since the last alignment.
    """

    stage: Stage = Stage.ROUNDS
    round: int = 0
    epoch: int = 0

    @classmethod
    def of(cls, shared: Globals) -> Self:
        """Read the progress from globals."""
        stage, number, epoch = shared.arrays["progress"].tolist()
        return cls(Stage(stage), number, epoch)

    @property
    def array(self) -> NDArray[np.int64]:
        """The progress as whole numbers, (3,)."""
        return np.array([self.stage, self.round, self.epoch], np.int64)


@dataclass(frozen=True, eq=False)
class TagShard:
    """Sentences of whole conversations, and which event each of their tokens is."""

    sentences: Sentences
    types: Types
    first_conversation: int

    @property
    def offsets(self) -> NDArray[np.int64]:
        """First token of each sentence."""
        return self.sentences.message_offsets


@dataclass(frozen=True)
class Rounds:
    """How long the embedded EM runs; the defaults of the tagger are those of section 4.1.

    Attributes
    ----------
    max_rounds, epochs, final_epochs : int
    tolerance : float
        Rounds stop when the log-likelihood changes by less than this share of itself.
    alignment : {"viterbi", "sampled", "averaged"}
    n_alignments : int
        Alignments, each with a word model of its own; words get the mean of the models.
    first_states : {"spread", "random"}
    """

    max_rounds: int
    epochs: int
    final_epochs: int
    tolerance: float
    alignment: str
    n_alignments: int
    first_states: str

    @property
    def n_sweeps(self) -> int:
        """Sweeps at most."""
        return 1 + self.max_rounds * (self.epochs + 1) + self.final_epochs + 1


def first_draws(
    offsets: NDArray[np.int64],
    conversations: NDArray[np.int64],
    first_conversation: int,
    key: NDArray[np.uint64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return uniform draws for the sentences and for the tokens of a shard.

    Each conversation has a stream: its sentences come first, then its tokens.
    """
    branches, draws = [np.zeros(0)], [np.zeros(0)]
    for number, (first, last) in enumerate(itertools.pairwise(conversations.tolist())):
        n_tokens = int(offsets[last] - offsets[first])
        found = uniforms(key, first_conversation + number, last - first + n_tokens)
        branches.append(found[: last - first])
        draws.append(found[last - first :])
    return np.concatenate(branches), np.concatenate(draws)


class HiddenBackoffEngine:
    """Embedded EM as the functions that the loop calls."""

    exact: ClassVar[tuple[str, ...]] = ()
    unscored: ClassVar[tuple[str, ...]] = ("begin", "done")

    def __init__(self, words: WordModel, rounds: Rounds, medians: NDArray[np.float64]) -> None:
        self.words, self.rounds, self.medians = words, rounds, medians
        self.run: Any = map

    def start(self, generator: np.random.Generator) -> Globals:
        """Start with the first alignment."""
        return Globals("begin", {"progress": Progress().array, "log_reached": np.array(-np.inf)})

    def open(self, shared: Globals, shard: TagShard, key: NDArray[np.uint64]) -> Arrays:
        """Spread the states evenly along each sentence (section 4.1), or draw them."""
        part, layout = shard.sentences, self.words.layout
        if self.rounds.first_states == "spread":
            states = layout.spread(shard.offsets, part.tags, self.medians)
        else:
            draws = first_draws(
                shard.offsets, part.conversation_offsets, shard.first_conversation, key
            )
            states = layout.draw(shard.offsets, part.tags, *draws)
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
            tables = word_tables(self.words, shared.arrays)
            state["emissions"] = self.words.emissions(tables, shard.types)
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
        """Count the distinct events of every alignment."""
        most = self.words.layout.most
        events, counts = [], []
        for number, states in enumerate(state["states"]):
            pairs = shard.types.of_tokens.astype(np.int64) * most + states
            pairs, times = np.unique(pairs, return_counts=True)
            types = pairs // most
            units = self.words.layout.units[shard.types.tags[types]] + pairs % most
            columns = [np.full(len(pairs), number), units, shard.types.words[types]]
            columns += [column[types] for column in shard.types.observed]
            columns += [column[types] for column in shard.types.emitted]
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
        """Append events, add up everything else."""
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
            "round": float(Progress.of(shared).round),
            "phase": float(PHASES.index(shared.phase)),
        }
        return new, info

    def _after_epoch(self, shared: Globals, statistics: Arrays) -> Globals:
        """Take over starts and moves; align after the last epoch of a round."""
        start, moves = self.words.layout.parameters(statistics["starts"], statistics["steps"])
        arrays = {**shared.arrays, "start": start, "moves": moves}
        progress = Progress.of(shared)
        progress = replace(progress, epoch=progress.epoch + 1)
        is_final = progress.stage is Stage.FINAL
        ends = progress.epoch == (self.rounds.final_epochs if is_final else self.rounds.epochs)
        if ends and not is_final:
            reached = float(statistics["log_likelihood"])
            if self._is_last(progress.round, reached, float(shared.arrays["log_reached"])):
                progress = replace(progress, stage=Stage.LAST_ROUND)
            arrays["log_reached"] = np.array(reached)
        arrays["progress"] = progress.array
        return Globals("align" if ends else "epoch", arrays)

    def _is_last(self, number: int, reached: float, before: float) -> bool:
        """Whether a round changed little, or is the last that is allowed."""
        has_converged = abs(reached - before) < self.rounds.tolerance * abs(reached)
        return has_converged or number >= self.rounds.max_rounds

    def _after_alignment(self, shared: Globals, statistics: Arrays) -> Globals:
        """Train the word model; continue with the next round, the final epochs, or end."""
        arrays = self._train(statistics)
        if shared.phase == "begin":
            start, moves = self.words.layout.first_parameters(
                statistics["starts"], statistics["steps"]
            )
            arrays |= {"start": start, "moves": moves}
        else:
            arrays |= {"start": shared.arrays["start"], "moves": shared.arrays["moves"]}
        progress = Progress.of(shared)
        is_over = progress.stage is Stage.FINAL or not self.words.has_states
        if progress.stage is Stage.LAST_ROUND:
            progress = replace(progress, stage=Stage.FINAL)
            is_over = is_over or not self.rounds.final_epochs
        arrays["progress"] = replace(progress, round=progress.round + 1, epoch=0).array
        arrays["log_reached"] = shared.arrays["log_reached"]
        return Globals("done" if is_over else "score", arrays)

    def _train(self, statistics: Arrays) -> Arrays:
        """Train one word model per alignment; count the words of each unit."""
        events, counts = statistics["events"], statistics["counts"]
        arrays: Arrays = {}
        for number in range(self.rounds.n_alignments):
            mine = events[0] == number
            units, words, *columns = events[1:, mine]
            n_observed = len(columns) - len(self.words.emitted)
            observed, emitted = columns[:n_observed], columns[n_observed:]
            tables = self.words.train(words, observed, emitted, units, counts[mine])
            arrays |= alignment_arrays(number, tables)
        mine = events[0] == 0
        unit_words = np.zeros((self.words.layout.n_units, self.words.n_words), np.int64)
        np.add.at(unit_words, (events[1, mine], events[2, mine]), counts[mine])
        return {**arrays, "unit_words": unit_words}

    def sample(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Keep nothing: the last globals are the model."""
        return {}
