"""Size and opening time of the report page: ``python -m benchmarks.page``.

The built-in sample at several sizes, with M4 of ten classes fitted to the smallest. Opening lasts
from the request until everything can be clicked, in chromium without a cache; then comes the first
search, which unpacks all texts. Times are medians of five. Needs chromium and playwright.

``python -m benchmarks.page --run RUN FILE`` measures what a page of a fitted run costs instead, in
processor time, which other work on the machine hardly affects. ``--million`` measures the page of a
million messages: copies of the sample with other ids, and a model of acts.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import palaver as pv
from benchmarks.explore import copies
from benchmarks.models import FILE

if TYPE_CHECKING:
    from playwright.sync_api import Page

#: Threads of the sample, and the maximum number of messages on the page.
SIZES = ((400, 20_000), (9_600, 20_000), (9_600, 60_000))


def measure(browser: Any, path: Path) -> dict[str, float]:
    opened, searched = [], []
    for _ in range(5):
        context = browser.new_context(viewport={"width": 1400, "height": 900})
        page = context.new_page()
        start = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        opened.append(time.perf_counter() - start)
        searched.append(search(page))
        context.close()
    return {"open_s": median(opened), "search_s": median(searched)}


def search(page: Page) -> float:
    start = time.perf_counter()
    page.locator("#search").fill("xylophone")
    page.get_by_text("No messages match.", exact=True).wait_for()
    return time.perf_counter() - start


def cost(run: Path, file: Path) -> dict[str, float]:
    """Return what ``palaver report`` takes in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "report.html")
        command = [sys.executable, "-m", "palaver", "report", str(run), str(file), "--out", out]
        subprocess.run(command, check=True, capture_output=True)  # compilation is not measured
        found = subprocess.run(
            [sys.executable, "-c", _CHILD, *command], check=True, capture_output=True, text=True
        )
    return dict(json.loads(found.stdout))


_CHILD = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"clock": time.perf_counter() - start, "processor": used.ru_utime + used.ru_stime,
                  "megabytes": used.ru_maxrss / 1024}))
"""


def fitted_m4(data: Path, folder: Path) -> tuple[Path, Path]:
    """Fit M4 of ten classes to r-help; return its folder and the file."""
    file = data / FILE
    pv.M4(n_classes=10, n_sweeps=60, n_jobs=2, random_state=0).fit(pv.read(file)).save(folder)
    return folder, file


def million_acts(folder: Path, n_messages: int = 1_000_000) -> tuple[Path, Path]:
    """Fit acts to the sample; return their folder, and a file of as many copies of it."""
    small, file = pv.sample(400), folder / "copies.parquet"
    pv.Acts(n_sweeps=30, n_chains=2, random_state=1).fit(small).save(folder / "run")
    copies(small, n_messages).write(file)
    return folder / "run", file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="write the results as JSON")
    parser.add_argument("--jobs", type=int, default=2, help="threads of the fold-in")
    parser.add_argument("--run", type=Path, nargs=2, metavar=("RUN", "FILE"))
    parser.add_argument("--million", action="store_true")
    arguments = parser.parse_args()
    if arguments.run:
        print(cost(*arguments.run))
        return
    if arguments.million:
        with tempfile.TemporaryDirectory() as place:
            print(cost(*million_acts(Path(place))))
        return
    from playwright.sync_api import sync_playwright

    corpora = {n: pv.sample(n) for n in sorted({n for n, _ in SIZES})}
    smallest = corpora[min(corpora)]
    model = pv.M4(n_classes=10, n_sweeps=60, n_jobs=arguments.jobs).fit(smallest)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    rows = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for n_threads, most in SIZES:
            corpus, path = corpora[n_threads], Path(folder) / "report.html"
            start = time.perf_counter()
            pv.report(model, corpus, path, max_messages=most, max_characters=10**9)
            built = time.perf_counter() - start
            row = {"messages": corpus.n_messages, "carried": min(corpus.n_messages, most),
                   "megabytes": path.stat().st_size / 1e6, "build_s": built}  # fmt: skip
            rows.append(row | measure(browser, path))
        browser.close()
    print("| messages | on the page | size | built in | opens in | first search |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['messages']:,} | {row['carried']:,} | {row['megabytes']:.1f} MB "
            f"| {row['build_s']:.1f} s | {row['open_s']:.2f} s | {row['search_s']:.2f} s |"
        )
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
