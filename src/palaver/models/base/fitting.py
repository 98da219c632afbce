"""How a model is fitted: one procedure for all kinds of models and their data."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from palaver import rng, store
from palaver.errors import StoppedError, StoreError
from palaver.fit.checkpoint import Checkpoints
from palaver.fit.loop import Callback, Fit, run
from palaver.fit.progress import Show, progress
from palaver.fit.schedule import Schedule
from palaver.fit.trace import trace_table
from palaver.parallel import Executor, LocalExecutor
from palaver.params import Limit, either, nothing, real, whole
from palaver.store.fingerprint import fingerprint_of

if TYPE_CHECKING:
    from palaver.models.base.model import Model

#: Limits of the parameters of a run, which every sampled model has.
RUN_LIMITS: dict[str, Limit] = {
    "n_sweeps": whole(1),
    "burn_in": either(whole(0), nothing()),
    "n_samples": whole(1),
    "n_chains": whole(1),
    "max_seconds": either(real(above=0), nothing()),
    "n_jobs": whole(1),
}
#: Parameters that may differ when a run is continued: they do not change the draws.
_NOT_IDENTITY = (
    "n_sweeps", "burn_in", "n_samples", "tolerance", "max_seconds", "n_jobs", "random_state",
)  # fmt: skip


class FitOptions(TypedDict, total=False):
    """Options of every model's ``fit``, in addition to its data.

    Attributes
    ----------
    folder : path, optional
        Keep checkpoints there and continue from the one that is there; the model is saved there
        at the end.
    checkpoint_seconds : float
        Time between checkpoints, 60 by default; one is also written on Ctrl-C and at the end.
    executor : Executor, optional
        Where sweeps run; threads of this process by default.
    callbacks : sequence of callable
        Called after each sweep as ``callback(sweep, chains)``; True stops the fit.
    show_progress : bool or "auto"
        "auto", the default, shows a bar on terminals and in notebooks.
    """

    folder: str | Path | None
    checkpoint_seconds: float
    executor: Executor | None
    callbacks: Sequence[Callback]
    show_progress: Show


def fit_model(
    model: Model,
    data: Any,
    *,
    folder: str | Path | None = None,
    checkpoint_seconds: float = 60.0,
    executor: Executor | None = None,
    callbacks: Sequence[Callback] = (),
    show_progress: Show = "auto",
) -> None:
    """Let a model learn from data that have a vocabulary and a fingerprint; see FitOptions."""
    model.check_data(data)
    try:
        _fit_model(model, data, folder, checkpoint_seconds, executor, callbacks, show_progress)
    except MemoryError as error:
        size = model.get_params().get(model.size_parameter)
        raise StoppedError(
            f"{type(model).__name__}: the memory is not enough for {size} classes, "
            f"{len(data.vocabulary):,} words and {data.n_messages:,} messages ({error}); lower "
            f"{model.size_parameter}, keep fewer words (min_count), or use a larger machine"
        ) from error


def _fit_model(
    model: Model,
    data: Any,
    folder: str | Path | None,
    checkpoint_seconds: float,
    executor: Executor | None,
    callbacks: Sequence[Callback],
    show_progress: Show,
) -> None:
    params = model.get_params()
    seed = rng.resolve_seed(params["random_state"])
    engine = model._engine(data)
    schedule = model._schedule()
    with ExitStack() as stack:
        checkpoints = None
        if folder is not None:
            stack.enter_context(store.locked(folder))
            place = Path(folder) / "checkpoint"
            checkpoints = Checkpoints(place, checkpoint_seconds, identity(model, data, seed))
            schedule = checkpoints.schedule(schedule, params.get("burn_in") is not None)
        bar = stack.enter_context(progress(type(model).__name__, schedule.n_sweeps, show_progress))
        fit = run(
            engine,
            model._shards(data, engine),
            executor or LocalExecutor(params["n_jobs"]),
            schedule,
            seed=seed,
            n_chains=params.get("n_chains", 1),
            checkpoints=checkpoints,
            callbacks=[*callbacks, *bar],
        )
        model._learn(fit, schedule, data, seed)
        if folder is not None:
            _save_fitted(model, Path(folder))


def identity(model: Model, data: Any, seed: int) -> dict[str, Any]:
    """Return what must be equal for a checkpoint to be continued.

    A parameter that cannot be saved as JSON shows up here, before the work.
    """
    params = store.plain({**model.get_params(), "random_state": seed})
    kept = {name: value for name, value in params.items() if name not in _NOT_IDENTITY}
    read = {
        f"{name} of the data": fingerprint_of(*parts) for name, parts in model._reads(data).items()
    }
    return {"model": model.name, "random_state": seed, **kept, "data": data.fingerprint, **read}


def keep_samples(model: Model, fit: Fit, schedule: Schedule, data: Any, seed: int) -> None:
    """Set what every sampled model learns from a fit: the trace, all chains, the best one."""
    if not fit.chains[0].n_samples:  # stopped before the end of the burn-in
        raise StoppedError(
            f"stopped after {fit.sweep} sweeps, within the burn-in of {schedule.burn_in}; "
            "allow more time, or lower burn_in"
        )
    model.vocabulary_ = data.vocabulary
    model.seed_ = seed
    model.n_sweeps_ = fit.sweep
    model.burn_in_ = schedule.burn_in
    model.sampler_ = model._sampler(data)
    model.fingerprint_ = data.fingerprint
    model.trace_ = trace_table([chain.trace for chain in fit.chains])
    model.chains_ = [model._estimates_of(chain) for chain in fit.chains]
    model.best_chain_ = fit.best
    model.draws_ = {name: np.stack(draws) for name, draws in fit.chains[fit.best].draws.items()}


def _save_fitted(model: Model, folder: Path) -> None:
    """Save what was just learned; it is not lost if that fails."""
    try:
        model.save(folder)
    except StoreError as error:
        raise StoreError(
            f"{error}; the fitted model is in memory: save it elsewhere with model.save(folder)"
        ) from error
