"""Write the screenshots of the page: ``python tools/screenshots.py``.

Fits Acts to the built-in sample and takes a picture of the first screen for the README, three of
the workbench for docs/explore.md, and with ``--all FOLDER`` of the whole page in every look. Needs
chromium and playwright.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import palaver as pv
from palaver.explore.build import build, origin_of, place_of
from palaver.explore.serve import running
from palaver.explore.workbench import Workbench

DOCS = Path(__file__).parents[1] / "docs"
LOOKS = [(width, scheme) for width in (1400, 400) for scheme in ("light", "dark")]


def main() -> None:
    """Fit, write the page, take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path, help="folder for pictures of the whole page")
    parser.add_argument("--run", type=Path, help="folder of a fitted model, instead of fitting")
    arguments = parser.parse_args()
    corpus = pv.sample()
    model = pv.load(arguments.run) if arguments.run else pv.Acts(n_jobs=2).fit(corpus)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = pv.report(model, corpus, Path(folder) / "report.html")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shoot(browser, page, DOCS / "images" / "page.png", 1100, "light", height=1640)
        shoot_workbench(browser, model, corpus, Path(folder) / "run")
        if arguments.all:
            for width, scheme in LOOKS:
                path = arguments.all / f"page-{width}-{scheme}.png"
                shoot(browser, page, path, width, scheme)
        browser.close()


def shoot(browser, page: Path, out: Path, width: int, scheme: str, height: int = 0) -> None:
    """Take a picture of the first ``height`` pixels, or of the whole page with a thread open."""
    out.parent.mkdir(parents=True, exist_ok=True)
    context = browser.new_context(
        viewport={"width": width, "height": height or 900}, color_scheme=scheme
    )
    view = context.new_page()
    view.goto(page.as_uri())
    view.wait_for_selector("html[data-ready]")
    if not height:
        view.locator(".jump").first.click()
        view.evaluate("window.scrollTo(0, 0)")
        view.wait_for_timeout(500)
    view.screenshot(path=out, full_page=not height)
    context.close()


def shoot_workbench(browser, model: pv.Model, corpus: pv.Corpus, run: Path) -> None:
    """Take pictures of searching, comparing and dividing."""
    model.save(run)
    build(run, model, corpus, origin_of(run, "the built-in sample"))
    workbench = Workbench(run, place_of(run, anonymize=False), corpus=lambda: corpus)
    with running(workbench) as address:
        view = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
        root = address.partition("?")[0]
        view.goto(address)
        for name, path, seen in (
            ("search", "search?q=thank*", "#threads a"),
            ("compare", "compare?a.last=1", "table.shares"),
            ("divide", "curate", "#curated li"),
        ):
            view.goto(root + path)
            view.wait_for_selector(seen)
            if name == "search":
                view.locator("#threads a").first.click()
                view.wait_for_selector("#thread .message")
            if name == "divide":
                view.locator('[id^="divide-"]').first.click()
                view.locator('[id^="try-"]').click()
                view.wait_for_selector(".parts")
            view.wait_for_timeout(500)
            view.screenshot(path=DOCS / "images" / f"explore-{name}.png")
        view.context.close()
    workbench.close()


if __name__ == "__main__":
    main()
