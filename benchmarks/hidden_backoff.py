"""Hidden backoff models: duration of embedded EM, tagging speed, memory.

Run: python -m benchmarks.hidden_backoff --data ../shared/data

MRDA's 51 training meetings, two states per tag, the paper's training procedure. Training is timed
from the encoded corpus to the trained tagger; tagging on the 11 development meetings, from encoded
sentences to tags. Seed 0. Wall-clock time includes other work on the machine, so processor time is
shown as well.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import palaver as pv
from benchmarks.papers.hidden_backoff_data import meetings
from palaver.encoding import encode

#: Bigrams of tags, as the paper has them; the defaults also look at speakers.
BIGRAMS: dict[str, Any] = {"tag_order": 2, "speaker_change": False, "interpolate": True}


def timed(work: Any) -> tuple[Any, float, float]:
    """Return a result, its wall-clock time and its processor time."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def measure(data: Path, n_jobs: int) -> dict[str, Any]:
    train = encode(meetings(data, "words", "train"), min_count=1)
    dev = encode(meetings(data, "words", "dev"), min_count=1)
    small = encode(pv.sample(30), min_count=1)
    pv.HiddenBackoffTagger(n_states=2).fit(small, show_progress=False).predict(small)  # compiles
    process = psutil.Process()
    before = process.memory_info().rss
    rows: dict[str, Any] = {}
    for n_states in (1, 2):
        tagger = pv.HiddenBackoffTagger(n_states=n_states, n_jobs=n_jobs, **BIGRAMS)
        _, wall, cpu = timed(lambda t=tagger: t.fit(train, show_progress=False))
        tags, tag_wall, tag_cpu = timed(lambda t=tagger: t.predict(dev))
        tables = tagger.chains_[0]
        n_bytes = sum(a.nbytes for name, a in tables.items() if name.startswith("words"))
        n_ngrams = sum(len(a) for name, a in tables.items() if name.endswith("_pairs"))
        rows[f"{n_states} states"] = {
            "train_sentences": train.n_messages,
            "train_tokens": train.n_tokens,
            "train_seconds": wall,
            "train_cpu_seconds": cpu,
            "sweeps": int(tagger.n_sweeps_),
            "tag_sentences_per_second": len(tags) / tag_wall,
            "tag_sentences_per_cpu_second": len(tags) / tag_cpu,
            "model_bytes": int(n_bytes),
            "ngrams_of_all_nodes": int(n_ngrams),
            "bytes_per_ngram": n_bytes / n_ngrams,
        }
    rows["memory added, MB"] = (process.memory_info().rss - before) / 2**20
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    rows = measure(arguments.data, arguments.n_jobs)
    for name, row in rows.items():
        print(name)
        for key, value in row.items() if isinstance(row, dict) else [("", row)]:
            print(f"  {key:32} {np.round(value, 2):,}")
    if arguments.output:
        arguments.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
