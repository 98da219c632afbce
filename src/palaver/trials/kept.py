"""Trials kept on disk, so that a comparison can be stopped and resumed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from scipy.sparse import csr_array

from palaver import store
from palaver.corpus.table import Corpus
from palaver.trials.trial import Trial

_KIND = "trial"


@dataclass(frozen=True)
class Shelf:
    """A folder of finished trials; without a folder, nothing is kept.

    Attributes
    ----------
    folder : path or None
    facts : dict
        What all trials depend on in addition to the model and its parameters.
    """

    folder: Path | None
    facts: dict[str, Any]

    @classmethod
    def of(cls, folder: str | Path | None, corpus: Corpus, **facts: Any) -> Shelf:
        """Return the shelf for trials on a corpus."""
        if folder is None:
            return cls(None, {})
        rows = int(corpus.table.hash_rows(seed=0).sum())
        return cls(Path(folder), {"corpus": [corpus.fingerprint, rows], **facts})

    def trial(
        self, name: str, params: Mapping[str, Any], work: Callable[[Path | None], Trial]
    ) -> Trial:
        """Return a trial, from the folder if it is there, or else by doing the work.

        Parameters
        ----------
        name, params
            The model. The number of threads does not matter.
        work : callable
            Called with the folder for the checkpoints of the fit.
        """
        if self.folder is None:
            return work(None)
        settings = {key: value for key, value in params.items() if key != "n_jobs"}
        text = json.dumps([name, settings, self.facts], sort_keys=True, default=str)
        own = self.folder / f"{name}-{params['n_classes']}-{sha256(text.encode()).hexdigest()[:12]}"
        if store.is_stored(own):
            return _taken(store.load(own, _KIND))
        trial = work(own / "fit")
        _put(own, trial)
        shutil.rmtree(own / "fit", ignore_errors=True)
        return trial


_ARRAYS = ("held_out", "held_out_paper", "parents")


def _put(folder: Path, trial: Trial) -> None:
    arrays = {name: getattr(trial, name) for name in _ARRAYS if getattr(trial, name) is not None}
    if trial.cells is not None:
        cells = trial.cells
        arrays |= {"data": cells.data, "indices": cells.indices, "indptr": cells.indptr}
    content = {
        field.name: getattr(trial, field.name)
        for field in fields(Trial)
        if field.name not in (*_ARRAYS, "cells")
    }
    # JSON has no NaN
    content = {name: None if value != value else value for name, value in content.items()}
    store.save(folder, _KIND, content, arrays)


def _taken(stored: store.Stored) -> Trial:
    arrays = stored.arrays
    content: dict[str, Any] = {
        name: float("nan") if value is None else value for name, value in stored.content.items()
    }
    rows, columns = content["cells_shape"]
    cells = None
    if "indptr" in arrays:
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        cells = csr_array(parts, shape=(len(parts[2]) - 1, rows * columns))
    content["cells_shape"] = (rows, columns)
    content |= {name: arrays.get(name) for name in _ARRAYS}
    return Trial(**content, cells=cells)
