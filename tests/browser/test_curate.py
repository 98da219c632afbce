"""Curating a run in a browser: what is done there is in the run, and can be undone."""

from functools import partial

import pytest
from support.workbench import make_run, opened, pretended_fit

import palaver as pv
from palaver.explore.serve import running


@pytest.fixture
def bench(corpus, model, tmp_path):
    run = make_run(tmp_path / "run", model, corpus)
    work = partial(pretended_fit, run)
    workbench = opened(run, who="max", corpus=lambda: corpus, refit=work)
    with running(workbench) as address:
        yield tmp_path / "run", address
    workbench.close()


@pytest.fixture
def look(browser, bench):
    contexts, complaints = [], []

    def start(path, width=1400):
        context = browser.new_context(viewport={"width": width, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(bench[1])
        page.goto(bench[1].partition("?")[0] + path)
        page.wait_for_selector("html[data-ready]")
        return page

    yield start
    for context in contexts:
        context.close()
    assert complaints == []


def until(page, revision):
    page.wait_for_selector(f'html[data-revision="{revision}"]')


def focused(page):
    return page.evaluate("document.activeElement.id || document.activeElement.tagName")


def test_naming_merging_hiding_ordering_and_undoing(look, bench, model):
    run, _ = bench
    page = look("curate", width=400)
    until(page, 0)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    first, second, third = (
        int(page.locator("#curated > li").nth(i).get_attribute("data-act")) for i in range(3)
    )
    page.locator(f"#name-{first}").fill("<b>asks</b> for help")
    page.keyboard.press("Tab")
    page.keyboard.type("Somebody needs something.")
    until(page, 1)  # the acts were shown again meanwhile
    assert focused(page) == f"describe-{first}"
    assert page.locator(f"#describe-{first}").input_value() == "Somebody needs something."
    page.keyboard.press("Enter")
    until(page, 2)
    assert focused(page) == f"describe-{first}"
    page.keyboard.press("Tab")
    assert focused(page) == f"seeds-{first}"
    page.locator(f"#pick-{first}").check()
    page.locator(f"#pick-{second}").check()
    page.locator("#merge").click()
    until(page, 3)
    assert page.locator("#curated > li").count() == len(model.class_shares_) - 1
    merged = page.locator("#done").inner_text().partition(" – ")[0].removeprefix("Last: merged ")
    assert len(set(merged.split(", "))) == 2
    fewer = str(len(model.class_shares_) - 1)  # a new fit looks for as many as there are now
    assert page.locator("#refit-size").get_attribute("placeholder") == fewer
    assert page.locator("#refit-size").input_value() == ""
    page.locator(f"#hide-{third}").click()
    until(page, 4)
    summary = pv.load(run).summary()
    assert "<b>asks</b> for help" in summary.class_names.values()
    assert len(summary.class_shares) == len(model.class_shares_) - 1
    assert len(summary.hidden) == 1
    for revision in (5, 6):
        page.locator("#undo").click()
        until(page, revision)
    assert pv.load(run).origin.run_id == model.run_id
    assert len(pv.load(run).summary().class_shares) == len(model.class_shares_)
    page.locator("#redo").click()
    until(page, 7)
    assert page.locator("#curated > li").count() == len(model.class_shares_) - 1
    page.locator(f"#down-{first}").click()
    until(page, 8)
    assert int(page.locator("#curated > li").nth(1).get_attribute("data-act")) == first


def test_two_windows_do_not_overwrite_each_other(look, bench):
    one, other = look("curate"), look("curate")
    until(one, 0)
    until(other, 0)
    number = one.locator("#curated > li").first.get_attribute("data-act")
    one.locator(f"#name-{number}").fill("first")
    one.keyboard.press("Enter")
    until(one, 1)
    other.locator(f"#name-{number}").fill("second")
    other.keyboard.press("Enter")
    other.wait_for_selector("#problem:not([hidden])")
    assert "another window" in other.locator("#problem").inner_text()
    assert other.locator(f"#name-{number}").input_value() == "first"
    assert "first" in pv.load(bench[0]).summary().class_names.values()


def test_messages_are_moved_and_judged_in_the_reader(look, bench):
    page = look("search?thread=0&message=0")
    page.wait_for_selector("#thread .judge select")
    choice = page.locator("#thread .judge select").first
    values = [one.get_attribute("value") for one in choice.locator("option").all()]
    target = next(value for value in values if value and value != choice.input_value())
    choice.select_option(target)
    page.wait_for_selector('#thread .judge button[aria-pressed="true"]')
    model = pv.load(bench[0])
    marks = list(model.curation_.marks.values())
    assert [own.right for own in marks] == [int(target)]
    page.locator("#thread .judge button", has_text="clear").first.click()
    until(page, 2)
    assert not pv.load(bench[0]).curation_.marks


def test_hits_are_judged_one_after_the_other_by_keyboard(look, bench):
    page = look("search?q=the")
    page.wait_for_selector("#threads a")
    page.keyboard.press("j")
    page.wait_for_selector("#thread .message:focus")
    seen = []
    for number, key in enumerate("yxy", start=1):
        seen.append(page.url)
        page.keyboard.press(key)
        until(page, number)
        page.wait_for_selector("#thread .message:focus .judge button[title^='Take back']")
        page.wait_for_selector("#found:not(.waiting)")
        page.keyboard.press("j")
        page.wait_for_url(lambda url: url not in seen)
        page.wait_for_selector("#thread .message:focus")
    marks = pv.load(bench[0]).curation_.marks.values()
    assert sorted(own.right is None for own in marks) == [False, False, True]


def test_a_hit_is_dragged_to_another_act(look, bench):
    page = look("search")
    page.wait_for_selector("#threads a")
    badge = page.locator("#threads .badge").first.inner_text()
    lines = page.locator(".facet-box").first.locator(".facet button")
    target = next(line for line in lines.all() if line.locator(".badge").inner_text() != badge)
    page.locator("#threads a").first.drag_to(target)
    until(page, 1)
    assert len(pv.load(bench[0]).curation_.marks) == 1


def test_the_overview_has_new_names_at_once_and_is_made_again(look, bench, corpus):
    page = look("curate")
    until(page, 0)
    numbers = [one.get_attribute("data-act") for one in page.locator("#curated > li").all()]
    page.locator(f"#name-{numbers[0]}").fill("asks for help")
    page.keyboard.press("Enter")
    until(page, 1)
    page.locator(".top a").first.click()
    page.wait_for_selector("html[data-ready]")
    assert "asks for help" in page.locator(".legend").first.inner_text()
    assert page.locator(".stale").count() == 0


def test_an_act_is_divided_by_keyboard(look):
    page = look("curate")
    page.wait_for_selector("#curated li")
    before = page.locator("#curated > li").count()
    page.locator('[id^="divide-"]').first.focus()
    page.keyboard.press("Enter")
    page.keyboard.type("2")  # in the place of what is there
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".parts")
    assert focused(page).startswith("try-")
    assert page.locator(".parts > li").count() == 2
    assert page.locator("#curated > li").count() == before  # not kept yet
    page.locator('[id^="keep-"]').focus()
    page.keyboard.press("Enter")
    until(page, 1)
    assert page.locator("#curated > li").count() == before + 1
    assert focused(page).startswith("name-")
    assert page.locator("#done").inner_text().count("named") == 0
    assert "into 2 parts" in page.locator("#done").inner_text()


def test_a_new_fit_is_watched_compared_and_left(look):
    page = look("curate", width=400)
    page.locator("#refit-start").click()
    page.wait_for_selector('html[data-refit="running"]')
    assert page.locator("#refit-progress").is_visible()
    page.locator("#refit-stop").click()
    page.wait_for_selector('html[data-refit="stopped"]')
    page.locator("#refit-start").click()  # goes on
    page.wait_for_selector('html[data-refit="done"]')
    page.wait_for_selector("table.versions")
    assert "<b>moved</b>" in page.locator(".moves").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.locator("#refit-leave").click()
    page.wait_for_selector('html[data-refit="none"]')
