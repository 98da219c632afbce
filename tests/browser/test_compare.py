"""Comparing groups and saving pictures in a browser."""

from pathlib import Path

import pytest
from support.workbench import make_run, opened

from palaver.explore.serve import running


@pytest.fixture(scope="module")
def address(corpus, model, tmp_path_factory):
    run = make_run(tmp_path_factory.mktemp("compare") / "run", model, corpus)
    workbench = opened(run, page=lambda: b"<!doctype html>a page")
    with running(workbench) as found:
        yield found
    workbench.close()


@pytest.fixture
def look(browser, address):
    contexts, complaints = [], []

    def start(path, width=1400, scheme="light"):
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme=scheme, accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        page.goto(address.partition("?")[0] + path)
        page.wait_for_selector("html[data-ready]")
        return page

    yield start
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (400, "dark")])
def test_openings_against_the_rest(look, width, scheme):
    page = look("compare?a.last=1", width, scheme)
    page.wait_for_selector("#sentences li")
    assert "openings" in page.locator("#sentences li").first.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("table.shares tbody tr").count() > 1
    for table in ("shares", "answers"):
        heads = page.locator(f"table.{table} thead").inner_text()
        assert "openings" in heads
        assert "all others" in heads


def test_groups_are_chosen_and_back_works(look):
    page = look("compare")
    page.locator("#suggested a").first.click()
    page.wait_for_selector("table.shares")
    assert "the time to 20" in page.locator("table.shares thead").inner_text()
    first = page.url
    page.locator('[name="a.q"]').fill("the")
    page.keyboard.press("Tab")
    page.wait_for_url(lambda url: "a.q=the" in url)
    page.go_back()
    page.wait_for_url(first)
    page.locator("table.shares a").first.click()
    page.wait_for_selector("#threads a")


def test_what_nobody_answers_is_a_click_away(look):
    page = look("compare?a.first=2")
    page.wait_for_selector("table.answers")
    assert "somebody else" in page.locator("#evidence").inner_text()
    link = page.locator("table.answers a").first
    words = link.inner_text()
    link.click()
    page.wait_for_selector("#threads a")
    assert "answered=no" in page.url
    share = int(page.locator("#found").inner_text().split()[0].replace(",", ""))
    of = int(words.rpartition(" ")[2].replace(",", ""))
    assert words.startswith(f"{100 * share / of:.0f}%")


def save(page, button):
    with page.expect_download() as found:
        button.click()
    return Path(found.value.path()).read_bytes()


def test_pictures_and_the_page_are_saved(look):
    page = look("search?q=the")
    page.wait_for_selector(".save-picture")
    text = save(page, page.locator(".save-picture button", has_text="SVG").first)
    assert text.startswith(b"<svg")
    assert b"script" not in text
    assert save(page, page.locator(".save-picture button", has_text="PNG").first)[:4] == b"\x89PNG"
    assert save(page, page.locator("#as-page")).startswith(b"<!doctype html>")


def test_intervals_are_a_picture_and_people_have_curves(look):
    page = look("compare?a.last=1", 400, "dark")
    page.wait_for_selector("table.shares")
    page.locator("summary", has_text="As a picture").click()
    drawn = page.locator("svg.intervals circle").count()
    assert drawn == page.locator("table.shares tbody tr").count()
    buttons = page.locator("figure:has(svg.intervals) .save-picture button")
    assert b"</svg>" in save(page, buttons.nth(0))
    assert save(page, buttons.nth(1))[:4] == b"\x89PNG"
    page.locator("details.over-time summary", has_text="speaker").click()
    curves = page.locator("details.over-time", has_text="speaker").locator("figcaption")
    people = page.locator("table.compared:has-text('speaker') tbody th")
    assert curves.all_inner_texts() == people.all_inner_texts()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_two_coders_by_keyboard(look):
    page = look("coders", width=400)
    page.wait_for_selector("#draw:not([hidden])")
    page.locator("#size").fill("3")
    page.locator("#draw button").click()
    page.wait_for_selector("#coder:focus")
    for name in ("ann", "bob"):
        page.locator("#coder").fill(name)
        page.keyboard.press("Enter")
        for done in range(3):
            page.wait_for_selector(f'html[data-coded="{done}"] #task blockquote')
            assert page.locator("#agreement").is_hidden()
            box = page.locator("#task .codes").bounding_box()  # in view, however long the texts are
            assert box["y"] + box["height"] <= 900
            page.keyboard.press("1")
        page.wait_for_selector('html[data-coded="3"]')
        page.wait_for_selector("#who:not([hidden])")
    page.wait_for_selector("table.pairs")
    assert "ann and bob" in page.locator("table.pairs").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
