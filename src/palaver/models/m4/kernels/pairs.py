"""How likely a message is the parent of another where features depend on both.

Paul (2012), equation (5), with scores that have more than classes in them. The scores of message
``b`` as a reply to ``a`` are what the classes of ``a`` give, what ``b`` has whoever its parent is,
and what depends on both::

    s(b, a) = h_a . rows / n_a + own_b + [same speaker] same_weights + gap(b, a) gap_weights

where the start has its row of weights instead of a histogram, no speaker and no gap. A gap grows
by its logarithm, up to one for a month; unknown times and messages that come later have none.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palaver.kernels.compiled import kernel
from palaver.models.m4.kernels.replies import log_rising

LONG_GAP = 30 * 86_400.0


class Pairs(NamedTuple):
    """What the scores need in addition to classes; all IN.

    own: (n_messages, K); speakers: (n_messages,), -1 where unknown; times: (n_messages,) seconds;
    same_weights, gap_weights: (K,).
    """

    is_used: bool
    own: NDArray[np.float64]
    speakers: NDArray[np.int32]
    times: NDArray[np.float64]
    same_weights: NDArray[np.float64]
    gap_weights: NDArray[np.float64]


NO_PAIRS = Pairs(
    False, np.empty((0, 0)), np.empty(0, np.int32), np.empty(0), np.empty(0), np.empty(0)
)


@kernel(error_model="numpy")
def pair_scores(  # type: ignore[no-untyped-def]
    b, first, n, counts, parts, pairs, is_dirichlet, n_candidates, candidates, inverse, scores
):
    """Set the logs of how likely candidates are the parent of message ``first + b``.

    Parameters
    ----------
    b, first, n : int. IN
        Message in its conversation, first message and length of the conversation.
    counts : array of float64, shape (K,). IN
        Classes of the message.
    parts : array of float64, at least (K, n + 1). IN
        What classes add to the scores, by candidate, the start last.
    pairs : Pairs; is_dirichlet : bool. IN
    n_candidates : int; candidates : array of int64; inverse : float, of the temperature. IN
    scores : array of float64, shape (>= n_candidates,). OUT

    O(K) for each candidate.
    """
    n_classes = counts.shape[0]
    n_units = int(counts.sum())
    own = pairs.own[first + b]
    for i in range(n_candidates):
        a = candidates[i]
        same, gap = 0.0, 0.0
        if a < n:
            speaker = pairs.speakers[first + b]
            same = 1.0 if speaker >= 0 and pairs.speakers[first + a] == speaker else 0.0
            seconds = pairs.times[first + b] - pairs.times[first + a]
            if seconds > 0.0:  # not where one is unknown
                gap = min(math.log1p(seconds) / math.log1p(LONG_GAP), 1.0)
        total = 0.0
        score = 0.0
        for j in range(n_classes):
            value = parts[j, a] + own[j]
            value += same * pairs.same_weights[j] + gap * pairs.gap_weights[j]
            mass = math.exp(min(max(value, -300.0), 300.0))
            total += mass
            if counts[j] > 0.0:
                score += log_rising(mass, int(counts[j])) if is_dirichlet else counts[j] * value
        score -= log_rising(total, n_units) if is_dirichlet else n_units * math.log(total)
        scores[i] = score * inverse
