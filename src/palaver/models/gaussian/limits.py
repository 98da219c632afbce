"""Declared limits of the parameters of models over vectors."""

from __future__ import annotations

from palaver.models.base.fitting import RUN_LIMITS
from palaver.params import Limit, either, flag, nothing, one_of, real, text, whole

#: Parameters that every model over vectors has.
VECTOR_LIMITS: dict[str, Limit] = {
    **RUN_LIMITS,
    "n_states": either(whole(1, 32_000), nothing()),
    "n_acts": either(whole(1), one_of("auto"), nothing()),
    "covariance": one_of("full", "diag", "tied"),
    "sampler": one_of("auto", "collapsed", "blocked"),
    "alpha": real(above=0),
    "strength": real(0),
    "extra_dof": real(above=-1),
    "scale": either(real(above=0), one_of("identity")),
    "init": one_of("kmeans", "random"),
    "hottest": real(1),
    "vectors": text(),
    "weighting": one_of("idf", "root-idf", "even"),
    "pooling": one_of("mean", "sum"),
    "unit": flag(),
    "whiten": either(whole(1), nothing()),
}
