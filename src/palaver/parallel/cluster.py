"""Joining a Ray cluster, and interpreting its errors."""

from __future__ import annotations

import os
from typing import Any

from palaver.errors import MissingExtraError, WorkersError


def import_ray() -> Any:
    """Import Ray."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("Ray is not installed: pip install ray") from error
    return ray


def connect(ray: Any, workers: int, address: str | None) -> None:
    """Join a cluster, or start one on this machine."""
    quiet = {"log_to_driver": False, "logging_level": "error"}
    try:
        if address is not None:
            ray.init(address=address, **quiet)
        else:
            cores = max(workers, os.cpu_count() or 1)
            # "local": never join a cluster that happens to run here; its cores are not ours
            ray.init("local", num_cpus=cores, include_dashboard=False, **quiet)
    except ConnectionError as error:
        raise WorkersError(
            f"no Ray cluster at address {address!r} ({error}); start one with `ray start --head`, "
            "or omit the address"
        ) from error


def faults(ray: Any) -> tuple[type[Exception], ...]:
    """Return the errors that mean that an actor, its process or its machine is gone."""
    known = ray.exceptions
    return (
        known.RayActorError, known.ObjectLostError, known.NodeDiedError, known.WorkerCrashedError,
    )  # fmt: skip
