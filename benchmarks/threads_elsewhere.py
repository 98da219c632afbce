"""Rebuild threads with what was learned from another kind of talk.

    python -m benchmarks.threads_elsewhere ../shared/data --learn r-help

learns from up to 10,000 training messages of each given corpus and rebuilds up to 3,000 test
messages of every other one: with what was learned alone, and as users get it, which falls back to
the default (with numbers learned without the corpus that is rebuilt). It prints a table. With
``--sections``, it learns from the training threads of 4forums without its three largest sections,
and rebuilds up to 3,000 messages of each of these: the same kind of talk about something else.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

import palaver as pv
from benchmarks.papers.threads_data import FILES, parts, thinned
from palaver import evaluate
from palaver.errors import PalaverWarning
from palaver.threads import ThreadRebuilder, learn_defaults

_TRAIN, _TEST, _DEFAULTS = 10_000, 3000, 3000
_SECTIONS = 3


def _accuracy(rebuilder: ThreadRebuilder, test: pv.Corpus) -> float:
    table = test.table.with_columns(pl.lit(None, pl.String).alias("reply_to"))
    flat = replace(test, table=table, parents=np.full(test.n_messages, -1, np.int32))
    return evaluate.thread_accuracy(rebuilder.links(flat).parents, test.parents)


def _previous(test: pv.Corpus) -> float:
    return evaluate.thread_accuracy(
        evaluate.previous_parents(test.conversation_offsets), test.parents
    )


def _sections(data: Path) -> None:
    """Print how well sections of a forum are rebuilt by what was learned from the others."""
    train = parts(data, "4forums")[0]
    topics = train.table["topic"].cast(pl.String).to_numpy()[train.conversation_offsets[:-1]]
    names, counts = np.unique(topics.astype(str), return_counts=True)
    largest = names[np.argsort(-counts, kind="stable")[:_SECTIONS]]
    learned = ThreadRebuilder().fit(train.take(np.flatnonzero(~np.isin(topics, largest))))
    print("| section | messages | distance | previous message | trained |\n|---|---|---|---|---|")
    for name in largest:
        test = thinned(train.take(np.flatnonzero(topics == name)), _TEST)
        right = _accuracy(learned, test)
        print(f"| {name} | {test.n_messages:,} | {learned.distance_:.2f} | {_previous(test):.3f} | "
              f"{right:.3f} |", flush=True)  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--learn", nargs="+", choices=list(FILES), default=list(FILES))
    parser.add_argument("--on", nargs="+", choices=list(FILES), default=list(FILES))
    parser.add_argument("--sections", action="store_true")
    asked = parser.parse_args()
    if asked.sections:
        _sections(asked.data)
        return
    known = {name: parts(asked.data, name) for name in FILES}
    print("| learned from | used on | distance | previous message | learned alone | as used |")
    print("|---|---|---|---|---|---|", flush=True)
    learned = {name: ThreadRebuilder().fit(thinned(known[name][0], _TRAIN)) for name in asked.learn}
    for on in asked.on:
        test = thinned(known[on][1], _TEST)
        others = [thinned(known[name][0], _DEFAULTS) for name in FILES if name != on]
        default = ThreadRebuilder.by_places(learn_defaults(others))
        previous = _previous(test)
        for name, rebuilder in learned.items():
            rebuilder._default = lambda default=default: default  # type: ignore[method-assign,misc]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PalaverWarning)
                used = _accuracy(rebuilder.set_params(fallback=True), test)
                alone = _accuracy(rebuilder.set_params(fallback=False), test)
            print(f"| {name} | {on} | {rebuilder.distance_:.2f} | {previous:.3f} | {alone:.3f} | "
                  f"{used:.3f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
