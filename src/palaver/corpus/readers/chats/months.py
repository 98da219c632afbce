"""Names of months in the languages in which programs write dates."""

from __future__ import annotations

#: How months begin in English, German, French, Spanish, Portuguese, Italian, Dutch and Russian.
_MONTHS: tuple[tuple[str, ...], ...] = (
    ("jan", "jän", "ene", "gen", "янв"),
    ("feb", "fev", "fév", "фев"),
    ("mar", "mär", "maa", "mrt", "мар"),
    ("apr", "avr", "abr", "апр"),
    ("may", "mai", "mag", "mei", "мая", "май"),
    ("jun", "juin", "giu", "июн"),
    ("jul", "juil", "lug", "июл"),
    ("aug", "aoû", "ago", "авг"),
    ("sep", "set", "сен"),
    ("oct", "okt", "out", "ott", "окт"),
    ("nov", "ноя"),
    ("dec", "dez", "déc", "dic", "дек"),
)
_STARTS = {start: number for number, names in enumerate(_MONTHS, 1) for start in names}
#: Weekdays that begin like a month.
_DAYS = ("mardi", "martes", "martedì", "maandag")


def month_of(word: str) -> int | None:
    """Return the number of a month, from 1; None if the word is no month."""
    lower = word.lower()
    if lower in _DAYS:
        return None
    return _STARTS.get(lower[:4]) or _STARTS.get(lower[:3])
