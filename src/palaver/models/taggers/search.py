"""The search for a tagger's settings: change one at a time, keep what is better."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

Settings = dict[str, Any]


def climb(
    evaluate: Callable[[Settings], float],
    first: Settings,
    steps: Callable[[Settings], Iterator[Settings]],
    budget: int,
) -> tuple[Settings, pl.DataFrame]:
    """Change one setting at a time and keep what is better, until nothing is.

    Parameters
    ----------
    evaluate : callable
        From settings to the share of right tags.
    first : dict
        Settings to start from.
    steps : callable
        From the best settings, which change along the way, to changes to try: one setting, and
        others that it makes meaningless.
    budget : int
        Evaluations at most, including that of the first settings.

    Returns
    -------
    settings : dict
    table : polars.DataFrame
        One row per evaluation: number, setting, value, accuracy, kept.
    """
    best = dict(first)
    known = {key_of(best): evaluate(best)}
    rows = [(1, "", "", known[key_of(best)], True)]
    improved = True
    while improved and len(known) < budget:
        improved = False
        for changes in steps(best):
            trial = {**best, **changes}
            if key_of(trial) in known:
                continue
            if len(known) >= budget:
                break
            known[key_of(trial)] = evaluate(trial)
            better = known[key_of(trial)] > known[key_of(best)]
            name, value = next(iter(changes.items()))
            rows.append((len(known), name, str(value), known[key_of(trial)], better))
            if better:
                best.update(trial)  # the same dict: the remaining steps start from it
                improved = True
    names = ["number", "setting", "value", "accuracy", "kept"]
    return best, pl.DataFrame(rows, schema=names, orient="row")


def key_of(settings: Settings) -> str:
    """Return settings as a text, equal for equal settings."""
    return repr(sorted(settings.items()))
