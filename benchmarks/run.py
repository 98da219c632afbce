"""Run all side-by-side comparisons: required and measured figures.

Run: python -m benchmarks.run --data ../shared/data [--only TEXT]

This takes about twenty minutes on two idle cores. Every part runs in a process of its own, in which
the peers and our models take turns. Figures are stored in ``benchmarks/results.json`` as they come;
the tables at the top of ``docs/performance.md`` and in ``README.md`` are written from that file,
with ``--page`` without measuring. Single-thread ratios use processor time, ratios of threads
wall-clock time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.rounds import seconds

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results.json"
BEGIN, END = "<!-- made by benchmarks/run.py -->\n", "<!-- end -->\n"
Figures = dict[str, float]
Results = dict[str, dict[str, float | str]]


@dataclass(frozen=True)
class Promise:
    """A figure that Palaver has to reach.

    Attributes
    ----------
    what : str
    part : str
        The part of :data:`PARTS` that measures it.
    name : str
        Name of the figure in that part.
    least, aim : float
        In ``unit``; upper limits if ``lower``.
    unit : str
    lower : bool
    """

    what: str
    part: str
    name: str
    least: float
    aim: float
    unit: str = "×"
    lower: bool = False

    def kept(self, value: float) -> bool:
        """Return whether a figure is good enough."""
        return value <= self.least if self.lower else value >= self.least


PROMISES = [
    Promise("LDA collapsed against tomotopy's, K = 20, r-help", "lda", "20", 1.0, 1.5),
    Promise("LDA collapsed against tomotopy's, K = 100, r-help", "lda", "100", 1.0, 1.5),
    Promise("M4 by default (Dirichlet, background), against tomotopy's LDA, K = 25, r-help", "m4",
            "default", 0.5, 0.8),
    Promise("M4 of the paper, collapsed, against tomotopy's LDA, K = 25, r-help", "m4", "plain",
            0.3, 0.6),
    Promise("the same with the background switch", "m4", "background", 0.2, 0.4),
    Promise("acts, one sweep, messages/s against tomotopy's LDA by words, K = 25, r-help", "acts",
            "ratio", 1.0, 2.0),
    Promise("LDA, time to tomotopy's last held-out perplexity, one thread each, r-help",
            "time_to_perplexity", "1", 1.5, 3.0),
    Promise("the same, two threads each", "time_to_perplexity", "2", 1.5, 3.0),
    Promise("two threads against one, LDA, r-help", "threads", "LDA", 1.85, 1.95),
    Promise("two threads against one, block HMM, r-help", "threads", "BlockHMM", 1.85, 1.95),
    Promise("two threads against one, M4, r-help", "threads", "M4", 1.85, 1.95),
    Promise("two threads against one, infinite HMM, newspaper text, beam", "infinite_hmm",
            "threads", 1.8, 1.95),
    Promise("the same, dense", "infinite_hmm", "dense threads", 1.8, 1.95),
    Promise("infinite HMM, whole sweep with 47 states, newspaper text, beam", "infinite_hmm",
            "rate", 2.0, 3.0, "M words/s"),
    Promise("the same, dense", "infinite_hmm", "dense rate", 2.0, 3.0, "M words/s"),
    Promise("Gaussian HMM, blocked sweep against an EM iteration of hmmlearn", "gaussian_hmm",
            "ratio", 20, 80),
    Promise("Markov M3 online, documents/s against scikit-learn's online LDA, kos", "markov_m3",
            "MarkovM3", 1.0, 3.0),
    Promise("Markov M3, three passes over 20news with compilation, against scikit-learn's online "
            "LDA, by the clock", "first_stream", "20news", 1.5, 3.0),
    Promise("the same on nips", "first_stream", "nips", 1.5, 3.0),
    Promise("hidden backoff, two states, whole training on MRDA", "hidden_backoff", "training", 60,
            5, "s", lower=True),
    Promise("hidden backoff, two states, tagging", "hidden_backoff", "tagging", 100_000, 200_000,
            "sentences/s"),
    Promise("GRASSHOPPER, top 100 of 100,000 items and 1 M edges, against 100 PageRanks of "
            "networkx", "grasshopper", "ratio", 8, 40),
    Promise("`import palaver`", "start", "import", 0.5, 0.2, "s", lower=True),
    Promise("`palaver --help`", "start", "help", 0.5, 0.2, "s", lower=True),
    Promise("first `palaver demo`, compilation included, processor time", "demo", "first", 20, 10,
            "s", lower=True),
    Promise("`palaver report` of an M4 run, 14,410 mails of r-help, processor time", "page",
            "r-help", 8, 3, "s", lower=True),
    Promise("`palaver report` of a million short messages, by the clock", "page", "million", 120,
            30, "s", lower=True),
    Promise("the same, memory", "page", "million megabytes", 3000, 1500, "MB", lower=True),
    Promise("reading and encoding JSON lines, swda, two cores", "reading", "swda, two cores", 4.0,
            8.0, "M tokens/s"),
    Promise("reading and encoding JSON lines, 4forums, two cores", "reading", "4forums, two cores",
            4.0, 8.0, "M tokens/s"),
    Promise("reading and encoding JSON lines, swda, one core", "reading", "swda", 1.0, 4.0,
            "M tokens/s"),
    Promise("reading and encoding JSON lines, 4forums, one core", "reading", "4forums", 1.0, 4.0,
            "M tokens/s"),
]  # fmt: skip

#: Rows of the README's table: what, compared with what, and where to find the ratio.
PEERS = [
    ("M4 by default (Dirichlet transitions, background), one sweep, 25 classes, which also looks "
     "at the message answered and at all replies", "tomotopy's LDA, one worker", "m4", "default"),
    ("LDA, one sweep, 20 topics", "tomotopy's LDA, one worker", "lda", "20"),
    ("LDA, one sweep, 100 topics", "tomotopy's LDA, one worker", "lda", "100"),
    ("M4 of the paper (`transition=\"softmax\"`), one sweep, 25 classes",
     "tomotopy's LDA, one worker", "m4", "plain"),
    ("the same with a background", "tomotopy's LDA, one worker", "m4", "background"),
    ("Gaussian HMM, one sweep, 42 states, 100 dimensions, full covariances",
     "one EM iteration of hmmlearn, scaled up from a subset", "gaussian_hmm", "ratio"),
    ("online LDA, documents per second, 100 topics", "scikit-learn's online LDA", "markov_m3",
     "OnlineLDA"),
    ("Markov M3, documents per second, 100 topics", "scikit-learn's online LDA", "markov_m3",
     "MarkovM3"),
    ("GRASSHOPPER, top 100 of 100,000 items",
     "100 PageRanks of networkx, scaled up from three", "grasshopper", "ratio"),
]  # fmt: skip


def lda(data: Path) -> Figures:
    """Compare whole rounds of LDA with tomotopy's."""
    import palaver as pv
    from benchmarks.models import FILE, against_tomotopy
    from palaver.encoding import encode

    encoded = encode(pv.read(data / FILE))
    found = {}
    for n_classes in (20, 100):
        rows = against_tomotopy(encoded, {"LDA": ["collapsed"]}, n_classes)
        found[str(n_classes)] = rows[1]["ratio to tomotopy LDA"]
    return found


