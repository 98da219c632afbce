"""``palaver perplexity``: how well a run predicts words of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from palaver.cli.options import Chain, Column, FileOfRun, Format, Json, Run, Where

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "perplexity"
_BATCH = 2000  # documents at a time


class _Judged(NamedTuple):
    perplexity: float
    words: int
    documents: int


def run(
    folder: Run,
    file: FileOfRun = None,
    observed: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=0.99,
            help="Topics of documents: share of each document's words that is shown; the others "
            "are predicted.",
        ),
    ] = 0.9,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of that split.")] = 0,
    where: Where = None,
    chain: Chain = False,
    format: Format = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Say how well a run predicts the words of FILE; lower is better.

    A perplexity of 1000 means that words are as hard to guess as one of 1000 equally likely
    ones. Judge by texts that the run has not learned from: those it knows look too easy. Models
    of documents (markov-m3, nested-hdp, online-lda) predict some words of each document from its
    others, and a bag of words (docword.*) may be larger than memory; models of talk predict every
    word from the messages before. Words that the run does not know are left out.

    Example: `palaver perplexity run/ docword.unseen.txt.gz`
    """
    from palaver.cli.output import console, counted, print_json
    from palaver.errors import ParameterError
    from palaver.models import load

    model: Any = load(folder).origin
    if not hasattr(model, "perplexity"):
        raise ParameterError(f"{model.name} does not predict words; `palaver evaluate` judges it")
    if hasattr(model, "fit_stream"):
        reading = (format, column, chain, where)
        found = _of_documents(model, folder, file, observed, seed, reading)
    else:
        found = _of_talk(model, folder, file, format, column, chain, where)
    if json:
        print_json(found._asdict())
        return
    console.print(f"perplexity {found.perplexity:,.1f}", style="bold", highlight=False)
    unit = "document" if hasattr(model, "fit_stream") else "message"
    console.print(
        f"of {counted(found.words, 'word')} of {counted(found.documents, unit)}"
        f"{'' if file else ', which the run has learned from: unseen ones are harder'}."
    )


def _of_documents(
    model: Any,
    folder: Path,
    file: Path | None,
    observed: float,
    seed: int,
    reading: tuple[Any, ...],
) -> _Judged:
    """Judge documents, a batch at a time."""
    import numpy as np

    from palaver.errors import CorpusError
    from palaver.models.documents.heldout import hold_out_words

    total = words = 0.0
    documents = 0
    for number, batch in enumerate(_batches(model, folder, file, reading)):
        parts = hold_out_words(batch, observed, seed + number)
        found, hidden = model.log_predictive(*parts)
        total, words = total + found, words + hidden
        documents += batch.n_documents
    if not words:
        raise CorpusError("no words are held out; give longer documents or a lower --observed")
    return _Judged(float(np.exp(-total / words)), int(words), documents)


def _batches(
    model: Any, folder: Path, file: Path | None, reading: tuple[Any, ...]
) -> Iterator[Any]:
    """Yield documents in the words of the model: of a bag of the same words as it streams by."""
    import numpy as np

    from palaver.cli import runs
    from palaver.cli.fit_stream import is_bag_of_words
    from palaver.encoding.document_stream import document_source

    path = runs.source_of(folder) if file is None else file
    if is_bag_of_words(path) and not any(reading):
        source = document_source(path)
        if source.vocabulary.words == model.vocabulary_.words:
            yield from source.batches(_BATCH, 1, 0)
            return
    format, column, chain, where = reading
    documents = model._known_documents(runs.corpus_of(folder, file, format, column, chain, where))
    for first in range(0, documents.n_documents, _BATCH):
        yield documents.take(np.arange(first, min(first + _BATCH, documents.n_documents)))


def _of_talk(model: Any, folder: Path, file: Path | None, *reading: Any) -> _Judged:
    """Judge conversations, each word by what was said before."""
    from palaver.cli import runs
    from palaver.cli.output import folding

    encoded = model._encode(runs.corpus_of(folder, file, *reading))
    with folding("predicting words"):
        found = model.perplexity(encoded)
    return _Judged(found, int(encoded.n_tokens), encoded.n_messages)
