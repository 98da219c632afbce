"""Checkpoints: what a run needs to resume as if it had never stopped, written between sweeps."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver import store
from palaver.errors import DamagedStoreError, PalaverError, PalaverWarning, StoreError
from palaver.fit.schedule import Schedule
from palaver.parallel.executor import Arrays, Globals
from palaver.parallel.restored import check_numbers


@dataclass
class Snapshot:
    """The state of a run after a complete sweep; lists have one entry per chain."""

    sweep: int
    states: dict[tuple[int, int], Arrays]
    shared: list[Globals]
    traces: list[list[dict[str, float]]]
    totals: list[Arrays]
    draws: list[dict[str, NDArray[Any]]]
    n_samples: list[int]
    scores: list[float]


#: Largest share of a run's time that checkpoints may take.
LARGEST_SHARE = 0.02


class Checkpoints:
    """The checkpoint of one run, in a folder.

    Parameters
    ----------
    folder : path
    every_seconds : float
        Time between checkpoints; longer where writing them would take over 2 % of the run. 0 writes
        one after every sweep.
    identity : dict
        What must match for a checkpoint to be resumed: model, parameters, data.
    """

    def __init__(self, folder: str | Path, every_seconds: float, identity: dict[str, Any]) -> None:
        self.folder = Path(folder)
        self.every_seconds = every_seconds
        self.identity = store.plain(identity)  # fails before the first sweep if JSON cannot hold it
        self._schedule: Schedule | None = None
        self._begin = self._last = time.monotonic()
        # seconds that the latest took, and all of them together, including gathering
        self._writing = self._spent = 0.0

    def due(self) -> bool:
        """Whether it is time for another checkpoint.

        All checkpoints so far, this one and the one at the end of the run must together stay
        within their share of the time, assuming that each takes as long as the latest did.
        """
        now = time.monotonic()
        if not self.every_seconds:
            return True
        expected = self._spent + 2 * self._writing
        is_cheap = expected <= LARGEST_SHARE * (now - self._begin)
        return is_cheap and now - self._last >= self.every_seconds

    def try_save(self, gather: Callable[[], Snapshot]) -> None:
        """Write a checkpoint; if that fails, warn and try again next time.

        Gathering counts as writing, since states may have to come from other machines.
        """
        start = time.monotonic()
        snapshot = gather()
        try:
            self.save(snapshot)
            self._writing = self._last - start
            self._spent += self._writing
        except StoreError as error:
            self._last = time.monotonic()
            warnings.warn(
                f"no checkpoint of sweep {snapshot.sweep}: {error}; the run continues, and the "
                "previous checkpoint is still there",
                PalaverWarning,
                stacklevel=2,
            )

    def schedule(self, wanted: Schedule, explicit: bool = False) -> Schedule:
        """Return the schedule to follow: once samples are kept, burn-in and thinning are fixed.

        Raises
        ------
        StoreError
            A different burn-in was requested, but samples have already been kept.
        """
        if store.is_stored(self.folder):
            kept = store.load(self.folder, "checkpoint", mapped=True).content
            if kept["sweep"] > kept["burn_in"]:
                if explicit and wanted.burn_in != kept["burn_in"]:
                    raise StoreError(
                        f"{self.folder}: the run has kept samples since sweep {kept['burn_in']}; "
                        "its burn_in can no longer be changed"
                    )
                wanted = replace(wanted, burn_in=kept["burn_in"], thin=kept["thin"])
        self._schedule = wanted
        return wanted

    def save(self, snapshot: Snapshot) -> None:
        """Write a checkpoint; the previous one is kept in case this one gets damaged."""
        arrays: Arrays = {}
        for (chain, shard), state in snapshot.states.items():
            arrays |= {f"state.{chain}.{shard}.{name}": array for name, array in state.items()}
        for group, records in (
            ("shared", [shared.arrays for shared in snapshot.shared]),
            ("total", snapshot.totals),
            ("draws", snapshot.draws),
        ):
            for chain, record in enumerate(records):
                arrays |= {f"{group}.{chain}.{name}": array for name, array in record.items()}
        for chain, trace in enumerate(snapshot.traces):
            names = sorted(trace[-1]) if trace else []
            arrays |= {
                f"trace.{chain}.{name}": np.array([info[name] for info in trace]) for name in names
            }
        content = {
            "identity": self.identity,
            "sweep": snapshot.sweep,
            "burn_in": self._schedule.burn_in if self._schedule else 0,
            "thin": self._schedule.thin if self._schedule else 1,
            "phases": [shared.phase for shared in snapshot.shared],
            "n_samples": snapshot.n_samples,
            "scores": [float(score).hex() for score in snapshot.scores],
        }
        store.save(self.folder, "checkpoint", content, arrays, keep_previous=True)
        self._last = time.monotonic()

    @contextmanager
    def distrusted(self) -> Iterator[None]:
        """Turn what a model's code runs into where a checkpoint was altered into a clear error.

        Checksums tell what a disk has damaged; whoever alters arrays on purpose changes those, too.

        Raises
        ------
        DamagedStoreError
        """
        try:
            yield
        except (MemoryError, PalaverError):
            raise
        except Exception as error:
            first = str(error).partition("\n")[0]
            raise DamagedStoreError(
                f"{self.folder}: does not contain a state of this run ({type(error).__name__}: "
                f"{first}); remove this folder to begin the run again"
            ) from error

    def load(self) -> Snapshot | None:
        """Return the stored state, or None if there is none.

        Raises
        ------
        StoreError
            The checkpoint belongs to a different model, or to other parameters or data.
        """
        if not store.is_stored(self.folder):
            return None
        stored = store.load(self.folder, "checkpoint")
        content = stored.content
        if stored.from_previous:
            warnings.warn(
                f"{self.folder}: the newest checkpoint is damaged; the run resumes from the "
                f"previous one, at sweep {content['sweep']}",
                PalaverWarning,
                stacklevel=2,
            )
        for name, value in self.identity.items():
            found = content["identity"].get(name)
            if found != value:
                raise StoreError(
                    f"{self.folder}: the run was made with {name} = {found!r}, not {value!r}; "
                    "choose another folder to start a new run"
                )
        with self.distrusted():
            return _snapshot_of(content, stored.arrays)


def _snapshot_of(content: dict[str, Any], arrays: Arrays) -> Snapshot:
    """Return what a folder holds as the state of a run.

    Raises
    ------
    ValueError, KeyError, ...
        Parts of it are missing or altered.
    """
    n_chains, groups = len(content["phases"]), _grouped(arrays)
    for (kind, *_), record in groups.items():
        if kind == "trace":  # not all models have all of it in all sweeps
            record = {name: np.nan_to_num(array) for name, array in record.items()}
        check_numbers(record)
    for chain, n_samples in enumerate(content["n_samples"]):
        _check_samples(n_samples, *(groups.get((kind, str(chain)), {}) for kind in _SAMPLED))
    states = {
        (int(chain), int(shard)): record
        for (kind, chain, *rest), record in groups.items()
        if kind == "state"
        for shard in rest
    }
    return Snapshot(
        content["sweep"],
        states,
        [
            Globals(content["phases"][c], groups.get(("shared", str(c)), {}))
            for c in range(n_chains)
        ],
        [_trace_rows(groups.get(("trace", str(c)), {})) for c in range(n_chains)],
        [groups.get(("total", str(c)), {}) for c in range(n_chains)],
        [groups.get(("draws", str(c)), {}) for c in range(n_chains)],
        content["n_samples"],
        [float.fromhex(score) for score in content["scores"]],
    )


_SAMPLED = ("total", "draws")


def _check_samples(n_samples: int, totals: Arrays, draws: Arrays) -> None:
    """Raise ValueError unless the kept samples are as many as they should be."""
    for name, array in draws.items():
        if array.shape != (n_samples, *totals[name].shape):
            raise ValueError(f"{name}: {array.shape} are not {n_samples} samples")
        most = 1e-9 * max(np.abs(array).max(initial=0), 1)  # they were added up in another order
        if not np.allclose(array.sum(axis=0), totals[name], rtol=1e-6, atol=most):
            raise ValueError(f"{name}: the samples do not add up to their total")


def _grouped(arrays: Arrays) -> dict[tuple[str, ...], Arrays]:
    """Group arrays named ``kind.chain[.shard].name`` by all but their last part."""
    groups: dict[tuple[str, ...], Arrays] = {}
    for name, array in arrays.items():
        *place, last = name.split(".")
        groups.setdefault(tuple(place), {})[last] = array
    return groups


def _trace_rows(columns: Arrays) -> list[dict[str, float]]:
    names = list(columns)
    values = zip(*(columns[name].tolist() for name in names), strict=True)
    return [dict(zip(names, row, strict=True)) for row in values]
