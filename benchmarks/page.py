"""Size and opening time of the report page: ``python -m benchmarks.page``.

The built-in sample at several sizes, with M4 of ten classes fitted to the smallest. Opening lasts
from the request until everything can be clicked, in chromium without a cache; then comes the first
search, which unpacks all texts. Times are medians of five. Needs chromium and playwright.

``python -m benchmarks.page --run RUN FILE`` measures what a page of a fitted run costs instead, in
processor time, which other work on the machine hardly affects.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import palaver as pv

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


def cost(run: Path, file: Path) -> None:
    model = pv.load(run)
    corpus = pv.read(file)
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        pv.report(model, corpus, Path(folder) / "report.html")
        print(
            f"{corpus.n_messages:,} messages: {time.process_time() - start:.1f} processor seconds"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="write the results as JSON")
    parser.add_argument("--jobs", type=int, default=2, help="threads of the fold-in")
    parser.add_argument("--run", type=Path, nargs=2, metavar=("RUN", "FILE"))
    arguments = parser.parse_args()
    if arguments.run:
        cost(*arguments.run)
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
