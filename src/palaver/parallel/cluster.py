"""Joining a Ray cluster, and interpreting its errors."""

from __future__ import annotations

import atexit
import os
import re
import socket
import sys
import threading
import time
from typing import Any

from palaver.errors import MissingExtraError, WorkersError


def import_ray() -> Any:
    """Import Ray."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("Ray is not installed: pip install ray") from error
    return ray


#: Seconds for which a cluster is looked for at its address; Ray itself would wait for minutes.
PATIENCE = 20.0
_ADDRESS = re.compile(r"(?:ray://)?(\[[0-9A-Fa-f:]+\]|[\w.-]+):(\d{1,5})")


def check_address(address: str, patience: float = PATIENCE) -> None:
    """Refuse an address that is none, or at which nobody answers.

    Raises
    ------
    WorkersError
        Says what was tried, within ``patience`` seconds.
    """
    if address in ("auto", "local"):
        return
    found = _ADDRESS.fullmatch(address)
    if found is None or int(found[2]) > 65_535:
        raise WorkersError(
            f"{address!r} is no address of a Ray cluster; give host:port, ray://host:port or auto"
        )
    host, port = found[1].strip("[]"), int(found[2])
    end, tries = time.monotonic() + patience, 0
    while True:
        tries += 1
        try:
            left = max(end - time.monotonic(), 1.0)
            socket.create_connection((host, port), timeout=min(left, 5.0)).close()
            return
        except OSError as error:
            if time.monotonic() + 1 >= end:
                raise WorkersError(
                    f"no Ray cluster at address {address!r}: {host} did not answer on port {port} "
                    f"in {tries} tries within {patience:.0f} seconds ({error}); start one with "
                    "`ray start --head`, check the address and the firewall, or omit the address"
                ) from error
        time.sleep(1)


class Watch:
    """Says so if a process that Ray started here dies: Ray would end this one without a word.

    Parameters
    ----------
    process : subprocess.Popen
    """

    def __init__(self, process: Any) -> None:
        self._process, self._done = process, threading.Event()
        threading.Thread(target=self._look, daemon=True).start()
        atexit.register(self.stop)  # runs before Ray's own, which ends the process

    def stop(self) -> None:
        """Look no longer."""
        self._done.set()

    def _look(self) -> None:
        while not self._done.wait(_GLANCE):
            if self._process.poll() is not None and not self._done.is_set():
                print(
                    "palaver: Ray's process on this machine (raylet) has died, so the run ends "
                    "here. The last checkpoint is kept: continue with `palaver fit --resume RUN`",
                    file=sys.stderr,
                    flush=True,
                )
                os._exit(1)


_GLANCE = 0.05  # seconds between two looks; Ray itself notices within a second


def watch_raylet(ray: Any) -> Watch | None:
    """Watch the raylet of a cluster that was started here; None if it cannot be found."""
    try:
        processes = ray._private.worker._global_node.all_processes["raylet"]
        return Watch(processes[0].process)
    except (AttributeError, KeyError, IndexError):
        return None


def connect(ray: Any, workers: int, address: str | None) -> Watch | None:
    """Join a cluster, or start one on this machine, which is then watched."""
    quiet = {"log_to_driver": False, "logging_level": "error"}
    if address is not None:
        check_address(address)
    try:
        if address is not None:
            ray.init(address=address, **quiet)
        else:
            cores = max(workers, os.cpu_count() or 1)
            # "local": never join a cluster that happens to run here; its cores are not ours
            ray.init("local", num_cpus=cores, include_dashboard=False, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise WorkersError(
            f"no Ray cluster at address {address!r} ({error}); start one with `ray start --head`, "
            "or omit the address"
        ) from error
    return watch_raylet(ray) if address is None else None


def faults(ray: Any) -> tuple[type[Exception], ...]:
    """Return the errors that mean that an actor, its process or its machine is gone."""
    known = ray.exceptions
    return (
        known.RayActorError, known.ObjectLostError, known.NodeDiedError, known.WorkerCrashedError,
    )  # fmt: skip
