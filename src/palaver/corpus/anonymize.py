"""Anonymizing a corpus: speakers, addresses, phone numbers, handles.

What is replaced, consistently throughout: speakers become ``p1``, ``p2``... in order of first
appearance; mail addresses become ``<email>`` and phone numbers ``<phone>``. A speaker's handle
(``@ann``), a speaker's name at the start of a message (``ann: ...``, ``ann, ...``) and the
sender's name, or part of it, on the last line of a message ("Best regards, Ann") become the new
name, and so does a speaker's whole name anywhere if it can hardly be anything else: five
characters or more, with a digit, a mark or a blank ("wanderer42", "Ann Miller"), or a word that
texts use no more than twice as often as its speaker writes ("hey wezzer", but not "linux"); names
of those who speak in most conversations may be roles, such as "agent", and are words. Other handles
become ``@someone``. Columns of contact data (mail, phone, IP address,
avatar...) are dropped, columns that name people get the new names, as do values that are a
speaker's name in any column, and columns whose name holds a speaker's are numbered. Conversations
and ids that contain an address, a phone number or a speaker's name are renumbered, and so are
conversations named by titles of several words or after files (WhatsApp, recordings).

What is **not** found: shorter and other names inside running text, signatures of several lines,
further nicknames, postal addresses, disguised addresses ("ann at example dot org"), numbers that do
not look like phone numbers, links to profiles, and anything people say about themselves. Read a
sample before sharing data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import polars as pl

from palaver.corpus.readers.base import COLUMNS

_HOST = r"\w[\w-]*(?:\.\w[\w-]*)"
_EMAIL = rf"<?[\w.%+-]*\w@{_HOST}*>?|\w[\w.+-]* ?[(\[]at[)\]] ?{_HOST}+"

_GAP = r"[ .\-\x{A0}\x{2010}-\x{2013}]"
_COUNTRY = r"(?:\+|00)[1-9]\d{0,2}"
_ABROAD = (  # with a country code: +4930123456, 0044 (0)20 7946 0958, +33 1 23 45 67 89
    r"\+[1-9]\d{7,14}",
    rf"{_COUNTRY}{_GAP}?\(0?\d{{1,4}}\){_GAP}?\d{{2,5}}(?:(?:{_GAP}|/)?\d{{2,5}}){{1,4}}",
    rf"{_COUNTRY}{_GAP}\d{{1,5}}(?:(?:{_GAP}|/)\d{{2,5}}){{0,3}}(?:{_GAP}|/)\d{{3,8}}",
    rf"{_COUNTRY}{_GAP}(?:\d{{1,2}}(?:{_GAP}\d{{2}}){{4}}|\d{{6,12}})",
)
_AT_HOME = (
    # North America: (555) 123-4567, 1-555-123-4567, 555.123.4567, 555 234 5678
    rf"(?:1{_GAP})?\(\d{{3}}\){_GAP}?\d{{3}}{_GAP}\d{{4}}",
    r"(?:1-)?\d{3}-\d{3}-\d{4}",
    r"(?:1\.)?[2-9]\d{2}\.\d{3}\.\d{4}",
    r"(?:1 )?[2-9]\d{2} [2-9]\d{2}[ -]\d{4}",
    # with the trunk prefix 0: 030 1234567, 020 7946 0958, (030) 123456, 01 23 45 67 89
    rf"0[1-9]\d{{1,3}}(?:{_GAP}|/)\d{{3,4}}{_GAP}?\d{{3,5}}",
    rf"\(0[1-9]\d{{0,3}}\) ?\d{{3,4}}{_GAP}?\d{{3,5}}",
    rf"0[1-9](?:{_GAP}\d{{2}}){{4}}",
    r"0[1-9][ -]\d{7,8}",
    r"0[1-9]\d{0,2}-\d{3,4}-\d{4}",
    # India and China: 98765 43210, 138 1234 5678
    r"[6-9]\d{4}[ -]\d{5}",
    r"1[3-9]\d[ -]\d{4}[ -]\d{4}",
)
# What may come before and after: nothing that continues a version, date, time, path or number.
_BEFORE = r"(^|[^\w.:/=#+-]|\D:)"
_AFTER = r"($|[^\w.:/-]|[.:/-](?:\D|$))"
_PHONES = tuple(f"{_BEFORE}(?:{'|'.join(some)}){_AFTER}" for some in (_ABROAD, _AT_HOME))
_CALLED = (
    r"(?i)\b((?:tel|telephone|telefon|phone|cell|mobile|fax|call|text|ring|dial|whatsapp)"
    rf"\b[^\d\n]{{0,20}})(?:\d{{7,13}}|\d{{3}}[ -]\d{{4}}){_AFTER}"
)

_HANDLE = r"^\w(?:[\w.-]*\w)?"
_UNKNOWN_HANDLE = r"^(?:[^\W\d]|\d{7}|\d+[\W_]*[^\W\d])"
_AMOUNT = r"(?i)^\d[\d.]*(?:am|pm|h|k|x|th|[kmg]?hz|[kmg]b|kg|km|mm|cm)?$"  # "@5pm"
_LONG_NUMBER = r"^\d{7}"
_PUNCTUATION = ".,:;!?)'\""
_EVERYONE = ("all", "here", "channel", "everyone", "room", "team", "someone")
_MARK = "\0"  # marks new names during the work; texts contain no NUL
_VOCATIVE = (
    rf"^((?:\s*@?{_MARK}p\d+\s*[:,])*\s*)"  # names that are already replaced
    rf"([^:,\n@{_MARK}]{{1,63}}[^:,\n@{_MARK}\s])(\s*(?:,(?:\s|$)|:(?:\D|$)))"
)
_VOCATIVES = 3  # names that one message may begin with
# "Best regards, Ann" as the last line: what comes before the name, and the name
_SIGNED = (
    r"(\n)((?:[^\n]{0,40}[,!])?[ \t~/*\x{2013}\x{2014}-]*)"
    r"([\w\[][\w .'\[\]-]{1,60}?)([ \t.,!]*\s*)\z"
)
_TITLE = r"\S\s+\S"  # several words, such as "Chat with Ann", rather than an id
_UNMISTAKABLE = r"[\d_\s^|`\\{}\[\]]|\w[.-]\w|\w-$"
_WORD = r"^\w+$"
_MENTIONS = 2  # per message of a speaker, up to which a word of that name is taken for the speaker
_ROLE, _ROLES_IN = 0.5, 10  # part of the conversations, if there are so many, that roles are in
_SHORTEST_UNMISTAKABLE = 5
_NAMES_AT_A_TIME = 5_000  # polars prepares for a search in time quadratic in the names
_SHORTEST_NAME = 3  # shortest speaker name to look for inside ids

_CONTACT = frozenset({
    "email", "emails", "mail", "mails", "phone", "phones", "telephone", "tel", "mobile", "fax",
    "ip", "ips", "ipaddress", "address", "password", "avatar", "profile", "homepage", "birthday",
    "birthdate", "signature",
})  # fmt: skip
_PERSON_WITH_NUMBER = frozenset({
    "user", "userid", "author", "sender", "caller", "callee", "speaker", "participant", "member",
    "addressee", "recipient", "owner", "customer",
})  # fmt: skip
_PERSON = _PERSON_WITH_NUMBER | {
    "users", "authors", "speakers", "participants", "members", "addressees", "recipients",
    "nick", "nickname", "username", "login", "handle", "realname", "fullname", "firstname",
    "lastname", "surname", "name", "mentions", "from", "to",
    "first", "last", "full", "display", "screen", "real",  # ... name
}  # fmt: skip
_AFTERTHOUGHTS = frozenset({
    "number", "no", "nr", "address", "hash", "url", "id", "ids", "name", "names", "key",
})  # fmt: skip


def anonymize(table: pl.DataFrame, *, titled: bool = False) -> pl.DataFrame:
    """Return a tidy table without names, addresses and phone numbers; see the module docstring.

    Rows keep their order.

    Parameters
    ----------
    table : DataFrame
    titled : bool
        Whether conversations are named after files, which people name freely.
    """
    people = _People(table)
    table = table.drop(name for name in table.columns[len(COLUMNS) :] if _meaning(name) in _CONTACT)
    renamed = _rename_places(table, people, titled)
    if not renamed["id"].equals(table["id"]):
        renamed = _follow_ids(renamed, table["id"])
    others = [_clean_column(renamed[name], people) for name in table.columns[len(COLUMNS) :]]
    signed = _replace_signatures(table["text"], table["speaker"], people)
    cleaned = renamed.with_columns(
        people.new_names(table["speaker"]), _clean_text(signed, people), *others
    )
    return _rename_columns(cleaned, people)


def _rename_columns(table: pl.DataFrame, people: _People) -> pl.DataFrame:
    """Replace names of further columns that hold a speaker's name by numbers."""
    names = pl.Series(table.columns[len(COLUMNS) :], dtype=pl.String)
    people_are = set(people.distinctive_names.str.to_lowercase())
    words = [set(re.findall(r"[^\W_]+", name.lower())) for name in names]
    known = pl.Series([not own.isdisjoint(people_are) for own in words], dtype=pl.Boolean)
    telling = names.filter(known | _holds(names, people.unmistakable_names))
    return table.rename({name: f"column{i}" for i, name in enumerate(telling, 1)})


