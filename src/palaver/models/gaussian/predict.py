"""Acts of new utterances under a fitted Gaussian model, and how likely the utterances are.

Everything is exact given the model's parameters, by summing over all sequences of states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from palaver.encoding import Utterances, cut_vectors
from palaver.errors import ParameterError
from palaver.kernels.chains import chain_posteriors
from palaver.models.gaussian.acts import members

if TYPE_CHECKING:
    from palaver.models.gaussian.model import VectorModel


def act_posteriors(
    model: VectorModel, data: Utterances
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the probability of each act for each utterance, and log-likelihoods.

    Parameters
    ----------
    model : VectorModel
        A fitted one.
    data : Utterances

    Returns
    -------
    probabilities : array of float64, shape (n, n_acts)
        Given the whole conversation.
    log_likelihoods : array of float64, shape (n_sequences,)
        A mixture's sequences are single utterances.
    """
    model._check_fitted()
    n_marks = len(model.marks_)
    if data.vectors.shape[1] != model.means_.shape[1] + n_marks:
        raise ParameterError(
            f"{type(model).__name__}: fitted on vectors of {model.means_.shape[1]} dimensions"
            f"{f' and {n_marks} marks' if n_marks else ''}, got {data.vectors.shape[1]}"
        )
    shares = np.empty((data.n_messages, len(model.class_shares_)))
    scores = []
    emissions, joined = model._emissions(), members(model.acts_)
    with threadpool_limits(1):
        for shard in cut_vectors(data, model._centre, single=model._single):
            logs = emissions.log_densities(shard.vectors, model._parameters)
            part = np.empty_like(logs)
            scores.append(chain_posteriors(logs, shard.offsets, model._rows, part))
            rows = slice(shard.first_message, shard.first_message + shard.n_messages)
            shares[rows] = part @ joined
    return shares, np.concatenate(scores)
