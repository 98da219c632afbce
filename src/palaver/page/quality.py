"""How good the model is: do chains agree, what do labels say, what was left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from palaver.corpus.notes import KINDS
from palaver.draw.lines import trace_chart
from palaver.evaluate import message_labels, v_measure
from palaver.fit.trace import STILL_CLIMBING
from palaver.page.findings import Findings
from palaver.page.groups import LABELS, label_columns
from palaver.page.text import name

_MOST_ROWS = 60  # of a model's own tables
_MOST_LABEL_ROWS = 30


#: Tables that have a section of their own.
_ELSEWHERE = ("acts", "topics", "confusion", "errors", "state_words")


def make_quality(findings: Findings) -> dict[str, Any]:
    """Return the parts of the section for which there are data."""
    gold = [_gold(findings, column) for column in label_columns(findings)]
    return {
        "trace": None if findings.summary.tags else _trace(findings),  # EM has no chains
        "prediction": findings.prediction,
        "not_predicted": findings.can_predict and not findings.predict_heldout,
        "gold": sorted(
            filter(None, gold), key=lambda table: (not table["is_label"], -table["v_measure"])
        ),
        "tables": [
            _further(title, table, findings.hidden)
            for title, table in findings.summary.tables.items()
            if title not in _ELSEWHERE
        ],
        "dropped": _dropped(findings),
    }


def _gold(findings: Findings, column: str) -> dict[str, Any] | None:
    """Return how well a column of labels and the classes of messages match.

    A message with several labels counts once for each. The V-measure is of the messages'
    main classes; cells are mean shares, so rows sum to one. The largest labels come first;
    beyond :data:`_MOST_LABEL_ROWS`, rare labels share the last row.
    """
    values = findings.corpus.table[column]
    values = values.cast(pl.String) if values.dtype == pl.Boolean else values
    pairs = message_labels(values)
    speaking = findings.speaking[pairs.message]
    message, label = pairs.message[speaking], pairs.label[speaking]
    counts = np.bincount(label, minlength=len(pairs.names))
    if (counts > 0).sum() < 2:
        return None
    sums = np.column_stack(
        [np.bincount(label, findings.shares[message, k], len(pairs.names))
         for k in range(findings.n_classes)]
    )  # fmt: skip
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    labels = [name(str(pairs.names[i]), 40) for i in order]
    sums, counts = sums[order], counts[order]
    if len(order) > _MOST_LABEL_ROWS:
        kept = _MOST_LABEL_ROWS - 1
        sums = np.vstack((sums[:kept], sums[kept:].sum(axis=0)))
        counts = np.append(counts[:kept], counts[kept:].sum())
        labels = [*labels[:kept], f"({len(order) - kept} others)"]
    shares = sums / counts[:, None]
    return {
        "column": name(column),
        "is_label": column in LABELS,
        "v_measure": float(v_measure(findings.shares[message].argmax(axis=1), label)),
        "n_messages": int(np.count_nonzero(np.bincount(message))),
        "rows": [
            {"label": label, "count": int(count),
             "cells": [(round(100 * x), shade(x)) for x in row]}
            for label, count, row in zip(labels, counts, shares, strict=True)
        ],
    }  # fmt: skip


def _further(title: str, table: pl.DataFrame, hidden: frozenset[str]) -> dict[str, Any]:
    """Return the first rows of a table that only this kind of model has, without hidden words."""
    rows = table.head(_MOST_ROWS).rows()
    return {
        "title": name(title.replace("_", " ")),
        "columns": [name(column.replace("_", " ")) for column in table.columns],
        "rows": [[_cell(value, hidden) for value in row] for row in rows],
        "n_rows": table.height,
    }


def _cell(value: Any, hidden: frozenset[str]) -> str:
    """Return a value as text; words in lists or between blanks are hidden one by one."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3g}"
    parts, glue = (value, ", ") if isinstance(value, list) else (str(value).split(" "), " ")
    return name(glue.join(str(part) for part in parts if str(part) not in hidden), 120) or "–"


def shade(share: float) -> int:
    """Return the step of a cell's shade, 0 to 10."""
    return min(10, int(np.ceil(share * 12.5 - 0.25))) if share > 0.02 else 0


def _trace(findings: Findings) -> dict[str, Any] | None:
    """Return the traces of the chains and the numbers that say whether they agree."""
    summary = findings.summary
    if "log_joint" not in summary.trace.columns:
        return None
    parts = summary.trace.partition_by("chain", maintain_order=True)
    chains = [part["log_joint"].to_numpy() for part in parts]
    burn_in = int(summary.facts.get("burn_in", 0))
    best = int(summary.facts.get("best_chain", 0))
    return {
        "pictures": [trace_chart(chains, burn_in, best, narrow=narrow) for narrow in (False, True)],
        "n_chains": len(chains),
        "joined": _joined(findings),
        "n_sweeps": max(map(len, chains)),
        "burn_in": burn_in,
        "r_hat": _finite(summary.convergence.get("r_hat")),
        "late": _late(summary.convergence.get("late_gain")),
        "effective": _finite(summary.convergence.get("effective_samples")),
    }


def _joined(findings: Findings) -> dict[str, int] | None:
    """Return how many classes at least half of the searches found, where several were joined."""
    found, searches = findings.summary.found_by, findings.summary.facts.get("searches", 1)
    if found is None or searches < 2:
        return None
    return {"often": int((2 * found >= searches).sum())}


def _late(gain: float | None) -> float | None:
    """Return how much was gained late, if that is too much."""
    return gain if gain is not None and gain > STILL_CLIMBING else None


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None


def _dropped(findings: Findings) -> dict[str, Any]:
    """Return what the model did not read of the texts, and the notes from reading the file."""
    notes = findings.corpus.notes
    encoded = findings.encoded
    n_words = int((np.asarray(encoded.tokens) >= 0).sum()) + encoded.n_dropped
    return {
        "n_dropped": encoded.n_dropped,
        "n_words": n_words,
        "share": encoded.n_dropped / max(n_words, 1),
        "silent": int((~findings.speaking).sum()),
        "views": findings.summary.facts.get("views_left_out", []),
        "background": findings.summary.background_share,
        "notes": [
            {"severity": KINDS[kind][0], "count": count, "what": KINDS[kind][1],
             "places": [] if findings.anonymized else [
                 name(place) for place in notes.places.get(kind, [])[:3]]}
            for kind, count in sorted(notes.counts.items(), key=lambda item: -item[1])
        ],
    }  # fmt: skip