class _People:
    """Speakers and their new names."""

    def __init__(self, table: pl.DataFrame) -> None:
        speakers, self._table = table["speaker"], table
        self._names = speakers.drop_nulls().unique(maintain_order=True)
        self._new = pl.Series([f"p{i}" for i in range(1, len(self._names) + 1)], dtype=pl.String)
        lower = self._names.str.to_lowercase()
        first = lower.is_first_distinct()
        self._lower, self._new_of_lower = lower.filter(first), self._new.filter(first)
        words = self._names.str.count_matches(r"\s+") + 1
        self.longest = min(int(words.max() or 1), 4)  # type: ignore[arg-type]

    @cached_property
    def unmistakable_names(self) -> pl.Series:
        """Names that can hardly mean anything but the person, even within a sentence."""
        long = self._names.filter(self._names.str.len_chars() >= _SHORTEST_UNMISTAKABLE)
        marked = long.str.contains(_UNMISTAKABLE)
        return pl.concat([long.filter(marked), self._rare_words(long.filter(~marked))])

    def _rare_words(self, names: pl.Series) -> pl.Series:
        """Return the names that texts use as a word no more often than of a person.

        The first word of a message does not count: it may address somebody.
        """
        names = names.filter(names.str.contains(_WORD))
        texts = self._table["text"].filter(_holds(self._table["text"], names))
        words = texts.str.to_lowercase().str.extract_all(r"\w+").list.slice(1)
        lower = names.str.to_lowercase()
        said = words.explode().rename("name").drop_nulls()
        said = said.filter(said.is_in(lower.implode()))
        used = said.value_counts(name="used")
        own = self._table.drop_nulls("speaker").select(
            pl.col("speaker").str.to_lowercase().alias("name"), "conversation"
        )
        spoken = own.group_by("name").agg(
            pl.len().alias("own"), pl.col("conversation").n_unique().alias("places")
        )
        found = (
            pl.DataFrame({"name": lower})
            .join(spoken, on="name", how="left", maintain_order="left")
            .join(used, on="name", how="left", maintain_order="left")
        )
        everywhere = max(_ROLE * self._table["conversation"].n_unique(), _ROLES_IN / 2)
        rare = (pl.col("used").fill_null(0) <= _MENTIONS * pl.col("own")) & (
            pl.col("places") <= everywhere
        )
        return names.filter(found.select(rare.fill_null(False)).to_series())

    @property
    def distinctive_names(self) -> pl.Series:
        """Names long enough to identify the person wherever they occur."""
        return self._names.filter(
            (self._names.str.len_chars() >= _SHORTEST_NAME) & ~self._names.str.contains(r"^\d+$")
        )

    def new_names(self, names: pl.Series) -> pl.Series:
        """Return new names, null for non-speakers; case matters only to tell speakers apart."""
        exact = names.replace_strict(self._names, self._new, default=None, return_dtype=pl.String)
        folded = names.str.to_lowercase().replace_strict(
            self._lower, self._new_of_lower, default=None, return_dtype=pl.String
        )
        return exact.zip_with(exact.is_not_null(), folded).alias(names.name)


