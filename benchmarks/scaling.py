"""A Ray cluster against threads: what travels, what coordination costs, what memory it takes.

Run: python -m benchmarks.scaling --data ../shared/data [--tokens 1,20] [--json FILE]

r-help, its threads repeated until there are so many million tokens, written to disk and mapped.
LDA with background, K = 25, parallel sampler, seed 0. A round is everything that a sweep costs in a
fit. *Coordination* is the time of a round in which no actor sweeps, if sweeps were spread evenly:
round - sweeping / actors; it has the update of the parameters in it, which threads pay, too.

The estimate is a model of three measured costs: sweeping a token; moving a byte of globals to an
actor's machine or of statistics back; and what the driver does alone per word and class (merging
and drawing parameters).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from benchmarks.models import FILE, chain_of
from palaver.encode import Encoded, encode
from palaver.encode.tokens import Coded
from palaver.parallel import LocalExecutor

N_CLASSES, WARM, ROUNDS = 25, 3, 7


def repeated(encoded: Encoded, n_tokens: int) -> Encoded:
    """Return a corpus with its conversations repeated until it has so many tokens."""
    times = max(1, round(n_tokens / encoded.n_tokens))
    shift = np.repeat(np.arange(times) * encoded.n_messages, encoded.n_messages)
    parents = np.tile(encoded.parents, times)

    def offsets(ends: np.ndarray) -> np.ndarray:
        return np.concatenate(([0], np.cumsum(np.tile(np.diff(ends), times))))

    return Encoded(
        np.tile(encoded.tokens, times),
        offsets(encoded.message_offsets),
        np.where(parents < 0, -1, parents + shift).astype(np.int32),
        offsets(encoded.conversation_offsets),
        Coded(np.full(len(parents), -1, np.int32), []),
        {},
        encoded.vocabulary,
        fingerprint=f"{encoded.fingerprint} x {times}",
    )


def measure(folder: Path, executor: Any) -> dict[str, float]:
    """Return seconds of a round, of its sweeping, and the bytes it moved."""
    encoded = Encoded.open(folder)
    rounds = chain_of(pv.LDA(n_classes=N_CLASSES), encoded, "parallel", executor=executor)
    rounds.sweep(WARM)
    seconds, sweeping = [], []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        rounds.sweep(1)
        seconds.append(time.perf_counter() - start)
        sweeping.append(getattr(executor, "traffic", None) and executor.traffic.sweeping)
    executor.end()
    found = {"tokens": encoded.n_tokens, "seconds": statistics.median(seconds)}
    if hasattr(executor, "traffic"):
        traffic = executor.traffic
        found |= {
            "sweeping": statistics.median(sweeping),
            "sent": traffic.sent,
            "received": traffic.received,
        }
    return found


def compare(folder: Path) -> list[dict[str, Any]]:
    """Measure threads and actors on one corpus."""
    rows = []
    for n in (1, 2):
        rows.append({"where": f"{n} thread{'s'[:n-1]}", "workers": n}
                    | measure(folder, LocalExecutor(n)))  # fmt: skip
    for n in (1, 2):
        with pv.RayExecutor(workers=n) as executor:
            row = measure(folder, executor)
        row["coordination"] = row["seconds"] - row["sweeping"] / n
        rows.append({"where": f"{n} actor{'s'[: n - 1]}", "workers": n} | row)
    return rows


_CHILD = """
import sys, threading, time
import palaver as pv

def private():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

folder, name = sys.argv[1:]

def fit(encoded):
    kind = getattr(pv, name)
    model = kind(n_classes=25, sampler="parallel", n_sweeps=3, burn_in=1, n_samples=1)
    model.fit(encoded, show_progress=False)

fit(pv.sample(5))  # compiled code is not what is measured
before = private()
encoded = pv.Encoded.open(folder)
peak, done = [before], []
def watch():
    while not done:
        peak.append(private())
        time.sleep(0.01)
watcher = threading.Thread(target=watch)
watcher.start()
fit(encoded)
done.append(True)
watcher.join()
print(1024 * (max(peak) - before))
"""


def memory(folder: Path, name: str) -> int:
    """Return the most private memory, in bytes, that a fit adds to a fresh process."""
    command = [sys.executable, "-c", _CHILD, str(folder), name]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def corpus_bytes(folder: Path) -> int:
    """Return the size of an encoded corpus on disk."""
    return sum(file.stat().st_size for file in folder.rglob("*.npy"))


def estimate(
    small: list[dict[str, Any]], large: list[dict[str, Any]], n_words: int
) -> dict[str, float]:
    """Fit the three costs on the runs with two actors and foretell 100 actors, 1e9 tokens."""
    one, two = small[-1], large[-1]
    token = two["sweeping"] / two["tokens"]
    # what a round costs beyond sweeping, per byte that came back; merging and drawing included
    byte = two["coordination"] / (two["received"] + two["sent"])
    actors, tokens = 100, 1e9
    shards = tokens / 4e6
    sent = two["sent"] * actors
    received = one["received"] / max(one["tokens"] // 100_000, 1) * shards
    return {
        "actors": actors,
        "tokens": tokens,
        "sweeping": token * tokens / actors,
        "moved": sent + received,
        "coordination": byte * (sent + received),
        "words": n_words,
        "breaks_even_at_bytes": token * tokens / actors / byte,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--tokens", default="1,20", help="millions, smallest first")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    plain = encode(pv.read(arguments.data / FILE))
    results: dict[str, Any] = {}
    tables = []
    for millions in map(float, arguments.tokens.split(",")):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "corpus"
            repeated(plain, int(millions * 1e6)).write(folder)
            rows = compare(folder)
            tables.append(rows)
            size = corpus_bytes(folder)
            peaks = {name: memory(folder, name) for name in ("LDA", "M4")}
        results[f"{millions:g} M"] = {"rounds": rows, "corpus": size, "peaks": peaks}
        print(f"\n{rows[0]['tokens']:,} tokens\n")
        print("| where | s a round | M tokens/s | sweeping | coordination | MB sent | MB back |")
        print("|---|---|---|---|---|---|---|")
        for row in rows:
            rate = row["tokens"] / row["seconds"] / 1e6
            cells = [row["where"], f"{row['seconds']:.3f}", f"{rate:.1f}"]
            if "sent" in row:
                cells += [f"{row[name]:.3f}" for name in ("sweeping", "coordination")]
                cells += [f"{row[name] / 1e6:.2f}" for name in ("sent", "received")]
            print("| " + " | ".join(cells + [""] * (7 - len(cells))) + " |")
        for name, peak in peaks.items():
            print(f"\n{name}: a fit adds {peak / 1e6:,.0f} MB of memory, {peak / size:.2f} of the "
                  f"corpus' {size / 1e6:,.0f} MB on disk")  # fmt: skip
    if len(tables) > 1:
        results["estimate"] = found = estimate(tables[0], tables[-1], len(plain.vocabulary))
        print(
            f"\n{found['actors']} actors, {found['tokens']:,.0f} tokens: {found['sweeping']:.1f} s "
            f"of sweeping, {found['moved'] / 1e6:,.0f} MB moved and {found['coordination']:.1f} s "
            "of coordination a round; both are equal at "
            f"{found['breaks_even_at_bytes'] / 1e6:,.0f} MB"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
