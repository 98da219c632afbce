"""Run a paper's experiment: python -m benchmarks.papers NAME --data ../shared/data."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from benchmarks.papers import Options
from benchmarks.papers.cells import Cells

#: Name of the experiment (on the command line) and of its page, and its module.
EXPERIMENTS = {
    "acts": "benchmarks.papers.acts",
    "gaussian_hmm": "benchmarks.papers.gaussian_hmm",
    "grasshopper": "benchmarks.papers.grasshopper",
    "hidden_backoff": "benchmarks.papers.hidden_backoff",
    "infinite_hmm": "benchmarks.papers.infinite_hmm",
    "m4": "benchmarks.papers.m4",
    "m4_grown": "benchmarks.papers.m4_grown",
    "markov_m3": "benchmarks.papers.markov_m3",
    "taggers": "benchmarks.papers.taggers",
    "threads": "benchmarks.papers.threads",
}
ROOT = Path(__file__).parents[2]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("name", choices=EXPERIMENTS)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--work", type=Path, default=Path(__file__).parent / "work")
    parser.add_argument(
        "--shelf",
        type=Path,
        default=Path(__file__).parent / "results",
        help="folder with the results of earlier runs",
    )
    parser.add_argument("--output", type=Path, help="the page (default: docs/results/NAME.md)")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument(
        "--only", metavar="TEXT", help="run only cells with TEXT in their names, and what they need"
    )
    parser.add_argument("--page", action="store_true", help="write the page from stored results")
    parser.add_argument("--list", action="store_true", help="list the cells and which are done")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="size", action="store_const", const="quick")
    size.add_argument("--paper", dest="size", action="store_const", const="paper")
    parser.set_defaults(size="full")
    return parser.parse_args()


def main() -> None:
    """Run the cells that are not done yet, and write the page."""
    arguments = _arguments()
    module = importlib.import_module(EXPERIMENTS[arguments.name])
    options = Options(arguments.data, arguments.size, arguments.n_jobs)
    name = arguments.name if arguments.size == "full" else f"{arguments.name}-{arguments.size}"
    kept = Cells(arguments.work / arguments.name, arguments.shelf / f"{name}.json")
    cells = module.cells(options, kept)
    if arguments.list:
        for cell in cells:
            print("done" if kept.stored(cell) else "    ", cell.name)
        return
    if arguments.only:
        wanted = [cell for cell in cells if arguments.only in cell.name]
        kept.run(kept.with_needed(wanted, cells))
        kept.shelve(cells)
        return
    results = kept.results(cells) if arguments.page else kept.run(cells)
    kept.shelve(cells)
    text = module.page(options, kept, results)
    output = arguments.output or ROOT / "docs" / "results" / f"{name}.md"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    print(output)


if __name__ == "__main__":
    main()
