"""Speed and memory of reading and encoding real corpora, on one core and on two.

Run: python -m benchmarks.reading --data ../shared/data

Each corpus is read in separate processes, so that peak memory is their own. Times on one core are
that process's processor time, which other processes on the machine hardly affect; on two cores they
are by the clock, so the machine must be idle.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

CORPORA = {"4forums": "4forums/4forums.jsonl.gz", "swda": "swda/swda-full.jsonl.gz"}

_CHILD = """
import json, resource, sys, tempfile, time
import palaver as pv
from palaver.encoding import encode
with tempfile.TemporaryDirectory() as place:           # imports and compilation are not measured
    pv.sample(20).write(f"{place}/few.jsonl.gz")
    encode(pv.read(f"{place}/few.jsonl.gz"))
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
clock = time.process_time if sys.argv[2] == "1" else time.perf_counter
before, start = peak(), clock()
corpus = pv.read(sys.argv[1])
middle = clock()
encoded = encode(corpus)
end = clock()
print(json.dumps({
    "tokens": encoded.n_tokens + encoded.n_dropped, "messages": corpus.n_messages,
    "read_seconds": middle - start, "encode_seconds": end - middle,
    "peak_bytes": peak() - before,
}))
"""


def measure(path: Path, n_cores: int) -> dict[str, float]:
    """Read and encode a corpus in a separate process."""
    result = subprocess.run(
        [sys.executable, "-c", _CHILD, str(path), str(n_cores)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "POLARS_MAX_THREADS": str(n_cores)},
    )
    row: dict[str, float] = json.loads(result.stdout)
    seconds = row["read_seconds"] + row["encode_seconds"]
    return row | {"million_tokens_per_second": row["tokens"] / seconds / 1e6}


def run(data: Path) -> list[dict[str, float | str]]:
    """Measure each corpus on one core, and its speed on two."""
    rows: list[dict[str, float | str]] = []
    for name, file in CORPORA.items():
        path = data / file
        row = measure(path, 1)
        row["two_cores"] = measure(path, 2)["million_tokens_per_second"]
        with gzip.open(path) as stream:
            row["text_bytes"] = sum(len(block) for block in iter(lambda: stream.read(1 << 20), b""))
        row["peak_to_text"] = row["peak_bytes"] / row["text_bytes"]
        rows.append({"corpus": name, **row})
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    rows = run(parser.parse_args().data)
    print(
        f"{'corpus':10}{'tokens':>12}{'M tokens/s':>12}{'two cores':>12}{'text MB':>10}"
        f"{'peak MB':>10}{'ratio':>8}"
    )
    for row in rows:
        print(
            f"{row['corpus']:10}{row['tokens']:12,}{row['million_tokens_per_second']:12.2f}"
            f"{row['two_cores']:12.2f}"
            f"{row['text_bytes'] / 1e6:10.1f}{row['peak_bytes'] / 1e6:10.1f}"
            f"{row['peak_to_text']:8.2f}"
        )


if __name__ == "__main__":
    main()
