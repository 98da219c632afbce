"""The workbench in a browser: what people do there, and attacks."""

import pytest
from support.pages import hostile_corpus, small_model
from support.workbench import make_run, opened

from palaver.explore.serve import running

LOOKS = [(width, scheme) for width in (1400, 400) for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def address(corpus, model, tmp_path_factory):
    workbench = opened(make_run(tmp_path_factory.mktemp("bench") / "run", model, corpus))
    with running(workbench) as found:
        yield found
    workbench.close()


@pytest.fixture
def window(browser):
    """Open a workbench; at the end nothing was complained about or fetched from elsewhere."""
    contexts, complaints, foreign = [], [], []

    def start(address, path="", width=1400, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        root = address.partition("?")[0]
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda one: one.url.startswith((root, "data:")) or foreign.append(one))
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        if path:
            page.goto(root + path)
            page.wait_for_selector("html[data-ready]")
        return page

    yield start
    for context in contexts:
        context.close()
    assert complaints == []
    assert foreign == []


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_view_fits_the_screen(window, address, width, scheme):
    page = window(address, width=width, scheme=scheme)
    for path in ("", "search?q=the"):
        page.goto(address.partition("?")[0] + path)
        page.wait_for_selector("html[data-ready]")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_navigation_shows_the_view_on_a_phone(window, address):
    page = window(address, "coders", width=400)
    box = page.locator('.top a[aria-current="page"]').bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 400


def test_a_number_of_the_overview_leads_to_its_messages(window, address):
    page = window(address)
    page.locator(".legend a").first.click()
    page.wait_for_selector("#threads a")
    assert "/search?act=" in page.url
    assert page.locator("#threads .badge").first.inner_text() == "A"


def test_numbers_of_the_overview_are_those_of_the_messages(window, address):
    page = window(address)
    links = page.locator("#waiting a.to-messages, #people td a.to-messages, #helping td.n a")
    found = [(one.inner_text(), one.get_attribute("href")) for one in links.all()]
    whole = [(words, href) for words, href in found if words.replace(",", "").isdigit()]
    assert len(whole) > 20
    root = address.partition("?")[0]
    for words, href in whole[:: len(whole) // 12]:
        asked = root + href.replace("/search", "api/search", 1)
        said = page.request.get(asked).json()["messages"]
        assert said == int(words.replace(",", "")), href
    page.locator("#people svg .link").first.evaluate(
        "arrow => arrow.dispatchEvent(new Event('click'))"
    )
    page.wait_for_selector("#threads a")
    assert "to=" in page.url


def test_searching_while_typing_then_reading_then_back(window, address):
    page = window(address, "search")
    page.locator("#f-q").press_sequentially("thank")
    page.wait_for_selector("mark.found")
    assert "q=thank" in page.url
    page.locator("#threads a").first.click()
    page.wait_for_selector("#thread .message.match mark.found")
    assert "thread=" in page.url
    page.go_back()
    page.wait_for_selector("#thread > .note")
    assert "thread=" not in page.url


@pytest.mark.parametrize("width", [1400, 400])
def test_nothing_found_says_what_to_try(window, address, width):
    page = window(address, "search?q=zzzqqq", width=width)
    page.wait_for_selector("html[data-found]")
    assert "print*" in page.locator("#nothing").inner_text()
    assert page.locator("#counts, #as-csv").locator("visible=true").count() == 0
    page.locator(".chip").click()
    page.wait_for_selector("#threads a")
    assert page.locator("#nothing").is_hidden()
    assert page.locator("#facets").is_visible() == (width == 1400)  # hits come first on a phone


def test_the_overview_leads_to_where_names_are_given(window, address):
    page = window(address)
    page.locator("#give-names a").click()
    page.wait_for_selector("#curated .examples summary bdi:not(:empty)")


def test_by_keyboard_alone(window, address):
    page = window(address, "search?q=the")
    page.wait_for_selector("#threads a")
    page.keyboard.press("j")
    page.wait_for_selector("#thread .message")
    first = page.url
    page.keyboard.press("j")
    page.wait_for_url(lambda url: url != first)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "f-q"
    page.keyboard.press("Escape")  # leaves the field, not the search
    assert page.locator("#f-q").input_value() == "the"
    page.keyboard.press("k")
    page.wait_for_url(first)


def test_shares_of_counts_are_whole(window, address):
    page = window(address, "search")
    page.wait_for_selector("#facets .rate")
    page.locator("#facets .rate").first.evaluate("own => own.textContent = 'under 1%'")
    cut = """() => Array.from(document.querySelectorAll("#facets .facet button"))
        .filter((own) => own.scrollWidth > own.clientWidth).length"""
    assert page.evaluate(cut) == 0


def test_pieces_of_bars_are_reached_by_arrow_keys(window, address):
    page = window(address)
    page.locator('.overview-bar [tabindex="0"]').focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "B"
    page.keyboard.press("Enter")
    page.wait_for_selector("#threads .badge:text('B')")


def test_a_phrase_that_begins_is_no_mistake(window, address):
    page = window(address, "search")
    page.locator("#f-q").press_sequentially('"')
    page.wait_for_url(lambda url: "q=" in url)
    page.wait_for_selector("#found:not(.waiting)")
    assert page.locator("#problem").is_hidden()


def test_a_sequence_is_chosen_step_by_step(window, address):
    page = window(address, "search")
    page.wait_for_selector("#threads a")
    page.locator("#f-act").select_option(index=1)
    page.locator("#add-step").click()
    page.locator("#steps .how").select_option("> !")
    page.wait_for_url(lambda url: "seq=" in url and "%21" in url)
    page.wait_for_selector(".chip")
    assert "no answer" in page.locator(".chip").first.inner_text()


def test_hostile_texts_are_only_shown(window, tmp_path):
    corpus = hostile_corpus()
    workbench = opened(make_run(tmp_path / "run", small_model(corpus, 3), corpus))
    with running(workbench) as address:
        page = window(address)
        assert page.locator("#ways-to-divide a").get_attribute("href") == "/curate"
        for path in ("search?q=thanks", "search?thread=0&message=0", "search?q=%3Cscript%3E"):
            page.goto(address.partition("?")[0] + path)
            page.wait_for_selector("html[data-found]")
            assert page.evaluate("window.hacked") is None
    workbench.close()


def test_the_overview_shows_who_answers_whom(window, address):
    section = window(address).locator("#people")
    assert section.locator("svg circle").count() > 2
    drawn = section.locator("svg text").all_text_contents()
    listed = section.locator("tbody th").all_inner_texts()
    assert listed[0] in drawn
