"""Block HMM: the log probability of the transitions, and their prior.

The asymmetric prior is optimized by Minka's fixed point, as in Paul (2012), section 5.2. Arrays
are those of :mod:`palaver.models.block_hmm.kernels.collapsed`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import digamma

from palaver.kernels.compiled import kernel

#: Smallest and largest alpha_k.
_LIMITS = 1e-4, 1e4


@kernel
def log_transitions(transition_counts, transition_prior):  # type: ignore[no-untyped-def]
    """Return the log Dirichlet-multinomial probability of the edges: K+1 rows, one prior.

    IN transition_counts int64 (K+1, K), transition_prior float64 (K,); O(K²).
    """
    prior_total = transition_prior.sum()
    result = 0.0
    for source in range(transition_counts.shape[0]):
        total = 0
        for k in range(transition_counts.shape[1]):
            count = transition_counts[source, k]
            total += count
            if count > 0:
                result += math.lgamma(count + transition_prior[k])
                result -= math.lgamma(transition_prior[k])
        result -= math.lgamma(total + prior_total) - math.lgamma(prior_total)
    return result


def transition_prior_step(
    transition_counts: npt.NDArray[np.int64],
    transition_prior: npt.NDArray[np.float64],
    shape: float = 1.0,
    rate: float = 0.0,
) -> npt.NDArray[np.float64]:
    """Return one step of Minka's fixed point for the asymmetric prior of the transition rows.

    ``alpha_k' = (alpha_k sum_r [psi(n_rk + alpha_k) - psi(alpha_k)] + shape - 1)
    / (sum_r [psi(n_r + A) - psi(A)] + rate)``: never lowers `log_transitions` plus the log of a
    Gamma(shape, rate) prior of each ``alpha_k`` (flat by default). The statistic is the count
    matrix (K+1, K) itself, merged over shards; K+1 rows say little about a prior, so the result
    is kept between 1e-4 and 1e4. O(K²).
    """
    totals = transition_counts.sum(axis=1)
    prior_total = transition_prior.sum()
    numerator = digamma(transition_counts + transition_prior) - digamma(transition_prior)
    denominator = (digamma(totals + prior_total) - digamma(prior_total)).sum() + rate
    if denominator <= 0.0:  # no edges at all, and no prior
        return transition_prior.copy()
    step = (transition_prior * numerator.sum(axis=0) + shape - 1.0) / denominator
    return np.asarray(np.clip(step, *_LIMITS), dtype=np.float64)
