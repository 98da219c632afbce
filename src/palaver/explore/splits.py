"""Dividing an act in the workbench: parts are shown first, and kept if somebody says so."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path
from typing import Any

from palaver.corpus.table import Corpus
from palaver.curation import Curation, Step
from palaver.explore.acts import names_of
from palaver.explore.index import Index
from palaver.explore.parts import missing_parts, parts_path, write_parts
from palaver.models import load
from palaver.models.curated import CuratedModel, apply_curation
from palaver.models.curated.splitting import divide, part_names
from palaver.page.text import visible

FOLDER = "splits"
_SHOWN = 300  # characters of an example


def tried(
    run: Path, place: Path, corpus: Corpus, state: Curation, id: int, n_parts: int, index: Index
) -> dict[str, Any]:
    """Divide a class, write its parts where a curation may name them, and say what they are.

    Returns
    -------
    dict
        ``actions`` to keep the parts with proposed names; ``parts`` with messages, words and
        examples.
    """
    discard_tried(run, place, state)
    model = apply_curation(load(run), state, run)
    found = divide(model, corpus, id, n_parts)
    folder = f"{FOLDER}/{secrets.token_hex(6)}"
    found.division.save(run / folder)
    split = {"do": "split", "class": id, "parts": n_parts, "folder": folder}
    after = state.after(Step((split,)))
    read_parts(run, place, corpus, after)
    own = state.classes[state.number_of(id)].name
    called = part_names(own.text if own else names_of(index, state)[id], found.words)
    ids = after.splits[-1].parts
    named = [{"do": "name", "class": one, "name": name, "proposed": True}
             for one, name in zip(ids, called, strict=True)]  # fmt: skip
    parts = [
        {
            "name": name,
            "messages": int(found.messages[j]),
            "words": found.words[j],
            "examples": [
                {"thread": int(index.conversation[row]), "message": int(index.place[row]),
                 "text": visible(text)[:_SHOWN]}
                for row, _, text, _ in index.texts.messages(found.examples[j].tolist())
            ],
        }
        for j, name in enumerate(called)
    ]  # fmt: skip
    return {"actions": [split, *named], "parts": parts}


def read_parts(run: Path, place: Path, corpus: Corpus, state: Curation) -> None:
    """Let divisions that an index does not have yet read all messages."""
    model = apply_curation(load(run), state, run)
    if isinstance(model, CuratedModel):
        found, missing = model.find(corpus).parts, missing_parts(place, state)
        write_parts(place, {folder: found[folder] for folder in missing})


def discard_tried(run: Path, place: Path, state: Curation) -> None:
    """Remove divisions that nobody kept; those that were undone can still be redone."""
    steps = (*state.steps, *state.undone)
    kept = {Path(action["folder"]).name for step in steps for action in step.actions
            if action["do"] == "split"}  # fmt: skip
    for path in (run / FOLDER).glob("*"):
        if path.name not in kept:
            shutil.rmtree(path, ignore_errors=True)
            parts_path(place, path.name).unlink(missing_ok=True)
