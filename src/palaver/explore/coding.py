"""Several coders: a sample of messages that each labels without seeing the others or the model.

``coding.json`` in the folder of the run has the sample, and what every coder said about it.
"""

from __future__ import annotations

import json
import math
import threading
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver import rng, store
from palaver.curation.state import clean_text
from palaver.errors import DamagedStoreError, InputError
from palaver.evaluate.agreement import MISSING, alpha_interval, cohen_kappa, krippendorff_alpha
from palaver.explore.acts import key_of
from palaver.explore.workbench import Workbench
from palaver.page.text import visible
from palaver.store.atomic import replace_file

FILE, VERSION = "coding.json", 1
MODEL = "the model"
#: What a coder says of a message that is none of the acts.
NONE = -1
_LARGEST, _BEFORE, _MAX_WHO = 2000, 3, 40
_LOCK = threading.Lock()


def read_coding(workbench: Workbench) -> dict[str, Any] | None:
    """Return the sample and what was said about it; None if there is none of this fit.

    Raises
    ------
    DamagedStoreError
    """
    path = workbench.run / FILE
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["palaver"] != "coding" or found["version"] != VERSION:
            raise ValueError("it is no coding of Palaver")
        n_items, n_classes = len(found["sample"]), workbench.state.n_ids
        for said in found["coders"].values():
            for place, number in said.items():
                if not 0 <= int(place) < n_items or not NONE <= int(number) < n_classes:
                    raise ValueError("a label is out of range")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError) as error:
        raise DamagedStoreError(
            f"{path}: is damaged ({error}); restore it from a backup, or delete it to begin again"
        ) from error
    return dict(found) if found["run"] == workbench.index.content["run"] else None


def start(workbench: Workbench, size: int) -> None:
    """Draw a sample of messages to label; there may be one per fit.

    Raises
    ------
    InputError
        There is a sample already, or it cannot be drawn.
    """
    index = workbench.index
    if index.content["anonymized"]:
        raise InputError("messages are labelled where they are not anonymized")
    known = np.flatnonzero(index.speaking)
    if not 1 <= size <= min(len(known), _LARGEST):
        raise InputError(f"a sample has 1 to {min(len(known), _LARGEST):,} messages, not {size:,}")
    generator = rng.generator(0, "coding")
    rows = generator.choice(known, size, replace=False)
    sample = []
    for _, id, text, original in index.texts.messages(rows.tolist()):
        sample.append({"id": id, "key": key_of(id, text if original is None else original)})
    with _LOCK:
        if read_coding(workbench) is not None:
            raise InputError(f"there is a sample already; move {FILE} away to draw another")
        content = {"palaver": "coding", "version": VERSION, "run": index.content["run"],
                   "sample": sample, "coders": {}}  # fmt: skip
        _write(workbench.run, content)


def say(workbench: Workbench, coder: str, place: int, number: int) -> None:
    """Keep what a coder says about a message of the sample; :data:`NONE` for no act."""
    with _LOCK:
        found = _there(workbench)
        if not 0 <= place < len(found["sample"]):
            raise InputError(f"the sample has no message {place}")
        if number != NONE and workbench.answers.classified.place_of(number) < 0:
            raise InputError(f"there is no act {number}")
        found["coders"].setdefault(_who(coder), {})[str(place)] = number
        _write(workbench.run, found)


def _who(coder: str) -> str:
    name = clean_text(coder, _MAX_WHO)
    if not name or name == MODEL:
        raise InputError("say who is labelling")
    return name


def _there(workbench: Workbench) -> dict[str, Any]:
    found = read_coding(workbench)
    if found is None:
        raise InputError("there is no sample yet")
    return found


def _write(run: Path, content: dict[str, Any]) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False)
    with store.locked(run), replace_file(run / FILE) as path:
        path.write_bytes(text.encode("utf-8", "replace"))


def _rows(workbench: Workbench, sample: list[dict[str, str]]) -> list[int]:
    """Return the row of each message of the sample; -1 for one that is not in the texts."""
    index, found = workbench.index, []
    for one in sample:
        rows = [row for _, row in index.texts.rows_of([one["id"]])]
        own = {key_of(id, text if original is None else original): row
               for row, id, text, original in index.texts.messages(rows)}  # fmt: skip
        found.append(own.get(one["key"], -1))
    return found


def task(workbench: Workbench, coder: str, place: int | None = None) -> dict[str, Any]:
    """Return a message for a coder to label, the next one unless told: nothing of the model.

    With the messages before it in its thread, as far as they help to understand it.
    """
    found = _there(workbench)
    said = found["coders"].get(_who(coder), {})
    todo = [i for i in range(len(found["sample"])) if str(i) not in said]
    at = (todo[0] if todo else None) if place is None else place
    answer: dict[str, Any] = {"of": len(found["sample"]), "done": len(said), "place": at}
    if at is None or not 0 <= at < len(found["sample"]):
        return answer | {"place": None}
    index = workbench.index
    (row,) = _rows(workbench, [found["sample"][at]])
    if row < 0:
        return answer | {"text": "(this message is no longer in the texts)", "before": []}
    first = max(row - min(int(index.place[row]), _BEFORE), 0)
    names, codes = index.names("speaker"), index.codes("speaker")[first : row + 1].tolist()
    texts = [[names[code] if code >= 0 else "", visible(text)]
             for code, (_, _, text, _) in zip(codes, index.texts.between(first, row + 1),
                                               strict=True)]  # fmt: skip
    speaker, text = texts[-1]
    return answer | {"speaker": speaker, "text": text, "before": texts[:-1],
                     "said": said.get(str(at))}  # fmt: skip


def agreement(workbench: Workbench) -> dict[str, Any]:
    """Return how far coders agree with each other, and with the model."""
    found = read_coding(workbench)
    if found is None:
        return {"sample": 0, "coders": [], "pairs": [], "alpha": None}
    classified = workbench.answers.classified
    none = len(classified.acts)  # "none of these" is a category of its own
    codes: dict[str, NDArray[np.int64]] = {}
    for coder, said in found["coders"].items():
        own = np.full(len(found["sample"]), MISSING, np.int64)
        for place, number in said.items():
            own[int(place)] = none if number == NONE else classified.place_of(number)
        codes[coder] = own
    rows = np.array(_rows(workbench, found["sample"]), np.int64)
    model = np.full(len(rows), MISSING, np.int64)
    there = rows >= 0  # the texts may be others by now
    model[there] = classified.untouched(rows[there])  # of the model, not of people
    people = list(codes)
    table = np.array([codes[name] for name in people]) if people else np.empty((0, 0), np.int64)
    pairs = [_pair(one, other, codes[one], codes[other]) for one, other in combinations(people, 2)]
    pairs += [_pair(name, MODEL, codes[name], model) for name in people]
    alpha = None
    if len(people) > 1:
        low, high = alpha_interval(table)
        alpha = [_number(value) for value in (krippendorff_alpha(table), low, high)]
    return {
        "sample": len(found["sample"]),
        "coders": [[name, len(found["coders"][name])] for name in people],
        "alpha": alpha,
        "pairs": pairs,
    }


def _pair(
    one: str, other: str, first: NDArray[np.int64], second: NDArray[np.int64]
) -> dict[str, Any]:
    both = (first >= 0) & (second >= 0)
    same = float((first[both] == second[both]).mean()) if both.any() else None
    return {
        "names": [one, other],
        "messages": int(both.sum()),
        "same": same,
        "kappa": _number(cohen_kappa(first, second)),
        "alpha": _number(krippendorff_alpha(np.stack([first, second]))),
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)
