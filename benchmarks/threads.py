"""Rebuilding threads: speed, and the default parameters used without training.

Run: python -m benchmarks.threads                                 time 100,000 messages
     python -m benchmarks.threads --bare                          time the M4 paper's method
     python -m benchmarks.threads --defaults ../shared/data       learn threads/defaults.json
     python -m benchmarks.threads --channels ../shared/data       learn threads/channels/
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path

import numpy as np
import polars as pl

import palaver as pv
from benchmarks.papers.threads_data import CHANNEL, FILES, parts
from palaver.threads import Defaults, ThreadRebuilder, learn_defaults, places
from palaver.threads.ranker import fresh_ranker

N_MESSAGES, N_SPEAKERS, N_WORDS, LENGTH = 100_000, 500, 20_000, 15


def channel(n_messages: int, seed: int = 0) -> pv.Corpus:
    """Return a long channel of Zipf-distributed words; a third of its messages address somebody."""
    generator = np.random.default_rng(seed)
    speakers = generator.integers(0, N_SPEAKERS, n_messages)
    words = np.minimum(generator.zipf(1.3, (n_messages, LENGTH)), N_WORDS)
    named = generator.random(n_messages) < 1 / 3
    texts = [
        (f"person{speakers[max(i - 3, 0)]}: " if named[i] else "") + " ".join(f"w{w}" for w in row)
        for i, row in enumerate(words)
    ]
    table = {"conversation": ["channel"] * n_messages, "text": texts,
             "id": [str(i) for i in range(n_messages)],
             "speaker": [f"person{s}" for s in speakers],
             "time": np.cumsum(generator.integers(0, 60, n_messages))}  # fmt: skip
    return pv.Corpus.from_polars(pl.DataFrame(table))


def trained() -> ThreadRebuilder:
    """Return a rebuilder with arbitrary weights, on which the cost does not depend."""
    rebuilder = ThreadRebuilder(channel=True)
    generator = np.random.default_rng(0)
    rebuilder.ranker_ = fresh_ranker(np.ones(len(places.FEATURES)), rebuilder.hidden, generator)
    rebuilder.temperature_ = 1.0
    return rebuilder


def measure() -> None:
    """Print the time for a long channel, after a short one that triggers compilation."""
    small, large = channel(500), channel(N_MESSAGES)
    for name, rebuilder in (
        ("trained", trained()),
        ("untrained", ThreadRebuilder.by_places(channel=True)),
    ):
        rebuilder.rebuild(small)
        start, used = time.perf_counter(), time.process_time()
        rebuilder.rebuild(large)
        seconds, cpu = time.perf_counter() - start, time.process_time() - used
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{name}: {N_MESSAGES:,} messages, window {rebuilder.window}: {seconds:.1f} s "
              f"({cpu:.1f} s of CPU), at most {memory:.0f} MB")  # fmt: skip


def measure_bare() -> None:
    """Print the cost of the M4 paper's method: 500 sweeps from each of five starts."""
    whole = channel(3000)
    numbers = (np.arange(whole.n_messages) // 10).astype(str)
    threads = pv.Corpus.from_polars(whole.table.with_columns(conversation=pl.Series(numbers)))
    for model in (pv.M4(10, True, n_sweeps=20), pv.BlockHMM(10, True, n_sweeps=20)):
        model.fit(threads, show_progress=False)
        model.reconstruct(threads, order="time", n_sweeps=2, show_progress=False)  # compiles
        start = time.process_time()
        model.reconstruct(threads, order="time", show_progress=False)
        seconds = time.process_time() - start
        print(f"{model.name}, 10 classes: {threads.n_messages:,} messages of {LENGTH} words in "
              f"conversations of 10: {seconds:.1f} s of CPU")  # fmt: skip


def write_defaults(data: Path) -> None:
    """Learn the default parameters from the training sets of all corpora and write them."""
    defaults = learn_defaults([parts(data, name)[0] for name in FILES])
    path = Path(places.__file__).with_name("defaults.json")
    rounded = Defaults(
        {name: round(weight, 4) for name, weight in defaults.content.items()},
        defaults.shares.round(4),
        round(defaults.temperature, 4),
    )
    path.write_text(json.dumps(rounded.to_json(), indent=1) + "\n", "utf-8")
    print(path.read_text("utf-8"))
    assert Defaults.load().content


def write_channels(data: Path) -> None:
    """Learn the default of channels from the training logs of ubuntu-irc, without any words."""
    train, _ = parts(data, CHANNEL)
    rebuilder = ThreadRebuilder(channel=True, order="corpus", words=False).fit(train)
    rebuilder.save(Path(places.__file__).with_name("channels"))


def main() -> None:
    """Run the benchmark that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--defaults", type=Path, metavar="DATA", help="folder of the corpora")
    parser.add_argument("--channels", type=Path, metavar="DATA", help="folder of the corpora")
    parser.add_argument("--bare", action="store_true", help="measure the M4 paper's method")
    arguments = parser.parse_args()
    if arguments.defaults is not None:
        write_defaults(arguments.defaults)
    elif arguments.channels is not None:
        write_channels(arguments.channels)
    elif arguments.bare:
        measure_bare()
    else:
        measure()


if __name__ == "__main__":
    main()
