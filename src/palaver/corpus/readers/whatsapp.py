"""WhatsApp chats exported as text, from Android or iOS, with any order of day, month and year.

A file is one conversation. Exports have local times without a zone, which are treated as
UTC. All dates of a file together decide whether 3/4 is in March or April.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, Rows, empty_table
from palaver.corpus.readers.folders import stem, texts
from palaver.corpus.readers.source import Source
from palaver.errors import FormatError

_MARKS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_M = f"[{_MARKS}]{{0,8}}"
_LATE = ("p", "下", "오후", "午後", "م", "μ")  # how "pm" starts
_START = re.compile(
    rf"""{_M}(?P<bracket>\[)?{_M}
    (?P<first>\d{{1,4}}){_M}(?P<mark>[./-])\s?{_M}(?P<second>\d{{1,2}}){_M}(?P=mark)\s?{_M}
    (?P<third>\d{{1,4}})\.?(?:[,،]|\s[^\W\d]{{1,4}}\.?)?\s{_M}
    (?P<before>上午|下午|오전|오후|午前|午後)?\s?
    (?P<hour>\d{{1,2}})[:.](?P<minute>\d{{2}})(?:[:.](?P<seconds>\d{{2}}))?
    \s?(?P<after>[AaPp]\.?\s?[Mm]\.?|[صم]|[πμ]\.μ\.)?{_M}
    (?(bracket)\]|\s[-–])(?:\s-)?\s?(?P<rest>.*)""",
    re.VERBOSE,
)
_NAME = re.compile(r"([^:]{1,100}?)\s?:(?:\s|$)")
_QUOTES = '"“”„«»'
#: Placeholders for files that were not exported, after "<" on Android and U+200E on iOS.
_OMITTED = re.compile(
    r"media omitted|(?:image|video|audio|gif|sticker|document|video note|contact card) omitted"
    r"|medien (?:ausgeschlossen|weggelassen)"
    r"|(?:bild|video|audio|gif|sticker|dokument|kontaktkarte) weggelassen"
    r"|multimedia omitido|archivo omitido|(?:imagen|video|audio|gif|sticker|documento) omitid[oa]"
    r"|médias? omis|fichier omis|(?:image|vidéo|audio|gif|sticker|document) absente?"
    r"|media omess[io]|(?:immagine|video|audio|gif|sticker|documento) (?:omess[oa]|esclus[oa])"
    r"|sticker non incluso|mídia oculta|arquivo de mídia oculto|ficheiro não revelado"
    r"|(?:imagem|vídeo|áudio|gif|figurinha|documento) ocultad[oa]"
    r"|media weggelaten|(?:afbeelding|video|audio|gif|sticker|document) weggelaten"
    r"|pominięto multimedia|(?:obraz|film|audio|naklejka|dokument) pominięt[oay]"
    r"|без медиафайлов|(?:изображение|видео|аудио|стикер|документ) отсутствует"
    r"|medya dahil edilmedi|(?:görüntü|video|ses|gif|çıkartma|belge) dahil edilmedi"
    r"|media tidak disertakan|media utelämnades|medier udeladt|mediefil er utelatt"
    r"|media jätetty pois|मीडिया के बिना|メディアは含まれていません|미디어 파일을 제외한 텍스트"
    r"|省略多媒体|省略多媒體|忽略多媒体文件|تم استبعاد الوسائط|המדיה לא נכללה",
    re.IGNORECASE,
)
_ATTACHED = re.compile(r"(?:IMG|VID|PTT|AUD|STK|GIF|DOC)-\d{8}-WA\d+\.\w+ \([^()]+\)")
_EDITED = re.compile(
    r"\u200e<[^<>:.\d]{5,60}\.?>|<(?:This message was edited|Diese Nachricht wurde bearbeitet"
    r"|Se editó este mensaje\.?|Questo messaggio è stato modificato|Ce message a été modifié"
    r"|Mensagem editada|Dit bericht is bewerkt)>"
)
_DELETED = re.compile(
    r"(?:this message was deleted|you deleted this message|diese nachricht wurde gelöscht"
    r"|du hast diese nachricht gelöscht|(?:se eliminó|eliminaste) este mensaje"
    r"|este mensaje fue eliminado|ce message a été supprimé|vous avez supprimé ce message"
    r"|questo messaggio è stato eliminato|hai eliminato questo messaggio"
    r"|(?:esta )?mensagem (?:foi )?apagada|você apagou esta mensagem"
    r"|dit bericht (?:is|werd) verwijderd|(?:je|u) hebt dit bericht verwijderd)\.?",
    re.IGNORECASE,
)


def looks_like(source: Source) -> bool:
    """Whether one of the first lines starts with a date and time in WhatsApp's form."""
    if source.is_tree:
        return any(map(_is_chat, source.names))
    lines = source.head_text.lstrip("\ufeff").split("\n", 12)[:12]
    return source.suffix in (".txt", "") and any(map(_START.match, lines))


