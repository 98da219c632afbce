"""What reading found and repaired: kinds of problems, counted, with the first places of each.

One policy holds for all formats. A *note* is harmless. A *repair* changed the structure or a
value so that the corpus can be used. A *loss* means that something in the file could not be read
and is missing. ``on_bad="error"`` turns repairs and losses into an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from palaver.errors import CorpusError

Severity = Literal["note", "repair", "loss"]

#: Every kind of problem: how bad it is and what was done about it.
KINDS: dict[str, tuple[Severity, str]] = {
    "empty_text": ("note", "message without text; kept, with no words"),
    "long_text": ("note", "text of over a million characters; kept whole"),
    "generated_id": ("note", "message without an id; given one made from its position"),
    "no_conversation": ("note", "message without a conversation; found through its replies"),
    "one_conversation": ("note", "message without a conversation; all such messages form one"),
    "system_message": ("note", "line by the system, not by a person; left out"),
    "tool_output": ("note", "thought of a model, call of a tool or its output; left out"),
    "code_cut": ("note", "block of code; moved from the text to the column code"),
    "quote_cut": ("note", "quoted or forwarded text; cut from the message"),
    "signature_cut": ("note", "signature under a mail; cut from the message"),
    "media_omitted": ("note", "attachment without text; kept as an empty message"),
    "continuation": ("note", "continuation of a speaker's earlier unit; joined to it"),
    "repeated_line": ("note", "rolling caption that repeats the previous one; left out"),
    "extra_parent": ("note", "message with several parents; the latest kept in reply_to"),
    "mojibake": ("note", "UTF-8 that was written as Latin-1; decoded again"),
    "reordered": ("note", "reply before its parent; moved behind it"),
    "decoded": ("repair", "bytes that are not UTF-8; read as Windows-1252"),
    "control_characters": ("repair", "NUL or lone surrogate in a text; removed or replaced"),
    "duplicate_id": ("repair", "id used twice in a conversation; the later one was renamed"),
    "missing_parent": ("repair", "parent that is not in the file; the reply became a start"),
    "self_parent": ("repair", "message that answers itself; became a start"),
    "foreign_parent": ("repair", "parent in another conversation; the reply became a start"),
    "cyclic_parent": ("repair", "parent that closes a cycle; the reply became a start"),
    "stray_quote": ("repair", "misplaced quote in a CSV row; read line by line"),
    "bad_time": ("repair", "time that cannot be read; set to null"),
    "bad_line": ("loss", "line or record that cannot be read; left out"),
    "bad_file": ("loss", "file inside the folder or archive that cannot be read; left out"),
    "truncated": ("loss", "file that ends in the middle; what came before was kept"),
    "pickle_skipped": ("loss", "pickled metadata; never opened, left out"),
}

PLACES_KEPT = 10


@dataclass
class Notes:
    """Counts of each kind of problem and the first places where it was seen.

    Attributes
    ----------
    counts : dict of str to int
        By kind, a key of :data:`KINDS`.
    places : dict of str to list of str
        The first ten places of each kind, such as ``"line 12"``.
    advice : list of str
        What to try if a file seems to have been misread.
    guesses : dict of str to str
        Columns of the file that by name and values hold what was not found, by our names.
    """

    counts: dict[str, int] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)
    advice: list[str] = field(default_factory=list)
    guesses: dict[str, str] = field(default_factory=dict)

    def add(self, kind: str, places: Iterable[str] = (), count: int | None = None) -> None:
        """Count one kind of problem, once per place unless ``count`` is given."""
        if kind not in KINDS:
            raise KeyError(f"unknown kind of note {kind!r}")
        found = list(places)
        number = len(found) if count is None else count
        if number == 0:
            return
        self.counts[kind] = self.counts.get(kind, 0) + number
        kept = self.places.setdefault(kind, [])
        kept.extend(found[: PLACES_KEPT - len(kept)])

    def merge(self, other: Notes) -> None:
        """Add the counts and places of ``other``."""
        for kind, count in other.counts.items():
            self.add(kind, other.places.get(kind, ()), count)
        self.advice.extend(other.advice)
        self.guesses.update(other.guesses)

    def of(self, *severities: Severity) -> dict[str, int]:
        """Return the counts of the kinds with the given severities."""
        return {kind: n for kind, n in self.counts.items() if KINDS[kind][0] in severities}

    def refuse(self, source: str) -> None:
        """Raise if anything was repaired or lost, naming the first ten places.

        Raises
        ------
        CorpusError
        """
        bad = self.of("repair", "loss")
        if not bad:
            return
        lines = [
            f"  {place}: {KINDS[kind][1]}" for kind in bad for place in self.places.get(kind, ())
        ]
        total = sum(bad.values())
        shown = "\n".join(lines[:PLACES_KEPT])
        raise CorpusError(
            f"{source}: {total} problem{'s' * (total != 1)} and on_bad='error' (--strict); "
            f"the first places:\n"
            f"{shown}\nFix the file, or read it with on_bad='repair' (without --strict)."
        )
