"""The text of a mail: headers and bodies decoded, HTML as text, quotes and signatures cut.

Everything here takes linear time and copes with whatever a mail can contain.
"""

from __future__ import annotations

import base64
import html
import quopri
import re
from email.message import Message
from typing import Any

from palaver.corpus.notes import Notes
from palaver.corpus.readers.source import decode

_ENCODED = re.compile(r"=\?([^?\s]{1,60})\?([bBqQ])\?([^?]*)\?=")
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/]")
_FOLD = re.compile(r"\r?\n[ \t]*|\r")
_ESCAPING = ("utf-7", "utf7", "iso-2022", "hz", "utf-16", "utf-32")  # may look like ASCII
_SUPERSETS = {  # what senders actually use when they declare the smaller charset
    "iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252", "ascii": "cp1252",
    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "ks_c_5601-1987": "cp949",
}  # fmt: skip
_NOT_CHARSETS = ("unicode", "raw_unicode", "raw-unicode", "idna", "punycode", "undefined", "mbcs")
_TAG = re.compile(r"(<[/!?]?[a-zA-Z][^<>]*>)")
_TAG_NAME = re.compile(r"</?([a-z0-9]+)")
_BLOCKS = re.compile("p|div|br|tr|li|ul|ol|table|h[1-6]|hr|pre|blockquote|section|article")
_HIDDEN = frozenset(("script", "style", "title"))

_MOST_BLANK = 20  # lines between an introduction and its quote
_QUOTED = re.compile(r"\s{0,3}>")
_WROTE = re.compile(
    r".{0,300}\b(?:wrote|writes|schrieb|a écrit|escribió|ha scritto|escreveu|skrev|schreef"
    r"|napisał|napisała|kirjoitti|yazdı|написал|написала|пишет)\b.{0,60}[:：]",
    re.IGNORECASE,
)
_SOURCE = re.compile(r"(?=.{0,300}(?:@|\b(?:19|20)\d\d\b)).{0,300}:")  # only before a quote
_OPENING = re.compile(r"(?:On|Am|Le|El|Il|Em|Op|Den|Dnia|At)\b.*\d")
_FORWARDED = re.compile(
    r"\s*-{2,}\s*(?:Original Message|Original Appointment|Forwarded Message|Forwarded by .{1,80}"
    r"|Ursprüngliche Nachricht|Weitergeleitete Nachricht|Message d'origine|Message transféré"
    r"|Mensaje original|Mensaje reenviado|Messaggio originale|Messaggio inoltrato"
    r"|Mensagem original|Mensagem encaminhada|Oorspronkelijk bericht|Doorgestuurd bericht)"
    r"\s*(?:-+\s*)?|Begin forwarded message:",
    re.IGNORECASE,
)
_SENDER = re.compile(r"[\s*]*(?:From|Von|De|Da|Van|Från|Fra|Od|От)[\s*]*:\s*\S")
_FIELD = re.compile(
    r"[\s*]*(?:Sent|Date|To|Cc|Subject|Gesendet|Datum|An|Betreff|Envoyé|À|Objet|Enviado|Fecha|Para"
    r"|Asunto|Inviato|Data|A|Oggetto|Assunto|Verzonden|Aan|Onderwerp)[\s*]*:"
)


def header_text(raw: str, notes: Notes, place: str) -> str:
    """Decode a header as the parser returns it: folded, raw 8-bit, or encoded by RFC 2047."""
    text = decode(raw.encode("utf-8", "surrogateescape"), notes, place)
    return decode_words(_FOLD.sub(" ", text).strip(), notes, place)


def decode_words(text: str, notes: Notes, place: str) -> str:
    """Decode encoded words; adjacent ones in the same charset may share a character."""
    parts: list[str] = []
    waiting, charset, end = list[bytes](), "", 0
    for found in _ENCODED.finditer(text):
        between = text[end : found.start()]
        new = found[1].partition("*")[0].lower()
        if waiting and (between.strip() or new != charset):
            parts.append(decode_as(b"".join(waiting), charset, notes, place))
            waiting = []
        if between.strip() or not end:
            parts.append(between)
        data = found[3].encode("utf-8", "replace")
        is_base64 = found[2] in "bB"
        waiting.append(_base64(data) if is_base64 else quopri.decodestring(data, header=True))
        charset, end = new, found.end()
    if waiting:
        parts.append(decode_as(b"".join(waiting), charset, notes, place))
    return "".join([*parts, text[end:]])


def _base64(data: bytes) -> bytes:
    """Decode leniently: ignore foreign characters, missing padding and a surplus last letter."""
    letters = _NOT_BASE64.sub(b"", data)
    letters = letters[: len(letters) - (len(letters) % 4 == 1)]
    return base64.b64decode(letters + b"=" * (-len(letters) % 4))


def decode_as(data: bytes, charset: str, notes: Notes, place: str) -> str:
    """Decode bytes whose declared charset may be wrong.

    Bytes beyond ASCII that are valid UTF-8 are always UTF-8.
    """
    charset = charset.strip("\"' ").lower()
    if not charset.startswith(_ESCAPING):
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            pass
    if not charset.startswith(_NOT_CHARSETS):
        try:
            return data.decode(_SUPERSETS.get(charset, charset))
        except (LookupError, ValueError):
            pass
    return decode(data, notes, place)


