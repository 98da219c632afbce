"""Read a folder in DUC's layout, for those who have the data from NIST.

::

    duc2004/docs/d30001t/APW19981016.0240     documents of a set: SGML with <TEXT>, or plain text
    duc2004/models/D30001.M.100.T.A           human summaries, in any subfolder; the number names
                                              the set
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from palaver.ranking.documents import document_text

_NUMBER = re.compile(r"d(\d+)", re.I)


@dataclass(frozen=True)
class DocumentSet:
    """Documents about one event, and human summaries of them."""

    name: str
    documents: list[str]
    references: list[str]


def read_duc(folder: Path) -> list[DocumentSet]:
    """Read all document sets in a folder, ordered by name.

    Raises
    ------
    ValueError
        There are no document sets, or one has no summaries.
    """
    sets = sorted(path for path in (folder / "docs").glob("*") if path.is_dir())
    if not sets:
        raise ValueError(f"{folder}: no folders docs/SET with documents")
    models: dict[str, list[str]] = {}
    for path in sorted((folder / "models").rglob("*")):
        number = _NUMBER.match(path.name)
        if path.is_file() and number:
            models.setdefault(number[1], []).append(document_text(_read(path)))
    found = []
    for path in sets:
        number = _NUMBER.match(path.name)
        references = models.get(number[1], []) if number else []
        if not references:
            raise ValueError(f"{folder}: no summaries models/.../{path.name[:6].upper()}.*")
        texts = [document_text(_read(file)) for file in sorted(path.iterdir()) if file.is_file()]
        found.append(DocumentSet(path.name, [text for text in texts if text], references))
    return found


def _read(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")
