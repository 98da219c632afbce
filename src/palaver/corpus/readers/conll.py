"""Tagged sentences in CoNLL columns (`word PoS chunk`) or CoNLL-U; a sentence is a message."""

from __future__ import annotations

import re

import polars as pl

from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import Format, empty_table
from palaver.corpus.readers.folders import stem, texts
from palaver.corpus.readers.source import Source

_SUFFIXES = (".conllu", ".conll", ".conll2000", ".iob", ".iob2", ".bio")
_UNIVERSAL_LINE = re.compile(r"\d+(?:[-.]\d+)?\t[^\n\t]*(?:\t[^\n\t]*){8}(?:\n|$)")
_COMMENT_LINES = re.compile(r"(?:#[^\n]*\n)*")
_CHUNK = r"^(?:O|[BIESLU]-\S+)$"
_UNIVERSAL = ("number", "tokens", "lemma", "upos", "xpos")  # then features, head, relation...
_NO_VALUE = ("_", "-", "*")


def looks_like(source: Source) -> bool:
    """Whether the name says CoNLL, or blank lines separate blocks of equally many columns."""
    if source.is_tree:
        return any(name.lower().endswith(_SUFFIXES) for name in source.names)
    if source.suffix in _SUFFIXES:
        return True
    head = source.head_text.removeprefix("\ufeff").replace("\r\n", "\n")
    return _is_universal(head) or _is_columns(head)


def _is_universal(text: str) -> bool:
    """Whether the first line that is not a comment is a token of CoNLL-U."""
    text = text.lstrip("\n")
    start = _COMMENT_LINES.match(text)
    return start is not None and _UNIVERSAL_LINE.match(text, start.end()) is not None


def _is_columns(text: str) -> bool:
    """Whether two or more blocks share a number of columns, of which the later ones are labels."""
    blocks = [block for block in re.split(r"\n[ \t]*\n", text.strip("\n"))[:50] if block.strip()]
    rows = [line.split() for block in blocks for line in block.split("\n")]
    widths = {len(row) for row in rows if row and row[0] != "-DOCSTART-"}
    if len(blocks) < 2 or len(rows) < 2 * len(blocks) or len(widths) != 1:
        return False
    labels = {row[1] for row in rows if len(row) > 1}
    return 2 <= widths.pop() <= 14 and len(labels) <= 0.5 * len(rows) + 5


def read(source: Source, notes: Notes) -> pl.DataFrame:
    """Read sentences; each document, or else the file, is a conversation."""
    tables = []
    for name, text in texts(source, notes, lambda name: name.endswith(_SUFFIXES)):
        lines = pl.DataFrame({"line": text.split("\n")}).with_row_index("place", 1)
        universal = name.lower().endswith(".conllu") or _is_universal(text)
        lines = lines.with_columns(
            pl.col("line").str.strip_chars(" \t" if not universal else " ")
        ).with_columns((pl.col("line") == "").cum_sum().alias("sentence"))
        lines = lines.filter(pl.col("line") != "")
        if lines.height:
            reader = _read_universal if universal else _read_columns
            table = reader(lines, stem(name, *_SUFFIXES), name, notes)
            tables.append(table.with_columns(pl.format(f"{_escaped(name)} line {{}}", "place")))
    if not tables:
        return empty_table()
    return pl.concat(tables, how="diagonal_relaxed")


def _escaped(name: str) -> str:
    return name.replace("{", "{{").replace("}", "}}")


def _count_bad(lines: pl.DataFrame, name: str, notes: Notes) -> None:
    places = [f"{name} line {number}" for number in lines["place"].head(10)]
    notes.add("bad_line", places, lines.height)


def _read_columns(lines: pl.DataFrame, base: str, name: str, notes: Notes) -> pl.DataFrame:
    """Read plain columns; their values show what each one holds."""
    tokens = _split(lines, name, notes)
    names = _name_columns(tokens)
    if "file" in names.values():
        document = pl.col("file").list.first()
    else:
        numbered = pl.format("{}:{}", pl.lit(base), pl.col("document"))
        document = pl.when(pl.col("document") > 0).then(numbered).otherwise(pl.lit(base))
    kept = [theirs for theirs in names.values() if theirs not in ("tokens", "file")]
    return (
        tokens.rename(names)
        .group_by("sentence", maintain_order=True)
        .agg(*names.values(), pl.col("document", "place").first())
        .select(
            document.alias("conversation"),
            pl.int_range(1, pl.len() + 1).cast(pl.String).alias("id"),
            *_nothing("reply_to", "speaker", "time"),
            pl.col("tokens").list.join(" ").alias("text"),
            "tokens",
            *kept,
            "place",
        )
    )


