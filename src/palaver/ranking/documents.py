"""Plain texts to summarize: files, folders and archives of them, and DUC's SGML."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from palaver.corpus.notes import Notes
from palaver.corpus.readers.folders import texts
from palaver.corpus.readers.source import Source
from palaver.errors import FormatError, InputError

PLAIN = (".txt", ".text", ".md", ".rst", ".sgml", ".sgm")
_TEXT = re.compile(r"<TEXT>(.*?)</TEXT>", re.S | re.I)
_PARAGRAPH = re.compile(r"</?P>", re.I)
_TAG = re.compile(r"<[^>\n]+>")
_NUMBERED = re.compile(r"[^.]*|.*\.\d+")  # no suffix, or one of digits, as in DUC


@dataclass(frozen=True)
class Document:
    """A text, its name, and the name of the folder that it is in."""

    name: str
    text: str
    folder: str


def is_plain(name: str) -> bool:
    """Return whether a file's name is that of a plain text."""
    last = name.lower().rpartition("/")[2]
    if last.startswith(".") or not last:
        return False
    return last.endswith(PLAIN) or _NUMBERED.fullmatch(last) is not None


def read_documents(path: Path) -> tuple[list[Document], int]:
    """Read a text, or all texts in a folder or archive, by name; also count unreadable ones.

    Raises
    ------
    InputError
        There is nothing at the path, or no text.
    """
    source, notes = Source(path), Notes()
    if not source.is_tree and not is_plain(source.name):
        raise FormatError(
            f"{path}: is no plain text ({', '.join(PLAIN)}); several files must be texts"
        )
    found = []
    for name, text in texts(source, notes, is_plain):
        said = document_text(text)
        if said:
            inside = name.rpartition("/")[0] if source.is_tree else ""
            found.append(Document(name, said, inside or path.name))
    if not found:
        raise InputError(f"{path}: contains no texts ({', '.join(PLAIN)})")
    return sorted(found, key=lambda document: document.name), sum(notes.of("loss").values())


def document_text(source: str) -> str:
    """Return the running text of a document: of SGML what is in <TEXT>, without tags."""
    bodies = _TEXT.findall(source)
    if not bodies:
        return source.strip()
    text = "\n\n".join(_TAG.sub(" ", _PARAGRAPH.sub("\n\n", body)) for body in bodies)
    return unescape(text).strip()
