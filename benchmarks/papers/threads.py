"""Rebuilding threads: trained, untrained, and what needs no learning, on five corpora.

Every corpus is one cell. The default numbers that are judged on a corpus are learned from the
training parts of the other corpora, so nothing of its replies is in them.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import palaver as pv
from benchmarks.papers import Options
from benchmarks.papers.cells import Cell, Cells
from benchmarks.papers.threads_data import CHANNEL, FILES, parts, thinned
from benchmarks.papers.threads_page import page
from palaver import evaluate
from palaver.kernels import thread_features as columns
from palaver.kernels.thread_features import FEATURES
from palaver.threads import ThreadRebuilder, components, learn_defaults
from palaver.threads.places import CHANNEL_PAUSE
from palaver.threads.rebuilder import Found

__all__ = ["cells", "page"]

_VERSION = 2
_TRAIN = {"quick": 1500, "full": 40_000, "paper": 1_000_000}
_TEST = {"quick": 400, "full": 10_000, "paper": 1_000_000}
_MODEL_MESSAGES = {"quick": 300, "full": 2500, "paper": 20_000}
_DEFAULTS = {"quick": 1500, "full": 8000, "paper": 1_000_000}
_SWEEPS = {"quick": 20, "full": 150, "paper": 1000}


def cells(options: Options, kept: Cells) -> list[Cell]:
    """Return one cell a corpus."""
    del kept
    size = options.size
    sizes = [_TRAIN[size], _TEST[size], _MODEL_MESSAGES[size], _DEFAULTS[size], _SWEEPS[size]]
    return [
        Cell(
            name,
            {"corpus": name, "sizes": sizes, "version": _VERSION}
            | ({"pause": CHANNEL_PAUSE} if name == CHANNEL else {}),
            lambda folder, name=name: _judge(options, name),  # type: ignore[misc]
            cost=3.0 if "ubuntu" in name or name == "4forums" else 1.0,
        )
        for name in (*FILES, CHANNEL)
    ]


def _judge(options: Options, name: str) -> dict[str, Any]:
    """Return the figures of all methods on one corpus."""
    size = options.size
    train, test = parts(options.data, name)
    is_channel = name == CHANNEL
    if not is_channel:
        train, test = thinned(train, _TRAIN[size]), thinned(test, _TEST[size])
    groups = components(test.parents) if is_channel else _conversations(test)
    methods: dict[str, Any] = {}
    found: dict[str, NDArray[np.int64]] = {
        "previous message": evaluate.previous_parents(test.conversation_offsets),
        "first message": evaluate.first_parents(test.conversation_offsets),
    }
    found["nearest by tf-idf"] = _links(_only({"similarity": 1.0}, is_channel), test).parents
    for label, model in _models(options, train, is_channel).items():
        bare = _only({"model": 1.0}, is_channel, model)
        found[f"{label} alone"] = _links(bare, test).parents
        rebuilder = ThreadRebuilder(model, **_how(is_channel)).fit(train)
        found[f"trained, with {label}"] = _links(rebuilder, test).parents
    start = time.process_time()
    rebuilder = ThreadRebuilder(**_how(is_channel)).fit(train)
    seconds = time.process_time() - start
    trained = _links(rebuilder, test)
    others = [other for other in FILES if other != ("ubuntu-irc" if is_channel else name)]
    known = [thinned(parts(options.data, other)[0], _DEFAULTS[size]) for other in others]
    defaults = learn_defaults(known)
    untrained = _links(ThreadRebuilder.default(defaults, **_how(is_channel)), test)
    found |= {"untrained": untrained.parents, "trained": trained.parents}
    gold = np.asarray(test.parents, np.int64)
    for label, parents in found.items():
        methods[label] = _figures(parents, gold, groups, found["previous message"])
    best = max(("previous message", "first message"), key=lambda b: methods[b]["accuracy"][0])
    sums = {label: _sums(parents, gold, groups) for label, parents in found.items()}
    top = max((b for b in methods if "trained" not in b), key=lambda b: methods[b]["accuracy"][0])
    calibration = {
        label: evaluate.reliability(
            links.probabilities[chosen], links.parents[chosen] == gold[chosen]
        )
        for label, links in (("trained", trained), ("untrained", untrained))
        for chosen in [links.runners_up != -2]
    }
    return {
        "messages": [train.n_messages, test.n_messages],
        "conversations": [train.n_conversations, len(np.unique(groups))],
        "random": evaluate.random_parents_accuracy(test.conversation_offsets, "time"),
        "methods": methods,
        "best": [best, top],
        "gains": {
            "trained": list(evaluate.paired_bootstrap(sums["trained"], sums[top])),
            "untrained": list(evaluate.paired_bootstrap(sums["untrained"], sums[best])),
            **{
                label: list(evaluate.paired_bootstrap(sums[label], sums["trained"]))
                for label in sums
                if label.startswith("trained, with")
            },
        },
        "calibration": {
            label: {"error": error, "bins": bins.tolist()}
            for label, (error, bins) in calibration.items()
        },
        "temperature": rebuilder.temperature_,
        "defaults": defaults.to_json(),
        "training seconds": seconds,
        "weights": dict(zip(FEATURES, rebuilder.weights_.round(3).tolist(), strict=True)),
    }


def _how(is_channel: bool) -> dict[str, Any]:
    """Return parameters: logs stand in their order, and their clocks turn over at midnight."""
    return {"channel": True, "order": "corpus"} if is_channel else {}


def _conversations(corpus: pv.Corpus) -> NDArray[np.int64]:
    lengths = np.diff(corpus.conversation_offsets)
    return np.repeat(np.arange(len(lengths)), lengths)


def _links(rebuilder: ThreadRebuilder, test: pv.Corpus) -> Found:
    """Return what a rebuilder finds in a corpus without its replies, rows as in the corpus."""
    table = test.table.with_columns(pl.lit(None, pl.String).alias("reply_to"))
    flat = replace(test, table=table, parents=np.full(test.n_messages, -1, np.int32))
    links = rebuilder.links(flat)
    assert (np.diff(links.rows) == 1).all()  # the corpus is in order already
    return links


def _only(weights: dict[str, float], is_channel: bool, model: Any = None) -> ThreadRebuilder:
    """Return a rebuilder that goes by few features, and by the nearer of equals.

    Only the first message of a conversation is a start.
    """
    rebuilder = ThreadRebuilder(model, **_how(is_channel))
    rebuilder.weights_ = np.zeros(len(FEATURES))
    for name, weight in weights.items():
        rebuilder.weights_[FEATURES.index(name)] = weight
    rebuilder.weights_[columns.START] = -1e4
    rebuilder.temperature_ = 1.0
    return rebuilder


def _models(options: Options, train: pv.Corpus, is_channel: bool) -> dict[str, Any]:
    """Fit M4 and the block HMM on part of the training conversations."""
    part = train
    if not is_channel:
        part = thinned(train, _MODEL_MESSAGES[options.size])
    else:  # conversations, which models learn from
        return {}
    settings = {"n_classes": 10, "n_sweeps": _SWEEPS[options.size], "n_jobs": options.n_jobs}
    return {
        "M4": pv.M4(transition="softmax", **settings).fit(part, show_progress=False),
        "block HMM": pv.BlockHMM(**settings).fit(part, show_progress=False),
    }


def _sums(
    found: NDArray[np.int64], gold: NDArray[np.int64], groups: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return right parents and messages of each conversation."""
    _, numbers = np.unique(groups, return_inverse=True)
    right = np.bincount(numbers, found == gold)
    return np.column_stack((right, np.bincount(numbers))).astype(float)


def _figures(
    found: NDArray[np.int64],
    gold: NDArray[np.int64],
    groups: NDArray[np.int64],
    previous: NDArray[np.int64],
) -> dict[str, Any]:
    """Return accuracies with intervals, link scores and scores of conversations."""
    choice = previous >= 0  # not the first of a conversation, whose start is no finding
    return {
        "accuracy": list(evaluate.bootstrap(_sums(found, gold, groups))),
        "choices": float((found == gold)[choice].mean()),
        "links": evaluate.link_scores(found, gold),
        "conversations": evaluate.conversation_scores(components(found), components(gold)),
    }
