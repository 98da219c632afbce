"""CHAT transcripts (.cha), as used by TalkBank and CHILDES."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import COLUMNS, Format, Rows
from palaver.corpus.readers.folders import stem, texts
from palaver.corpus.readers.source import Source

_MAIN = re.compile(r"\*([^\s:]+):(?:\s|$)")
_DEPENDENT = re.compile(r"%([A-Za-z][\w-]*):(?:\s|$)")
_BULLET = re.compile(r'[\x15\u2022](?:%\w+:"[^"]*")?_?(\d{1,12})_(\d{1,12})-?[\x15\u2022]')
_OURS = {*COLUMNS, "place", "end", "role", "age", "sex", "group", "language", "raw_text"}
_ID_FIELDS = {"age": 3, "sex": 4, "group": 5}  # lang|corpus|code|age|sex|group|SES|role|...

# In this order: remove what is not speech, keep what is, then clean marks inside words.
_CLEANING = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"[\x15\u2022][^\x15\u2022]*[\x15\u2022]?", " "),  # time bullets
        (r"\[[^\[\]]*\]", " "),  # [//] [: word] [=! laughs] [*] [+ code]; the words before stay
        (r"\((?:\.{1,3}|[\d:.]+)\)", " "),  # pauses: (.) (..) (1.5)
        (r"(?<!\S)\+(?:[/\".]*[/\"])?([.!?]+)(?=\s|$)", r"\1"),  # +... +/. +//?: plain endings
        (r"(?<!\S)\+[\"^<,+≈≋]+", " "),  # +< +^ +" +, ++: how an utterance relates to others
        (r"(?<!\S)&\*\w+:\S*|(?<!\S)&[=+~]\S+", " "),  # others' words, &=laughs, fragments
        (r"(?<!\S)&-?(?=\w)", ""),  # fillers: &-uh
        (r"(?<!\S)0\S*", " "),  # 0is: omitted by the speaker; 0: no speech
        (r"(?<!\S)(?:xxx|yyy|www)(?:@\S+)?(?!\S)", " "),  # not understood
        (r"[<>()‹›⌈⌉⌊⌋↑↓↗↘→↻∆∇°▁▔☺∬Ϋ∮§⁇ˈˌ≠∾↫]", ""),
        (r"(?<=\w)@[a-z]+(?::[\w+&]+)*", ""),  # woof@o, casa@s:spa
        (r"(?<=[^\W\d_]):+(?=\w|\s|$)|\^", ""),  # drawn-out no:
        (r"(?<=\w)[_+](?=\w)", " "),  # ice+cream, Santa_Claus
        (r"[‡„]", ","),
        (r"(?<!\s)\s+(?=[,.!?;])", ""),
    )
)


def looks_like(source: Source) -> bool:
    """Whether the name ends in .cha, the headers are CHAT's, or a folder contains .cha files."""
    if source.is_tree:
        return any(name.lower().endswith(".cha") for name in source.names)
    start = source.head_text.lstrip("\ufeff \t\r\n")
    return source.suffix == ".cha" or start.startswith(("@UTF8", "@Begin\n", "@Begin\r"))


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read the main tiers with their dependent tiers; a file is a conversation."""
    rows = Rows(notes)
    for name, text in texts(source, notes, lambda name: name.endswith(".cha")):
        _read_file(text, name, rows, notes)
    return rows.table()


def _read_file(text: str, name: str, rows: Rows, notes: Notes) -> None:
    people = _People()
    utterance: dict[str, object] | None = None
    number, ended = 0, False
    for line_number, line in _tiers(text):
        main, dependent = _MAIN.match(line), _DEPENDENT.match(line)
        if line.startswith("@"):
            people.header(line)
            ended = ended or line.strip() == "@End"
        elif main:
            if utterance is not None:
                rows.add(**_joined(utterance))
            number += 1
            utterance = {
                "conversation": stem(name, ".cha"),
                "id": str(number),
                "reply_to": None,
                **people.about(main[1]),
                **_said(line[main.end() :]),
                "place": f"{name} line {line_number}",
            }
        elif dependent and utterance is not None:
            _add_tier(utterance, dependent[1].lower(), line[dependent.end() :].strip())
        else:
            notes.add("bad_line", [f"{name} line {line_number}"])
    if utterance is not None:
        rows.add(**_joined(utterance))
    if not ended:
        notes.add("truncated", [name])


def _tiers(text: str) -> Iterator[tuple[int, str]]:
    """Yield line numbers and lines; continuation lines, which start with a tab, are joined."""
    start, parts = 0, [""]
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(("\t", " ")) and parts[0]:
            parts.append(line.strip())
        elif line.strip():
            if parts[0]:
                yield start, " ".join(parts)
            start, parts = number, [line.rstrip()]
    if parts[0]:
        yield start, " ".join(parts)


class _People:
    """Who a file's speaker codes stand for, according to its headers."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._facts: dict[str, dict[str, str | None]] = {}
        self._language: str | None = None

    def header(self, line: str) -> None:
        kind, _, value = line.partition(":")
        if kind == "@Participants":
            for person in value.split(","):
                code, *names = person.split() or [""]
                self._facts.setdefault(code, {})["role"] = names[-1] if names else None
                self._names[code] = " ".join(names[:-1]).replace("_", " ") or code
        elif kind == "@ID":
            fields = [field.strip() for field in value.split("|")]
            if len(fields) > max(_ID_FIELDS.values()):
                facts = {key: fields[at] or None for key, at in _ID_FIELDS.items()}
                self._facts.setdefault(fields[2], {}).update(facts)
        elif kind == "@Languages":
            self._language = value.strip() or None

    def about(self, code: str) -> dict[str, object]:
        facts = self._facts.get(code, {})
        known = {key: facts.get(key) for key in ("role", *_ID_FIELDS)}
        return {"speaker": self._names.get(code, code), **known, "language": self._language}


def _said(tier: str) -> dict[str, object]:
    """Return the time, end, text and raw text of a main tier."""
    bullets = _BULLET.findall(tier)
    return {
        "time": int(bullets[0][0]) / 1000 if bullets else None,
        "end": int(bullets[-1][1]) / 1000 if bullets else None,
        "text": clean_text(tier),
        "raw_text": " ".join(_BULLET.sub(" ", tier).split()),
    }


def clean_text(tier: str) -> str:
    """Return what was said, without codes, pauses and unintelligible words.

    Words that the speaker retracted stay, because they were said.

    Examples
    --------
    >>> clean_text("<I want> [//] &-um I need (.) xxx (be)cause no: +...")
    'I want um I need because no...'
    """
    for pattern, replacement in _CLEANING:
        tier = pattern.sub(replacement, tier)
    words = " ".join(tier.split())
    return words if re.search(r"\w", words) else ""


def _add_tier(utterance: dict[str, object], name: str, value: str) -> None:
    """Keep a dependent tier as a column; a second one of the same name will be appended."""
    value = _BULLET.sub("", value).strip()
    name = f"{name}_tier" if name in _OURS else name
    tiers = utterance.setdefault(name, [])
    if isinstance(tiers, list):
        tiers.append(value)


def _joined(utterance: dict[str, object]) -> dict[str, object]:
    """Return an utterance with the tiers of each name in one text."""
    return {
        name: " ".join(value) if isinstance(value, list) else value
        for name, value in utterance.items()
    }


FORMAT = Format("chat", "CHAT transcripts (.cha)", looks_like, read)
