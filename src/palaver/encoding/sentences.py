"""Splitting forum, mail and news prose into sentences (English punctuation, and 。！？).

A sentence ends at ``.``, ``!`` or ``?`` before whitespace, unless the context says otherwise:
abbreviations, initials, numbers and addresses do not end it. Blank lines and list items always
end a sentence; each fenced block of code is one piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\S+", text))


#: Never end a sentence: something always follows.
_BEFORE_MORE = _words(
    "mr mrs ms dr prof st messrs gen sen rep gov lt col capt cmdr sgt maj rev hon pres supt "
    "vs cf eg ie e.g i.e viz ca approx fig figs eq eqs sec ch vol vols pp p no nos art al ed eds "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat "
    "esp incl excl resp"
)
#: End a sentence only if a capital letter follows.
_MAYBE_LAST = _words("etc inc ltd co corp jr sr bros dept univ assn ave blvd rd a.m p.m b.c a.d")
#: Words that begin a sentence after initials: "in the U.S. The" but not "the U.S. Army".
_OPENERS = _words(
    "the a an this that these those there it its he she they we i you in on at but and or so if "
    "when while after before as for to from with however then now what why how who where"
)
#: Abbreviations if a number follows, otherwise words.
_BEFORE_NUMBER = _words("no nos art p pp sec fig mar jun sat ch")

_FENCE = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.M | re.S)
_ITEM = re.compile(r"(?:[-*•–+]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)]|\(?[A-Z]\))[ \t]+(?=\S)")
_BREAK = re.compile(r"\n[ \t>]*\n\s*")
_END = re.compile(
    r"""(?<![.!?…])(?P<mark>[.!?…]+)(?P<closing>["'”’)\]*_]*)(?=\s|$)|(?P<wide>[。！？]+[」』”’）]*)"""
)
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘/]+$")
_NEXT_WORD = re.compile(r"""\s*["'“‘(\[*_]*(\w+|\S)""")
_LONGEST_WORD = 60  # that is looked at; abbreviations are shorter
_SPACES = re.compile(r"\s+")
_HAS_WORD = re.compile(r"\w")
#: What a text with several sentences has, as polars spells it.
_SEVERAL = r"""\n|[。！？]|[.!?…]["'”’)\]*_]*[\s\x1c-\x1f]+\S"""


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, in order, with whitespace collapsed.

    Examples
    --------
    >>> split_sentences("Dr. Wu paid $3.50, e.g. for tea. See www.x.org/a.b! ok?")
    ['Dr. Wu paid $3.50, e.g. for tea.', 'See www.x.org/a.b!', 'ok?']
    """
    sentences: list[str] = []
    pieces = _pieces(text) if "\n" in text else ((text, False),)
    for piece, is_code in pieces:
        if is_code:
            sentences.append(piece.strip())
        else:
            sentences.extend(_SPACES.sub(" ", part).strip() for part in _prose(piece))
    return [sentence for sentence in sentences if _HAS_WORD.search(sentence)]


def may_have_several(texts: pl.Series) -> pl.Series:
    """Return which texts are not surely one sentence, in compiled code."""
    return texts.str.contains(_SEVERAL).fill_null(False)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield paragraphs, list items and blocks of code, and whether they are code."""
    start = 0
    for fence in _FENCE.finditer(text):
        yield from ((piece, False) for piece in _paragraphs(text[start : fence.start()]))
        yield fence.group(), True
        start = fence.end()
    yield from ((piece, False) for piece in _paragraphs(text[start:]))


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in _BREAK.split(text):
        lines: list[str] = []
        for line in paragraph.split("\n"):
            if _ITEM.match(line.lstrip()) and lines:
                yield "\n".join(lines)
                lines = []
            lines.append(line)
        yield "\n".join(lines)


def _prose(piece: str) -> Iterator[str]:
    """Yield the sentences of a paragraph."""
    lead = len(piece) - len(piece.lstrip())
    marker = _ITEM.match(piece, lead)
    first = marker.end() if marker else 0  # the full stop of "1." ends nothing
    is_lower = piece == piece.lower()
    start = 0
    for end in _END.finditer(piece, first):
        if end["wide"] or _is_end(piece, start, end, is_lower):
            yield piece[start : end.end()]
            start = end.end()
    yield piece[start:]


def _is_end(piece: str, start: int, end: re.Match[str], is_lower: bool) -> bool:
    """Whether a punctuation mark ends the sentence that begins at ``start``."""
    next_word = _NEXT_WORD.match(piece, end.end())
    following = next_word.group(1) if next_word else ""
    if not following:
        return True
    goes_on = following[0].islower() and not is_lower
    if end["mark"] != ".":
        return not (goes_on and (end["closing"] or end["mark"][0] in ".…"))
    found = _LAST_WORD.search(piece[max(start, end.start() - _LONGEST_WORD) : end.start()])
    word = found.group() if found else ""
    kind = word.lower().rstrip(".")
    if kind in _BEFORE_NUMBER:
        return not (following[0].isdigit() or goes_on)
    if kind in _BEFORE_MORE:
        return False
    if len(kind) == 1 and word[0].isupper() and word != "I":
        return False  # an initial
    if kind in _MAYBE_LAST:
        return following[0].isupper()
    if _is_initials(kind):
        return following.lower() in _OPENERS and following[0].isupper()
    return not goes_on


def _is_initials(kind: str) -> bool:
    """Whether a word consists of letters separated by full stops, such as "u.s.a" or "ph.d"."""
    return len(kind) > 1 and all(len(part) <= 2 for part in kind.split(".")) and "." in kind
