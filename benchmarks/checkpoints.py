"""What checkpoints cost: the share of a fit's time that goes into them.

Run: python -m benchmarks.checkpoints --data ../shared/data

r-help, K = 25, parallel sampler, one thread, seed 0, fitted into a folder. Checkpoints are taken at
the default interval (every minute), and requested every tenth of a second, which exceeds the limit
of 2% of the time. Times are wall-clock times, because a checkpoint mostly waits for the disk. Every
run ends with a checkpoint, which counts.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import palaver as pv
from benchmarks.models import FILE, N_CLASSES
from palaver.encoding import Encoded, encode
from palaver.fit.checkpoint import Checkpoints


class Watched:
    """Context manager that counts checkpoints and the seconds they take."""

    def __enter__(self) -> Watched:
        self.seconds, self.number = 0.0, 0
        self._plain = Checkpoints.try_save

        def try_save(checkpoints: Checkpoints, gather: Any) -> None:
            start = time.perf_counter()
            self._plain(checkpoints, gather)
            self.seconds += time.perf_counter() - start
            self.number += 1

        Checkpoints.try_save = try_save
        return self

    def __exit__(self, *problem: object) -> None:
        Checkpoints.try_save = self._plain


def measure(encoded: Encoded, kind: Any, seconds: float, **options: Any) -> dict[str, float]:
    """Fit for ``seconds``; return the number of checkpoints, their time and its share."""
    model = kind(
        n_classes=N_CLASSES, sampler="parallel", n_sweeps=20_000, burn_in=0, n_samples=2_000,
        max_seconds=seconds, random_state=0,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, Watched() as watched:
        start = time.perf_counter()
        model.fit(encoded, folder=folder, show_progress=False, **options)
        whole = time.perf_counter() - start
        last = Path(folder) / "checkpoint"
        size = sum(file.stat().st_size for file in last.rglob("*.npy")) / 2  # and the one before
    return {
        "sweeps": model.n_sweeps_,
        "seconds": whole,
        "checkpoints": watched.number,
        "size": size,
        "writing": watched.seconds,
        "share": watched.seconds / whole,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checkpoints", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seconds", type=float, default=130.0, help="duration of each fit")
    arguments = parser.parse_args()
    encoded = encode(pv.read(arguments.data / FILE))
    print(f"{encoded.n_tokens:,} tokens\n")
    print("| model | every | sweeps | seconds | checkpoints | MB each | writing, s | share |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in (pv.LDA, pv.M4):
        kind(n_classes=N_CLASSES, sampler="parallel", n_sweeps=2).fit(pv.sample(5))  # compiles
        for every, options in (("60 s", {}), ("0.1 s", {"checkpoint_seconds": 0.1})):
            row = measure(encoded, kind, arguments.seconds, **options)
            print(
                f"| {kind.__name__} | {every} | {row['sweeps']:,.0f} | {row['seconds']:.0f} | "
                f"{row['checkpoints']} | {row['size'] / 1e6:.1f} | {row['writing']:.2f} | "
                f"{100 * row['share']:.2f}% |"
            )


if __name__ == "__main__":
    main()
