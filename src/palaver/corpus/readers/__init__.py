"""READ: files of many formats become raw tables; one module per format.

:data:`FORMATS` lists formats in the order in which they are tried, the most specific first.
"""

from __future__ import annotations

from palaver.corpus.readers import (
    bagofwords,
    chat,
    conll,
    convokit,
    discord,
    irc,
    jsonl,
    m4text,
    mbox,
    reddit,
    slack,
    switchboard,
    tabular,
    transcript,
    webvtt,
    whatsapp,
    whisperx,
)
from palaver.corpus.readers.assistants import (
    chatgpt,
    chatlog,
    claude,
    claude_code,
    codex,
    gemini_cli,
    langfuse,
    langsmith,
    sdialog,
)
from palaver.corpus.readers.base import Format
from palaver.corpus.readers.chats import google_chat, messenger, signal, teams, telegram
from palaver.corpus.readers.forums import (
    bluesky,
    github,
    hackernews,
    mastodon,
    stackexchange,
    youtube,
)
from palaver.corpus.readers.source import Source
from palaver.corpus.readers.support import intercom, zendesk
from palaver.errors import FormatError

FORMATS: tuple[Format, ...] = (
    # folders and exports whose files have a shape of their own
    convokit.FORMAT,
    slack.FORMAT,
    discord.FORMAT,
    telegram.FORMAT,
    messenger.FORMAT,
    google_chat.FORMAT,
    signal.FORMAT,
    teams.FORMAT,
    zendesk.FORMAT,
    intercom.FORMAT,
    github.FORMAT,
    stackexchange.FORMAT,
    hackernews.FORMAT,
    mastodon.FORMAT,
    bluesky.FORMAT,
    youtube.FORMAT,
    reddit.FORMAT,
    # assistants
    claude_code.FORMAT,
    codex.FORMAT,
    gemini_cli.FORMAT,
    claude.FORMAT,
    chatgpt.FORMAT,
    langsmith.FORMAT,
    langfuse.FORMAT,
    sdialog.FORMAT,
    chatlog.FORMAT,
    # text
    mbox.FORMAT,
    whatsapp.FORMAT,
    bagofwords.FORMAT,
    irc.FORMAT,
    chat.FORMAT,
    webvtt.FORMAT,
    transcript.FORMAT,
    switchboard.FORMAT,
    whisperx.FORMAT,
    # what anything may be written in
    tabular.PARQUET,
    tabular.CSV,
    jsonl.FORMAT,
    m4text.FORMAT,
    conll.FORMAT,
)

_LOOKS = (
    (b"\x80\x04", "a Python pickle, which Palaver never opens; export it to JSONL or Parquet"),
    (b"PK\x03\x04", "a zip archive, but no export in a known format; unpack it and name one file"),
    (b"7z\xbc\xaf", "a 7z archive; unpack it and name what is inside"),
    (b"\x1f\x8b", "gzip without a .gz name; rename it to end in .gz"),
    (b"\x28\xb5\x2f\xfd", "Zstandard without a .zst name; rename it to end in .zst"),
    (b"%PDF", "a PDF; extract its text first"),
    (b"SQLite format 3", "an SQLite database; export a table to CSV"),
    (b"<", "HTML or XML; export JSON or text from the program that wrote it"),
    (b"[", "a JSON array in an unknown form; write one object per line (JSONL)"),
    (b"{", "a JSON object in an unknown form; write one object per line (JSONL)"),
)


def find_format(source: Source, name: str | None = None) -> Format:
    """Return the named format, or else the first one that the source looks like.

    Raises
    ------
    FormatError
        Says what the source looks like and what to try.
    """
    if name is not None:
        for known in FORMATS:
            if known.name == name:
                return known
        width = max(len(known.name) for known in FORMATS)
        rows = "".join(f"\n  {known.name:{width}}  {known.description}" for known in FORMATS)
        raise FormatError(f"there is no format {name!r}; choose from{rows}")
    for known in FORMATS:
        if known.looks_like(source):
            return known
    words, may_be_known = _describe(source)
    raise FormatError(f"{source}: {words}.{_ways_out() if may_be_known else _MORE}")


_MORE = " docs/formats.md lists what can be read."


def _ways_out() -> str:
    """Say what to do with a file that may be in a known format, or can be converted to one."""
    width = max(len(known.name) for known in FORMATS)
    return "\n".join(
        (
            " Save it as CSV or JSON lines with a column text and, if known, conversation, id, "
            "reply_to, speaker and time. If it is one of these, name it with format= (--format):",
            *(f"  {known.name:{width}}  {known.description}" for known in FORMATS),
            _MORE.strip(),
        )
    )


def _readable(folder: Source) -> list[str]:
    """Return the first files of a folder that are themselves in a known format."""
    found = []
    for name in sorted(folder.names)[:_TRIED]:
        one = Source(folder.path / name)
        if any(known.looks_like(one) for known in FORMATS):
            found.append(name)
    return [*found[:_NAMED], "..."] if len(found) > _NAMED else found


_TRIED, _NAMED = 50, 6  # most files of a folder to try, and to list


def _describe(source: Source) -> tuple[str, bool]:
    """Say what an unknown source looks like, and whether it may still be in a known format."""
    if source.path.is_dir():
        words = f"a folder of {len(source.names)} files, not an export in a known format"
        inside = _readable(source)
        return (f"{words}; name one of: {', '.join(inside)}", False) if inside else (words, True)
    if source.is_archive and "[Content_Types].xml" in source.names:
        return "looks like an Office document; save it as CSV (or as plain text)", False
    start = b"PK\x03\x04" if source.is_archive else source.head.lstrip()[:16]
    if not start:
        return "the file is empty", False
    for magic, words in _LOOKS:
        if start.startswith(magic):
            return f"looks like {words}", magic in (b"[", b"{")
    printable = sum(32 <= byte < 127 or byte in b"\t\r\n" or byte > 127 for byte in source.head)
    if printable < 0.95 * len(source.head):
        return "looks like a binary file; export it as CSV from the program that wrote it", False
    return "looks like plain text in no known layout", True
