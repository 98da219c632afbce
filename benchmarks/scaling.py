"""A Ray cluster against threads: network traffic, cost of coordination, memory.

Run: python -m benchmarks.scaling --data ../shared/data [--tokens 1,20] [--classes 25]
     python -m benchmarks.scaling --tokens 20 --memory LDA,M4      only memory ("" for none)
     python -m benchmarks.scaling --copies 51 --sweeps 4           the same bytes, 100 M words

The threads of r-help are repeated until there are that many million tokens, written to disk and
mapped. LDA with background, K = 25, parallel sampler, seed 0. A round is everything a sweep costs
in a fit. Rounds are timed by wall clock; sweeping (summed over workers) and the driver by processor
time, which other work on the machine hardly affects.
The estimate adds up measured costs: sweeping a token; a call to an actor; what the driver does
alone in a round; making the globals of what was sent and merging a byte of counts in an actor. The
network is an assumption: a fixed number of bytes per second, with the driver sending the globals to
the machine of every actor, one actor each, which is the worst case. All costs but the calls grow
with the vocabulary.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from benchmarks.models import FILE, chain_of
from benchmarks.rounds import Rounds
from palaver.encoding import Encoded, encode
from palaver.encoding.shards import LARGEST
from palaver.encoding.tokens import Coded
from palaver.parallel import LocalExecutor
from palaver.parallel.wire import array_bytes, packed, unpacked
from palaver.parallel.worker import Worker

N_CLASSES, WARM, ROUNDS, CALLS = 25, 3, 7, 500
#: Bytes per second, 10 Gbit/s.
NETWORK = 1.25e9


def repeated(encoded: Encoded, n_tokens: int) -> Encoded:
    """Return a corpus with its conversations repeated until it has about ``n_tokens`` tokens."""
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


def measure(folder: Path, executor: Any, n_classes: int) -> dict[str, Any]:
    """Return the seconds of a round, of its sweeping and of the driver, and the bytes moved."""
    encoded = Encoded.open(folder)
    rounds = chain_of(pv.LDA(n_classes=n_classes), encoded, "parallel", executor=executor)
    rounds.sweep(WARM)
    seconds, driver, sweeping = [], [], []
    for _ in range(ROUNDS):
        start, busy = time.perf_counter(), time.process_time()
        rounds.sweep(1)
        seconds.append(time.perf_counter() - start)
        driver.append(time.process_time() - busy)
        sweeping.append(getattr(executor, "traffic", None) and executor.traffic.sweeping)
    executor.end()
    found = {"tokens": encoded.n_tokens, "seconds": statistics.median(seconds)}
    if hasattr(executor, "traffic"):
        found |= vars(executor.traffic) | {
            "sweeping": statistics.median(sweeping),
            "driver": statistics.median(driver),
            "whole": array_bytes(rounds.shared.arrays),
            "shards": len(executor._shards),
            **actor_costs(rounds, executor),
        }
    return found


def actor_costs(rounds: Rounds, executor: Any) -> dict[str, float]:
    """Return the seconds of a call, of making globals, and of merging a byte of counts."""
    ray = executor._ray
    actors = list(executor._actors.values())
    start = time.process_time()
    ray.get([actors[i % len(actors)].ready.remote() for i in range(CALLS)])
    call = (time.process_time() - start) / CALLS
    engine: Any = rounds.engine
    sent = packed(rounds.shared.sent or {})
    start = time.process_time()
    engine.complete(unpacked(sent))
    make = time.process_time() - start
    worker = Worker()
    worker.begin(rounds.engine)
    total = ray.get(actors[0].total.remote(executor._n_broadcasts))
    start = time.process_time()
    worker.total(0, total, total)
    merge = (time.process_time() - start) / (2 * total.size)
    return {"call": call, "make": make, "merge": merge}


def compare(folder: Path, n_classes: int) -> list[dict[str, Any]]:
    """Measure threads and actors on one corpus."""
    rows = []
    for n in (1, 2):
        rows.append({"where": f"{n} thread{'s'[:n-1]}", "workers": n}
                    | measure(folder, LocalExecutor(n), n_classes))  # fmt: skip
    for n in (1, 2):
        with pv.RayExecutor(workers=n) as executor:
            row = measure(folder, executor, n_classes)
        rows.append({"where": f"{n} actor{'s'[: n - 1]}", "workers": n} | row)
    return rows


def same_bytes(
    folder: Path, sweeps: int, n_classes: int, actors: list[int]
) -> list[dict[str, Any]]:
    """Fit LDA on threads and on actors; return time, memory and a fingerprint of the results."""
    return [
        json.loads(
            subprocess.run(
                [sys.executable, "-m", "benchmarks.scaling", "--fit", kind, "--folder", str(folder),
                 "--workers", str(n), "--sweeps", str(sweeps), "--classes", str(n_classes)],
                check=True, stdout=subprocess.PIPE, text=True,
            ).stdout.splitlines()[-1]
        )
        for kind, numbers in (("threads", (1, 2)), ("actors", actors))
        for n in numbers
    ]  # fmt: skip


def fit(kind: str, folder: Path, workers: int, sweeps: int, n_classes: int) -> dict[str, Any]:
    """Fit LDA to a stored corpus; to be run in a process of its own."""
    encoded = Encoded.open(folder)
    executor = pv.RayExecutor(workers) if kind == "actors" else LocalExecutor(workers)
    model = pv.LDA(n_classes=n_classes, sampler="parallel", n_sweeps=sweeps, burn_in=sweeps - 1)
    model.fit(pv.sample(5), show_progress=False, executor=executor)  # compile, start actors
    pids = [os.getpid()]
    if isinstance(executor, pv.RayExecutor):
        pids += executor._ray.get([actor.ready.remote() for actor in executor._actors.values()])
    peaks, done = dict.fromkeys(pids, 0), threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            for pid in pids:
                peaks[pid] = max(peaks[pid], private(pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    model.fit(encoded, show_progress=False, executor=executor)
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    digest = hashlib.blake2b(digest_size=8)
    for array in (*model.chains_[0].values(), model.trace_.to_numpy()):
        digest.update(np.ascontiguousarray(array).tobytes())
    if isinstance(executor, pv.RayExecutor):
        executor.close()
    driver, *others = peaks.values()
    return {"where": f"{workers} {kind[:-1]}{'s' * (workers > 1)}", "tokens": encoded.n_tokens,
            "seconds": seconds, "driver": driver, "actor": max(others, default=None),
            "fingerprint": digest.hexdigest()}  # fmt: skip


def private(pid: int) -> int:
    """Return the private memory of a process in bytes."""
    with open(f"/proc/{pid}/status") as lines:
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def show_same(rows: list[dict[str, Any]], sweeps: int) -> None:
    """Print fits of the same corpus."""
    print(f"\n{rows[0]['tokens']:,} tokens, {sweeps} sweeps\n")
    print(
        "| where | s | MB, process that fits | MB, an actor | fingerprint |\n|---|---|---|---|---|"
    )
    for row in rows:
        actor = "" if row["actor"] is None else f"{row['actor'] / 1e6:,.0f}"
        print(f"| {row['where']} | {row['seconds']:.1f} | {row['driver'] / 1e6:,.0f} | {actor} | "
              f"`{row['fingerprint']}` |")  # fmt: skip


_CHILD = """
import sys, threading, time
import palaver as pv

