"""The Gaussian hidden Markov model: dialogue acts as states that emit utterance vectors.

Brychcín & Král (2017); spec and equations in ``docs/models/gaussian_hmm.md``. ::

    row_a          ~ Dirichlet(alpha)                     a = 0..K-1 and start
    (mu_k, Sigma_k) ~ Normal-inverse-Wishart
    s_t            ~ row of s_{t-1}                        start for the first utterance
    x_t            ~ Normal(mu, Sigma) of s_t
"""

from __future__ import annotations

from typing import ClassVar

from palaver.models.gaussian.model import VectorModel


class GaussianHMM(VectorModel):
    """Hidden Markov model of utterance vectors, one state an utterance.

    Parameters
    ----------
    n_states : int or None
        Number of states, K; those that the data do not support empty themselves. None finds the
        number: the infinite hidden Markov model, whose concentrations are learned and whose model
        is the last sample; ``alpha`` and ``sampler`` are then not used.
    n_acts : int, "auto" or None
        Join the fitted states to so many acts, always the two whose joining costs least
        likelihood; an act then emits a mixture of Gaussians. "auto" makes twelve acts of more
        than 36 states; None keeps every state for itself.
    covariance : {"tied", "full", "diag"}
        One for all states; of each state; of each state without correlations.
    sampler : {"auto", "collapsed", "blocked"}
        One utterance at a time with all parameters integrated out; or whole conversations at
        once given drawn parameters, for any number of workers. "auto" goes by the size.
    alpha : float
        Dirichlet prior of the transition rows; below one it prefers few successors.
    strength : float
        kappa, the weight of the prior mean in utterances. At zero a state that empties is
        removed, as in the paper.
    extra_dof : float
        Degrees of freedom of the covariances' prior beyond the number of dimensions.
    scale : float or "identity"
        Scale of the covariances' prior: so many times the variances of the data, or the
        identity matrix, as in the paper.
    init : {"kmeans", "random"}
        First states.
    hottest : float
        Temperature of the emissions in the first sweep; it falls to one over the first half
        of the burn-in.
    vectors, weighting, pooling, unit, whiten
        How utterances of a corpus become vectors; see :func:`palaver.utterance_vectors`.
    n_sweeps, burn_in, n_samples : int
        Sweeps in all, before the first sample (default: half), and samples to keep.
    n_chains : int
        Chains to run side by side; the best by log joint is the model.
    max_seconds : float, optional
        Stop after so long; results then depend on the machine.
    random_state : int, Generator or None
    n_jobs : int
        Threads.

    Attributes
    ----------
    states_ : array of int16, shape (n,)
        The likeliest act of each utterance.
    acts_ : array of int64, shape (n_states,)
        The act that each state belongs to.
    means_, covariances_ : arrays of float64
        Of the states.
    transitions_ : array of float64, shape (n_acts + 1, n_acts)
        Probabilities; rows are the source, the last one is the start.

    Examples
    --------
    >>> import palaver as pv
    >>> model = pv.GaussianHMM(n_states=8, n_sweeps=50).fit(pv.sample())  # doctest: +SKIP
    >>> X, lengths = pv.utterance_vectors(pv.sample(), whiten=10)         # doctest: +SKIP
    >>> pv.GaussianHMM(n_states=8).fit(X, lengths).states_                # doctest: +SKIP
    """

    name = "gaussian-hmm"
    transition_rows: ClassVar = ["start"]
    transition_kind: ClassVar = "probabilities"


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
