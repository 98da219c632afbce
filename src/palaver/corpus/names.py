"""Column names: ours, the ones other programs use, and how they are matched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import polars as pl

from palaver.errors import ColumnError, CorpusError

#: Names that other programs give to our columns; the first one present is used.
ALIASES: dict[str, tuple[str, ...]] = {
    "conversation": (
        "conversation_id", "conv_id", "dialogue_id", "dialog_id", "thread_id", "thread",
        "dialogue", "conversation_no", "root",
    ),
    "id": ("message_id", "msg_id", "utterance_id", "post_id", "comment_id"),
    "reply_to": ("reply-to", "in_reply_to", "parent_id", "parent", "replyto"),
    "speaker": ("speaker_id", "user", "author", "sender", "user_id", "username", "from", "caller",
                "who"),
    "time": ("timestamp", "created_at", "created_utc", "datetime", "date", "ts", "when"),
    "text": ("body", "message", "content", "utterance", "comment", "transcript", "msg"),
}  # fmt: skip

#: Words for a conversation in names of columns: English, Chinese, Spanish, Arabic, French,
#: Portuguese, Russian, German, Hindi, Bengali.
CONVERSATION_WORDS = (
    "conv",
    "dialog",
    "thread",
    "chat",
    "session",
    "ticket",
    "case",
    "call",
    "meeting",
    "topic",
    "episode",
    "interview",
    "room",
    "channel",
    "对话",
    "会话",
    "對話",
    "會話",
    "聊天",
    "conversaci",
    "diálogo",
    "dialogo",
    "hilo",
    "sesi",
    "محادثة",
    "حوار",
    "جلسة",
    "fil",
    "conversa",
    "sess",
    "диалог",
    "беседа",
    "чат",
    "сесси",
    "тема",
    "gespräch",
    "gespraech",
    "sitzung",
    "unterhaltung",
    "बातचीत",
    "वार्ता",
    "संवाद",
    "কথোপকথন",
    "সংলাপ",
    "আলাপ",
)

#: Where a row was in its file. Users' tables may have columns of any name, so readers of such
#: tables use this one, and leave a column called ``place`` alone.
PLACE = "\0place"

#: Number of cells in a row of a CSV file, where some rows end early.
CELLS = "\0cells"

_OURS = tuple(ALIASES)
_WORD = re.compile(r"[^\W\d_]+")
_SHORT = 4  # letters; shorter words for a conversation must be whole words, as "fil" in "fil_no"


def names_conversations(name: str) -> bool:
    """Whether a column's name has a word for a conversation in one of the common languages."""
    lower = name.lower()
    words = _WORD.findall(lower)
    for known in CONVERSATION_WORDS:
        if not known.isascii():  # scripts whose vowels are marks, or that put no blanks
            if known in lower:
                return True
        elif any(w == known or (len(known) >= _SHORT and w.startswith(known)) for w in words):
            return True
    return False


def is_about_subjects(name: str) -> bool:
    """Whether a column's name may mean a subject as well as a conversation."""
    return any(word in name.lower() for word in ("topic", "тема"))


def text_column(names: Iterable[str], columns: Mapping[str, str] | None = None) -> str | None:
    """Return which of a file's columns holds the texts, or None if none is known to."""
    if columns and "text" in columns:
        return columns["text"]
    by_lower = {name.strip().lower(): name for name in reversed(list(names))}
    return next((by_lower[a] for a in ("text", *ALIASES["text"]) if a in by_lower), None)


def names_for_ours(columns: Iterable[str]) -> set[str]:
    """Return which of a table's columns are ours, or may stand in for ours that are missing."""
    lower = {name.strip().lower(): name for name in columns}
    missing = [ours for ours in _OURS if ours not in lower]
    wanted = {*_OURS, *(alias for ours in missing for alias in ALIASES[ours])}
    return {name for key, name in lower.items() if key in wanted}


def name_columns(
    raw: pl.DataFrame, columns: Mapping[str, str]
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Give a table's columns our names: as mapped, or else by their usual names.

    Returns
    -------
    table : DataFrame
    taken : dict
        Maps our names to the file's, for the columns that were found.

    Raises
    ------
    CorpusError
        The mapping names a column that does not exist, or no column holds texts.
    """
    _check_mapping(raw, columns)
    header, taken = _listed(raw), dict(columns)
    renames = {theirs: ours for ours, theirs in columns.items()}
    displaced = [ours for ours in columns if ours in raw.columns and ours not in renames]
    raw = raw.drop(displaced).rename(renames)
    by_lower = {name.strip().lower(): name for name in reversed(raw.columns)}
    for ours in _OURS:
        if ours in raw.columns:
            taken.setdefault(ours, ours)
            continue
        for alias in (ours, *ALIASES[ours]):
            if alias in by_lower and by_lower[alias] in raw.columns:
                taken[ours] = by_lower[alias]
                raw = raw.rename({by_lower[alias]: ours})
                break
    if "text" not in raw.columns and raw.height:
        likely = _likely_text(raw)
        asked = f"is it {likely!r}? Name it" if likely else "name the one that does"
        raise CorpusError(
            f"none of {header} is known to hold texts; {asked} with "
            f'columns={{"text": "{likely or "..."}"}} (--column text={likely or "..."})'
        )
    return raw, {ours: taken[ours] for ours in _OURS if ours in taken}


def _likely_text(raw: pl.DataFrame) -> str | None:
    """Return the column with most words in a value, if most of its values have several."""
    found = {
        column.name: float(column.str.count_matches(r"\s\S").mean() or 0)  # type: ignore[arg-type]
        for column in raw.iter_columns()
        if column.dtype == pl.String and column.name not in (PLACE, CELLS)
    }
    best = max(found, key=lambda name: found[name], default=None)
    return best if best is not None and found[best] >= 1 else None


def _check_mapping(raw: pl.DataFrame, columns: Mapping[str, str]) -> None:
    for ours, theirs in columns.items():
        if ours not in _OURS:
            raise CorpusError(
                f"columns= maps our names to the file's names; {ours!r} is not one of "
                f"{', '.join(_OURS)}"
            )
        if theirs not in raw.columns:
            raise ColumnError(
                f"columns= (--column {ours}={theirs}) maps {ours!r} to {theirs!r}, "
                f"but the file has only {_listed(raw)}",
                raw.columns,
            )
    if len(set(columns.values())) < len(columns):
        raise CorpusError("columns= maps two of our columns to the same column of the file")


def _listed(raw: pl.DataFrame) -> str:
    return ", ".join(repr(name) for name in raw.columns if name not in (PLACE, CELLS)) or "none"