def m4(data: Path) -> Figures:
    """Compare whole rounds of M4 with tomotopy's LDA."""
    import palaver as pv
    from benchmarks.models import FILE, against_tomotopy
    from palaver.encoding import encode

    kinds = {"M4": ["collapsed"], "M4 dirichlet": ["collapsed"]}
    rows = against_tomotopy(encode(pv.read(data / FILE)), kinds)
    _, plain, background, _, default = (row["ratio to tomotopy LDA"] for row in rows)
    return {"plain": plain, "background": background, "default": default}


def acts(data: Path) -> Figures:
    """Compare a sweep of a search for acts with tomotopy's LDA."""
    import palaver as pv
    from benchmarks.models import FILE, acts_against_lda

    return {"ratio": acts_against_lda(pv.read(data / FILE))[1]["ratio to tomotopy LDA"]}


def time_to_perplexity(data: Path) -> Figures:
    """Compare the time to a perplexity with tomotopy's, on one thread and on two."""
    from benchmarks.time_to_perplexity import compared

    return {str(row["threads"]): row["times as fast"] for row in compared(data)}


def threads(data: Path) -> Figures:
    """Compare two threads with one, and two fits at once with two in sequence."""
    import palaver as pv
    from benchmarks.models import FILE, two_threads
    from palaver.encoding import encode

    rows = two_threads(encode(pv.read(data / FILE)))
    names = [row["what"].split()[0] for row in rows]
    found = {name: row["ratio"] for name, row in zip(names, rows, strict=True)}
    limits = {f"{name}, two fits at once": row["two fits at once"]
              for name, row in zip(names, rows, strict=True)}  # fmt: skip
    return found | limits


