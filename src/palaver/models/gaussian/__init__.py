"""The Gaussian hidden Markov model: dialogue acts as states that emit utterance vectors.

Brychcín & Král (2017); equations in ``docs/models/gaussian_hmm.md``. ::

    row_a           ~ Dirichlet(alpha)                    a = 0..K-1 and start
    (mu_k, Sigma_k) ~ Normal-inverse-Wishart
    s_t             ~ row of s_{t-1}                       start for the first utterance
    x_t             ~ Normal(mu, Sigma) of s_t
    m_tb            ~ Bernoulli(p_b of s_t)                marks, such as a question mark
"""

from __future__ import annotations

from typing import ClassVar

from palaver.models.gaussian.model import VectorModel


class GaussianHMM(VectorModel):
    """Hidden Markov model of utterance vectors, one state per utterance.

    Parameters
    ----------
    n_states : int or None
        Number of states, K; states that the data do not support become empty. None finds the
        number: this is the infinite hidden Markov model, whose concentrations are learned and
        whose estimates are the last sample; ``transition_prior`` and ``sampler`` are then not used.
    n_acts : int, "auto" or None
        Join the fitted states to this many acts, always the two whose joining costs least
        likelihood; an act then emits a mixture of Gaussians. "auto" makes twelve acts of more
        than 36 states; None keeps each state as an act of its own.
    covariance : {"tied", "full", "diag"}
        One for all states; one per state; one per state without correlations.
    sampler : {"auto", "collapsed", "blocked"}
        One utterance at a time with all parameters integrated out, for vectors alone that count in
        full; or whole conversations at once given drawn parameters, on any number of workers.
        "auto" is "blocked", except for little data to which nothing else applies.
    transition_prior : float
        Dirichlet prior of the transition rows; below one it prefers few successors.
    strength : float
        Weight of the prior mean, in utterances. At zero a state that becomes empty is removed, as
        in the paper.
    extra_dof : float
        Degrees of freedom of the covariances' prior beyond the number of dimensions.
    scale : float or "identity"
        Scale of the covariances' prior: this multiple of the variances of the data, or the
        identity matrix, as in the paper.
    init : {"kmeans", "random"}
        First states.
    start_temperature : float
        Temperature of the emissions in the first sweep; it falls to one over the first half
        of the burn-in.
    vectors, weighting, pooling, normalize, whiten
        How utterances of a corpus become vectors; see :func:`palaver.utterance_vectors`.
        ``normalize`` scales every word vector to length one. Words without a vector get one
        estimated from the corpus.
    marks : list of str, "auto" or None
        What states emit in addition to the vector, each mark with its own probability: "question",
        "exclamation", "number", "link", "short". "auto" is a question mark, and nothing where
        vectors are given as an array or with the collapsed sampler.
    weight : float or "auto"
        Power of the vectors' densities, above 0 and at most 1: densities in many dimensions
        differ by far more than transitions and marks do. "auto" is 0.5 for conversations, and 1
        for arrays and with the collapsed sampler.
    n_sweeps, burn_in, n_samples : int
        Number of sweeps, of sweeps before the first sample (default: half), and of samples kept.
    n_chains : int
        Chains to run side by side; the best by log joint is the model.
    max_seconds : float, optional
        Stop after this many seconds; results then depend on the speed of the machine.
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
    n_states, n_acts, covariance, sampler, strength, extra_dof, scale, init, start_temperature
        As for :class:`GaussianHMM`.
    transition_prior : float
        Dirichlet prior of the weights.
    vectors, weighting, pooling, normalize, whiten, marks, weight
        As for :class:`GaussianHMM`.
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
        Every row holds the weights.

    Examples
    --------
    >>> import palaver as pv
    >>> model = pv.GaussianMixture(n_states=8).fit(pv.sample())  # doctest: +SKIP
    """

    name = "gaussian-mixture"
    _single: ClassVar[bool] = True
