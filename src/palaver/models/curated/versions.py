"""Two fits of the same messages side by side: what moved, and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.curation import Curation, Step
from palaver.models.base.model import Model
from palaver.models.curated.apply import curation_of
from palaver.models.curated.refitting import carried, matched
from palaver.models.views.marks import keys_of

_MOVES, _EXAMPLES, _SHOWN = 12, 3, 300


@dataclass(frozen=True, eq=False)
class Versions:
    """Two fits compared.

    Attributes
    ----------
    curation : Curation
        What was decided, as far as it holds for the new fit.
    content : dict
        What to show: see :func:`compare_versions`.
    """

    curation: Curation
    content: dict[str, Any]


def compare_versions(old: Model, new: Model, corpus: Corpus) -> Versions:
    """Compare a curated model with a new fit on the messages that both know something about.

    The content has ``messages``, ``same`` (share of messages whose class is the same), ``kappa``
    (the same beyond chance; a class without a counterpart never agrees), ``classes`` (before and
    after, the largest first), ``moves`` (between which classes, with examples), ``marks`` (how many
    of the messages that people judged are as they said) and ``lost`` (classes whose names found no
    counterpart).
    """
    state = curation_of(old)
    before, after = old.message_shares(corpus), new.message_shares(corpus)
    known = old.known_messages(corpus) & new.known_messages(corpus)
    one, other = before.argmax(axis=1), after.argmax(axis=1)
    n_new = after.shape[1]
    same = matched(before[known], after[known])
    curation, lost = carried(state, new.run_id, n_new, same)
    curation = _distinct(curation, new)
    names, called = _called(old), _called(new, curation)
    as_new = np.array(same)[one]
    # a class without a counterpart is one of its own
    alone = np.where(as_new >= 0, as_new, n_new + one)
    content = {
        "messages": int(known.sum()),
        "same": float((alone == other)[known].mean()) if known.any() else None,
        "kappa": _kappa(alone[known], other[known]),
        "classes": _classes(one[known], other[known], same, names, called),
        "moves": _moves(one, other, as_new != other, known, names, called, corpus),
        "marks": _obeyed(state, corpus, one, other, same),
        "lost": [names[k] for k in lost],
    }
    return Versions(curation, content)


def _distinct(curation: Curation, model: Model) -> Curation:
    """Propose other names for classes that the fit calls like one that people have named."""
    taken = {own.name.text for own in curation.classes if own.name is not None}
    summary = model.summary()
    actions = []
    for number, own in enumerate(curation.classes):
        name = summary.class_names.get(number)
        if own.name is None and name in taken:
            words = summary.words.filter(pl.col("class") == number).sort("rank")["word"]
            other = f"{name[:50]} ({', '.join(word[:12] for word in words.head(2))})"
            actions.append({"do": "name", "class": number, "name": other, "proposed": True})
    return curation.after(Step(tuple(actions))) if actions else curation


def _called(model: Model, curation: Curation | None = None) -> list[str]:
    summary = model.summary()
    names = [summary.class_names.get(k, "") for k in range(len(summary.class_shares))]
    for number, own in enumerate(curation.classes if curation else ()):
        names[number] = own.name.text if own.name else names[number]
    words = {k: ", ".join(own["word"].head(3)) for (k,), own in summary.words.group_by("class")}
    return [name or words.get(k, f"class {k}") for k, name in enumerate(names)]


def _kappa(one: NDArray[np.integer], other: NDArray[np.integer]) -> float | None:
    from palaver.evaluate.agreement import cohen_kappa

    found = float(cohen_kappa(one, other)) if len(one) else float("nan")
    return None if np.isnan(found) else found


def _classes(
    one: NDArray[np.integer],
    other: NDArray[np.integer],
    same: Sequence[int],
    names: Sequence[str],
    called: Sequence[str],
) -> list[dict[str, Any]]:
    """Return old classes with their counterparts, the largest first, then those that are new."""
    total = max(len(one), 1)
    old = np.bincount(one, minlength=len(names)) / total
    new = np.bincount(other, minlength=len(called)) / total
    rows: list[dict[str, Any]] = []
    for k in np.argsort(-old, kind="stable").tolist():
        mine, to = one == k, same[k]
        kept = float((other[mine] == to).mean()) if to >= 0 and mine.any() else None
        rows.append({"old": names[k], "new": called[to] if to >= 0 else None,
                     "before": float(old[k]), "after": float(new[to]) if to >= 0 else None,
                     "kept": kept})  # fmt: skip
    fresh = [k for k in np.argsort(-new, kind="stable").tolist() if k not in same]
    rows += [{"old": None, "new": called[k], "before": None, "after": float(new[k]), "kept": None}
             for k in fresh]  # fmt: skip
    return rows


def _moves(
    one: NDArray[np.integer],
    other: NDArray[np.integer],
    moved: NDArray[np.bool_],
    known: NDArray[np.bool_],
    names: Sequence[str],
    called: Sequence[str],
    corpus: Corpus,
) -> list[dict[str, Any]]:
    rows = np.flatnonzero(moved & known)
    pairs, counts = np.unique(one[rows] * len(called) + other[rows], return_counts=True)
    found = []
    for place in np.argsort(-counts, kind="stable")[:_MOVES].tolist():
        old, new = divmod(int(pairs[place]), len(called))
        own = rows[(one[rows] == old) & (other[rows] == new)][:_EXAMPLES]
        texts = [" ".join(text.split())[:_SHOWN] for text in corpus.table["text"].gather(own)]
        found.append({"from": names[old], "to": called[new], "messages": int(counts[place]),
                      "rows": own.tolist(), "examples": texts})  # fmt: skip
    return found


def _obeyed(
    state: Curation,
    corpus: Corpus,
    one: NDArray[np.integer],
    other: NDArray[np.integer],
    same: Sequence[int],
) -> dict[str, int]:
    """Return of how many messages both fits say what people said about them."""
    counts = {"of": 0, "before": 0, "after": 0}
    if not state.marks:
        return counts
    for row, place in enumerate(zip(keys_of(corpus), corpus.table["id"], strict=True)):
        mark = state.marks.get(place)
        if mark is None:
            continue
        right = [] if mark.right is None else state.numbers_of(mark.right)
        wrong = {number for id in mark.wrong for number in state.numbers_of(id)}
        counts["of"] += 1
        for name, own, classes in (
            ("before", int(one[row]), list(range(len(same)))),
            ("after", int(other[row]), list(same)),
        ):
            fits = own in [classes[k] for k in right] if right else True
            counts[name] += fits and own not in [classes[k] for k in wrong]
    return counts
