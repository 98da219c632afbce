"""The second look: judging each message again, knowing the conversations that the first found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from palaver.threads.evidence import Gathered
from palaver.threads.kernels.features import FEATURES, SIMILARITY
from palaver.threads.kernels.links import best_candidates
from palaver.threads.kernels.second import STRUCTURE, fill_structure, no_trees
from palaver.threads.pairs import CandidatePairs
from palaver.threads.ranker import Ranker, normalized


class SecondLook:
    """Adds the features of a second look to pairs, message by message in order.

    Parameters
    ----------
    gathered : Gathered
    """

    def __init__(self, gathered: Gathered) -> None:
        evidence = gathered.evidence
        self._people = evidence.people
        n_speakers = int(self._people.speakers.max(initial=-1)) + 1
        self._trees = no_trees(len(gathered.rows), n_speakers)
        offsets = evidence.conversation_offsets
        self._firsts = np.repeat(offsets[:-1], np.diff(offsets))

    def structure(self, pairs: CandidatePairs, chances: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return the additional features, (n_pairs, n_structure), and remember the parents.

        Parameters
        ----------
        pairs : CandidatePairs
            The messages after those of the last call.
        chances : array of float64, shape (n_pairs,)
            Probabilities of the first look.
        """
        best, second = (np.empty(len(pairs.messages), np.int64) for _ in range(2))
        best_candidates(chances, pairs.offsets, best, second)
        found = np.empty((len(pairs.candidates), len(STRUCTURE)), np.float32)
        fill_structure(
            self._trees, pairs.messages, pairs.offsets, pairs.candidates, chances,
            pairs.candidates[best].astype(np.int64),
            np.ascontiguousarray(pairs.features[:, SIMILARITY]), self._people.speakers,
            self._people.addressed, self._firsts[pairs.messages], found,
        )  # fmt: skip
        return found

    def chances(
        self, pairs: CandidatePairs, chances: NDArray[np.float64], ranker: Ranker
    ) -> NDArray[np.float64]:
        """Return the probabilities of the second look, (n_pairs,), from those of the first."""
        wide = np.hstack((pairs.features[:, : len(FEATURES)], self.structure(pairs, chances)))
        return normalized(ranker.scores(replace(pairs, features=wide)), pairs.offsets)
