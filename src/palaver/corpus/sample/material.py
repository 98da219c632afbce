"""The phrases of the synthetic help forum written for Palaver, read from the TOML files here.

A text of several lines holds one phrase per line, an array one phrase per item. See
:func:`palaver.corpus.sample.text.fill` for the notation within a phrase. Files are read when the
first sample is made.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from palaver.corpus.sample.topics import Problem, Question, Topic

_HERE = Path(__file__).parent

Pools = Mapping[str, tuple[str, ...]]


@cache
def phrases() -> Mapping[str, Pools]:
    """Return what people say: for each act its pools of phrases.

    ``usual`` is the pool of an act. Others are for a mood (``polite``), for further sentences of
    the same act in the same message (``more``) and for a situation (``stale``).
    """
    return {act: _pools(pools) for act, pools in _read("phrases.toml").items()}


@cache
def general_slots() -> Pools:
    """Return the slots that fit every topic."""
    return _pools(_read("words.toml")["slots"])


@cache
def onsets() -> tuple[tuple[str, str], ...]:
    """Return when trouble starts: what follows "since" and "until", what follows "it started"."""
    return tuple(_read("words.toml")["onsets"].items())


@cache
def questions(by: str) -> tuple[Question, ...]:
    """Return the questions that a ``helper`` or the ``asker`` may ask, whatever the topic."""
    return tuple(map(_question, _read("questions.toml")[by]))


@cache
def topic(name: str) -> Topic:
    """Return the product area of this name."""
    found = _read(f"topics/{name}.toml")
    return Topic(
        name=found["name"],
        thing=found["thing"],
        device=found["device"],
        products=_lines(found["products"]),
        words=_pools(found["words"]),
        problems=tuple(map(_problem, found["problems"])),
        questions=tuple(map(_question, found["questions"])),
        cures=_lines(found["cures"]),
    )


def _problem(found: Mapping[str, Any]) -> Problem:
    lists = {name: _lines(found[name]) for name in ("symptoms", "causes", "cures")}
    return Problem(name=found["name"], well=found["well"], **lists)


def _question(found: Mapping[str, Any]) -> Question:
    return Question(
        direct=found["direct"],
        indirect=found["indirect"],
        replies=_lines(found["replies"]),
        fact=found.get("fact", ""),
        about=tuple(found.get("about", ())),
    )


def _pools(found: Mapping[str, str | list[str]]) -> Pools:
    return {name: _lines(phrases) for name, phrases in found.items()}


def _lines(phrases: str | list[str]) -> tuple[str, ...]:
    return tuple(phrases.splitlines() if isinstance(phrases, str) else phrases)


@cache
def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((_HERE / name).read_text(encoding="utf-8"))