def private():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

folder, name = sys.argv[1:]

def fit(encoded):
    by_occurrence = {"one_state_per_word": False}
    size = by_occurrence if name == "InfiniteHMM" else {"n_classes": 25, "sampler": "parallel"}
    model = getattr(pv, name)(**size, n_sweeps=3, burn_in=1, n_samples=1)
    model.fit(encoded, show_progress=False)

fit(pv.sample(5))  # compile first; compilation is not measured
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
    """Return the peak private memory, in bytes, that a fit adds to a fresh process."""
    command = [sys.executable, "-c", _CHILD, str(folder), name]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def corpus_bytes(folder: Path) -> int:
    """Return the size of an encoded corpus on disk."""
    return sum(file.stat().st_size for file in folder.rglob("*.npy"))


def estimate(large: dict[str, Any], n_words: int) -> dict[str, float]:
    """Predict a round of 100 actors and a billion tokens from one of two actors."""
    actors, tokens = 100, 1e9
    shards = max(tokens / LARGEST, actors)
    levels = math.ceil(math.log2(actors))
    counts = large["received"]  # of all tokens, as the driver gets them
    sweeping = large["sweeping"] / large["tokens"] * tokens / actors
    # the round of two actors included these calls
    calls = large["call"] * (shards + actors)
    own = large["driver"] - large["call"] * (large["shards"] + 2)
    broadcast = large["sent"] * actors / NETWORK + large["make"]
    adding = levels * counts * (large["merge"] + 1 / NETWORK)
    coordination = calls + own + broadcast + adding
    return {
        "actors": actors,
        "tokens": tokens,
        "sweeping": sweeping,
        "calls": calls,
        "own": own,
        "broadcast": broadcast,
        "adding": adding,
        "coordination": coordination,
        "from_driver": large["sent"] * actors,
        "to_driver": counts,
        "between_actors": counts * (actors - 1),
        "words": n_words,
        "words_at_break_even": n_words * (sweeping - calls) / (coordination - calls),
    }


