"""Write the screenshots of the page: ``python tools/screenshots.py``.

Fits Acts to the built-in sample and takes a picture of the first screen for the README, and with
``--all FOLDER`` of the whole page in every look. Needs chromium and playwright.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import palaver as pv

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


if __name__ == "__main__":
    main()
