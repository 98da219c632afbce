"""Hidden backoff models on meetings: the measurements of Ji & Bilmes (2006), section 4.

MRDA, five tags, 51 meetings for training, 11 for choosing settings (dev), 11 for testing. Every
setting is chosen on dev; the test meetings are tagged once per configuration shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from benchmarks.papers import Options, hidden_backoff_factors, hidden_backoff_main
from benchmarks.papers.cells import Cell, Cells
from benchmarks.papers.hidden_backoff_data import Convention, calls, meetings
from benchmarks.papers.taggers import right_by_conversation
from palaver.encoding import Encoded, encode

SEED, VERSION = 0, 2
#: What the paper has, and our defaults have not.
PAPERS: dict[str, Any] = {"interpolate": False, "tag_order": 2, "speaker_change": False}
CONVENTIONS: tuple[Convention, ...] = ("words", "marks")
PAPERS_STATES = {"q": 3, "s": 2, "x": 2, "b": 1, "h": 1}

#: The paper's own configurations: backed-off smoothing, words that occur at least twice.
PLAIN: dict[str, dict[str, Any]] = {
    "baseline, without the end": {"n_states": 1, "end": False},
    "baseline": {"n_states": 1},
    "baseline, interpolated": {"n_states": 1, "interpolate": True},
    "baseline, word dropped first": {"n_states": 1, "backoff": "word>tag"},
    "baseline, trigram of tags": {"n_states": 1, "tag_order": 3},
    "baseline, change of speaker": {"n_states": 1, "speaker_change": True},
    "2 states": {"n_states": 2},
    "2 states, word>state+tag": {"n_states": 2, "backoff": "word>state+tag"},
    "2 states, word>state+tag, without the end": {
        "n_states": 2,
        "backoff": "word>state+tag",
        "end": False,
        "decode": "sum",
    },
    "3 states": {"n_states": 3},
    "states per tag, the paper's": {"n_states": PAPERS_STATES},
    "states per tag, by length": {"n_states": "auto"},
    "2 states, fork": {"n_states": 2, "topology": "fork"},
    "3 states, fork": {"n_states": 3, "topology": "fork"},
    "2 states, drawn alignments": {"n_states": 2, "alignment": "sampled"},
    "2 states, last ones tied": {"n_states": 2, "tied": True},
}
#: The paper's own model, after its baseline: the one with hidden states that has fewer errors.
PAIR = ("baseline, without the end", "2 states, word>state+tag, without the end")
#: Where searches start, and how many settings they may try.
SEARCHES: dict[str, tuple[dict[str, Any], int]] = {
    "baseline, searched": ({"n_states": 1, "min_count": 60}, 200),
    "2 states, searched": ({"n_states": 2, "min_count": 60, "topology": "fork"}, 40),
}
N_ROUNDS = 6


@cache
def part(data: Path, convention: Convention, name: str) -> Encoded:
    return encode(meetings(data, convention, name), min_count=1)


def tagger(params: Mapping[str, Any], n_jobs: int) -> pv.HiddenBackoffTagger:
    return pv.HiddenBackoffTagger(**{**PAPERS, "random_state": SEED, **params}, n_jobs=n_jobs)


def judged(options: Options, convention: Convention, model: Any) -> dict[str, Any]:
    """Return the errors on dev and test, and the confusion matrix on test."""
    return {
        "dev": 1 - model.score(part(options.data, convention, "dev")),
        "test": 1 - model.score(part(options.data, convention, "test")),
        "confusion": model.confusion(part(options.data, convention, "test")).to_dicts(),
    }


def where_wrong(options: Options, model: Any) -> dict[str, Any]:
    """Return where a tagger of bare words goes wrong on dev, as shares of all sentences."""
    corpus, marked = (part(options.data, c, "dev") for c in ("words", "marks"))
    act = corpus.labels["act"]
    gold = np.array(act.names)[act.codes]
    wrong = model.predict(corpus) != gold
    broken = np.zeros(corpus.n_messages, bool)
    mark = marked.vocabulary.index["=="]
    places = np.repeat(np.arange(len(broken)), np.diff(marked.message_offsets))
    broken[places[np.asarray(marked.tokens) == mark]] = True
    single = np.diff(corpus.message_offsets) == 1
    groups = {
        "broken off, says the transcriber (`==`)": broken,
        "one word": single & ~broken,
        "all others": ~single & ~broken,
    }
    return {name: {"sentences": float(rows.mean()), "wrong": float((wrong & rows).mean())}
            for name, rows in groups.items()}  # fmt: skip


def plain_cell(options: Options, convention: Convention, name: str) -> Cell:
    params = PLAIN[name]

    def work(folder: Path) -> dict[str, Any]:
        model = tagger(params, options.n_jobs)
        model.fit(part(options.data, convention, "train"), show_progress=False)
        rounds = model.rounds_.to_dicts()
        found = {**judged(options, convention, model), "rounds": rounds, "states": model.n_states_}
        if name == "baseline" and convention == "words":
            found["where"] = where_wrong(options, model)
        return found

    settings = {"convention": convention, **params, "version": VERSION}
    cost = 1 if params["n_states"] == 1 else 8
    return Cell(shown(convention, name), settings, work, cost)


def shown(convention: Convention, name: str) -> str:
    """Return the name of a cell; pauses count as words."""
    return f"words/{name}, pauses" if convention == "pauses" else f"{convention}/{name}"


def search_cell(options: Options, convention: Convention, name: str) -> Cell:
    params, budget = SEARCHES[name]
    if options.size == "quick":
        budget = 5

    def work(folder: Path) -> dict[str, Any]:
        model = tagger(params, options.n_jobs)
        parts = [part(options.data, convention, name) for name in ("train", "dev")]
        model.search(*parts, budget=budget)
        found = {k: v for k, v in model.get_params().items() if k not in ("random_state", "n_jobs")}
        model.save(folder / "model")
        return {
            **judged(options, convention, model),
            "trials": model.search_.height,
            "params": found,
            "states": model.n_states_,
            "state_words": model.state_words_.filter(model.state_words_["rank"] <= 8).to_dicts(),
        }

    settings = {"convention": convention, "search": budget, **params, "version": VERSION}
    cost = budget * (0.5 if params["n_states"] == 1 else 3.0)
    return Cell(shown(convention, name), settings, work, cost)


def round_cell(options: Options, convention: Convention, n_rounds: int) -> Cell:
    """Return the cell that stops after ``n_rounds`` rounds, for the paper's figure 4."""

    def work(folder: Path) -> dict[str, Any]:
        model = tagger({"n_states": PAPERS_STATES, "max_rounds": n_rounds, "tolerance": 0.0,
                        "final_epochs": 0}, options.n_jobs)  # fmt: skip
        model.fit(part(options.data, convention, "train"), show_progress=False)
        logs = model.rounds_.filter(model.rounds_["phase"] == "epoch")["log_likelihood"]
        error = 1 - model.score(part(options.data, convention, "dev"))
        return {"log_likelihood": float(logs[-1]), "dev": error}

    settings = {"convention": convention, "rounds": n_rounds, "version": VERSION}
    return Cell(f"{convention}/round {n_rounds}", settings, work, 2 + n_rounds)


