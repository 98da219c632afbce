"""Taggers on labelled talk that they have not seen.

Every tagger has its defaults; whatever was chosen, was chosen by cross-validation within training
parts or on dev parts. The test parts are tagged once per row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

import palaver as pv
from benchmarks.papers import Options
from benchmarks.papers.cells import Cell, Cells
from benchmarks.papers.hidden_backoff_data import calls, meetings
from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, encode

VERSION = 1
#: The same of the linear taggers, which descend by a guess of the curvature.
LINEAR_VERSION = 4
#: Taggers by the name of their row.
TAGGERS: dict[str, Callable[[int], Any]] = {
    "hidden backoff": lambda n_jobs: pv.HiddenBackoffTagger(n_jobs=n_jobs),
    "conditional random field": lambda n_jobs: pv.CRFTagger(n_jobs=n_jobs),
    "maximum entropy": lambda n_jobs: pv.MaxEntTagger(n_jobs=n_jobs),
    "maximum entropy, context": lambda n_jobs: pv.MaxEntTagger(context=True, n_jobs=n_jobs),
}
NAMES = {
    "crf": "conditional random field",
    "maxent": "maximum entropy, context",
    "hidden-backoff": "hidden backoff",
}
PEER = "python-crfsuite"
#: Labels of the learning curves; None for all.
N_LABELS = (50, 200, 1000, None)
#: Rows of the learning curves, on these corpora.
WITH_ACTS = ", acts"
FEW = ("hidden backoff", "conditional random field", "maximum entropy, context",
       f"conditional random field{WITH_ACTS}", f"maximum entropy, context{WITH_ACTS}")  # fmt: skip
CURVES = ("mrda, words", "swda")
N_DRAWS, N_UNLABELLED = 3, 20_000
#: Labels so far in rounds of labelling.
ROUNDS = (50, 100, 200, 400)
LABELLED = ("dailydialog", "nps-chat")


def dailydialog(data: Path, part: str) -> Corpus:
    """Return written dialogues: dev is for training, test for testing."""
    split = {"train": "dev", "test": "test"}[part]
    table = pv.read(data / "dailydialog" / "dailydialog.jsonl.gz").table
    return _only(table.filter(pl.col("split") == split))


def nps_chat(data: Path, part: str) -> Corpus:
    """Return chat rooms without joins and parts: the first eight, or the other seven."""
    table = pv.read(data / "nps-chat" / "nps-chat.jsonl.gz").table
    rooms = table["conversation"].unique().sort()
    chosen = rooms[:8] if part == "train" else rooms[8:]
    return _only(table.filter(pl.col("act") != "System",
                              pl.col("conversation").is_in(chosen.implode())))  # fmt: skip


def _only(table: pl.DataFrame) -> Corpus:
    return Corpus.from_polars(table.select("conversation", "id", "speaker", "text", "act"))


#: Corpora by name: what they are, and their parts.
CORPORA: dict[str, tuple[str, Callable[[Path, str], Corpus]]] = {
    "dailydialog": ("written everyday dialogues, 4 acts", dailydialog),
    "nps-chat": ("open chat rooms, 14 acts", nps_chat),
    "mrda, marks": ("meetings with transcribers' marks, 5 acts",
                    lambda data, part: meetings(data, "marks", part)),
    "mrda, words": ("meetings, bare words, 5 acts",
                    lambda data, part: meetings(data, "words", part)),
    "swda": ("telephone calls, 42 acts", calls),
}  # fmt: skip


@cache
def read(data: Path, corpus: str, part: str) -> Corpus:
    return CORPORA[corpus][1](data, part)


def right_by_conversation(corpus: Corpus, tags: Any) -> list[list[int]]:
    """Return right tags and labelled messages of every conversation."""
    right = pl.Series("right", np.asarray(tags) == corpus.table["act"].to_numpy())
    table = corpus.table.select("conversation", right).group_by("conversation", maintain_order=True)
    return (
        table.agg(pl.col("right").sum(), pl.len().alias("n"))
        .select("right", "n")
        .to_numpy()
        .tolist()
    )


def tagger_cell(options: Options, corpus: str, name: str) -> Cell:
    def work(folder: Path) -> dict[str, Any]:
        train, test = (read(options.data, corpus, part) for part in ("train", "test"))
        model = TAGGERS[name](options.n_jobs)
        model.fit(train.take(np.arange(2)), show_progress=False).predict(train.take(np.arange(2)))
        clocks = [(time.process_time(), time.perf_counter())]
        model = TAGGERS[name](options.n_jobs).fit(train, show_progress=False)
        clocks.append((time.process_time(), time.perf_counter()))
        tags = model.predict(test)
        clocks.append((time.process_time(), time.perf_counter()))
        train_time, tag_time = (np.subtract(b, a) for a, b in pairwise(clocks))
        return {
            "right": right_by_conversation(test, tags), "train": train_time[0],
            "train_wall": train_time[1], "tag": tag_time[0], "messages": train.n_messages,
        }  # fmt: skip

    cost = {"swda": 30}.get(corpus, 3) * (10 if "context" in name else 1)
    shown = f"{corpus}/{name}"
    version = VERSION if name == "hidden backoff" else LINEAR_VERSION
    return Cell(shown, {"corpus": corpus, "tagger": name, "version": version},
                work, cost)  # fmt: skip


def strings(corpus: Corpus) -> Iterator[tuple[list[list[str]], list[str]]]:
    """Yield the conversations as python-crfsuite takes them.

    Words, pairs, words of the message before, whether it has the same speaker, the role.
    """
    encoded: Encoded = encode(corpus, min_count=1)
    words = np.array(encoded.vocabulary.words, dtype=object)[encoded.tokens]
    lists = np.split(words, encoded.message_offsets[1:-1])
    roles = corpus.table["speaker"].to_list() if len(encoded.speakers.names) <= 20 else None
    speakers, acts = encoded.speakers.codes, corpus.table["act"].to_list()
    for first, last in pairwise(encoded.conversation_offsets.tolist()):
        rows = []
        for k in range(first, last):
            own = ["<s>", *lists[k], "</s>"]
            row = ["always", *(f"w={w}" for w in lists[k])]
            row += [f"p={a} {b}" for a, b in pairwise(own)]
            if roles:
                row.append(f"role={roles[k]}")
            if k > first:
                row += [f"b={w}" for w in lists[k - 1]]
                row.append(f"same={speakers[k] == speakers[k - 1]}")
            rows.append(row)
        yield rows, acts[first:last]


def peer_trained(train: Corpus, path: str) -> Any:
    """Train a plain field by python-crfsuite (L-BFGS, c2 = 1, 100 iterations)."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": 0.0, "c2": 1.0, "max_iterations": 100})
    for rows, acts in strings(train):
        trainer.append(rows, acts)
    trainer.train(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    return tagger


def peer_tags(train: Corpus, test: Corpus) -> list[str]:
    """Return the tags of that field."""
    with TemporaryDirectory() as place:
        tagger = peer_trained(train, str(Path(place) / "model"))
        tags = [tag for rows, _ in strings(test) for tag in tagger.tag(rows)]
        tagger.close()
    return tags


def peer_cell(options: Options, corpus: str) -> Cell:
    """Return the cell of that field."""

    def work(folder: Path) -> dict[str, Any]:
        train, test = (read(options.data, corpus, part) for part in ("train", "test"))
        begun = time.process_time()
        with TemporaryDirectory() as place:
            tagger = peer_trained(train, str(Path(place) / "model"))
            trained = time.process_time()
            tags = [tag for rows, _ in strings(test) for tag in tagger.tag(rows)]
            tagger.close()
        return {"right": right_by_conversation(test, tags), "train": trained - begun,
                "tag": time.process_time() - trained, "messages": train.n_messages}  # fmt: skip

    settings = {"corpus": corpus, "peer": PEER, "version": VERSION}
    return Cell(f"{corpus}/{PEER}", settings, work, 300 if corpus == "swda" else 20)


def majority_cell(options: Options, corpus: str) -> Cell:
    def work(folder: Path) -> dict[str, Any]:
        train, test = (read(options.data, corpus, part) for part in ("train", "test"))
        most = train.table["act"].value_counts(sort=True)["act"][0]
        return {"right": right_by_conversation(test, np.full(test.n_messages, most)),
                "most": most, "test": test.n_messages, "messages": train.n_messages}  # fmt: skip

    return Cell(
        f"{corpus}/majority", {"corpus": corpus, "majority": True, "version": VERSION}, work
    )


def choice_cell(options: Options, corpus: str) -> Cell:
    """Return the cell of what ``palaver train-tagger`` takes; it sees the training part alone."""

    def work(folder: Path) -> dict[str, Any]:
        chosen = pv.choose_tagger(read(options.data, corpus, "train"))
        return {"chosen": chosen.tagger.name, "table": chosen.table.to_dicts()}

    settings = {"corpus": corpus, "choice": True, "version": LINEAR_VERSION}
    return Cell(f"{corpus}/choice", settings, work, 20)


def few_cell(options: Options, corpus: str, n_labels: int | None, row: str) -> Cell:
    """Return the cell of a tagger that learns from few labels, or all, judged on the dev part."""

    def work(folder: Path) -> dict[str, Any]:
        train, dev = (read(options.data, corpus, part) for part in ("train", "dev"))
        name = row.removesuffix(WITH_ACTS)
        more = {} if name == row else {"classes": acts_of_some(options.data, corpus)}
        found = []
        for seed in range(N_DRAWS if n_labels else 1):
            part = train.with_columns(known=train.table["act"])
            if n_labels:
                part = _first_labels(train, n_labels, seed)
            model = TAGGERS[name](options.n_jobs).fit(part, "known", show_progress=False, **more)
            found.append(model.score(dev, "act"))
        return {"accuracy": float(np.mean(found)), "draws": found}

    shown = f"{corpus}/{n_labels or 'all'} labels/{row}"
    version = 3 if row == "hidden backoff" else LINEAR_VERSION
    settings = {"corpus": corpus, "labels": n_labels or "all", "row": row, "version": version}
    cost = (3 if n_labels else 30) * (4 if corpus == "swda" else 1)
    return Cell(shown, settings, work, cost)


def _first_labels(train: Corpus, n_labels: int, seed: int) -> Corpus:
    """Return conversations drawn at random, of which the first messages have a label."""
    sizes = np.diff(train.conversation_offsets)
    order = np.random.default_rng(seed).permutation(len(sizes))
    enough = int(np.searchsorted(np.cumsum(sizes[order]), n_labels)) + 1
    part = train.take(np.sort(order[:enough]))
    known = np.arange(part.n_messages) < n_labels
    return _masked(part, known)


@cache
def acts_of_some(data: Path, corpus: str) -> pv.Acts:
    """Return the acts of training conversations with about 20,000 messages; no label is seen."""
    train = read(data, corpus, "train")
    order = np.random.default_rng(0).permutation(train.n_conversations)
    sizes = np.diff(train.conversation_offsets)[order]
    some = train.take(np.sort(order[: int(np.searchsorted(np.cumsum(sizes), N_UNLABELLED))]))
    bare = Corpus.from_polars(some.table.drop("act"))
    return pv.Acts().fit(bare, show_progress=False)


def label_cell(options: Options, corpus: str, method: str) -> Cell:
    """Return the cell of labels that are asked for in rounds, chosen or drawn.

    Conversations of the training part: three quarters are labelled, the others judge.
    """

    def work(folder: Path) -> dict[str, float]:
        whole, held_out = read(options.data, corpus, "train").split(0.25, 0)
        found: dict[str, list[float]] = {}
        for seed in range(1 if method == "chosen" else 3):
            known = np.zeros(whole.n_messages, bool)
            tagger, generator = None, np.random.default_rng(seed)
            for n_labels, n_before in zip(ROUNDS, (0, *ROUNDS), strict=False):
                some = _masked(whole, known)
                n = n_labels - n_before
                if method == "chosen":
                    rows = pv.to_label(some, n, tagger, labels="known")
                    places = whole.table.select("conversation", "id").with_row_index("row")
                    chosen = rows.join(places, on=["conversation", "id"])["row"].to_numpy()
                else:
                    chosen = generator.permutation(np.flatnonzero(~known))[:n]
                known[chosen] = True
                tagger = pv.CRFTagger(n_jobs=options.n_jobs)
                tagger.fit(_masked(whole, known), "known", show_progress=False)
                found.setdefault(str(n_labels), []).append(tagger.score(held_out, "act"))
        return {name: float(np.mean(values)) for name, values in found.items()}

    settings = {"corpus": corpus, "label": method, "rounds": ROUNDS, "version": LINEAR_VERSION}
    return Cell(f"{corpus}/labels {method}", settings, work, 10)


def _masked(corpus: Corpus, known: Any) -> Corpus:
    act = corpus.table["act"]
    return corpus.with_columns(known=act.set(pl.Series(~known), None))


def cells(options: Options, kept: Cells) -> list[Cell]:
    """Return all cells, the cheap ones first."""
    names = list(CORPORA)[:2] if options.size == "quick" else list(CORPORA)
    found = [majority_cell(options, corpus) for corpus in names]
    found += [tagger_cell(options, corpus, name) for corpus in names for name in list(TAGGERS)[:2]]
    found += [peer_cell(options, corpus) for corpus in names if corpus != "swda"]
    found += [choice_cell(options, corpus) for corpus in names]
    found += [tagger_cell(options, corpus, name) for corpus in names for name in list(TAGGERS)[2:]]
    if options.size != "quick":
        found += [few_cell(options, c, n, row) for n in N_LABELS for c in CURVES for row in FEW]
        found += [label_cell(options, c, how) for c in LABELLED for how in ("drawn", "chosen")]
        found.append(peer_cell(options, "swda"))
    return found


def page(options: Options, kept: Cells, results: Mapping[str, Any]) -> str:
    """Return the text of the page."""
    from benchmarks.papers.taggers_page import text

    return text(results)
