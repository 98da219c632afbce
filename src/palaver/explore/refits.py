"""A new fit in the background: started, watched, stopped, continued, taken or left.

The fit is a process of its own, which does what ``palaver refit`` does and writes how far it is to
``run/refit/progress.json``. It outlives nothing: when the workbench ends, the fit is asked to stop,
and can be continued later.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

from palaver.curation import versions
from palaver.errors import InputError

_PATIENCE_SECONDS = 5.0


class Refits:
    """The new fit of a run.

    Parameters
    ----------
    run : path
    work : callable, optional
        Fits the run again, called in a process of its own with the number of classes or None. None
        if the run cannot be fitted again from here.
    """

    def __init__(self, run: Path, work: Callable[[int | None], None] | None) -> None:
        self._run, self._work = run, work
        self._process: multiprocessing.process.BaseProcess | None = None

    @property
    def is_possible(self) -> bool:
        """Whether a fit can be started from here."""
        return self._work is not None

    @property
    def is_running(self) -> bool:
        """Whether a fit is under way."""
        return self._process is not None and self._process.is_alive()

    def status(self) -> dict[str, Any]:
        """Return what is going on: the state, how far it is, and the comparison at the end."""
        place = self._run / versions.REFIT
        told = _read(place / "progress.json")
        state = told.get("state", "none")
        if self.is_running:
            state = state if state in ("running", "comparing") else "starting"
        elif state in ("running", "comparing") or (state == "none" and place.exists()):
            state = "stopped"  # killed, or the workbench was
        if self._process is not None and not self.is_running and state == "none":
            state = "failed"
        found = {"state": state, "possible": self.is_possible, "plan": _read(place / "plan.json"),
                 "sweep": told.get("sweep", 0), "of": told.get("of", 0)}  # fmt: skip
        if state == "failed":
            found["error"] = told.get("error", "The fit ended without a word.")
        if state == "done":
            found["comparison"] = _read(place / "comparison.json")
        return found

    def start(self, n_classes: int | None = None) -> None:
        """Begin a new fit, or continue one that was stopped."""
        if self._work is None:
            raise InputError("`palaver refit` fits this run again")
        if self.is_running:
            raise InputError("a fit is under way")
        if self.status()["state"] == "failed":
            versions.leave(self._run)
        with contextlib.suppress(OSError):
            (self._run / versions.REFIT / "stop").unlink(missing_ok=True)
        # a fresh process: threads and locks of the server are none of its business
        fresh = multiprocessing.get_context("spawn")
        self._process = fresh.Process(target=self._work, args=[n_classes], daemon=True)
        self._process.start()

    def stop(self) -> None:
        """Ask the fit to stop after the current sweep."""
        if self.is_running:
            (self._run / versions.REFIT).mkdir(exist_ok=True)
            (self._run / versions.REFIT / "stop").touch()

    def take(self) -> None:
        """Put the new fit in the place of the old one."""
        if self.status()["state"] != "done":
            raise InputError("there is no new fit to take yet")
        versions.take(self._run)
        self._process = None

    def leave(self) -> None:
        """Remove the new fit."""
        if self.is_running:
            raise InputError("stop the fit first")
        versions.leave(self._run)
        self._process = None

    def close(self) -> None:
        """End the fit; it can be continued."""
        if self._process is None or not self.is_running:
            return
        self.stop()
        self._process.join(_PATIENCE_SECONDS)
        if self.is_running:
            self._process.kill()  # the last checkpoint remains
            self._process.join()


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
