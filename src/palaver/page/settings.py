"""How the page was made: settings, seed, versions, fingerprint, command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from palaver import __version__
from palaver.encoding.hidden import tells
from palaver.page.findings import Findings
from palaver.page.text import name
from palaver.store.folder import versions


def make_settings(
    findings: Findings, command: str | None, fit_command: str | None
) -> dict[str, Any]:
    """Return names and values for the last section."""
    summary, corpus = findings.summary, findings.corpus
    facts = {
        "model": summary.name,
        **{key: value for key, value in summary.facts.items() if key != "fingerprint"},
        "source": "anonymized" if findings.anonymized else name(Path(corpus.source).name),
        "fingerprint of the data": summary.facts.get("fingerprint") or "unknown",
    }

    def shown(value: Any) -> str:  # labels and seed words may be names
        return "not shown" if tells(str(value), findings.hidden) else _plain(value)

    return {
        "facts": {key.replace("_", " "): shown(value) for key, value in facts.items()},
        "params": {key: shown(value) for key, value in summary.params.items()},
        "versions": {**versions(), "palaver": __version__},
        "command": command or 'palaver.report(model, corpus, "report.html")',
        "fit_command": fit_command,
        "same_texts": findings.same_texts,
        "anonymized": findings.anonymized,
    }


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return name(str(value), 200)
