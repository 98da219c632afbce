"""Building the index of a run: what the workbench needs, read once from the texts and the model.

::

    run/explore/manifest.json, arrays-*   numbers of every message, mapped from disk
    run/explore/texts-*.sqlite            texts and their words
    run/explore/overview-*.json           the sections of the page, and what their script needs

The manifest names the other files and is replaced last: a kill leaves the index as it was, or none.
An anonymized index is in ``run/explore/anonymized``.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import store
from palaver.corpus.table import Corpus
from palaver.curation import Curation
from palaver.encoding.hidden import tells
from palaver.encoding.tokens import coded
from palaver.errors import InputError
from palaver.explore.answered import answered_arrays, evidence_of
from palaver.explore.parts import write_parts
from palaver.explore.stored import KIND, NO_TIME, VERSION, Origin, place_of, shape_of
from palaver.explore.texts import write_texts
from palaver.fit.fold import progress_listener
from palaver.models.curated import CuratedModel, apply_curation, curation_of
from palaver.models.views.reading import Reading, read
from palaver.page.build import render_sections
from palaver.page.embed import titles_of
from palaver.page.findings import Findings, gather, token_ranks
from palaver.page.groups import choose_columns
from palaver.page.names import automatic_name
from palaver.page.text import MAX_NAME, name, speaker_name
from palaver.page.wording import wording_of
from palaver.store.atomic import explained, replace_file, sync

if TYPE_CHECKING:
    from palaver.models import Model, ModelSummary

#: Shares of the time that the parts of the work take, by experience.
_READING, _PAGE, _WRITING = 0.4, 0.3, 0.3
#: Messages whose words are marked for the overview; the reader has all of them from the index.
_EXAMPLES = 500


def build(
    run: Path,
    model: Model,
    corpus: Corpus,
    origin: Origin,
    *,
    anonymize: bool = False,
    fit_command: str | None = None,
    n_new: int | None = None,
    advance: Callable[[float], None] = lambda share: None,
) -> None:
    """Let a model read a corpus, and write the index.

    Parameters
    ----------
    run : path
    model : Model
    corpus : Corpus
    origin : Origin
    anonymize : bool
        Index the texts as ``corpus.anonymized()`` has them.
    fit_command : str, optional
        For the last section of the overview.
    n_new : int, optional
        Messages that the model has not learned from.
    advance : callable
        Called with shares of the work that sum to one.

    Raises
    ------
    InputError
        There is nothing to index; the index before stays.
    """
    if not corpus.n_messages:
        raise InputError(f"{origin.source}: has no messages to explore; give another file")
    folder = place_of(run, anonymize=anonymize)
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    shown = corpus.anonymized() if anonymize else corpus
    with store.locked(folder):
        _discard_unnamed(folder)
        with _writing(folder, shown, corpus, lambda share: advance(share * _WRITING)) as writing:
            reading, fitted, findings, overview, parts = _read(
                model, corpus, shown, anonymize, fit_command, n_new, advance
            )
            write_parts(folder, parts)
            _write(folder, findings, fitted, reading, corpus, origin, overview, writing)
        _discard_unnamed(folder)


def _read(
    model: Model,
    corpus: Corpus,
    shown: Corpus,
    anonymize: bool,
    fit_command: str | None,
    n_new: int | None,
    advance: Callable[[float], None],
) -> tuple[Reading, Model, Findings, dict[str, Any], dict[str, NDArray[np.float64]]]:
    """Let the model read the texts, and make the sections of the page."""
    state = curation_of(model)
    fitted = apply_curation(model, Curation.empty(state.run, state.n_classes))
    n_readings = 1 if _same_shares(state) else 2
    with progress_listener(lambda share: advance(share * _READING / n_readings)):
        reading = read(fitted, corpus)
        seen = reading if n_readings == 1 else read(model, corpus)
    with progress_listener(lambda share: advance(share * _PAGE)):
        findings = gather(
            model, corpus, _EXAMPLES, predict_heldout=False, anonymize=anonymize, reading=seen,
            displayed=shown,
        )  # fmt: skip
        html, data = render_sections(findings, {}, fit_command=fit_command, n_new=n_new)
    parts = model.find(corpus).parts if isinstance(model, CuratedModel) and state.splits else {}
    ids = [list(own.ids) for own in state.classes]
    overview: dict[str, Any] = {"html": html, "data": data, "ids": ids, "shape": shape_of(state)}
    return reading, fitted, findings, overview, parts


@dataclass(frozen=True)
class _Writing:
    """The file of texts, which a thread of its own writes while the model reads them."""

    path: Path
    fields: dict[str, Any]
    done: Future[None]


@contextmanager
def _writing(
    folder: Path, shown: Corpus, corpus: Corpus, advance: Callable[[float], None]
) -> Iterator[_Writing]:
    """Write the texts in a thread; if what is done meanwhile fails, that ends, too."""
    path = folder / f"texts-{secrets.token_hex(6)}.sqlite"
    fields = _fields(shown)
    stopped = Event()

    def go_on(share: float) -> None:
        if stopped.is_set():
            raise InterruptedError
        advance(share)

    def write() -> None:
        starts = corpus.conversation_offsets[:-1]
        titles = titles_of(shown.table[starts], shown is not corpus)
        ids = shown.table["conversation"].gather(starts)
        names = {field: own.names for field, own in fields.items()}
        with explained(folder):
            write_texts(path, shown.table, corpus.table["text"], zip(ids, titles, strict=True),
                        names, go_on)  # fmt: skip
            with path.open("rb") as stream:
                os.fsync(stream.fileno())
            sync(folder)

    with ThreadPoolExecutor(1) as pool:
        try:
            yield _Writing(path, fields, pool.submit(write))
        except BaseException:
            stopped.set()
            raise


def _same_shares(state: Curation) -> bool:
    """Whether what was decided leaves the classes of all messages as the model found them."""
    return not state.marks and all(own.ids == (k,) for k, own in enumerate(state.classes))


def _write(
    folder: Path,
    findings: Findings,
    fitted: Model,
    reading: Reading,
    corpus: Corpus,
    origin: Origin,
    overview: dict[str, Any],
    writing: _Writing,
) -> None:
    """Write the files, then the manifest that names them."""
    shown, fields, texts = findings.corpus, writing.fields, writing.path
    pages = texts.with_suffix(".json").name.replace("texts-", "overview-")
    with explained(folder), replace_file(folder / pages) as path:
        path.write_text(json.dumps(overview), encoding="utf-8")
    shares = (reading.shares * reading.known[:, None]).astype(np.float32)
    classes, lengths = token_ranks(
        reading, np.arange(shares.shape[1]), shares.astype(float),
        findings.summary.tables.get("topics"), np.arange(corpus.n_messages),
    )  # fmt: skip
    times = corpus.table["time"].dt.epoch("s")
    codes = np.stack([own.codes for own in fields.values()], axis=1)
    arrays = {
        "shares": shares,
        "speaking": findings.speaking,
        "parents": corpus.parents,
        "conversation_offsets": corpus.conversation_offsets,
        "time": times.fill_null(NO_TIME).to_numpy().astype(np.int64),
        "codes": codes,
        **answered_arrays(corpus),
        "token_classes": classes.astype(np.min_scalar_type(-1 - int(classes.max(initial=0)))),
        "token_offsets": np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
    }
    writing.done.result()
    summary, own = findings.summary, fitted.summary()
    wording = wording_of(summary, findings.flow.steps)
    content = {
        "version": VERSION,
        "origin": vars(origin),
        "anonymized": findings.anonymized,
        "texts": texts.name,
        "bytes": texts.stat().st_size,
        "overview": pages,
        "fields": list(fields),
        "run": fitted.run_id,
        "sizes": own.class_shares.tolist(),
        "names": _names(own, overview, findings.hidden),
        "proposed": sorted(own.proposed),
        "tagger": own.tags is not None,
        "units": summary.units,
        "steps": findings.flow.steps,
        "replies": evidence_of(corpus),
        "noun": wording.noun,
        "unit": wording.unit,
        "reads_all": findings.reads_all,
        "words": None if findings.reads_all else list(reading.encoded.vocabulary.words),
        "source": name(Path(shown.source).name),
    }
    store.save(folder, KIND, content, arrays)


def _names(summary: ModelSummary, overview: dict[str, Any], hidden: frozenset[str]) -> list[str]:
    """Return what the model calls its classes; a typical sentence or words where it does not.

    A name or word that anonymized texts must not tell is left out.
    """
    shown = {
        tuple(overview["ids"][act["number"]]): act["name"]
        for act in overview["data"]["acts"]
        if not act["named"]
    }
    names = []
    for number in range(len(summary.class_shares)):
        words = summary.words.filter(pl.col("class") == number)["word"].to_list()
        own = summary.class_names.get(number, "")
        given = shown.get((number,)) if not own or tells(own, hidden) else own
        names.append(given or automatic_name([word for word in words if word not in hidden], []))
    return names


def _fields(corpus: Corpus) -> dict[str, Any]:
    """Return the codes and names of what messages can be grouped by, speakers first."""
    found = {"speaker": coded(_shown(corpus.table["speaker"], speaker_name))}
    for column in choose_columns(corpus)[0]:
        values = corpus.table[column]
        if isinstance(values.dtype, pl.List) or column == "speaker":
            continue
        found[column] = coded(_shown(values.cast(pl.String), lambda one: name(one, MAX_NAME)))
    return found


def _shown(values: pl.Series, spell: Callable[[str], str]) -> pl.Series:
    """Return values as they are shown; each is spelled once, however often it is there."""
    known = values.drop_nulls().unique(maintain_order=True)
    if not len(known):
        return values
    spelled = pl.Series([spell(one) for one in known], dtype=pl.String)
    return values.replace_strict(known, spelled, default=None, return_dtype=pl.String)


def _discard_unnamed(folder: Path) -> None:
    """Remove files that the manifest does not name: a killed build, or the index before this."""
    kept: set[str] = set()
    if store.is_stored(folder):
        try:
            content = json.loads((folder / store.folder.MANIFEST).read_text("utf-8"))["content"]
            kept = {content["texts"], content["overview"]}
        except (ValueError, KeyError, TypeError, OSError):
            pass  # damaged: nothing of it can be used
    for path in (*folder.glob("texts-*.sqlite*"), *folder.glob("overview-*.json")):
        if path.name not in kept:
            path.unlink(missing_ok=True)
