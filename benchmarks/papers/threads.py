"""Rebuild threads on five corpora: trained, untrained, and by baselines that need no training.

Every corpus has two cells. One covers the baselines, the untrained rebuilder, and what word models
add to a linear ranker; the other covers the trained rebuilder as users run it. The default
parameters scored on a corpus are learned from the training sets of the other corpora, so they have
seen none of its replies.
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
from benchmarks.papers.threads_official import judge_official
from benchmarks.papers.threads_page import ELSEWHERE, OFFICIAL, TRAINED, page
from benchmarks.threads_elsewhere import LIMITS, elsewhere
from palaver import evaluate
from palaver.threads import ThreadRebuilder, components, learn_defaults
from palaver.threads.found import Found
from palaver.threads.kernels import features as columns
from palaver.threads.kernels.features import FEATURES
from palaver.threads.places import CHANNEL_PAUSE
from palaver.threads.ranker import Ranker

__all__ = ["cells", "page"]

_VERSION, _TRAINED_VERSION = 2, 3
_TRAIN = {"quick": 1500, "full": 40_000, "paper": 1_000_000}
_TEST = {"quick": 400, "full": 10_000, "paper": 1_000_000}
_MODEL_MESSAGES = {"quick": 300, "full": 2500, "paper": 20_000}
_DEFAULTS = {"quick": 1500, "full": 8000, "paper": 1_000_000}
_SWEEPS = {"quick": 20, "full": 150, "paper": 1000}


def cells(options: Options, kept: Cells) -> list[Cell]:
    """Return two cells per corpus."""
    del kept
    size = options.size
    sizes = [_TRAIN[size], _TEST[size], _MODEL_MESSAGES[size], _DEFAULTS[size], _SWEEPS[size]]
    found = []
    for name in (*FILES, CHANNEL):
        cost = 3.0 if "ubuntu" in name or name == "4forums" else 1.0
        settings = {"corpus": name, "sizes": sizes, "version": _VERSION}
        if name == CHANNEL:
            settings["pause"] = CHANNEL_PAUSE
        trained = {"corpus": name, "sizes": sizes[:2], "trained": _TRAINED_VERSION}
        found += [
            Cell(name, settings, lambda _, name=name: _judge(options, name), cost),  # type: ignore[misc]
            Cell(
                f"{name}/{TRAINED}",
                trained,
                lambda _, name=name: _judge_trained(options, name),  # type: ignore[misc]
                cost,
            ),
        ]
    official = {"corpus": CHANNEL, "official": 1}
    found.append(Cell(OFFICIAL, official, lambda _: _judge_official(options), 5.0))
    parts_of = (_TRAIN[size], _TEST[size], _DEFAULTS[size])
    at_most = [min(limit, part) for limit, part in zip(LIMITS, parts_of, strict=True)]
    away = {"elsewhere": 1, "sizes": at_most}
    found.append(
        Cell(
            ELSEWHERE,
            away,
            lambda _: {"rows": list(elsewhere(options.data, list(FILES), list(FILES), at_most))},
            3.0,
        )
    )
    return found


def _judge_official(options: Options) -> dict[str, Any]:
    train, test = parts(options.data, CHANNEL)
    return judge_official(train, test, _links)


def _judge(options: Options, name: str) -> dict[str, Any]:
    """Return the scores of all methods on one corpus."""
    size = options.size
    is_channel = name == CHANNEL
    train, test, groups = _parts(options, name)
    methods: dict[str, Any] = {}
    found = _baselines(test, is_channel)
    for label, model in _models(options, train, is_channel).items():
        bare = _only({"model": 1.0}, is_channel, model)
        found[f"{label} alone"] = _links(bare, test).parents
        rebuilder = ThreadRebuilder(model, hidden=0, **_how(is_channel)).fit(train)
        found[f"trained, with {label}"] = _links(rebuilder, test).parents
    start = time.process_time()
    rebuilder = ThreadRebuilder(hidden=0, **_how(is_channel)).fit(train)
    seconds = time.process_time() - start
    trained = _links(rebuilder, test)
    others = [other for other in FILES if other != ("ubuntu-irc" if is_channel else name)]
    known = [thinned(parts(options.data, other)[0], _DEFAULTS[size]) for other in others]
    defaults = learn_defaults(known)
    untrained = _links(ThreadRebuilder.by_places(defaults, **_how(is_channel)), test)
    found |= {"untrained": untrained.parents, "trained": trained.parents}
    gold = np.asarray(test.parents, np.int64)
    for label, parents in found.items():
        methods[label] = _figures(parents, gold, groups, found["previous message"])
    best = max(("previous message", "first message"), key=lambda b: methods[b]["accuracy"][0])
    sums = {label: _sums(parents, gold, groups) for label, parents in found.items()}
    top = max((b for b in methods if "trained" not in b), key=lambda b: methods[b]["accuracy"][0])
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
            "trained": _calibration(trained, gold),
            "untrained": _calibration(untrained, gold),
        },
        "temperature": rebuilder.temperature_,
        "defaults": defaults.to_json(),
        "training seconds": seconds,
        "weights": dict(zip(FEATURES, rebuilder.ranker_.weights.round(3).tolist(), strict=True)),
    }


def _judge_trained(options: Options, name: str) -> dict[str, Any]:
    """Return the scores of the trained rebuilder on one corpus."""
    is_channel = name == CHANNEL
    train, test, groups = _parts(options, name)
    found = _baselines(test, is_channel)
    start = time.process_time()
    rebuilder = ThreadRebuilder(**_how(is_channel)).fit(train)
    seconds = time.process_time() - start
    trained = _links(rebuilder, test)
    found["trained"] = trained.parents
    gold = np.asarray(test.parents, np.int64)
    sums = {label: _sums(parents, gold, groups) for label, parents in found.items()}
    return {
        "methods": {
            label: _figures(parents, gold, groups, found["previous message"])
            for label, parents in found.items()
        },
        "gains": {
            label: list(evaluate.paired_bootstrap(sums["trained"], sums[label]))
            for label in found
            if label != "trained"
        },
        "calibration": _calibration(trained, gold),
        "temperature": rebuilder.temperature_,
        "training seconds": seconds,
    }


def _parts(options: Options, name: str) -> tuple[pv.Corpus, pv.Corpus, NDArray[np.int64]]:
    """Return the training set, the test set, and the test messages' conversations."""
    train, test = parts(options.data, name)
    if name == CHANNEL:
        return train, test, components(test.parents)
    train, test = thinned(train, _TRAIN[options.size]), thinned(test, _TEST[options.size])
    return train, test, _conversations(test)


