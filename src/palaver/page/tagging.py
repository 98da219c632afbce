"""A trained tagger on the page: what it confuses, confident mistakes, words of states, features."""

from __future__ import annotations

from typing import Any

import polars as pl

from palaver.models.taggers.contract import share_right
from palaver.page.findings import Findings
from palaver.page.quality import shade
from palaver.page.sections import Act
from palaver.page.text import MAX_WORD, excerpt, name

_ERRORS, _WORDS, _EXCERPT = 12, 8, 200
MAX_FEATURE = 50


def make_tagging(findings: Findings, acts: list[Act]) -> dict[str, Any] | None:
    """Return the parts of the section, or None for a model that is not a tagger.

    Mistakes are texts that were stored with the model, and features may hold names: an anonymized
    page leaves both out.
    """
    tables, tags = findings.summary.tables, findings.summary.tags
    if tags is None:
        return None
    ranks = {tags[act.number]: act.rank for act in acts}
    errors = None if findings.anonymized else tables.get("errors")
    return {
        "confusion": _confusion(tables.get("confusion"), ranks),
        "errors": [] if errors is None else _errors(errors, ranks),
        "states": _states(tables.get("state_words"), ranks, findings.hidden),
        "features": [] if findings.anonymized else _features(tables.get("feature_weights"), ranks),
    }


def _features(table: pl.DataFrame | None, ranks: dict[str, int]) -> list[dict[str, Any]]:
    """Return the features that speak most for each tag, the largest tag first."""
    if table is None:
        return []
    found: dict[str, list[str]] = {}
    for row in table.to_dicts():
        if row["tag"] in ranks and row["weight"] > 0:
            found.setdefault(row["tag"], []).append(name(row["feature"], MAX_FEATURE))
    order = sorted(found, key=lambda tag: ranks[tag])
    return [{"rank": ranks[tag], "features": found[tag][:_WORDS]} for tag in order]


def _confusion(table: pl.DataFrame | None, ranks: dict[str, int]) -> dict[str, Any] | None:
    """Return the confusion matrix in percent of each label, the largest tag first."""
    if table is None or not table.height:
        return None
    counts = {(row["label"], row["tag"]): row["messages"] for row in table.to_dicts()}
    labels = sorted({label for label, _ in counts}, key=lambda label: ranks.get(label, len(ranks)))
    rows = []
    for label in labels:
        own = [counts.get((label, tag), 0) for tag in sorted(ranks, key=lambda tag: ranks[tag])]
        shares = [count / sum(own) for count in own]
        rows.append(
            {
                "label": name(label, 40),
                "count": sum(own),
                "cells": [(round(100 * share), shade(share)) for share in shares],
            }
        )
    return {"rows": rows, "accuracy": share_right(table), "n_messages": sum(counts.values())}


def _errors(table: pl.DataFrame, ranks: dict[str, int]) -> list[dict[str, Any]]:
    """Return the most confident mistakes."""
    return [
        {
            "text": excerpt(row["text"] or "", _EXCERPT),
            "label": name(row["label"], 40),
            "rank": ranks[row["tag"]],
            "probability": row["probability"],
        }
        for row in table.head(_ERRORS).to_dicts()
    ]


def _states(
    table: pl.DataFrame | None, ranks: dict[str, int], hidden: frozenset[str]
) -> list[dict[str, Any]]:
    """Return the characteristic words of each state, where a tag has several."""
    if table is None or not (table["state"] > 0).any():
        return []
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for row in table.to_dicts():
        place = (ranks[row["tag"]], row["state"])
        state = found.setdefault(
            place, {"rank": place[0], "state": place[1] + 1, "share": row["share"], "words": []}
        )
        if row["word"] not in hidden and len(state["words"]) < _WORDS:
            state["words"].append(name(row["word"], MAX_WORD))
    return [found[place] for place in sorted(found)]
