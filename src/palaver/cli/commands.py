"""Commands to type again, for pages that say how they were made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from palaver.cli.options import command
from palaver.cli.runs import SAMPLE, settings_of

#: The condition by which ``palaver run`` leaves out bots.
NO_BOTS = "bot!=true"
#: Parameters that have their own option.
_OPTIONS = {"n_sweeps": "sweeps", "n_chains": "chains", "n_topics": "topics", "sampler": "sampler",
            "max_seconds": "max-seconds"}  # fmt: skip


def fit_command(folder: Path, params: dict[str, Any], *, anonymize: bool = False) -> str | None:
    """Return the command that made a run, from the run's settings; None if it has none.

    Parameters
    ----------
    folder : path
        The run.
    params : dict
        Parameters of the fitted model; defaults are left out.
    anonymize : bool
        Leave out the names of file, run, columns and values. Folders are always left out.
    """
    settings = settings_of(folder)
    if not settings:
        return None
    if settings["source"] == SAMPLE:
        sweeps = ["--sweeps", str(params["n_sweeps"])]
        return command("demo", "--out", folder.name, *sweeps)
    run = "RUN" if anonymize else folder.name
    if "original" in settings["reading"]:
        return _run_command(settings, params, run, anonymize=anonymize)
    file = "FILE" if anonymize else Path(settings["source"]).name
    told = _parameters(settings["model"], params, is_tagger="label" in settings)
    arguments = [file, *told, *_reading(settings, anonymize=anonymize)]
    if "label" in settings:
        tagger = [
            "--tagger",
            settings["model"],
            "--labels",
            "COLUMN" if anonymize else settings["label"],
        ]
        return command("train-tagger", *arguments, *tagger, "--out", run)
    return command("fit", settings["model"], *arguments, "--out", run)


def _run_command(
    settings: dict[str, Any], params: dict[str, Any], run: str, *, anonymize: bool
) -> str:
    """Return the ``palaver run`` that made a run whose replies were inferred."""
    reading = {**settings["reading"], **settings["reading"]["original"]}
    reading["where"] = [text for text in reading["where"] or [] if text != NO_BOTS]
    file = "FILE" if anonymize else Path(reading["file"]).name
    seed = ["--seed", str(params["random_state"])]
    seed += ["--seeds", "seeds.toml"] if params.get("seed_words") else []
    read = _reading({"reading": reading}, anonymize=anonymize)
    return command("run", file, *seed, *read, "--out", run)


def _parameters(model: str, params: dict[str, Any], *, is_tagger: bool) -> list[str]:
    """Return options for the parameters that differ from their defaults, and the seed."""
    from palaver.models.registry import model_class, tagger_class

    kind = tagger_class(model) if is_tagger else model_class(model)
    usual = kind().get_params()
    size = "states" if is_tagger else "classes"
    named = {**_OPTIONS, "n_states" if is_tagger else kind.size_parameter: size}
    told: list[str] = []
    for name, value in params.items():
        if name in ("n_jobs", "random_state") or value == usual.get(name):
            continue
        if name in named and value is not None and not (is_tagger and name in _OPTIONS):
            told += [f"--{named[name]}", str(value)]
        else:
            spelled = value if isinstance(value, str) else json.dumps(value, default=str)
            told += ["--set", f"{name}={spelled}"]
    return [*told, "--seed", str(params["random_state"])]


def _reading(settings: dict[str, Any], *, anonymize: bool) -> list[str]:
    """Return options that say how the file was read and its words chosen.

    What a user typed freely may be a person's name: anonymized, a word in capitals stands for it.
    """
    reading = settings["reading"]
    told = ["--format", reading["format"]] if reading.get("format") else []
    for pair in reading.get("column") or []:
        ours = pair.partition("=")[0]
        told += ["--column", f"{ours}=COLUMN" if anonymize else pair]
    for condition in reading.get("where") or []:
        told += ["--where", "CONDITION" if anonymize else condition]
    told += [f"--{name}" for name in ("chain", "anonymize") if reading.get(name)]
    for name in ("by", "title"):
        shown = name.upper() if anonymize else reading.get(name)
        told += [f"--{name}", shown] if reading.get(name) else []
    if reading.get("labels"):
        told += ["--labels", "COLUMN" if anonymize else reading["labels"]]
    for name, value in settings.get("words", {}).items():
        told += [f"--{name.replace('_', '-')}", str(value)]
    return told
