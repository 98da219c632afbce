"""What M4 conditions messages on: features, parents, units, known classes.

In the paper (Paul 2012, sections 2.1 and 2.2) the features of a message are its parent's classes,
start and bias, and each has one parent at most; footnote 5 leaves several parents open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.encoding import Encoded, Shard
from palaver.errors import CorpusError
from palaver.models.m4.engine import M4Shard
from palaver.models.m4.kernels.pairs import LONG_GAP, Pairs

#: Most frequent values of a column of names, each with a weight; the others have none.
MOST_VALUES = 30
#: Position in a conversation at which the feature, which grows logarithmically, reaches one.
_LONG_THREAD = 100.0
BUILT_IN = ("same_speaker", "position", "time_gap")


@dataclass(frozen=True)
class Columns:
    """Features in addition to the parents' classes, start and bias, as found in a corpus.

    Attributes
    ----------
    sources : list of dict
        One per weight, as JSON: its ``name``, the feature it is ``of`` and, for a column of names,
        the ``value``, for one of numbers the ``low`` and ``high`` ends of its range.
    """

    sources: list[dict[str, Any]]

    @property
    def names(self) -> list[str]:
        """Names of the weights."""
        return [source["name"] for source in self.sources]

    @classmethod
    def learn(cls, features: Sequence[str], data: Encoded) -> Columns:
        """Find the columns of a corpus for the features that were asked for."""
        sources: list[dict[str, Any]] = []
        for feature in features:
            if feature in BUILT_IN:
                sources.append({"name": feature, "of": feature})
                if feature == "time_gap" and "time" not in data.numbers:
                    raise CorpusError("feature 'time_gap' needs times, but no message has one")
            elif feature in data.labels:
                coded = data.labels[feature]
                counts = np.bincount(coded.codes[coded.codes >= 0], minlength=len(coded.names))
                for code in np.argsort(-counts, kind="stable")[:MOST_VALUES]:
                    value = coded.names[int(code)]
                    name = f"{feature}={value}"
                    sources.append({"name": name, "of": feature, "value": value})
            elif feature in data.numbers:
                low, high = np.nanmin(data.numbers[feature]), np.nanmax(data.numbers[feature])
                limits = {"low": float(low), "high": float(high)}
                sources.append({"name": feature, "of": feature, **limits})
            else:
                known = ", ".join([*BUILT_IN, *data.labels, *data.numbers])
                raise CorpusError(f"there is no column for the feature {feature!r}; known: {known}")
        return cls(sources)

    def matrix(self, data: Encoded) -> NDArray[np.float64]:
        """Return the features of each message, (n_messages, n_columns), from 0 to 1."""
        result = np.zeros((data.n_messages, len(self.sources)))
        for column, source in enumerate(self.sources):
            result[:, column] = _values(source, data)
        return result

    def place(self, feature: str) -> int:
        """Return the column of a built-in feature, -1 if it is not used."""
        found = [source.get("of") for source in self.sources]
        return found.index(feature) if feature in found else -1


def _values(source: Mapping[str, Any], data: Encoded) -> NDArray[np.float64]:
    """Return one column, from 0 to 1."""
    feature, parents = source["of"], data.parents
    if feature == "same_speaker":
        return _same_speakers(parents, data.speakers.codes)
    if feature == "position":
        starts = np.repeat(data.conversation_offsets[:-1], np.diff(data.conversation_offsets))
        return _grown(np.arange(data.n_messages) - starts, _LONG_THREAD)
    if feature == "time_gap":
        return _time_gaps(parents, _times(data))
    if "value" in source:
        coded = data.labels.get(feature)
        if coded is None or source["value"] not in coded.names:
            return np.zeros(data.n_messages)
        return np.asarray(coded.codes == coded.names.index(source["value"]), float)
    values = data.numbers.get(feature, np.full(data.n_messages, source["low"]))
    scaled = (values - source["low"]) / max(source["high"] - source["low"], 1e-300)
    return np.asarray(np.clip(np.nan_to_num(scaled), 0.0, 1.0))


def _same_speakers(parents: NDArray[np.int32], codes: NDArray[np.int32]) -> NDArray[np.float64]:
    return np.asarray((parents >= 0) & (codes >= 0) & (codes == codes[parents]), float)


def _times(data: Encoded) -> NDArray[np.float64]:
    """Return seconds, not-a-number where there are none."""
    return data.numbers.get("time", np.full(data.n_messages, np.nan))


def _time_gaps(parents: NDArray[np.int32], times: NDArray[np.float64]) -> NDArray[np.float64]:
    gaps = np.where(parents >= 0, times - times[parents], 0.0)
    return _grown(np.nan_to_num(gaps), LONG_GAP)


def _grown(values: NDArray[Any], scale: float) -> NDArray[np.float64]:
    return np.asarray(np.minimum(np.log1p(np.maximum(values, 0)) / np.log1p(scale), 1.0))


def attach(
    shard: Shard,
    data: Encoded,
    columns: Columns,
    fixed: NDArray[np.int16],
    *,
    unit: str,
    all_parents: bool,
) -> M4Shard:
    """Return a shard with what its messages are conditioned on.

    Parameters
    ----------
    shard : Shard
        Of ``data``.
    columns : Columns
    fixed : array of int16, shape (n_messages,)
    unit : {"word", "sentence", "message"}
        What has a class.
    all_parents : bool
        Use ``data.other_parents`` as well.
    """
    rows = slice(shard.first_message, shard.first_message + shard.n_messages)
    features = np.column_stack([
        data.parents[rows] < 0, np.ones(shard.n_messages), columns.matrix(data)[rows]
    ])  # fmt: skip
    designs, index = np.unique(features, axis=0, return_inverse=True)
    segments, units = _segments(shard, data, unit)
    offsets, listed = _parents(shard, data, all_parents)
    return M4Shard(
        **vars(shard),
        parent_offsets=offsets,
        parent_list=listed,
        base_index=index.reshape(-1).astype(np.int32),
        designs=np.ascontiguousarray(designs),
        fixed_classes=np.ascontiguousarray(fixed[rows]),
        segment_offsets=segments,
        unit_offsets=units,
    )


@dataclass(frozen=True, eq=False)
class UnlinkedShard(M4Shard):
    """A shard whose messages have features, and parents that are to be found.

    Attributes
    ----------
    own_features : array of float64, shape (n_messages, n_features)
        Start, bias and further features; zeros for what depends on the parent.
    speakers : array of int32, shape (n_messages,)
    times : array of float64, shape (n_messages,)
    pair_columns : array of int64, shape (2,)
        Columns of "same_speaker" and "time_gap" among the features, -1 if not used.
    """

    own_features: NDArray[np.float64]
    speakers: NDArray[np.int32]
    times: NDArray[np.float64]
    pair_columns: NDArray[np.int64]

    def linked(self) -> M4Shard:
        """Return the shard with the features that follow from its parents, one row per message."""
        features = self.own_features.copy()
        features[:, 0] = self.parents < 0
        same, gap = self.pair_columns
        if same >= 0:
            features[:, same] = _same_speakers(self.parents, self.speakers)
        if gap >= 0:
            features[:, gap] = _time_gaps(self.parents, self.times)
        index = np.arange(self.n_messages, dtype=np.int32)
        return replace(super().linked(), base_index=index, designs=features)

    def pairs(self, weights: NDArray[np.float64]) -> Pairs:
        """Return the same for each message and each parent that it may have."""
        own = weights[weights.shape[1] :]
        same, gap = (own[c] if c >= 0 else np.zeros(own.shape[1]) for c in self.pair_columns)
        scores = np.ascontiguousarray(self.own_features @ own)
        return Pairs(True, scores, self.speakers, self.times, same.copy(), gap.copy())


def unlink(shard: M4Shard, data: Encoded, columns: Columns) -> UnlinkedShard:
    """Return a shard whose parents are to be found, and with them the features they decide."""
    rows = slice(shard.first_message, shard.first_message + shard.n_messages)
    own = np.zeros((shard.n_messages, 2 + len(columns.sources)))
    own[:, 1] = 1.0
    own[:, 2:] = columns.matrix(data)[rows]
    places = [columns.place(feature) for feature in ("same_speaker", "time_gap")]
    pair_columns = np.array([place + 2 if place >= 0 else -1 for place in places])
    own[:, pair_columns[pair_columns >= 0]] = 0.0
    return UnlinkedShard(
        **vars(shard), own_features=own, pair_columns=pair_columns,
        speakers=data.speakers.codes[rows].astype(np.int32),
        times=np.ascontiguousarray(_times(data)[rows], np.float64),
    )  # fmt: skip


def _segments(
    shard: Shard, data: Encoded, unit: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the tokens of each segment, and the units of each message, both by offsets.

    Segments are sentences or messages; if each word has a class, there are none.
    """
    if unit == "word":
        return np.zeros(1, np.int64), shard.message_offsets
    offsets = np.unique(shard.message_offsets)
    if unit == "sentence":
        if not len(data.sentence_offsets):
            raise CorpusError(
                "unit='sentence' needs the limits of sentences: pass the corpus itself, or "
                "encode it with encode(corpus, sentences=True)"
            )
        last = shard.first_token + shard.n_tokens
        first, end = np.searchsorted(data.sentence_offsets, (shard.first_token, last))
        offsets = data.sentence_offsets[first : end + 1] - shard.first_token
    return offsets, np.searchsorted(offsets, shard.message_offsets).astype(np.int64)


def _parents(
    shard: Shard, data: Encoded, all_parents: bool
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return all parents of each message of a shard, by offsets."""
    own = np.flatnonzero(shard.parents >= 0)
    pairs = np.column_stack((own, shard.parents[own]))
    if all_parents:
        others = data.other_parents - shard.first_message
        here = (others[:, 0] >= 0) & (others[:, 0] < shard.n_messages)
        pairs = np.concatenate((pairs, others[here]))
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    counts = np.bincount(pairs[:, 0], minlength=shard.n_messages)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return offsets, np.ascontiguousarray(pairs[:, 1].astype(np.int32))