def _clean_text(text: pl.Series, people: _People) -> pl.Series:
    """Replace addresses, phone numbers, handles and names at the start."""
    text = text.str.replace_all(_EMAIL, "<email>")
    for pattern in (*_PHONES, _CALLED):
        for _ in range(2):  # adjacent numbers share the character between them
            text = text.str.replace_all(pattern, "${1}<phone>${2}")
    text = _replace_vocatives(_replace_handles(text, people), people)
    text = _replace_whole_names(text, people)
    return text.str.replace_all(_MARK, "", literal=True)


def _replace_handles(text: pl.Series, people: _People) -> pl.Series:
    """Replace ``@name``: split texts at each ``@`` and look up what follows."""
    chosen = text.str.contains("@", literal=True).fill_null(False)
    if not chosen.any():
        return text
    rows = chosen.arg_true()
    pieces = pl.DataFrame({"row": rows, "piece": text.gather(rows).str.split("@")}).explode("piece")
    piece = pieces["piece"]
    follows = (pieces["row"] == pieces["row"].shift(1)).fill_null(False)  # an @ in the same text
    old, new = _find_names(piece, people)
    word = piece.str.extract(f"({_HANDLE})")
    unknown = word.str.contains(_UNKNOWN_HANDLE) & ~word.is_in(_EVERYONE)
    unknown &= ~word.str.contains(_AMOUNT) | word.str.contains(_LONG_NUMBER)
    old = old.zip_with(new.is_not_null(), word)
    new = new.zip_with(new.is_not_null() | ~unknown.fill_null(False), pl.Series(["someone"]))
    hit = follows & new.is_not_null()
    parts = pl.DataFrame({"row": pieces["row"], "piece": piece, "old": old, "new": new, "hit": hit})
    rest = pl.col("piece").str.strip_prefix(pl.col("old"))
    joined = (
        parts.with_columns(
            pl.when("hit")
            .then(pl.concat_str(pl.lit(_MARK), "new", rest))
            .otherwise("piece")
            .alias("piece")
        )
        .group_by("row", maintain_order=True)
        .agg(pl.col("piece").str.join("@"))
    )
    return text.scatter(joined["row"], joined["piece"])