def _baselines(test: pv.Corpus, is_channel: bool) -> dict[str, NDArray[np.int64]]:
    """Return the parents found without training or a model."""
    return {
        "previous message": evaluate.previous_parents(test.conversation_offsets),
        "first message": evaluate.first_parents(test.conversation_offsets),
        "nearest by tf-idf": _links(_only({"similarity": 1.0}, is_channel), test).parents,
    }


def _calibration(links: Found, gold: NDArray[np.int64]) -> dict[str, Any]:
    """Return the calibration of the chosen parents, where there is more than one candidate."""
    chosen = links.runners_up != -2
    error, bins = evaluate.reliability(
        links.probabilities[chosen], links.parents[chosen] == gold[chosen]
    )
    return {"error": error, "bins": bins.tolist()}


def _how(is_channel: bool) -> dict[str, Any]:
    """Return parameters: logs are in order already, and their clocks wrap around at midnight."""
    return {"channel": True, "order": "corpus"} if is_channel else {}


def _conversations(corpus: pv.Corpus) -> NDArray[np.int64]:
    lengths = np.diff(corpus.conversation_offsets)
    return np.repeat(np.arange(len(lengths)), lengths)


def _links(rebuilder: ThreadRebuilder, test: pv.Corpus) -> Found:
    """Return the links found in a corpus stripped of its replies, in the order of its rows."""
    table = test.table.with_columns(pl.lit(None, pl.String).alias("reply_to"))
    flat = replace(test, table=table, parents=np.full(test.n_messages, -1, np.int32))
    links = rebuilder.links(flat)
    assert (np.diff(links.rows) == 1).all()  # the corpus is in order already
    return links


def _only(weights: dict[str, float], is_channel: bool, model: Any = None) -> ThreadRebuilder:
    """Return a rebuilder that uses only the weighted features, and the nearest among equals.

    Only the first message of a conversation counts as a start.
    """
    rebuilder = ThreadRebuilder(model, **_how(is_channel))
    numbers = np.zeros(len(FEATURES))
    for name, weight in weights.items():
        numbers[FEATURES.index(name)] = weight
    numbers[columns.START] = -1e4
    rebuilder.ranker_ = Ranker.linear(numbers)
    rebuilder.temperature_ = 1.0
    return rebuilder


def _models(options: Options, train: pv.Corpus, is_channel: bool) -> dict[str, Any]:
    """Fit M4 and the block HMM to part of the training conversations."""
    part = train
    if not is_channel:
        part = thinned(train, _MODEL_MESSAGES[options.size])
    else:  # conversations, which models learn from
        return {}
    settings = {"n_classes": 10, "n_sweeps": _SWEEPS[options.size], "n_jobs": options.n_jobs,
                "background": True}  # fmt: skip
    return {
        "M4": pv.M4(transition="softmax", **settings).fit(part, show_progress=False),
        "block HMM": pv.BlockHMM(**settings).fit(part, show_progress=False),
    }


def _sums(
    found: NDArray[np.int64], gold: NDArray[np.int64], groups: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the numbers of right parents and of messages per conversation."""
    _, numbers = np.unique(groups, return_inverse=True)
    right = np.bincount(numbers, found == gold)
    return np.column_stack((right, np.bincount(numbers))).astype(float)


def _figures(
    found: NDArray[np.int64],
    gold: NDArray[np.int64],
    groups: NDArray[np.int64],
    previous: NDArray[np.int64],
) -> dict[str, Any]:
    """Return accuracies with intervals, link scores and conversation scores."""
    choice = previous >= 0  # not the first of a conversation, for which there is nothing to find
    return {
        "accuracy": list(evaluate.bootstrap(_sums(found, gold, groups))),
        "choices": float((found == gold)[choice].mean()),
        "links": evaluate.link_scores(found, gold),
        "conversations": evaluate.conversation_scores(components(found), components(gold)),
    }
