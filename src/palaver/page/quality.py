"""How good is it: do chains agree, what do labels say, what was dropped while reading."""

from __future__ import annotations

from typing import Any

import numpy as np

from palaver.corpus.notes import KINDS
from palaver.draw.lines import trace_chart
from palaver.page.findings import Findings
from palaver.page.sections import Act


def make_quality(findings: Findings, acts: list[Act]) -> dict[str, Any]:
    """Return the parts of the section that there are data for."""
    return {"trace": _trace(findings), "dropped": _dropped(findings)}


def _trace(findings: Findings) -> dict[str, Any] | None:
    """Return the chains' traces and in words whether they agree."""
    summary = findings.summary
    if "log_joint" not in summary.trace.columns:
        return None
    parts = summary.trace.partition_by("chain", maintain_order=True)
    chains = [part["log_joint"].to_numpy() for part in parts]
    burn_in = int(summary.facts.get("burn_in", 0))
    best = int(np.argmax([np.mean(chain[burn_in:] if len(chain) > burn_in else chain)
                          for chain in chains]))  # fmt: skip
    return {
        "picture": trace_chart(chains, burn_in, best),
        "n_chains": len(chains),
        "n_sweeps": max(map(len, chains)),
        "burn_in": burn_in,
        "r_hat": _finite(summary.convergence.get("r_hat")),
        "effective": _finite(summary.convergence.get("effective_samples")),
    }


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None


def _dropped(findings: Findings) -> dict[str, Any]:
    """Return what of the texts the model has not seen, and what reading repaired."""
    notes = findings.corpus.notes
    encoded = findings.encoded
    n_words = encoded.n_tokens + encoded.n_dropped
    return {
        "n_dropped": encoded.n_dropped,
        "n_words": n_words,
        "share": encoded.n_dropped / max(n_words, 1),
        "silent": int((~findings.speaking).sum()),
        "background": findings.summary.background_share,
        "notes": [
            {"severity": KINDS[kind][0], "count": count, "what": KINDS[kind][1],
             "places": notes.places.get(kind, [])[:3]}
            for kind, count in sorted(notes.counts.items(), key=lambda item: -item[1])
        ],
    }  # fmt: skip