def infinite_hmm(data: Path) -> Figures:
    """Measure whole sweeps, started from the given tags."""
    from benchmarks.infinite_hmm import newspaper, rate_rows, thread_row
    from palaver.encoding import encode_sentences

    sentences, tags = newspaper(data)
    encoded = encode_sentences(sentences)
    rates, threads = rate_rows(encoded, tags, splits=(1,))[0], thread_row(encoded, tags)
    return {"rate": rates["beam"], "dense rate": rates["dense"],
            "threads": threads["beam, times as fast"],
            "dense threads": threads["dense, times as fast"]}  # fmt: skip


def gaussian_hmm(data: Path) -> Figures:
    """Compare a blocked sweep with hmmlearn."""
    from benchmarks.gaussian_hmm import measure

    _, ours, two = measure()
    return {"ratio": ours["times as fast"], "threads": two["times as fast"]}


def markov_m3(data: Path) -> Figures:
    """Compare online learners with scikit-learn's."""
    from threadpoolctl import threadpool_limits

    from benchmarks.markov_m3 import rates

    with threadpool_limits(1):
        rows = rates(data, 3)
    return {name: row["ratio"] for name, row in rows.items()}


def first_stream(data: Path) -> Figures:
    """Compare first streams on a machine, compilation included, with scikit-learn's."""
    from benchmarks.markov_m3_first_run import first_runs

    found = {corpus: first_runs(data, corpus) for corpus in ("20news", "nips")}
    return {corpus: rows["scikit-learn"]["clock"] / rows["MarkovM3"]["clock"]
            for corpus, rows in found.items()}  # fmt: skip


def hidden_backoff(data: Path) -> Figures:
    """Measure training and tagging."""
    from benchmarks.hidden_backoff import measure

    row = measure(data, 1)["2 states"]
    return {"training": row["train_seconds"], "tagging": row["tag_sentences_per_second"]}


def grasshopper(data: Path) -> Figures:
    """Compare ranking a large graph with PageRanks of networkx."""
    from benchmarks.grasshopper import run

    found = run(100_000, lambda _: None)
    return {"ratio": found["ratio"], "bytes an edge": found["sizes"][-1]["peak_bytes_an_edge"]}


def start(data: Path) -> Figures:
    """Measure how long a process takes to start: wall-clock time, best of five."""

    def best(*command: str) -> float:
        def call() -> None:
            subprocess.run([sys.executable, *command], check=True, capture_output=True)

        call()
        return min(seconds(call, time.perf_counter) for _ in range(5))

    bare = best("-c", "pass")
    return {
        "import": best("-c", "import palaver") - bare,
        "help": best("-m", "palaver", "--help"),
        "python alone": bare,
    }


def demo(data: Path) -> Figures:
    """Measure the first demo after installing: processor time, with nothing compiled."""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "palaver", "demo", "--out", f"{place}/demo"]
        clean = {**os.environ, "NUMBA_CACHE_DIR": f"{place}/cache"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, env=clean)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"first": used}


def page(data: Path) -> Figures:
    """Measure pages of fitted runs."""
    from benchmarks.page import cost, fitted_m4, million_acts

    with tempfile.TemporaryDirectory() as place:
        mails = cost(*fitted_m4(data, Path(place) / "m4"))
        million = cost(*million_acts(Path(place)))
    return {"r-help": mails["processor"], "million": million["clock"],
            "million megabytes": million["megabytes"]}  # fmt: skip


