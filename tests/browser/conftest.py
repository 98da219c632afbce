"""A real browser for the page: Debian's chromium, driven by playwright; tests skip without it."""

from __future__ import annotations

import shutil

import pytest
from support.pages import hostile_corpus, small_model

import palaver as pv


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright (extra: test)")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("needs chromium: apt-get install -y chromium")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="session")
def corpus():
    return pv.sample(120)


@pytest.fixture(scope="session")
def model(browser, corpus):
    return small_model(corpus, 6)


@pytest.fixture(scope="session")
def path(corpus, model, tmp_path_factory):
    return pv.report(model, corpus, tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="session")
def hostile_path(browser, tmp_path_factory):
    corpus = hostile_corpus()
    names = {0: "<script>window.hacked=11</script>", 1: '"><img src=x onerror=window.hacked=12>'}
    return pv.report(small_model(corpus, 3), corpus, tmp_path_factory.mktemp("hostile") / "r.html",
                     names=names, title="</title><script>window.hacked=13</script>")  # fmt: skip


class Visit:
    """An open page that remembers what it asked for and complained about."""

    def __init__(self, browser, path, anchor="", **context):
        self.context = browser.new_context(
            **{"viewport": {"width": 1300, "height": 900}, **context}
        )
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri() + anchor)
        self.page.wait_for_selector("html[data-ready]")


@pytest.fixture
def visit(browser):
    """Open pages; at the end, nothing was complained about and nothing fetched."""
    open_ones = []

    def open_page(path, anchor="", **context):
        one = Visit(browser, path, anchor, **context)
        open_ones.append(one)
        return one.page

    yield open_page
    for one in open_ones:
        one.context.close()
        assert one.complaints == []
        addresses = [address for address in one.requests if not address.startswith("blob:")]
        assert len(set(addresses)) == 1, "the page asked for something beyond itself"
        assert addresses[0].startswith("file:")
