"""Texts with markup: HTML as plain text, and blocks of code cut out, in linear time."""

from __future__ import annotations

import html
import re

from palaver.corpus.readers.mail_text import html_text

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_PRE = re.compile(r"<(/?)pre\b[^<>]*>", re.IGNORECASE)
_CODE_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_BLANK = re.compile(r"\n{3,}")


def plain_html(source: str) -> tuple[str, list[str]]:
    """Return the text of HTML, without quotes, and its blocks of code (``<pre>``)."""
    rest, blocks = _without_pre(source)
    text, _ = html_text(rest)
    return _BLANK.sub("\n\n", text).strip(), blocks


def _without_pre(source: str) -> tuple[str, list[str]]:
    parts: list[str] = []
    blocks: list[str] = []
    at, opened = 0, None
    for tag in _PRE.finditer(source):
        if not tag[1] and opened is None:
            parts.append(source[at : tag.start()])
            opened = tag.end()
        elif tag[1] and opened is not None:
            blocks.append(_code(source[opened : tag.start()]))
            at, opened = tag.end(), None
            parts.append("<br>")
    if opened is not None:  # never closed: a page that was cut
        blocks.append(_code(source[opened:]))
        at = len(source)
    return "".join([*parts, source[at:]]), [block for block in blocks if block]


def _code(source: str) -> str:
    return html.unescape(_CODE_TAG.sub("", source)).strip("\n")


def without_code(text: str) -> tuple[str, list[str]]:
    """Return Markdown without its fenced blocks of code, and these; an open one ends the text."""
    if "```" not in text and "~~~" not in text:
        return text, []
    kept: list[str] = []
    blocks: list[str] = []
    inside: list[str] | None = None
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if inside is None:
            if mark is None:
                kept.append(line)
            else:
                inside, fence = [], mark[1]
        elif (
            mark is not None
            and mark[1][0] == fence[0]
            and len(mark[1]) >= len(fence)
            and not line.strip(fence[0] + " \t\r")
        ):
            blocks.append("\n".join(inside))
            inside = None
        else:
            inside.append(line)
    if inside is not None:
        blocks.append("\n".join(inside))
    return _BLANK.sub("\n\n", "\n".join(kept)).strip(), [block for block in blocks if block.strip()]
