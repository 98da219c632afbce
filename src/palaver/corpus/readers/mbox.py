"""Mail: an mbox file, a Maildir, or a folder of ``.eml`` files.

A thread is a conversation. A mail replies to the last mail in its ``References`` (or else
``In-Reply-To``) that is in the file; mails that refer to the same absent mail share a thread.
Only a mail with neither header and a subject that starts with "Re:" is placed by its subject:
it replies to the first earlier mail with the same subject.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from email.errors import MessageError
from email.message import Message
from email.parser import BytesParser
from email.utils import parsedate_tz
from itertools import pairwise

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows
from palaver.corpus.readers.linked import Linked
from palaver.corpus.readers.mail_text import body_text, cut_quotes, header_text
from palaver.corpus.readers.source import Source
from palaver.errors import FormatError

# A "From " line has a date, so a sentence in a mail is not mistaken for one.
_FROM = re.compile(
    rb"From .{0,150}?\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +(?:\d\d? +)?"
    rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b.{1,9}\d?\d:\d\d"
)
_HEADER = re.compile(rb"[!-9;-~]+:")
_ID = re.compile(r"<([^<>]+)>")
_ADDRESS = re.compile(r"(?P<name>.*?)<(?P<mail>[^<>]*)>|(?P<mail2>[^\s()]+)\s*\((?P<name2>.*)\)")
_REPLY = re.compile(
    r"\s*(?:(?:re|aw|sv|vs|antw|ref|odp|rif)(?:\[\d+\])?\s*[:：]\s*)+", re.IGNORECASE
)
_TAG = re.compile(r"\[[^\[\]]{1,40}\]")


def looks_like(source: Source) -> bool:
    """Whether the file starts with a "From " line, or names show that it is or contains mail."""
    if source.is_tree:
        return bool(_mails(source))
    start = source.head.lstrip()
    return _FROM.match(start) is not None or (
        source.suffix == ".eml" and _HEADER.match(start) is not None
    )


def _mails(source: Source) -> list[str]:
    """Return the files of a folder or archive that hold one mail each."""
    return [
        name for name in source.names
        if name.lower().endswith(".eml") or name.split("/")[-2:-1] in (["cur"], ["new"])
    ]  # fmt: skip


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read all mails, then connect them."""
    rows = Rows(notes)
    references: list[str] = []  # of each mail, earliest first, separated by spaces
    for place, data in _split(source, notes):
        try:
            references.append(_add(rows, _parse(data), place, notes))
        except (MessageError, RecursionError):
            notes.add("bad_line", [place])
    if not len(rows):
        raise FormatError(f"{source}: contains no mail")
    return _connect(rows.table(), references)


def _parse(data: bytes) -> Message:
    """Parse a mail; if its parts cannot be separated, it becomes a single part."""
    try:
        return BytesParser().parsebytes(data)
    except ValueError:  # a boundary in a charset whose name contains NUL
        return BytesParser().parsebytes(data, headersonly=True)


def _split(source: Source, notes: Notes) -> Iterator[tuple[str, bytes]]:
    """Yield each mail with its place."""
    if source.is_tree:
        for name in _mails(source):
            try:
                yield name, source.read_bytes(name)
            except FormatError:
                notes.add("bad_file", [name])
        return
    with source.open() as stream:
        lines: list[bytes] = []
        start = 1
        waiting = b""  # a "From " line, until the next line shows whether it starts a mail
        for number, line in enumerate(stream, 1):
            if waiting and _HEADER.match(line):
                if any(map(bytes.strip, lines)):
                    yield f"line {start}", b"".join(lines)
                lines, start = [], number - 1
            elif waiting:
                lines.append(waiting)
            waiting = line if _FROM.match(line) else b""
            if not waiting:
                lines.append(line)
        if any(map(bytes.strip, lines)):
            yield f"line {start}", b"".join(lines)


def _add(rows: Rows, mail: Message, place: str, notes: Notes) -> str:
    """Add a mail and return the ids that it refers to, the nearest last."""
    raw = {name.lower(): str(value) for name, value in reversed(list(mail.raw_items()))}
    headers = {name: header_text(raw.get(name, ""), notes, place) for name in ("subject", "from")}
    text, quotes_left_out = body_text(mail, notes, place)
    said, cut = cut_quotes(text)
    if quotes_left_out:
        cut.add("quote_cut")
    for kind in sorted(cut):
        notes.add(kind, [place])
    if not cut and not said and mail.is_multipart():
        notes.add("media_omitted", [place])
    name, address = _sender(headers["from"])
    rows.add(
        id=next(iter(_ids(raw.get("message-id", ""))), None),
        speaker=name or address,
        time=_seconds(raw.get("date", "")),
        text=said,
        subject=headers["subject"] or None,
        email=address,
        place=place,
    )
    return " ".join(_ids(raw.get("references", "")) or _ids(raw.get("in-reply-to", ""))[:1])


def _ids(header: str) -> list[str]:
    """Return the message ids in a header, with or without brackets."""
    plain = header.encode("utf-8", "replace").decode("utf-8")
    found = ["".join(part.split()) for part in _ID.findall(plain)]
    return found or [word.strip("<>") for word in plain.split() if "@" in word.strip("<>")]


def _sender(value: str) -> tuple[str | None, str | None]:
    """Return name and address, including the archives' form ``ann at example.com``."""
    if "@" not in value:
        value = value.replace(" at ", "@", 1)
    found = _ADDRESS.match(value)
    if found is None:
        return (None, value) if "@" in value else (value or None, None)
    name = (found["name"] or found["name2"] or "").strip().strip("\"'").replace("\\", "")
    return name.strip() or None, (found["mail"] or found["mail2"] or "").strip() or None


def _seconds(value: str) -> int | str | None:
    """Return an RFC 2822 date (UTC if it has no zone) as seconds since 1970, or else unchanged."""
    try:
        parts = parsedate_tz(value)
        return value or None if parts is None else calendar.timegm(parts[:6]) - (parts[9] or 0)
    except (ValueError, OverflowError, IndexError, TypeError):
        return value


def _connect(table: pl.DataFrame, references: list[str]) -> pl.DataFrame:
    """Find each mail's parent and thread."""
    ids = [name or f"#{row}" for row, name in enumerate(table["id"].cast(pl.String), 1)]
    known = set(ids)
    addresses = set(table["email"])  # In-Reply-To may hold these instead of an id
    subjects: dict[str, str] = {}  # each with the first mail that has it
    threads = Linked[str]()
    parents: list[str | None] = []
    for name, line, subject in zip(ids, references, table["subject"], strict=True):
        given = [ref for ref in line.split() if ref not in addresses]
        chain = [ref for ref in given if ref != name]
        plain = " ".join(_TAG.sub(" ", subject or "").lower().split())
        prefix = _REPLY.match(plain)
        base = plain[prefix.end() :] if prefix else plain
        if not given and prefix and base in subjects:
            chain = [subjects[base]]
        near = next((ref for ref in reversed(chain) if ref in known), None)
        itself = name if given else None  # counted and repaired like self-replies of all formats
        parents.append(near or (chain[-1] if chain else itself))
        for older, newer in pairwise([*chain, name]):
            threads.join(older, newer)
        if base:
            subjects.setdefault(base, name)
    names: dict[str, str] = {}  # of threads: the id of their first mail in the file
    conversations = [names.setdefault(threads.find(name), name) for name in ids]
    return table.with_columns(
        pl.Series("conversation", conversations, dtype=pl.String),
        pl.Series("reply_to", parents, dtype=pl.String),
    )


FORMAT = Format("mbox", "mail: mbox, Maildir or .eml files", looks_like, read)