def reading(data: Path) -> Figures:
    """Measure reading and encoding real corpora."""
    from benchmarks.reading import run

    rows = run(data)
    one = {row["corpus"]: row["million_tokens_per_second"] for row in rows}
    return one | {f"{row['corpus']}, two cores": row["two_cores"] for row in rows}


PARTS: dict[str, Callable[[Path], Figures]] = {
    part.__name__: part
    for part in (
        lda, m4, acts, time_to_perplexity, threads, infinite_hmm, gaussian_hmm, markov_m3,
        first_stream, hidden_backoff, grasshopper, start, demo, page, reading,
    )
}  # fmt: skip


def measured(part: str, data: Path) -> Figures:
    """Return the figures of a part, measured in a separate process."""
    command = [sys.executable, "-m", "benchmarks.run", "--data", str(data), "--part", part]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def shown(value: float, unit: str) -> str:
    """Format a figure for people."""
    number = f"{value:,.0f}" if value >= 20 else f"{value:.2f}"
    return number + unit if unit == "×" else f"{number} {unit}"


def table(results: Results) -> str:
    """Return the table as Markdown; figures that miss their promise are marked."""
    lines = ["| what | at least | aim | reached | |", "|---|---|---|---|---|"]
    for promise in PROMISES:
        found = results.get(promise.part, {}).get(promise.name)
        limits = [shown(limit, promise.unit) for limit in (promise.least, promise.aim)]
        if promise.lower:
            limits = [f"under {limit}" for limit in limits]
        if not isinstance(found, float):
            lines.append(f"| {promise.what} | {' | '.join(limits)} | not measured | |")
            continue
        mark = "" if promise.kept(found) else "short of it"
        lines.append(f"| {promise.what} | {' | '.join(limits)} | "
                     f"{shown(found, promise.unit)} | {mark} |")  # fmt: skip
    return "\n".join(lines) + "\n"


def section(results: Results) -> str:
    """Return the generated part of docs/performance.md."""
    dates = sorted({str(part["date"]) for part in results.values()})
    parts = [results["threads"]] if "threads" in results else []
    limits = [
        f"{name} {part[f'{name}, two fits at once']:.2f}"
        for part in parts
        for name in ("LDA", "BlockHMM", "M4")
    ]
    note = (
        "\nFor comparison, running two separate fits at once, which share nothing but the machine, "
        f"is this many times as fast as running them in sequence: {', '.join(limits)}.\n"
        if limits
        else ""
    )
    when = f"`python -m benchmarks.run --data ../shared/data` ({', '.join(dates)}), seed 0:\n\n"
    return when + table(results) + note


def peers(results: Results) -> str:
    """Return the README's table as Markdown."""
    lines = ["| what | compared with | ratio |", "|---|---|---|"]
    for what, against, part, name in PEERS:
        ratio = results[part][name]
        assert isinstance(ratio, float)
        lines.append(f"| {what} | {against} | {shown(ratio, '×')} |")
    return "\n".join(lines) + "\n"


#: Generated parts, by page.
PAGES: dict[Path, Callable[[Results], str]] = {
    ROOT / "docs" / "performance.md": section,
    ROOT / "README.md": peers,
}


def written(page: str, text: str) -> str:
    """Return a page with new text between its marks."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + text + END + rest.split(END)[1]


def write_pages(results: Results) -> None:
    """Write the tables into their pages."""
    for path, make in PAGES.items():
        path.write_text(written(path.read_text("utf-8"), make(results)), "utf-8")


def main() -> None:
    """Measure, store and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--only", metavar="TEXT", default="", help="only parts whose name has TEXT")
    parser.add_argument("--page", action="store_true", help="write the pages without measuring")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        print(json.dumps(PARTS[arguments.part](arguments.data.resolve())))
        return
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    for number, part in enumerate([] if arguments.page else PARTS, 1):
        if arguments.only in part:
            print(f"[{number}/{len(PARTS)}] {part}", file=sys.stderr, flush=True)
            date = f"{datetime.now(UTC):%Y-%m-%d}"
            results[part] = {**measured(part, arguments.data.resolve()), "date": date}
            RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", "utf-8")
    write_pages(results)
    print(table(results))


if __name__ == "__main__":
    main()
