"""The model of acts as the loop sees it.

What is sampled is not the posterior of a generative model but a tempered one: with the feature
weights ``w`` of :mod:`palaver.models.acts.views`, acts ``z``, features ``phi`` and rows,

    (c)  p(z, phi, rows) ∝ prior(phi, rows) prod_u p(z_u | z_parent) e^-r[z_u]
                           prod_f (phi[z_u, f] e^s[z_u, f])^w_uf

where ``s`` and ``r`` are what :mod:`palaver.models.acts.seeds` say, and zero for all else.

Given acts, ``phi`` of a view is Dirichlet(prior + summed weights) and rows are
Dirichlet(prior + counts); given these, all acts of a forest are drawn at once. So the sampler
leaves (c) invariant, and with ``phi`` and rows integrated out the log of (c) is what the trace
calls ``log_joint``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from palaver.encoding.shards import even_parts
from palaver.kernels.dirichlet import draw_rows
from palaver.models.acts.kernels import features as feature_kernels
from palaver.models.acts.kernels import forests
from palaver.models.acts.seeds import Seeds
from palaver.models.acts.units import RELATIONS, Units
from palaver.models.acts.vectors import UnitVectors, counted
from palaver.models.acts.views import Features
from palaver.models.states.emissions.gaussian import GaussianEmissions
from palaver.parallel import Arrays, Globals
from palaver.parallel.restored import Expected, check_arrays, check_rows, indices

#: Units per shard at least, and shards at most.
SMALLEST_UNITS, MOST = 4_000, 32


@dataclass(frozen=True, eq=False)
class ActShard:
    """Contiguous conversations: the features of their units, and what each unit follows.

    Attributes
    ----------
    ids, weights, offsets
        As in :class:`palaver.models.acts.views.Features`.
    parents : array of int32, shape (n_units,)
    relations : array of int8, shape (n_units,)
    fixed : array of int16, shape (n_units,) or (0,)
        Known acts, -1 for those to be found; empty if none is known.
    conversations : array of int64, shape (n_conversations + 1,)
        First unit of each.
    first_unit, first_conversation : int
        Where the shard starts in the corpus; the last of them names the random streams.
    vectors : array of float64, shape (n, D)
        Of the units that have one; none without the vector view.
    having : array of int64, shape (n,)
        These units.
    first : array of int16, shape (n_units,) or (0,)
        Acts that units begin with, -1 for those to be drawn; empty if all are.
    """

    ids: NDArray[np.int32]
    weights: NDArray[np.float64]
    offsets: NDArray[np.int64]
    parents: NDArray[np.int32]
    relations: NDArray[np.int8]
    fixed: NDArray[np.int16]
    conversations: NDArray[np.int64]
    first_unit: int
    first_conversation: int
    vectors: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    having: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    first: NDArray[np.int16] = field(default_factory=lambda: np.empty(0, np.int16))

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.parents)


def cut_units(
    units: Units,
    features: Features,
    fixed: NDArray[np.int16],
    vectors: UnitVectors | None = None,
    first: NDArray[np.int16] | None = None,
) -> list[ActShard]:
    """Cut units into shards of whole conversations, by the data alone."""
    begun = np.empty(0, np.int16) if first is None else first
    bounds = units.conversations
    n_shards = int(np.clip(units.n_units // SMALLEST_UNITS, 1, MOST))
    seen = vectors or UnitVectors(np.empty((0, 0)), np.empty(0, np.int64))
    shards = []
    for start, end in even_parts(bounds, n_shards):
        here = slice(int(bounds[start]), int(bounds[end]))
        inner = slice(int(features.offsets[here.start]), int(features.offsets[here.stop]))
        parents = units.parents[here]
        rows = slice(*np.searchsorted(seen.units, (here.start, here.stop)))
        shards.append(
            ActShard(
                features.ids[inner],
                features.weights[inner],
                features.offsets[here.start : here.stop + 1] - inner.start,
                np.where(parents < 0, -1, parents - here.start).astype(np.int32),
                units.relations[here],
                fixed[here] if len(fixed) else fixed,
                bounds[start : end + 1] - here.start,
                here.start,
                start,
                seen.values[rows],
                seen.units[rows] - here.start,
                begun[here] if len(begun) else begun,
            )
        )
    return shards


@dataclass
class ActEngine:
    """Five functions for the loop, ``sample``, and the exact posteriors of the search's end.

    Attributes
    ----------
    n_acts : int
    starts : array of int64, shape (n_views + 1,)
        First feature of each view.
    feature_prior : array of float64, shape (F, K)
        Dirichlet prior of the features of each act.
    transition_prior : float
    vectors : GaussianEmissions, optional
        Prior of the vector view.
    seeds : Seeds, optional
        What seed words say.
    """

    n_acts: int
    starts: NDArray[np.int64]
    feature_prior: NDArray[np.float64]
    transition_prior: float
    vectors: GaussianEmissions | None = None
    seeds: Seeds | None = None
    run: Any = field(init=False, default=map)
    exact: ClassVar[tuple[str, ...]] = ("moves",)

    @property
    def n_rows(self) -> int:
        """Number of transition rows: one per relation and act, and the start."""
        return len(RELATIONS) * self.n_acts + 1

    def start(self, generator: np.random.Generator) -> Globals:
        """Return nothing yet: the first sweep only counts the first acts."""
        return Globals("count", {})

    def open(self, shared: Globals, shard: ActShard, key: NDArray[np.uint64]) -> Arrays:
        """Draw the act of each unit evenly, unless it is given or the unit has seed words.

        Units with seed words begin in the act of most of them.
        """
        states = np.empty(shard.n_units, np.int16)
        forests.open_acts(
            shard.conversations, shard.first_conversation, shard.fixed, self.n_acts, key, states
        )
        if len(shard.first):
            known = shard.fixed >= 0 if len(shard.fixed) else False
            states = np.where((shard.first < 0) | known, states, shard.first)
        seeded = self._seeded(shard)
        return {"states": np.where(seeded < 0, states, seeded).astype(np.int16)}

    def _seeded(self, shard: ActShard) -> NDArray[np.int64]:
        """Return the act that each unit's seed words speak for; -1 without any, or if known."""
        if self.seeds is None:
            return np.full(shard.n_units, -1)
        votes = self.densities(self.seeds.features, shard)
        free = votes.any(axis=1)
        if len(shard.fixed):
            free &= shard.fixed < 0
        return np.where(free, votes.argmax(axis=1), -1)

    def check(self, shared: Globals, shard: ActShard, state: Arrays) -> None:
        """Raise ValueError unless globals and a state are what this engine makes."""
        check_arrays(state, {"states": indices(shard.n_units, self.n_acts)})
        if shared.phase == "sweep":
            check_rows(shared.arrays["rows"], (self.n_rows, self.n_acts))
            wanted = {"log_features": Expected(self.feature_prior.shape, most=0)}
            if self.vectors is not None:
                wanted |= self.vectors.forms(self.n_acts)
            check_arrays(shared.arrays, wanted)

    def sweep(
        self, shared: Globals, shard: ActShard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Draw all acts of a shard; return the summed weights and the counts of transitions."""
        states = state["states"]
        if shared.phase == "sweep":
            densities = self.log_densities(shared.arrays, shard)
            densities /= shared.temperature
            forests.sample_forests(
                densities, shard.parents, shard.relations, shard.fixed, shard.conversations,
                shard.first_conversation, shared.arrays["rows"], key, states,
            )  # fmt: skip
        counts = np.zeros(self.feature_prior.shape)
        moves = np.zeros((self.n_rows, self.n_acts))
        feature_kernels.count_features(shard.ids, shard.weights, shard.offsets, states, counts)
        forests.count_moves(states, shard.parents, shard.relations, moves)
        found = {"feature_counts": counts, "moves": moves}
        if self.vectors is not None:
            found |= counted(shard.vectors, np.eye(self.n_acts)[states[shard.having]])
        return found

    def log_densities(self, arrays: Arrays, shard: ActShard) -> NDArray[np.float64]:
        """Return the tempered log densities of a shard's units in all views, (n_units, K)."""
        log_features = arrays["log_features"]
        if self.seeds is not None:
            log_features = log_features + self.seeds.features
        densities = self.densities(log_features, shard)
        if self.seeds is not None:
            densities -= self.seeds.units
        if self.vectors is not None and len(shard.having):
            densities[shard.having] += self.vectors.log_densities(shard.vectors, arrays)
        return densities

    def densities(self, log_features: NDArray[np.float64], shard: ActShard) -> NDArray[np.float64]:
        """Return the tempered log densities of a shard's features, (n_units, K)."""
        densities = np.empty((shard.n_units, self.n_acts))
        feature_kernels.log_densities(
            shard.ids, shard.weights, shard.offsets, log_features, densities
        )
        return densities

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Add up statistics; those of the left are used up."""
        for name, value in right.items():
            left[name] += value
        return left

    def update(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Draw features and rows given the acts; the trace has the log of (c), both summed out."""
        counts, moves = statistics["feature_counts"], statistics["moves"]
        drawn = generator.standard_gamma(counts + self.feature_prior)
        drawn = np.maximum(drawn, np.finfo(float).tiny)
        arrays = {
            "log_features": np.log(drawn) - np.log(self.spread_totals(drawn)),
            "rows": draw_rows(moves, self.transition_prior, generator),
        }
        log_joint = self.log_joint(counts, moves)
        if self.vectors is not None:
            arrays |= self.vectors.draw(statistics, generator)
            log_joint += self.vectors.log_marginal(statistics)
        used = float((self.act_weights(counts) > 0).sum())
        return Globals("sweep", arrays), {"log_joint": log_joint, "acts": used}

    def sample(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Return the statistics: their means are what a search found."""
        return statistics

    # parameters from statistics

    def totals(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up values of features by view, (n_views, K)."""
        return np.asarray(np.add.reduceat(values, self.starts[:-1], axis=0))

    def spread_totals(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the totals of the view of each feature, (F, K)."""
        return np.repeat(self.totals(values), np.diff(self.starts), axis=0)

    def act_weights(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the summed weights of each act, (K,)."""
        return np.asarray(counts.sum(axis=0))

    def expected(self, statistics: Arrays) -> Arrays:
        """Return the posterior means of features (as logs) and rows given statistics."""
        values = statistics["feature_counts"] + self.feature_prior
        rows = statistics["moves"] + self.transition_prior
        seen = {} if self.vectors is None else self.vectors.expected(statistics)[2]
        return {
            **seen,
            "log_features": np.log(values) - np.log(self.spread_totals(values)),
            "rows": rows / rows.sum(axis=1, keepdims=True),
        }

    def evidence(self, counts: NDArray[np.float64], prior: NDArray[np.float64]) -> float:
        """Return the log evidence of the features of one act, (F,), their parameters summed out."""
        values, flat = counts[:, None], prior[:, None]
        inner = (gammaln(values + flat) - gammaln(flat)).sum()
        of_views = gammaln(self.totals(flat)) - gammaln(self.totals(values + flat))
        return float(inner + of_views.sum())

    def log_joint(self, counts: NDArray[np.float64], moves: NDArray[np.float64]) -> float:
        """Return the log of (c) with features and rows integrated out."""
        prior = self.feature_prior
        features = (gammaln(counts + prior) - gammaln(prior)).sum()
        of_views = gammaln(self.totals(prior)) - gammaln(self.totals(counts + prior))
        flat = self.transition_prior
        rows = (gammaln(moves + flat) - gammaln(flat)).sum()
        total = flat * self.n_acts
        of_rows = (gammaln(total) - gammaln(moves.sum(axis=1) + total)).sum()
        seeds = 0.0 if self.seeds is None else self.seeds.log_weight(counts, moves)
        return float(features + of_views.sum() + rows + of_rows + seeds)

    # exact posteriors

    def posteriors(
        self, arrays: Arrays, shard: ActShard
    ) -> tuple[NDArray[np.float64], Arrays, float]:
        """Return posteriors of a shard's units, expected statistics, and the log evidence."""
        densities = self.log_densities(arrays, shard)
        found = np.empty_like(densities)
        moves = np.zeros((self.n_rows, self.n_acts))
        evidence = forests.forest_posteriors(
            densities, shard.parents, shard.relations, shard.fixed, arrays["rows"], found, moves
        )
        counts = np.zeros(self.feature_prior.shape)
        feature_kernels.expect_features(shard.ids, shard.weights, shard.offsets, found, counts)
        statistics = {"feature_counts": counts, "moves": moves}
        if self.vectors is not None:
            statistics |= counted(shard.vectors, found[shard.having])
        return found, statistics, evidence