def _is_chat(name: str) -> bool:
    """Whether a file of a folder or archive is the chat, rather than an image or sound."""
    last = name.rpartition("/")[2].lower()
    return last == "_chat.txt" or (last.startswith("whatsapp") and last.endswith(".txt"))


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read the chat, or each chat of a folder or archive."""
    tables = []
    for name, text in texts(source, notes, _is_chat):
        is_unnamed = source.is_tree and name.rpartition("/")[2].lower() == "_chat.txt"
        title = stem(name.rpartition("/")[0] or source.path.name if is_unnamed else name)
        try:
            tables.append(_read_chat(text, title, notes))
        except FormatError:
            if not source.is_tree:
                raise
            notes.add("bad_file", [name])
    tables = [table for table in tables if table.height]
    return pl.concat(tables, how="diagonal_relaxed") if tables else empty_table()


def _read_chat(text: str, title: str, notes: Notes) -> pl.DataFrame:
    """Read a chat: first all messages, then their times, which depend on all dates."""
    rows = Rows(notes)
    line = 0
    for line, start, more in _messages(text, notes):
        place = f"line {line}"
        named = _NAME.match(start["rest"])
        said = None
        if named is not None and sum(map(named[1].count, _QUOTES)) % 2 == 0:  # not "Plan: B"
            name = named[1].strip(_MARKS + "~ \u202f\u00a0")
            said = _said("\n".join([start["rest"][named.end() :], *more]), place, notes)
        if said is None:
            notes.add("system_message", [place])
            continue
        rows.add(conversation=title, speaker=name, text=said, place=line, **_date(start))
    if not line and text.strip():
        raise FormatError(f"{title}: no line starts with a date and time in WhatsApp's form")
    return _with_times(rows.table()) if len(rows) else rows.table()


def _messages(text: str, notes: Notes) -> Iterator[tuple[int, re.Match[str], list[str]]]:
    """Yield the number and match of each first line, with the lines that continue it."""
    start: re.Match[str] | None = None
    first, more = 0, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        found = _START.match(line)
        if found is None:
            if start is not None:
                more.append(line)
            elif line.strip():
                notes.add("bad_line", [f"line {number}"])
            continue
        if start is not None:
            yield first, start, more
        start, first, more = found, number, []
    if start is not None:
        yield first, start, more


def _said(text: str, place: str, notes: Notes) -> str | None:
    """Return what a person wrote; empty for media, None for a system notice.

    iOS puts U+200E before everything that WhatsApp itself wrote, even under a person's name.
    """
    text = _without_edit_mark(text.rstrip())
    first, _, rest = text.partition("\n")
    beside = _around_media(first)
    if beside is not None:
        caption = f"{beside}\n{rest}".strip(_MARKS + " \n")
        if not caption:
            notes.add("media_omitted", [place])
        return caption
    plain = first.strip(_MARKS + " ")
    if _DELETED.fullmatch(plain) and not rest:
        return ""
    if (
        first.startswith("\u200e") and not rest and ":" not in first
    ):  # otherwise a poll or a location
        return None
    return text.strip(_MARKS + " \n")


def _without_edit_mark(text: str) -> str:
    """Remove the words that WhatsApp appends to an edited text."""
    start = text.rfind("<")
    if start > 0 and text.endswith(">"):
        start -= text[start - 1] == "\u200e"
        if start and _EDITED.fullmatch(text, start):
            return text[:start].rstrip()
    return text


def _around_media(line: str) -> str | None:
    """Return the rest of a line that names a file; None if it names none."""
    before, mark, inserted = line.strip().rpartition("\u200e")
    is_named = bool(mark) and inserted.startswith("<") and inserted.endswith(">")
    if is_named or _OMITTED.fullmatch(inserted.strip("<> ")):
        return "" if "•" in before else before.strip("<")  # name • pages of a document
    return "" if _ATTACHED.fullmatch(line.strip(_MARKS + " ")) else None


def _date(start: re.Match[str]) -> dict[str, int | str | bool]:
    """Extract the numbers of the date and time from a match."""
    hour = int(start["hour"])
    half = start["before"] or start["after"]
    if half is not None and hour <= 12:
        hour = hour % 12 + 12 * half.lower().startswith(_LATE)
    return {
        "first": int(start["first"]),
        "second": int(start["second"]),
        "third": int(start["third"]),
        "clock": f"{hour:02}:{int(start['minute']):02}:{int(start['seconds'] or 0):02}",
        "american": half is not None and start["mark"] == "/",
    }


def _with_times(table: pl.DataFrame) -> pl.DataFrame:
    """Determine the order of day, month and year, and write times as ISO 8601.

    A number above 12 is not a month. If there is none, times increase only in the right
    order. A chat of a few days can leave it open; then the month is first with "AM" or "PM".
    """
    orders = {name: _iso(*name) for name in ("ymd", "dmy", "mdy")}
    facts = table.select(
        ymd=(pl.col("first") > 31).sum(),
        dmy=(pl.col("first") > 12).sum(),
        mdy=(pl.col("second") > 12).sum(),
        dmy_back=(orders["dmy"] < orders["dmy"].shift()).sum(),
        mdy_back=(orders["mdy"] < orders["mdy"].shift()).sum(),
        american=pl.col("american").first(),
    ).row(0, named=True)
    order = "mdy" if facts["american"] else "dmy"
    if 2 * facts["ymd"] > table.height:
        order = "ymd"
    elif facts["dmy"] != facts["mdy"]:
        order = "dmy" if facts["dmy"] > facts["mdy"] else "mdy"
    elif facts["dmy_back"] != facts["mdy_back"]:
        order = "dmy" if facts["dmy_back"] < facts["mdy_back"] else "mdy"
    return table.with_columns(time=orders[order]).drop(
        "first", "second", "third", "clock", "american"
    )


def _iso(*order: str) -> pl.Expr:
    """Return an expression for ISO times, given which of the three numbers is y, m and d."""
    parts = dict(zip(order, map(pl.col, ("first", "second", "third")), strict=True))
    year = pl.when(parts["y"] < 100).then(parts["y"] + 2000).otherwise(parts["y"])
    texts = [part.cast(pl.String).str.zfill(2) for part in (parts["m"], parts["d"])]
    day = pl.concat_str(year.cast(pl.String).str.zfill(4), *texts, separator="-")
    return pl.concat_str(day, pl.lit("T"), "clock")


FORMAT = Format("whatsapp", "WhatsApp chat exported as text", looks_like, read)
