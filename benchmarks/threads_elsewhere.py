"""Rebuild threads with what was learned from another kind of talk.

    python -m benchmarks.threads_elsewhere ../shared/data --learn r-help

learns from up to 10,000 training messages of each given corpus and rebuilds up to 3,000 test
messages of every other one: with what was learned alone, and as users get it, which falls back to
the default (with numbers learned without the corpus that is rebuilt). It prints a table. With
``--sections``, it learns from the training threads of 4forums without its three largest sections,
and rebuilds up to 3,000 messages of each of these: the same kind of talk about something else.
With ``--channel``, it rebuilds up to 3,000 test messages of each corpus by what ships for channels:
alone, and as users of ``--channel`` get it, who may give it separate conversations; and the test
logs of ubuntu-irc, whole and in pieces.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import palaver as pv
from benchmarks.papers.threads_data import CHANNEL, FILES, parts, thinned
from palaver import evaluate
from palaver.errors import PalaverWarning
from palaver.threads import ThreadRebuilder, learn_defaults
from palaver.threads.likeness import separate

_TEST = 3000
#: Most messages to learn from, to rebuild, and to learn the default from, per corpus.
LIMITS = (10_000, _TEST, 3000)
_SECTIONS = 3
_PIECES = (10, 20, 40)  # messages
_SOME = 300


def _accuracy(rebuilder: ThreadRebuilder, test: pv.Corpus) -> float:
    table = test.table.with_columns(pl.lit(None, pl.String).alias("reply_to"))
    flat = replace(test, table=table, parents=np.full(test.n_messages, -1, np.int32))
    return evaluate.thread_accuracy(rebuilder.links(flat).parents, test.parents)


def _previous(test: pv.Corpus) -> float:
    return evaluate.thread_accuracy(
        evaluate.previous_parents(test.conversation_offsets), test.parents
    )


def elsewhere(
    data: Path, learn: Sequence[str], used_on: Sequence[str], sizes: Sequence[int] = LIMITS
) -> Iterator[dict[str, Any]]:
    """Yield how well each corpus is rebuilt by what was learned from another one.

    Parameters
    ----------
    data : Path
    learn, used_on : sequence of str
        Names of corpora.
    sizes : sequence of int
        Most messages to learn from, to rebuild, and to learn the default from, per corpus.
    """
    n_train, n_test, n_default = sizes
    known = {name: parts(data, name) for name in FILES}
    learned = {name: ThreadRebuilder().fit(thinned(known[name][0], n_train)) for name in learn}
    for on in used_on:
        test = thinned(known[on][1], n_test)
        others = [thinned(known[name][0], n_default) for name in FILES if name != on]
        default = ThreadRebuilder.by_places(learn_defaults(others))
        best = max(_previous(test), _first(test))
        for name, rebuilder in learned.items():
            if name == on:
                continue
            rebuilder._default = lambda default=default: default  # type: ignore[method-assign,misc]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PalaverWarning)
                used = _accuracy(rebuilder.set_params(fallback=True), test)
                alone = _accuracy(rebuilder.set_params(fallback=False), test)
            yield {"learned": name, "on": on, "distance": rebuilder.distance_,
                   "previous": _previous(test), "best": best, "alone": alone,
                   "used": used}  # fmt: skip


def _first(test: pv.Corpus) -> float:
    return evaluate.thread_accuracy(evaluate.first_parents(test.conversation_offsets), test.parents)


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


def _channel(data: Path) -> None:
    """Print how well what ships for channels does, also where there are none.

    *Separate*: the share of conversations that, as files of their own, look like no channel.
    """
    logs = parts(data, CHANNEL)[1]
    given = {name: thinned(parts(data, name)[1], _TEST) for name in FILES}
    given["molweni, not in the training logs"] = _unseen(given["molweni"], parts(data, CHANNEL)[0])
    given["ubuntu-irc, logs"] = logs
    given |= {f"ubuntu-irc, logs in pieces of {n}": _pieces(logs, n) for n in _PIECES}
    shipped = ThreadRebuilder.default(channel=True, order="corpus")
    print("| file | messages | separate | previous message | shipped | as used |")
    print("|---|---|---|---|---|---|")
    for name, test in given.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PalaverWarning)
            used = _accuracy(shipped.set_params(fallback=True), test)
            alone = _accuracy(shipped.set_params(fallback=False), test)
        figures = (_previous(test), alone, used)
        shown = " | ".join(f"{figure:.3f}" for figure in figures)
        some = range(min(test.n_conversations, _SOME))
        apart = np.mean([separate(test.take([number])) is not None for number in some])
        print(f"| {name} | {test.n_messages:,} | {apart:.0%} | {shown} |", flush=True)


def _unseen(dialogues: pv.Corpus, logs: pv.Corpus) -> pv.Corpus:
    """Return the dialogues without a message of four or more words that the logs have.

    Dialogues lack the name that a message in the logs may begin with.
    """
    known = set(_plain(logs, r"^\s*\S+\s*[:,]")) | set(_plain(logs, r"^$"))
    seen = [words in known and words.count(" ") > 2 for words in _plain(dialogues, r"^$")]
    whole = np.add.reduceat(np.array(seen), dialogues.conversation_offsets[:-1]) == 0
    return dialogues.take(np.flatnonzero(whole))


def _plain(corpus: pv.Corpus, without: str) -> list[str]:
    """Return the words of messages in small letters, without what matches."""
    texts = corpus.table["text"].str.replace(without, "").str.to_lowercase()
    words: list[str] = texts.str.extract_all(r"\w+").list.join(" ").to_list()
    return words


def _pieces(logs: pv.Corpus, size: int) -> pv.Corpus:
    """Cut logs into pieces; what replied to a message of another piece is a start."""
    whole = np.asarray(logs.conversation_offsets)
    offsets = np.unique(np.concatenate([np.arange(0, whole[-1], size), whole]))
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    names = pl.Series("conversation", starts.astype(str))
    parents = np.where(logs.parents < starts, -1, logs.parents).astype(np.int32)
    return replace(
        logs, table=logs.table.with_columns(names), parents=parents, conversation_offsets=offsets
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--learn", nargs="+", choices=list(FILES), default=list(FILES))
    parser.add_argument("--on", nargs="+", choices=list(FILES), default=list(FILES))
    parser.add_argument("--sections", action="store_true")
    parser.add_argument("--channel", action="store_true")
    asked = parser.parse_args()
    if asked.channel:
        _channel(asked.data)
        return
    if asked.sections:
        _sections(asked.data)
        return
    print("| learned from | used on | distance | previous message | learned alone | as used |")
    print("|---|---|---|---|---|---|", flush=True)
    for row in elsewhere(asked.data, asked.learn, asked.on):
        print(f"| {row['learned']} | {row['on']} | {row['distance']:.2f} | {row['previous']:.3f} | "
              f"{row['alone']:.3f} | {row['used']:.3f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