def _find_names(piece: pl.Series, people: _People) -> tuple[pl.Series, pl.Series]:
    """Return the longest speaker name that each piece begins with, and its replacement."""
    spaced = [rf"^(\S+(?:\s+\S+){{{more}}})" for more in range(people.longest)]
    old = new = pl.Series(piece.name, [None] * len(piece), dtype=pl.String)
    for pattern in (f"({_HANDLE})", *spaced):
        found = piece.str.extract(pattern).str.strip_chars_end(_PUNCTUATION)
        known = people.new_names(found)
        old = found.zip_with(known.is_not_null(), old)
        new = known.zip_with(known.is_not_null(), new)
    return old, new


def _replace_vocatives(text: pl.Series, people: _People) -> pl.Series:
    """Replace speakers' names at the start of a message, as is customary in chats."""
    for _ in range(_VOCATIVES):
        new = people.new_names(text.str.extract(_VOCATIVE, 2))
        hit = new.is_not_null()
        if not hit.any():
            break
        frame = pl.DataFrame({"text": text, "new": new})
        replaced = frame.select(
            pl.concat_str(
                pl.col("text").str.extract(_VOCATIVE, 1),
                pl.lit(_MARK),
                "new",
                pl.col("text").str.extract(_VOCATIVE, 3),
                pl.col("text").str.replace(_VOCATIVE, ""),
            )
        ).to_series()
        text = replaced.zip_with(hit, text).alias(text.name)
    return text


def _replace_whole_names(text: pl.Series, people: _People) -> pl.Series:
    """Replace unmistakable names of speakers wherever they occur as whole words, or with a number.

    Accounts elsewhere are often called so: "gist.github.com/wezzer2010" may be by wezzer.
    """
    wanted = people.unmistakable_names
    rows = _holds(text, wanted).fill_null(False).arg_true()
    if not len(rows):
        return text
    new = dict(zip(wanted.str.to_lowercase(), people.new_names(wanted), strict=True))
    chosen = text.gather(rows)
    found: list[set[str]] = [set() for _ in rows]
    for some in _at_a_time(wanted):
        hits = chosen.str.extract_many(some, ascii_case_insensitive=True, overlapping=True)
        for own, names in zip(found, hits.to_list(), strict=True):
            own.update(name.lower() for name in names)
    changed = []
    for one, own in zip(chosen.to_list(), found, strict=True):
        known = "|".join(map(re.escape, sorted(own, key=len, reverse=True)))
        whole = re.compile(rf"(?<!\w)({known})(?:(?<!\d)\d+)?(?!\w)", re.IGNORECASE)
        changed.append(whole.sub(lambda name: f"{_MARK}{new.get(name[1].lower(), name[1])}", one))
    return text.scatter(rows, pl.Series(changed, dtype=pl.String))


def _replace_signatures(text: pl.Series, speakers: pl.Series, people: _People) -> pl.Series:
    """Replace the sender's own name, or part of it, on the last line of a message."""
    frame = pl.DataFrame(
        {"text": text, "speaker": speakers.str.to_lowercase(), "new": people.new_names(speakers)}
    )
    words = pl.col("speaker").str.extract_all(r"\w+")
    initials = words.list.eval(pl.element().str.slice(0, 1))
    last = pl.col("text").str.extract(_SIGNED, 3).str.to_lowercase().str.extract_all(r"\w+")
    is_name = (last.list.eval(pl.element().str.len_chars() > 1).list.any()) & (
        last.list.set_difference(words.list.concat(initials)).list.len() == 0
    )
    before = pl.concat_str(pl.col("text").str.replace(_SIGNED, ""),
                           *(pl.col("text").str.extract(_SIGNED, i) for i in (1, 2)))  # fmt: skip
    new = pl.concat_str(before, pl.lit(_MARK), "new", pl.col("text").str.extract(_SIGNED, 4))
    chosen = is_name.fill_null(False) & new.is_not_null()
    return frame.select(pl.when(chosen).then(new).otherwise("text").alias(text.name)).to_series()


