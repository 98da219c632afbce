"""The Gaussian mixture: the Gaussian hidden Markov model without context.

Every utterance is a sequence of its own; spec and equations in ``docs/models/gaussian_hmm.md``. ::

    weights         ~ Dirichlet(alpha)
    (mu_k, Sigma_k) ~ Normal-inverse-Wishart
    s_t             ~ weights
    x_t             ~ Normal(mu, Sigma) of s_t
"""

from __future__ import annotations

from typing import ClassVar

from palaver.models.vector_model import VectorModel


class GaussianMixture(VectorModel):
    """Mixture of Gaussians over utterance vectors; what came before does not matter.

    Parameters
    ----------
    n_states, n_acts, covariance, sampler, strength, extra_dof, scale, init, hottest
        As for :class:`GaussianHMM`.
    alpha : float
        Dirichlet prior of the weights.
    vectors, weighting, pooling, unit, whiten
        How utterances of a corpus become vectors; see :func:`palaver.utterance_vectors`.
    n_sweeps, burn_in, n_samples, n_chains, max_seconds, random_state, n_jobs
        As for all models.

    Attributes
    ----------
    states_ : array of int16, shape (n,)
        The likeliest act of each utterance.
    acts_ : array of int64, shape (n_states,)
        The act that each state belongs to.
    means_, covariances_ : arrays of float64
        Of the states.
    class_shares_ : array of float64, shape (n_acts,)
    transitions_ : array of float64, shape (n_acts + 1, n_acts)
        The weights in every row.

    Examples
    --------
    >>> import palaver as pv
    >>> model = pv.GaussianMixture(n_states=8).fit(pv.sample())  # doctest: +SKIP
    """

    name = "gaussian-mixture"
    _single: ClassVar[bool] = True