def _split(lines: pl.DataFrame, name: str, notes: Notes) -> pl.DataFrame:
    """Split lines into column1, column2...; count lines with a different number of columns."""
    line = pl.col("line")
    has_tabs = line.str.contains("\t", literal=True).mean() > 0.9  # then words may contain blanks
    starts = line.str.starts_with("-DOCSTART-")
    tabbed = pl.when(has_tabs).then(line).otherwise(line.str.replace_all(r"[ \t]+", "\t"))
    lines = lines.with_columns(
        tabbed.str.split("\t").alias("fields"), starts.cum_sum().alias("document")
    ).filter(~starts)
    # "#" can be a token, so only lines that do not fit are comments
    is_comment = line.str.starts_with("#")
    widths = lines.filter(~is_comment)["fields"].list.len()
    width = int(max(widths.mode().to_list(), default=0))
    fits = pl.col("fields").list.len() == width
    _count_bad(lines.filter(~fits & ~is_comment), name, notes)
    columns = [
        pl.col("fields").list.get(at).alias(f"column{at + 1}") for at in range(max(width, 1))
    ]
    return lines.filter(fits).with_columns(columns)


def _name_columns(tokens: pl.DataFrame) -> dict[str, str]:
    """Name the columns: word, part of speech, chunk, named entity, file, or by number."""
    names = {"column1": "tokens"}
    for column in tokens.columns[tokens.columns.index("column1") + 1 :]:
        if tokens[column].str.contains(_CHUNK).all():
            free = [name for name in ("chunk", "ner") if name not in names.values()]
            names[column] = free[0] if free else column
        elif column == "column2":
            names[column] = "pos"
        elif "file" not in names.values() and _is_file(tokens, column):
            names[column] = "file"
        else:
            names[column] = column
    return names


def _is_file(tokens: pl.DataFrame, column: str) -> bool:
    """Whether a column is constant within each sentence of several words."""
    values = tokens.group_by("sentence").agg(pl.col(column).n_unique().alias("n"), pl.len())
    named = not tokens[column].is_in(_NO_VALUE).any()
    return bool(named and (values["n"] == 1).all() and (values["len"] > 1).any())


def _nothing(*names: str) -> list[pl.Expr]:
    return [pl.lit(None, pl.String).alias(name) for name in names]


def _read_universal(lines: pl.DataFrame, base: str, name: str, notes: Notes) -> pl.DataFrame:
    """Read CoNLL-U: words without multiword ranges and empty nodes, names from comments."""
    is_comment = pl.col("line").str.starts_with("#")
    parts = (
        lines.filter(~is_comment)
        .with_columns(pl.col("line").str.split("\t").alias("fields"))
        .with_columns(pl.col("fields").list.get(0).alias("number"))
    )
    legal = (pl.col("fields").list.len() == 10) & pl.col("number").str.contains(
        r"^\d+(?:[-.]\d+)?$"
    )
    _count_bad(parts.filter(~legal), name, notes)
    words = parts.filter(legal & ~pl.col("number").str.contains(r"[-.]")).with_columns(
        pl.col("fields").list.get(at).alias(_UNIVERSAL[at]) for at in (1, 3, 4)
    )
    sentences = words.group_by("sentence", maintain_order=True).agg(
        "tokens", "upos", "xpos", pl.col("place").first()
    )
    facts = _comments(lines.filter(is_comment), base)
    joined = sentences.join(facts, on="sentence", how="left", maintain_order="left")
    return joined.select(
        pl.col("document").forward_fill().fill_null(base).alias("conversation"),
        pl.coalesce("sent_id", pl.int_range(1, pl.len() + 1).cast(pl.String)).alias("id"),
        *_nothing("reply_to"),
        "speaker",
        *_nothing("time"),
        pl.coalesce("text", pl.col("tokens").list.join(" ")).alias("text"),
        "tokens",
        "upos",
        "xpos",
        "place",
    )


def _comments(lines: pl.DataFrame, base: str) -> pl.DataFrame:
    """Return document, sent_id, text and speaker of each sentence, if comments give them."""
    line = pl.col("line")
    opens = line.str.contains(r"^#\s*newdoc\b")
    named = line.str.extract(r"^#\s*newdoc(?:\s+id)?\s*=\s*(.+)$", 1)
    document = pl.coalesce(named, pl.format("{}:{}", pl.lit(base), opens.cum_sum()))
    keys = {"sent_id": "sent_id", "text": "text", "speaker": "speaker(?:_id)?"}
    return (
        lines.with_columns(
            pl.when(opens).then(document).alias("document"),
            *(line.str.extract(rf"^#\s*{p}\s*=\s*(.*)$", 1).alias(key) for key, p in keys.items()),
        )
        .group_by("sentence")
        .agg(pl.col("document", *keys).drop_nulls().first())
    )


FORMAT = Format("conll", "tagged sentences in CoNLL columns or CoNLL-U", looks_like, read)
