"""The rounds of maximum entropy as the loop sees them: a sweep evaluates objectives.

Every shard adds its part of objectives and gradients; the update chooses where to evaluate next
(:mod:`palaver.models.taggers.descent`). The phase says what is being learned::

    first     tags from the messages alone; with context two regressions, each taught by one half
              of the conversations, which go down side by side
    second    tags from the messages and the tags around them, which are those of the regression
              that was taught by the other half; starts from the mean of the first two
    done      nothing

With the first evaluation of a regression a shard also says how large its inputs are and how
frequent its tags, from which the curvature is guessed. Nothing is drawn.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from palaver.models.taggers.descent import Rules, inverse_curvature, report
from palaver.models.taggers.kernels import linear_chain
from palaver.models.taggers.linear import MessageShard, added, sizes
from palaver.parallel import Arrays, Globals

Floats = NDArray[np.float32]
#: Regressions of the first round with context: that of a number tags the half of that number.
HALVES = ("half0", "half1")


def around_size(n_tags: int) -> int:
    """Return how many columns :func:`tags_around` has."""
    return 2 * (n_tags + 2)


def around_names(tags: list[str]) -> list[str]:
    """Return the names of these columns."""
    return [f"{name} {place}" for place in ("before", "after")
            for name in (*tags, "same speaker", "other speaker")]  # fmt: skip


def tags_around(
    shares: Floats, conversations: NDArray[np.int64], kinds: NDArray[np.int8]
) -> Floats:
    """Return the tags of the messages before and after, and whether their speaker is the same.

    Parameters
    ----------
    shares : array of float32, shape (n_messages, n_tags)
        Probabilities of the tags.
    conversations : array of int64, shape (n_conversations + 1,)
    kinds : array of int8, shape (n_messages,)
        1 where the speaker changes; unknown speakers do.

    Returns
    -------
    array of float32, shape (n_messages, 2 * (n_tags + 2))
        First of the message before, then of the message after, within the conversation: shares of
        its tags, whether it has the same speaker, whether it has another one.
    """
    n, n_tags = shares.shape
    found = np.zeros((n, around_size(n_tags)), np.float32)
    full = np.diff(conversations) > 0
    starts, ends = np.zeros(n + 1, bool), np.zeros(n + 1, bool)
    starts[conversations[:-1][full]] = ends[conversations[1:][full] - 1] = True
    after, before = np.flatnonzero(~starts[:n]), np.flatnonzero(~ends[:n])  # the same pairs
    changes = kinds[after] > 0
    for rows, there, first in ((after, before, 0), (before, after, n_tags + 2)):
        found[rows, first : first + n_tags] = shares[there]
        found[rows, first + n_tags] = ~changes
        found[rows, first + n_tags + 1] = changes
    return found


def probabilities(shard: MessageShard, weights: Floats, around: Floats | None = None) -> Floats:
    """Return the probability of each tag of each message by itself, (n_messages, n_tags).

    Parameters
    ----------
    shard : MessageShard
    weights : array of float32, shape (n_inputs, n_tags)
        Of the features, then of the columns of ``around``.
    around : array of float32, shape (n_messages, n_around), optional
    """
    scores = _scores(shard, weights, around)
    scores -= scores.max(axis=1, keepdims=True, initial=-np.inf)
    np.exp(scores, out=scores)
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def _scores(shard: MessageShard, weights: Floats, around: Floats | None) -> Floats:
    scores = np.empty((len(shard.tags), weights.shape[1]), np.float32)
    n_around = 0 if around is None else around.shape[1]
    features = weights[: len(weights) - n_around]
    linear_chain.score(shard.offsets, shard.columns, shard.values, features, scores)
    if around is not None:
        scores += around @ weights[len(features) :]
    return scores


class MaxEntEngine:
    """The regressions as the functions that the loop calls.

    Parameters
    ----------
    n_features, n_tags : int
    context : bool
        Whether there is a second round.
    rules : Rules
        Of each regression.
    """

    exact: ClassVar[tuple[str, ...]] = ()

    def __init__(self, n_features: int, n_tags: int, context: bool, rules: Rules) -> None:
        self.n_features, self.n_tags = n_features, n_tags
        self.context, self.rules = context, rules
        self.run: Any = map

    def start(self, generator: np.random.Generator) -> Globals:
        """Start at zero; nothing is drawn."""
        zero = np.zeros(self.n_features * self.n_tags, np.float32)
        names = HALVES if self.context else ("all",)
        return Globals("first", _joined({name: self.rules.begin(zero) for name in names}))

    def open(self, shared: Globals, shard: MessageShard, key: NDArray[np.uint64]) -> Arrays:
        """Return the state of a shard: the tags around its messages, once they are known."""
        return {"around": np.zeros((0, 0), np.float32)}

    def sweep(
        self, shared: Globals, shard: MessageShard, state: Arrays, key: NDArray[np.uint64]
    ) -> Arrays:
        """Return the shard's part of an objective and of its gradient, named by the regression."""
        if shared.phase == "done":
            return {}
        if shared.phase == "first":
            name, around = HALVES[1 - shard.fold] if self.context else "all", None
        else:
            name, around = "second", self._around(shared, shard, state)
        trial = shared.arrays.get(f"{name}-trial")
        if trial is None:  # the other one has not ended yet
            return {}
        value, gradient = self._evaluate(shard, trial.reshape(-1, self.n_tags), around)
        found = {"value": np.array(value), "gradient": gradient.ravel()}
        if f"{name}-point" not in shared.arrays:
            found |= self._sizes(shard, around)
        return {f"{name}-{key}": array for key, array in found.items()}

    def _sizes(self, shard: MessageShard, around: Floats | None) -> Arrays:
        """Return how large the inputs of labelled messages are, and how frequent the tags."""
        found = sizes(shard, self.n_features, self.n_tags)
        if around is not None:
            more = (around[shard.tags >= 0].astype(np.float64) ** 2).sum(axis=0)
            found["squares"] = np.concatenate((found["squares"], more))
        return found

    def _around(self, shared: Globals, shard: MessageShard, state: Arrays) -> Floats:
        """Return the tags around the messages of a shard, by the regression of its half."""
        if not state["around"].size:
            weights = shared.arrays[f"{HALVES[shard.fold]}-point"].reshape(-1, self.n_tags)
            shares = probabilities(shard, weights)
            state["around"] = tags_around(shares, shard.conversations, shard.kinds)
        return np.asarray(state["around"], np.float32)

    def _evaluate(
        self, shard: MessageShard, weights: Floats, around: Floats | None
    ) -> tuple[float, Floats]:
        """Return minus the log-likelihood of the known tags, and its gradient.

        Messages are chains of one, without moves.
        """
        scores = _scores(shard, weights, around)
        residuals = np.empty_like(scores)
        moves = np.zeros((1, self.n_tags + 1, self.n_tags))
        alone = np.arange(len(shard.tags) + 1)
        kinds = np.zeros(len(shard.tags), np.int8)
        value = linear_chain.residuals_of(
            scores, kinds, alone, moves, shard.tags, residuals, np.empty_like(moves)
        )
        gradient = np.zeros_like(weights)
        linear_chain.add_gradient(
            shard.offsets, shard.columns, shard.values, residuals, gradient[: self.n_features]
        )
        if around is not None:
            gradient[self.n_features :] = around.T @ residuals
        return float(value), gradient

    def merge(self, left: Arrays, right: Arrays) -> Arrays:
        """Add the parts of two shards; they may be of different regressions."""
        return added(left, right)

    def update(
        self, shared: Globals, statistics: Arrays, generator: np.random.Generator
    ) -> tuple[Globals, dict[str, float]]:
        """Choose where to evaluate next; start the second round after the first."""
        parts = _parted(shared.arrays)
        if shared.phase == "done":
            return shared, self._report(parts, 2 if self.context else 1)
        names = [name for name in parts if "trial" in parts[name]]
        for name in names:
            zero = np.zeros_like(parts[name]["trial"])  # if a half has no conversations
            value = float(statistics.get(f"{name}-value", 0.0))
            gradient = statistics.get(f"{name}-gradient", zero)
            inverse = self._inverse(statistics, name)
            parts[name], _ = self.rules.take(parts[name], value, gradient, inverse)
        info = self._report(parts, 1 if shared.phase == "first" else 2)
        if any("trial" in part for part in parts.values()):
            return Globals(shared.phase, _joined(parts)), info
        if shared.phase == "first" and self.context:
            mean = np.mean([parts[name]["point"] for name in HALVES], axis=0, dtype=np.float32)
            more = np.zeros(around_size(self.n_tags) * self.n_tags, np.float32)
            parts["second"] = self.rules.begin(np.concatenate((mean, more)))
            return Globals("second", _joined(parts)), info
        return Globals("done", _joined(parts)), info

    def _inverse(self, statistics: Arrays, name: str) -> Floats | None:
        """Return a guess of the inverse curvature of a regression after its first evaluation."""
        if f"{name}-tags" not in statistics:
            return None
        tags = statistics[f"{name}-tags"]
        shares = tags / max(tags.sum(), 1)
        return inverse_curvature(statistics[f"{name}-squares"], shares, self.rules.penalty)

    def _report(self, parts: dict[str, Arrays], number: int) -> dict[str, float]:
        """Return what the trace records of a round."""
        own = [part for name, part in parts.items() if (name == "second") == (number == 2)]
        reports = [report(part) for part in own]
        return {
            "log_joint": sum(row["log_joint"] for row in reports),
            "steps": max(row["steps"] for row in reports),
            "round": float(number),
        }

    def sample(self, shared: Globals, statistics: Arrays) -> Arrays:
        """Keep nothing: the last globals are the model."""
        return {}


def _joined(parts: dict[str, Arrays]) -> Arrays:
    """Return the states of several descents as one dict."""
    return {f"{name}-{key}": array for name, part in parts.items() for key, array in part.items()}


def _parted(arrays: Arrays) -> dict[str, Arrays]:
    """Return the states of descents by name again."""
    parts: dict[str, Arrays] = {}
    for key, array in arrays.items():
        name, _, rest = key.partition("-")
        parts.setdefault(name, {})[rest] = array
    return parts