def _rename_places(table: pl.DataFrame, people: _People, titled: bool) -> pl.DataFrame:
    """Replace names of conversations and messages that would identify somebody by numbers."""
    changes: list[pl.Expr | pl.Series] = []
    titled = titled or bool(table["conversation"].str.contains(_TITLE).any())
    if titled or _identifies(
        table["conversation"], people
    ):  # messages of a conversation are adjacent
        changes.append(pl.format("c{}", pl.col("conversation").rle_id() + 1).alias("conversation"))
    if _identifies(table["id"], people):
        key = ["conversation", "id"]
        rows = table.select(*key, new=pl.format("m{}", pl.int_range(1, pl.len() + 1)))
        parents = table.select("conversation", id="reply_to").join(
            rows, on=key, how="left", maintain_order="left"
        )
        changes += [rows["new"].alias("id"), parents["new"].alias("reply_to")]
    return table.with_columns(changes)


def _follow_ids(table: pl.DataFrame, old: pl.Series) -> pl.DataFrame:
    """Update further columns that refer to messages by their old ids."""
    new = table["id"].filter(old.is_first_distinct())
    old = old.unique(maintain_order=True)
    schema = table.drop(COLUMNS).schema
    words = [name for name, dtype in schema.items() if dtype == pl.String]
    lists = [name for name, dtype in schema.items() if dtype == pl.List(pl.String)]
    return table.with_columns(
        pl.col(words).replace(old, new), pl.col(lists).list.eval(pl.element().replace(old, new))
    )


def _identifies(names: pl.Series, people: _People) -> bool:
    """Whether names contain an address, a phone number or a speaker's name."""
    if any(names.str.contains(pattern).any() for pattern in (_EMAIL, *_PHONES)):
        return True
    return bool(_holds(names.unique(), people.distinctive_names).any())


def _holds(texts: pl.Series, names: pl.Series) -> pl.Series:
    """Return whether each text contains one of the names."""
    found = pl.repeat(False, len(texts), eager=True)
    for some in _at_a_time(names):
        found |= texts.str.contains_any(some, ascii_case_insensitive=True).fill_null(False)
    return found


def _at_a_time(names: pl.Series) -> Iterator[pl.Series]:
    """Yield names in lists that polars is quick to search for."""
    for first in range(0, len(names), _NAMES_AT_A_TIME):
        yield names[first : first + _NAMES_AT_A_TIME].implode()


def _clean_column(column: pl.Series, people: _People) -> pl.Series:
    """Clean a further column: new names for people, the rules for texts for other strings."""
    meaning = _meaning(column.name)
    if column.dtype == pl.String:
        clean = _new_person_names if meaning in _PERSON else _clean_text
        known = people.new_names(column)
        is_name = known.is_not_null() & column.is_in(people.distinctive_names.implode())
        return known.zip_with(is_name.fill_null(False), clean(column, people)).alias(column.name)
    if column.dtype == pl.List(pl.String):
        words = column.explode().drop_nulls().unique().rename(column.name)
        new = pl.element().replace_strict(words, _clean_column(words, people), default=None)
        return column.to_frame().select(pl.first().list.eval(new)).to_series()
    if column.dtype.is_integer() and meaning in _PERSON_WITH_NUMBER:
        return _new_person_names(column.cast(pl.String), people)
    return column


def _new_person_names(names: pl.Series, people: _People) -> pl.Series:
    """Give speakers their new names, and number other people in order of appearance."""
    known = people.new_names(names)
    others = names.filter(known.is_null()).drop_nulls().unique(maintain_order=True)
    numbers = pl.Series([f"other{i}" for i in range(1, len(others) + 1)], dtype=pl.String)
    made = names.replace_strict(others, numbers, default=None, return_dtype=pl.String)
    return known.zip_with(known.is_not_null(), made).alias(names.name)


def _meaning(name: str) -> str:
    """Return the word in a column's name that says what it holds: ``user`` in ``userId2``."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    lower = [word.lower() for word in words]
    while len(lower) > 1 and lower[-1] in _AFTERTHOUGHTS:
        lower.pop()
    return lower[-1] if lower else ""