def maxent_cell(options: Options, convention: Convention | None, context: bool) -> Cell:
    """Return the cell for maximum entropy on meetings, or on calls without a convention."""

    def work(folder: Path) -> dict[str, Any]:
        data = {
            name: meetings(options.data, convention, name)
            if convention
            else calls(options.data, name)
            for name in ("train", "dev", "test")
        }
        params = {} if convention else {"min_count": 5, "max_iter": 40}
        model = pv.MaxEntTagger(context=context, **params).fit(data["train"], labels="act")
        return {name: 1 - model.score(data[name]) for name in ("dev", "test")}

    name = "MaxEnt with context" if context else "MaxEnt"
    settings = {"maxent": context, "convention": convention or "calls", "version": VERSION}
    return Cell(f"{convention or 'swda'}/{name}", settings, work, 150 if context else 40)


#: Switchboard's 42 tags, with the settings that were best on MRDA's dev.
CALLS: dict[str, dict[str, Any]] = {
    "baseline": {"n_states": 1},
    "baseline, rare words unknown": {"n_states": 1, "min_count": 60},
    "2 states, fork": {"n_states": 2, "topology": "fork"},
}


def paired_cell(options: Options) -> Cell:
    """Return the cell of the paper's own model and its baseline, meeting by meeting, on marks."""

    def work(folder: Path) -> dict[str, Any]:
        train, test = (part(options.data, "marks", name) for name in ("train", "test"))
        corpus = meetings(options.data, "marks", "test")
        found = {}
        for name in PAIR:
            model = tagger(PLAIN[name], options.n_jobs).fit(train, show_progress=False)
            found[name] = {"test": right_by_conversation(corpus, model.predict(test))}
        return found

    params = {name: PLAIN[name] for name in PAIR}
    return Cell("paired/marks", {"paired": params, "version": VERSION}, work, 5)


def calls_cell(options: Options, name: str) -> Cell:
    params = CALLS[name]

    def work(folder: Path) -> dict[str, Any]:
        parts = {n: encode(calls(options.data, n), min_count=1) for n in ("train", "dev", "test")}
        model = tagger(params, options.n_jobs).fit(parts["train"], show_progress=False)
        errors = {n: 1 - model.score(parts[n]) for n in ("dev", "test")}
        return {**errors, "tags": len(model.tags_), "messages": parts["train"].n_messages}

    return Cell(f"swda/{name}", {"calls": params, "version": VERSION}, work, 20)


def cells(options: Options, kept: Cells) -> list[Cell]:
    """Return all cells, the cheap ones first."""
    found = [plain_cell(options, c, name) for c in CONVENTIONS for name in PLAIN]
    if options.size == "quick":
        return found[:3]
    found += [round_cell(options, "marks", n) for n in range(1, N_ROUNDS + 1)]
    found += [plain_cell(options, "pauses", "baseline"), paired_cell(options)]
    found += [search_cell(options, c, "baseline, searched") for c in ("marks", "words", "pauses")]
    found += [maxent_cell(options, c, x) for x in (False, True) for c in CONVENTIONS]
    found += [calls_cell(options, name) for name in CALLS]
    found += [maxent_cell(options, None, context) for context in (False, True)]
    found += hidden_backoff_factors.cells(options)
    found += hidden_backoff_main.cells(options)
    return found + [search_cell(options, c, "2 states, searched") for c in reversed(CONVENTIONS)]


def page(options: Options, kept: Cells, results: Mapping[str, Any]) -> str:
    """Return the text of the page."""
    from benchmarks.papers.hidden_backoff_page import text

    return text(results, {cell.name: kept.seconds([cell]) for cell in cells(options, kept)})
