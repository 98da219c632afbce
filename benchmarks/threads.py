"""Rebuilding threads: its speed, and the numbers that it goes by without training.

Run: python -m benchmarks.threads                                 time for 100,000 messages
     python -m benchmarks.threads --defaults ../shared/data       learn threads/defaults.json
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
from benchmarks.papers.threads_data import FILES, parts
from palaver.threads import Defaults, ThreadRebuilder, learn_defaults, places

N_MESSAGES, N_SPEAKERS, N_WORDS, LENGTH = 100_000, 500, 20_000, 15


def channel(n_messages: int, seed: int = 0) -> pv.Corpus:
    """Return one long channel of words by Zipf's law; a third of the messages address somebody."""
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
    """Return a rebuilder with weights of all features: the cost does not depend on them."""
    rebuilder = ThreadRebuilder(channel=True)
    rebuilder.weights_ = np.random.default_rng(0).normal(size=len(places.FEATURES))
    rebuilder.temperature_ = 1.0
    return rebuilder


def measure() -> None:
    """Print the time for a channel, after one for a short one, which compiles."""
    small, large = channel(500), channel(N_MESSAGES)
    for name, rebuilder in (
        ("trained", trained()),
        ("untrained", ThreadRebuilder.default(channel=True)),
    ):
        rebuilder.rebuild(small)
        start, used = time.perf_counter(), time.process_time()
        rebuilder.rebuild(large)
        seconds, cpu = time.perf_counter() - start, time.process_time() - used
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{name}: {N_MESSAGES:,} messages, window {rebuilder.window}: {seconds:.1f} s "
              f"({cpu:.1f} s of CPU), at most {memory:.0f} MB")  # fmt: skip


def write_defaults(data: Path) -> None:
    """Learn the default numbers from the training parts of all corpora and write them."""
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


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--defaults", type=Path, metavar="DATA", help="folder of the corpora")
    data = parser.parse_args().defaults
    if data is None:
        measure()
    else:
        write_defaults(data)


if __name__ == "__main__":
    main()