def body_text(mail: Message, notes: Notes, place: str) -> tuple[str, bool]:
    """Return the text of a mail, and whether quotes were removed from its HTML."""
    kind = mail.get_content_type()
    if mail.get_content_disposition() == "attachment" or kind.startswith("message/"):
        return "", False
    payload = _content(mail, kind)
    if isinstance(payload, list):
        parts = [part for part in payload if isinstance(part, Message)]
        if kind == "multipart/alternative":
            parts.sort(key=lambda part: part.get_content_type() != "text/plain")
            found = (body_text(part, notes, place) for part in parts)
            return next((pair for pair in found if pair[0].strip()), ("", False))
        texts = [body_text(part, notes, place) for part in parts]
        return "\n\n".join(text for text, _ in texts if text.strip()), any(c for _, c in texts)
    if not kind.startswith(("text/plain", "text/html", "multipart/")):
        return "", False
    text = decode_as(_payload(mail), _charset(mail), notes, place)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return html_text(text) if kind == "text/html" else (text, False)


def _content(mail: Message, kind: str) -> Any:
    """Return the parts or the text of a mail, whatever its charset is called."""
    try:
        return mail.get_payload()
    except ValueError:  # a NUL
        mail.replace_header("content-type", kind)
        return mail.get_payload()


def _payload(mail: Message) -> bytes:
    """Return the bytes of a part, even if it is truncated."""
    data = str(mail.get_payload()).encode("utf-8", "surrogateescape")
    encoding = str(mail.get("content-transfer-encoding", "")).strip().lower()
    if encoding == "base64":
        return _base64(data)
    return quopri.decodestring(data) if encoding == "quoted-printable" else data


def _charset(mail: Message) -> str:
    try:
        return mail.get_content_charset() or ""
    except (LookupError, ValueError):
        return ""


def html_text(source: str) -> tuple[str, bool]:
    """Return the text of HTML without quotes, and whether there were any."""
    parts: list[str] = []
    hidden, depth, was_cut = "", 0, False
    for part in _TAG.split(without_between(source, "<!--", "-->")):
        name = _TAG_NAME.match(part[:20].lower()) if part.endswith(">") else None
        tag, is_end = name[1] if name else "", part.startswith("</")
        if hidden:
            hidden = "" if is_end and tag == hidden else hidden
        elif not tag:
            parts.append("" if depth else html.unescape(part).replace("\n", " "))
        elif tag in _HIDDEN:
            hidden = "" if is_end else tag
        elif tag == "blockquote":
            depth = max(0, depth + (-1 if is_end else 1))
            was_cut = True
        if _BLOCKS.fullmatch(tag) and not hidden and not depth:
            parts.append("\n")
    lines = "".join(parts).replace("\xa0", " ").split("\n")
    return "\n".join(" ".join(line.split()) for line in lines), was_cut


def without_between(text: str, opening: str, closing: str) -> str:
    """Remove everything from an opening mark to the next closing one, in one pass."""
    parts, at = [], 0
    while (start := text.find(opening, at)) >= 0:
        end = text.find(closing, start)
        if end < 0:
            break
        parts.append(text[at:start])
        at = end + len(closing)
    return "".join([*parts, text[at:]])


def cut_quotes(text: str) -> tuple[str, set[str]]:
    """Remove quoted lines and their introductions, forwarded mails and the signature.

    Returns
    -------
    text : str
    cut : set of str
        The kinds of notes to count: quote_cut, signature_cut.
    """
    lines = text.split("\n")
    kept: list[str] = []
    in_quote = was_cut = has_signature = False
    for number, line in enumerate(lines):
        has_signature = _starts_signature(lines, number)
        if has_signature or _starts_forwarded(lines, number):
            was_cut |= not has_signature or _holds_quotes(lines[number:])
            break
        if line.startswith(">From ") and not in_quote and not _is_quoted(lines, number + 1):
            line = line[1:]  # undo the escape of mbox files
        is_quote = _QUOTED.match(line) is not None
        if is_quote and not in_quote:
            _drop_introduction(kept, before_quote=True)
        if not is_quote:
            kept.append(line.rstrip())
        was_cut |= is_quote
        in_quote = is_quote
    was_cut |= _drop_introduction(kept, before_quote=False)
    kinds = {"quote_cut"} if was_cut else set()
    return "\n".join(kept).strip(), kinds | ({"signature_cut"} if has_signature else set())


def _is_quoted(lines: list[str], number: int) -> bool:
    return number < len(lines) and _QUOTED.match(lines[number]) is not None


def _holds_quotes(lines: list[str]) -> bool:
    """Whether a signature is followed by the mail that is replied to."""
    return any(_QUOTED.match(line) or _starts_forwarded(lines, i) for i, line in enumerate(lines))


def _starts_signature(lines: list[str], number: int) -> bool:
    line = lines[number]
    return line == "-- " or (line == "--" and len(lines) - number <= 10)


def _starts_forwarded(lines: list[str], number: int) -> bool:
    """Whether a forwarded mail starts at a line."""
    line = lines[number]
    if line[:1] in "-B \t" and _FORWARDED.fullmatch(line):
        return True
    if _SENDER.match(line):
        return sum(_FIELD.match(field) is not None for field in lines[number + 1 : number + 6]) > 1
    return False


def _drop_introduction(kept: list[str], before_quote: bool) -> bool:
    """Drop "On ... wrote:" from the end of the kept lines, even if it was wrapped."""
    end = len(kept)
    while end and not kept[end - 1] and len(kept) - end < _MOST_BLANK:
        end -= 1
    if not end or not kept[end - 1]:
        return False
    last = kept[end - 1].strip()
    if not _WROTE.fullmatch(last) and not (before_quote and _SOURCE.fullmatch(last)):
        return False
    start = end - 1
    for number in range(end - 1, max(end - 4, -1), -1):
        if not kept[number]:
            break
        if _OPENING.match(kept[number].strip()):
            start = number
            break
    del kept[start:]
    return True
