"""``palaver annotate``: write a file with the class of each message."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palaver.cli.options import Anonymize, Chain, Column, Format, Json, Run, Spreadsheet, Where
from palaver.cli.talks import NamesFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from palaver.corpus.table import Corpus
    from palaver.models import ModelSummary

NAME = "annotate"


def run(
    folder: Run,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="[FILE] OUT",
            help="Conversations (default: the file that the run was fitted on), and the output: "
            "x.jsonl, x.jsonl.gz, x.parquet, x.csv, or a folder (ConvoKit).",
            show_default=False,
        ),
    ],
    sweeps: Annotated[int, typer.Option(help="Sweeps over the new conversations.")] = 50,
    spreadsheet: Spreadsheet = False,
    names: NamesFile = None,
    where: Where = None,
    anonymize: Anonymize = False,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Write FILE to OUT and add the class of each message.

    The new columns are class, class_probability and share_0, share_1, ...; class_name if the
    classes have names: yours (`palaver report --names`), those of labels, or proposed ones. A
    tagger adds tag and tag_probability instead. FILE may hold new conversations; by default it is
    read with the --column, --format and --chain that the run was fitted with.

    Example: `palaver annotate run/ threads.jsonl tagged.jsonl`

    Example: `palaver annotate run/ tagged.csv`
    """
    from palaver.cli import runs
    from palaver.cli.output import console, folding, print_json
    from palaver.models import load

    file, out = _places(folder, files)
    model = load(folder)
    if names is not None:
        runs.keep_names(folder, names, model)
        model = load(folder)
    corpus = runs.corpus_of(folder, file, format, column, chain, where)
    with folding("finding classes"):
        tagged = model.annotate(corpus, sweeps)
    summary = model.summary()
    given = runs.names_of(folder, summary)
    own = summary.class_names if summary.tags is None else {}
    tagged = _with_names(tagged, own | given, summary.tags)
    if anonymize:
        tagged = _anonymized(tagged, summary)
    path = _rounded(tagged).write(out, spreadsheet=spreadsheet)
    if json:
        print_json({"out": str(path), "messages": tagged.n_messages})
    else:
        what = "tags" if summary.tags else "classes"
        console.print(f"{tagged.n_messages:,} messages with their {what} -> {path}", soft_wrap=True)
        if summary.proposed - set(given):
            console.print("class_name has names that the model proposes where you gave none.")


def _places(folder: Path, files: list[Path]) -> tuple[Path | None, Path]:
    """Return FILE (None: the run's own) and OUT; refuse up front to overwrite an input."""
    from palaver.cli.options import check_out, command
    from palaver.errors import InputError

    if len(files) > 2:
        raise typer.BadParameter(f"takes RUN, FILE and OUT, got {len(files) - 2} more")
    *given, out = files
    if given:
        check_out(out, given[0])
        return given[0], out
    if out.exists():
        raise InputError(
            f"{out}: already exists. If it is your input, add an output: "
            f"{command('annotate', folder, out, 'OUT')}; otherwise choose another name or delete it"
        )
    check_out(out, out)
    return None, out


def _anonymized(tagged: Corpus, summary: ModelSummary) -> Corpus:
    """Return tagged messages without people; names of classes that quote them are left out."""
    import polars as pl

    from palaver.encoding.hidden import hidden_words, tells
    from palaver.encoding.tokenizer import split_words

    shown = tagged.anonymized()
    if "class_name" not in shown.table.columns:
        return shown
    before, after = (split_words(each.table["text"]) for each in (tagged, shown))
    hidden = hidden_words(tagged.table["speaker"], before, after, summary.words["word"].to_list())
    named = tagged.table["class_name"].drop_nulls().unique()
    given = {summary.class_names[k] for k in summary.named}
    kept = [name for name in named if name in given or not tells(name, hidden)]
    own = pl.when(pl.col("class_name").is_in(kept)).then("class_name")
    return shown.with_columns(class_name=tagged.table.select(own).to_series())


def _rounded(tagged: Corpus) -> Corpus:
    """Round shares and probabilities to six decimals: nobody needs 3.5e-121."""
    import polars as pl

    names = tagged.table.select(pl.col(r"^(share_\d+|class_probability|tag_probability)$")).columns
    return tagged.with_columns(**{name: tagged.table[name].round(6) for name in names})


def _with_names(tagged: Corpus, names: Mapping[int, str], tags: list[str] | None) -> Corpus:
    """Add the names of classes, or those that the user gave to a tagger's tags."""
    import polars as pl

    if not names:
        return tagged
    if tags is None:
        called = [names.get(number) for number in tagged.table["class"]]
    else:
        by_tag = {tags[number]: name for number, name in names.items()}
        called = [by_tag.get(tag) for tag in tagged.table["tag"]]
    return tagged.with_columns(class_name=pl.Series(called, dtype=pl.String))
