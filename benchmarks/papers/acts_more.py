"""Acts on all of Switchboard, and on two corpora without gold acts, to be judged by eye."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from benchmarks.papers import Options
from benchmarks.papers.acts_data import all_calls, spread, whole_train
from benchmarks.papers.cells import Cell

#: Corpora without gold acts: file, conversations (evenly spread), and what they are.
UNLABELLED = {
    "r-help": ("r-help/r-help-2001-2002.jsonl.gz", 400, "mails about a programming language"),
    "4forums": ("4forums/4forums.jsonl.gz", 40, "a debate forum"),
}
ALL = "swda/Acts/all"


def all_cell(options: Options, judge: Any, silent_apart: Any) -> Cell:
    """Return the cell of Acts fitted to all training calls, and judged on all calls."""

    def work(folder: Path) -> dict[str, Any]:
        start = time.process_time()
        model = pv.Acts(n_jobs=options.n_jobs).fit(whole_train(options.data), show_progress=False)
        corpus = all_calls(options.data)
        found = np.asarray(model.message_classes(corpus))
        seconds = time.process_time() - start
        messages, calls = corpus.n_messages, corpus.n_conversations
        judged = judge(silent_apart(found, corpus), corpus)
        return {**judged, "seconds": seconds, "messages": messages, "calls": calls}

    return Cell(ALL, {"all": "swda", "version": 4}, work, cost=100)


def eye_cell(options: Options, name: str) -> Cell:
    """Return the cell of the acts of a corpus without gold acts, with seed 0."""
    file, n_conversations, _ = UNLABELLED[name]

    def work(folder: Path) -> dict[str, Any]:
        corpus = spread(pv.read(options.data / file), n_conversations)
        model = pv.Acts(n_jobs=options.n_jobs).fit(corpus, show_progress=False)
        columns = ("name", "share", "searches", "cues")
        acts = model.acts_table().sort("share", descending=True).select(columns).to_dicts()
        return {"acts": acts, "messages": corpus.n_messages, "unit": model.unit_}

    settings = {"eye": name, "conversations": n_conversations, "version": 4}
    return Cell(f"eye/{name}", settings, work, cost=30)


def all_said(results: Mapping[str, Any]) -> list[str]:
    """Say how Acts does on all calls of Switchboard."""
    own = results.get(ALL)
    if own is None:
        return []
    return [
        f"- On all {own['messages']:,} utterances of the {own['calls']:,} calls of Switchboard, "
        f"**which contain the training part**, that model (seed 0) has V {100 * own['V']:.1f} "
        f"({100 * own['low']:.1f} to {100 * own['high']:.1f}) and F1 {100 * own['F1']:.1f}."
    ]


def eye_section(results: Mapping[str, Any]) -> str:
    """Return the tables of the acts that corpora without gold acts have."""
    parts = []
    for name, (_, n_conversations, what) in UNLABELLED.items():
        found = results.get(f"eye/{name}")
        if found is None:
            continue
        lines = [
            f"**{name}** ({what}; {n_conversations} conversations, {found['messages']:,} messages, "
            f"acts of {found['unit']}s):\n",
            "| proposed name | share | found by | what sets it apart |",
            "|---|---|---|---|",
        ]
        lines += [
            f"| {act['name'].replace('<', '&lt;')} | {act['share']:.0%} | "
            f"{act['searches']} searches | {_code(act['cues'])} |"
            for act in found["acts"]
        ]
        parts.append("\n".join(lines) + "\n")
    return "\n".join([_EYE, *parts]) if parts else ""


def _code(cues: str) -> str:
    """Return the first cues so that Markdown leaves their punctuation alone."""
    first = re.split(r", (?=\w+: )", cues)[:N_CUES]
    return "`" + ", ".join(first).replace("`", "'").replace("|", "¦") + "`"


_EYE = """## By eye

Two corpora have no gold acts; these are the acts of seed 0, with the names that Palaver proposes
and their three strongest cues. On r-help, “try …” introduces examples, and most names fit; but the
smallest act, *link or reference*, consists of long passages that were not cut into sentences. On
4forums more than half are statements, which is true of a debate; two of its acts were found by two
searches only, and the inventory has no name for them. `n_acts=12` shows finer ways of making
statements.
"""
#: Cues to show.
N_CUES = 3