def show(rows: list[dict[str, Any]]) -> None:
    """Print the measurements on one corpus."""
    print(f"\n{rows[0]['tokens']:,} tokens\n")
    print("| where | s/round | M tokens/s | sweeping | driver | MB of globals | MB sent | MB back "
          "| MB passed |\n|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    for row in rows:
        rate = row["tokens"] / row["seconds"] / 1e6
        cells = [row["where"], f"{row['seconds']:.3f}", f"{rate:.1f}"]
        if "sent" in row:
            cells += [f"{row[name]:.3f}" for name in ("sweeping", "driver")]
            cells += [f"{row[name] / 1e6:.2f}" for name in ("whole", "sent", "received", "passed")]
        print("| " + " | ".join(cells + [""] * (9 - len(cells))) + " |")


def show_estimate(found: dict[str, float]) -> None:
    """Print the estimated cost of a round on a large cluster."""
    print(
        f"\n{found['actors']} actors, {found['tokens']:,.0f} tokens, per round: "
        f"{found['sweeping']:.2f} s of sweeping, {found['coordination']:.2f} s of coordination "
        f"({found['own']:.2f} the driver alone, {found['calls']:.2f} calls, "
        f"{found['broadcast']:.2f} globals, {found['adding']:.2f} counts); "
        f"{found['from_driver'] / 1e6:,.0f} MB from the driver, {found['to_driver'] / 1e6:,.1f} MB "
        f"to it, {found['between_actors'] / 1e6:,.0f} MB between actors. Sweeping and "
        f"coordination break even at {found['words_at_break_even']:,.0f} words."
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--tokens", default="1,20", help="millions of tokens, smallest first")
    parser.add_argument("--memory", help="measure only the memory of these models, e.g. LDA,M4")
    parser.add_argument("--classes", type=int, default=N_CLASSES)
    parser.add_argument("--copies", type=int, help="fit so many copies on threads and actors")
    parser.add_argument("--sweeps", type=int, default=4, help="of these fits")
    parser.add_argument("--actors", default="1,2,8", help="numbers of actors of these fits")
    parser.add_argument("--fit", choices=["threads", "actors"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    sweeps, n_classes = arguments.sweeps, arguments.classes
    if arguments.fit:
        print(json.dumps(fit(arguments.fit, arguments.folder, arguments.workers, sweeps,
                             n_classes)))  # fmt: skip
        return
    plain = encode(pv.read(arguments.data / FILE))
    if arguments.copies:
        with tempfile.TemporaryDirectory() as place:
            repeated(plain, arguments.copies * plain.n_tokens).write(Path(place) / "corpus")
            actors = [int(n) for n in arguments.actors.split(",")]
            show_same(same_bytes(Path(place) / "corpus", sweeps, n_classes, actors), sweeps)
        return
    given = "LDA,M4,InfiniteHMM" if arguments.memory is None else arguments.memory
    names = given.split(",") if given else []
    results: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for millions in map(float, arguments.tokens.split(",")):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "corpus"
            repeated(plain, int(millions * 1e6)).write(folder)
            if not arguments.memory:
                rows = compare(folder, n_classes)
                show(rows)
            size = corpus_bytes(folder)
            peaks = {name: memory(folder, name) for name in names}
        results[f"{millions:g} M"] = {"rounds": rows, "corpus": size, "peaks": peaks}
        for name, peak in peaks.items():
            print(f"\n{name}: a fit adds {peak / 1e6:,.0f} MB of memory, {peak / size:.2f} of the "
                  f"corpus' {size / 1e6:,.0f} MB on disk")  # fmt: skip
    if rows:
        results["estimate"] = found = estimate(rows[-1], len(plain.vocabulary))
        show_estimate(found)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
