"""The optional vector view: units as vectors, which every act emits with a Gaussian of its own.

Vectors are means of word vectors over a unit, or come from an encoder, one per message. They are
centred and projected to a few uncorrelated dimensions of variance one. All acts share a covariance
(:class:`palaver.models.states.emissions.gaussian.GaussianEmissions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from palaver.encoding import Encoded
from palaver.encoding.corpus_vectors import fill_missing
from palaver.encoding.tokens import Coded
from palaver.encoding.utterances import WordPooling, learn_pooling, whitening, word_vectors_of
from palaver.models.acts.units import Units
from palaver.models.states.emissions.gaussian import GaussianEmissions
from palaver.parallel import Arrays

#: Dimensions that are kept, the most varied ones.
N_DIMENSIONS = 20
#: Prior of the means, in units; of the covariance, in degrees of freedom beyond the dimensions and
#: as a multiple of the variances, which are one. As for the Gaussian HMM.
_STRENGTH, _EXTRA_DOF, _SCALE = 0.1, 2.0, 0.5
_POOLING = "mean"


@dataclass(frozen=True, eq=False)
class UnitVectors:
    """The vectors of the units that have one.

    Attributes
    ----------
    values : array of float64, shape (n, D)
    units : array of int64, shape (n,)
        The units that they belong to, ascending.
    """

    values: NDArray[np.float64]
    units: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class VectorView:
    """How units become vectors; learned once, applied to new conversations.

    Attributes
    ----------
    centre : array of float64, shape (M,)
    projection : array of float64, shape (M, D)
    pooling : WordPooling or None
        Makes vectors of words; None if an encoder makes them.
    """

    centre: NDArray[np.float64]
    projection: NDArray[np.float64]
    pooling: WordPooling | None

    @property
    def size(self) -> int:
        """The number of dimensions, D."""
        return int(self.projection.shape[1])

    def emissions(self, weight: float) -> GaussianEmissions:
        """Return the prior of what acts emit."""
        return GaussianEmissions(
            "tied", np.zeros(self.size), _STRENGTH, self.size + _EXTRA_DOF,
            np.full(self.size, _SCALE), weight=weight,
        )  # fmt: skip

    def project(self, raw: UnitVectors) -> UnitVectors:
        """Return vectors in the dimensions that are kept."""
        with threadpool_limits(1):
            return UnitVectors((raw.values - self.centre) @ self.projection, raw.units)


def learn_view(data: Encoded, units: Units, source: Any) -> VectorView:
    """Learn how units become vectors.

    Parameters
    ----------
    data : Encoded
    units : Units
    source : str, path, WordVectors or array of float64, shape (n_messages, M)
        Where word vectors come from ("corpus": from these texts), or vectors of messages.
    """
    if isinstance(source, np.ndarray):
        raw = by_message(source, units)
        return VectorView(*whitening(raw.values, N_DIMENSIONS), None)
    own = _as_messages(data, units)
    known = fill_missing(own, word_vectors_of(own, source))
    pooling = learn_pooling(own, known, weighting="root-idf", pooling=_POOLING)
    return VectorView(*whitening(_pooled(own, pooling).values, N_DIMENSIONS), pooling)


def by_message(vectors: NDArray[np.float64], units: Units) -> UnitVectors:
    """Return the vectors of messages for their units with words: sentences share that of theirs."""
    speaking = np.flatnonzero(np.diff(units.offsets) > 0)
    return UnitVectors(vectors[units.messages[speaking]], speaking)


def by_words(view: VectorView, data: Encoded, units: Units) -> UnitVectors:
    """Return the vectors of all units that have a known word."""
    if view.pooling is None:
        raise ValueError("vectors of messages come from an encoder")
    return view.project(_pooled(_as_messages(data, units), view.pooling))


def _pooled(own: Encoded, pooling: WordPooling) -> UnitVectors:
    known = np.flatnonzero(pooling.has_known_words(own))
    return UnitVectors(pooling(own)[known], known)


def _as_messages(data: Encoded, units: Units) -> Encoded:
    """Return the units as messages, without unknown words."""
    known = units.tokens >= 0
    before = np.concatenate(([0], np.cumsum(known)))
    nobody = np.full(units.n_units, -1, np.int32)
    return Encoded(
        units.tokens[known], before[units.offsets], nobody, units.conversations,
        Coded(nobody, []), {}, data.vocabulary,
    )  # fmt: skip


def counted(vectors: NDArray[np.float64], shares: NDArray[np.float64]) -> Arrays:
    """Return the statistics of vectors (n, D) whose acts have the probabilities ``shares`` (n, K).

    Returns
    -------
    dict
        ``state_counts`` (K,), ``state_sums`` (K, D) and ``state_squares`` (D, D), as
        :class:`GaussianEmissions` takes them.
    """
    return {  # einsum, whose bits do not depend on the number of threads
        "state_counts": shares.sum(axis=0),
        "state_sums": np.einsum("nk,nd->kd", shares, vectors),
        "state_squares": np.einsum("nd,ne->de", vectors, vectors),
    }


def explained(emissions: GaussianEmissions, statistics: Arrays) -> NDArray[np.float64]:
    """Return weighted sums of vectors in which the common covariance is the identity, (K, D + 1).

    With the number ``n`` of an act's vectors in the last column and the sum ``s`` in the others,
    ``|s|^2 / 2n`` is the log likelihood that its own mean gains over the centre.
    """
    factor = emissions.expected(statistics)[2]["factors"]
    sums = np.einsum("kd,de->ke", statistics["state_sums"], factor)
    return emissions.weight * np.column_stack((sums, statistics["state_counts"]))


def store_view(view: VectorView | None) -> Arrays:
    """Return a view as arrays; none without a view."""
    if view is None:
        return {}
    found = {"vector.centre": view.centre, "vector.projection": view.projection}
    if view.pooling is not None:
        found |= {"vector.words": view.pooling.word_vectors,
                  "vector.word_weights": view.pooling.word_weights,
                  "vector.word_centre": view.pooling.centre}  # fmt: skip
    return found


def load_view(arrays: Mapping[str, NDArray[Any]]) -> VectorView | None:
    """Take back what :func:`store_view` gave."""
    if "vector.centre" not in arrays:
        return None
    pooling = None
    if "vector.words" in arrays:
        pooling = WordPooling(
            arrays["vector.words"], arrays["vector.word_weights"], arrays["vector.word_centre"],
            _POOLING,
        )  # fmt: skip
    return VectorView(arrays["vector.centre"], arrays["vector.projection"], pooling)
