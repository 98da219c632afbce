"""Whether acts help to find replies, and uncertain replies to find classes.

    python -m benchmarks.threads_acts ../shared/data

prints two tables. Nothing here sees a test part: up to 5,000 messages of the training part of each
corpus are divided by conversation.

*Acts as evidence*: a model of acts is fitted to three quarters, and the replies of the last quarter
are rebuilt with and without it (``ThreadRebuilder(model)``), each learned twice, from two seeds.

*Uncertain replies as input*: a rebuilder learns from the first third. A block HMM is fitted to the
second third, whose own replies are hidden: each message answers the one before it; its likeliest
parent; in three copies of the corpus, the likeliest parent each time, or parents drawn from the
rebuilder's probabilities; or its true parent. The perplexity of the last third says how good the
model is; who answers whom there is known, or rebuilt as well.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import palaver as pv
from benchmarks.papers.threads_data import FILES, parts, thinned
from palaver import evaluate, rng
from palaver.threads import ThreadRebuilder
from palaver.threads.transitions import unlinked

_MOST = 5000
_SEEDS = 2
_COPIES = 3
_CLASSES, _SWEEPS, _CHAINS = 10, 200, 3


def gain_of_acts(data: Path, name: str) -> str:
    """Return a row: accuracy without and with acts, and the difference."""
    train, test = thinned(parts(data, name)[0], _MOST).split(0.25, random_state=0)
    model = pv.Acts(n_chains=6).fit(_earlier(train), show_progress=False)
    groups = np.repeat(np.arange(test.n_conversations), np.diff(test.conversation_offsets))
    sums = {}
    for given in (None, model):
        right = np.mean([_right(given, seed, train, test) for seed in range(_SEEDS)], axis=0)
        sums[given] = np.column_stack((np.bincount(groups, right), np.bincount(groups)))
    gain = evaluate.paired_bootstrap(sums[model], sums[None])
    figures = [100 * x for x in (gain.second, gain.first)]
    low, difference, high = (100 * x for x in (gain.low, gain.difference, gain.high))
    return (f"| {name} | {train.n_messages:,} | {test.n_messages:,} | {figures[0]:.1f} | "
            f"{figures[1]:.1f} | {difference:+.1f} ({low:+.1f} to {high:+.1f}) |")  # fmt: skip


def _earlier(corpus: pv.Corpus) -> pv.Corpus:
    """Return the corpus without replies that come before their parents, as clocks differ."""
    late = corpus.parents >= np.arange(corpus.n_messages)
    parents = np.where(late, -1, corpus.parents).astype(np.int32)
    return replace(corpus, table=corpus.table.drop("other_parents", strict=False), parents=parents)


def _right(model: Any, seed: int, train: pv.Corpus, test: pv.Corpus) -> NDArray[np.float64]:
    """Return which parents of the test conversations are found."""
    rebuilder = ThreadRebuilder(model, random_state=seed, fallback=False).fit(train)
    return (rebuilder.links(unlinked(test)).parents == test.parents).astype(np.float64)


def perplexities(data: Path, name: str) -> str:
    """Return a row: perplexities by what is known of the replies."""
    whole = thinned(parts(data, name)[0], _MOST)
    third = np.arange(whole.n_conversations) % 3
    learned, own, held = (_earlier(whole.take(np.flatnonzero(third == part))) for part in range(3))
    rebuilder = ThreadRebuilder(fallback=False).fit(learned)
    likeliest = drawn(rebuilder, own, None)
    previous = evaluate.previous_parents(own.conversation_offsets)
    given = {
        "previous": [previous],
        "likeliest": [likeliest],
        "likeliest, copies": [likeliest] * _COPIES,
        "drawn": [drawn(rebuilder, own, seed) for seed in range(_COPIES)],
        "true": [own.parents],
        "true, copies": [own.parents] * _COPIES,
    }
    rebuilt = _linked(held, [drawn(rebuilder, held, None)])
    right = [f"{(parents[0] == own.parents).mean():.3f}" for parents in given.values()]
    print(f"{name}: shares of right parents: {', '.join(right)}", flush=True)
    cells = []
    for parents in given.values():
        model = pv.BlockHMM(_CLASSES, n_sweeps=_SWEEPS, n_chains=_CHAINS)
        model.fit(_linked(own, parents), show_progress=False)
        cells.append(f"{_perplexity(model, held):.1f} / {_perplexity(model, rebuilt):.1f}")
    return f"| {name} | {' | '.join(cells)} |"


def _perplexity(model: Any, corpus: pv.Corpus) -> float:
    return float(model.perplexity(corpus, method="sequential", n_particles=100))


def drawn(rebuilder: ThreadRebuilder, corpus: pv.Corpus, seed: int | None) -> NDArray[np.int64]:
    """Return parents drawn from the rebuilder's probabilities; without a seed, the likeliest."""
    gathered = rebuilder._gather(unlinked(corpus))
    assert (np.diff(gathered.rows) == 1).all()  # the corpus is in order already
    if rebuilder.leanings_ is not None:
        gathered = gathered.leaning(rebuilder.leanings_.scores(gathered))
    judge = rebuilder._judge(gathered)
    draws = rng.generator(seed or 0, "parents").random(corpus.n_messages)
    parents = np.empty(corpus.n_messages, np.int64)
    for pairs in rebuilder._pairs(gathered, None):
        chances = judge(pairs)
        for number, message in enumerate(pairs.messages):
            own = slice(pairs.offsets[number], pairs.offsets[number + 1])
            sums = np.cumsum(chances[own])
            place = np.searchsorted(sums, draws[message] * sums[-1], side="right")
            place = chances[own].argmax() if seed is None else min(place, len(sums) - 1)
            parents[message] = pairs.candidates[own][place]
    return parents


def _linked(corpus: pv.Corpus, copies: list[NDArray[np.integer[Any]]]) -> pv.Corpus:
    """Return copies of a corpus, one after the other, each with its own parents."""
    size = corpus.n_messages
    tables = [corpus.table.with_columns(conversation=pl.format("{}|{}", pl.lit(k), "conversation"),
                                        id=pl.format("{}|{}", pl.lit(k), "id"))
              for k in range(len(copies))]  # fmt: skip
    parents = [np.where(own < 0, -1, own + k * size) for k, own in enumerate(copies)]
    offsets = [corpus.conversation_offsets[:-1] + k * size for k in range(len(copies))]
    return replace(
        corpus,
        table=pl.concat(tables),
        parents=np.concatenate(parents).astype(np.int32),
        conversation_offsets=np.append(np.concatenate(offsets), size * len(copies)),
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--on", nargs="+", choices=list(FILES), default=list(FILES))
    parser.add_argument("--only", choices=("acts", "input"))
    asked = parser.parse_args()
    if asked.only != "input":
        print("| corpus | trained on | judged on | without acts | with acts | difference |")
        print("|---|---|---|---|---|---|", flush=True)
        for name in asked.on:
            print(gain_of_acts(asked.data, name), flush=True)
    if asked.only != "acts":
        print("| corpus | previous | likeliest | likeliest, 3 copies | drawn, 3 copies | true | "
              "true, 3 copies |")  # fmt: skip
        print("|---|---|---|---|---|---|---|", flush=True)
        for name in asked.on:
            print(perplexities(asked.data, name), flush=True)


if __name__ == "__main__":
    main()
