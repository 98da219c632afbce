"""Runs exported from LangSmith: JSON lines, an array, or the Parquet of a bulk export.

A thread is a conversation, or a trace if there are no threads. Of a trace, only the outermost run
is read; if a file has none, the calls of language models are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.assistants.talk import Talk, in_turn
from palaver.corpus.readers.assistants.traces import told
from palaver.corpus.readers.base import Format
from palaver.corpus.readers.parquet_rows import parquet_names, parquet_records
from palaver.corpus.readers.records import as_dict, as_word, json_records, parsed, unwrapped
from palaver.corpus.readers.shape import shape
from palaver.corpus.readers.source import Source
from palaver.errors import FormatError

_KEYS = frozenset(("run_type", "inputs", "outputs"))
_THREADS = ("thread_id", "session_id", "conversation_id")


def looks_like(source: Source) -> bool:
    """Whether records have a type of run, inputs and outputs."""
    names = parquet_names(source)
    if names is not None:
        return names >= _KEYS
    keys = shape(source)
    return any({f"{at}{key}" for key in _KEYS} <= keys for at in ("", "runs.", "data."))


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read the runs, in the order of time."""
    outer, calls = Talk(Notes()), Talk(Notes())
    n_runs = n_outer = 0
    for place, run in _runs(source, notes):
        n_runs += 1
        if _is_outermost(run):
            n_outer += 1
            _add(run, place, outer, notes)
        elif run.get("run_type") == "llm" and not n_outer:
            _add(run, place, calls, None)
    talk = outer if n_outer else calls
    if n_runs and not len(talk):
        raise FormatError(
            f"{source}: looks like an export of LangSmith, but none of its {n_runs:,} runs has "
            "texts in inputs or outputs; export root runs with inputs and outputs"
        )
    notes.add("tool_output", count=n_runs - n_outer if n_outer else 0)
    notes.merge(talk.notes)
    return in_turn(talk.table())


def _runs(source: Source, notes: Notes) -> Iterator[tuple[str, dict[str, Any]]]:
    if parquet_names(source) is not None:
        yield from parquet_records(source)
    else:
        yield from unwrapped(json_records(source, notes), "runs", "data")


def _is_outermost(run: dict[str, Any]) -> bool:
    above = run.get("parent_run_id") or run.get("parent_run_ids")
    return not above or (run.get("is_root") is True)


def _add(run: dict[str, Any], place: str, talk: Talk, notes: Notes | None) -> None:
    """Add the question and the answer of a run."""
    trace = as_word(run.get("trace_id")) or as_word(run.get("id")) or place
    metadata = as_dict(as_dict(parsed(run.get("extra"))).get("metadata"))
    thread = as_word(run.get("thread_id"))
    thread = thread or next((w for key in _THREADS if (w := as_word(metadata.get(key)))), None)
    name = as_word(run.get("id")) or place
    asked, answer = _told(run.get("inputs"), "user"), _told(run.get("outputs"), "assistant")
    if not asked and not answer and notes is not None:
        notes.add("system_message", [place])
    for role, text, kind in (("user", asked, "input"), ("assistant", answer, "output")):
        if text:
            talk.add(
                conversation=thread or trace, id=f"{name}/{kind}", parent=None, role=role,
                text=text, time=as_word(run.get("start_time")), name=as_word(run.get("name")),
                user=as_word(metadata.get("user_id")), place=place,
            )  # fmt: skip


def _told(value: Any, role: str) -> str:
    """Return what is told in inputs or outputs, which Parquet holds as JSON text."""
    return "" if value == "null" else told(parsed(value), role)


FORMAT = Format("langsmith", "runs exported from LangSmith, JSON or Parquet", looks_like, read)
