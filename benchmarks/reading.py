"""Speed and memory of reading and encoding real corpora, on one core.

Run: python -m benchmarks.reading --data ../shared/data

Each corpus is read in a separate process, so that peak memory is its own. Times are that process's
processor time, which other processes on the machine hardly affect.
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
import json, resource, sys, time
import palaver as pv
from palaver.encoding import encode
encode(pv.sample(20))                                  # imports and compilation are not measured
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before, start = peak(), time.process_time()
corpus = pv.read(sys.argv[1])
middle = time.process_time()
encoded = encode(corpus)
end = time.process_time()
print(json.dumps({
    "tokens": encoded.n_tokens + encoded.n_dropped, "messages": corpus.n_messages,
    "read_seconds": middle - start, "encode_seconds": end - middle,
    "peak_bytes": peak() - before,
}))
"""


def run(data: Path) -> list[dict[str, float | str]]:
    """Measure each corpus in a separate process."""
    rows: list[dict[str, float | str]] = []
    for name, file in CORPORA.items():
        path = data / file
        result = subprocess.run(
            [sys.executable, "-c", _CHILD, str(path)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "POLARS_MAX_THREADS": "1"},
        )
        row = json.loads(result.stdout)
        with gzip.open(path) as stream:
            row["text_bytes"] = sum(len(block) for block in iter(lambda: stream.read(1 << 20), b""))
        seconds = row["read_seconds"] + row["encode_seconds"]
        row["million_tokens_per_second"] = row["tokens"] / seconds / 1e6
        row["peak_to_text"] = row["peak_bytes"] / row["text_bytes"]
        rows.append({"corpus": name, **row})
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    rows = run(parser.parse_args().data)
    print(
        f"{'corpus':10}{'tokens':>12}{'M tokens/s':>12}{'text MB':>10}{'peak MB':>10}{'ratio':>8}"
    )
    for row in rows:
        print(
            f"{row['corpus']:10}{row['tokens']:12,}{row['million_tokens_per_second']:12.2f}"
            f"{row['text_bytes'] / 1e6:10.1f}{row['peak_bytes'] / 1e6:10.1f}"
            f"{row['peak_to_text']:8.2f}"
        )


if __name__ == "__main__":
    main()
