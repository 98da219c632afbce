"""The table of what was promised and reached is made from the figures that are kept."""

import json

from benchmarks import run


def test_the_page_shows_the_figures_that_are_kept():
    results = json.loads(run.RESULTS.read_text("utf-8"))
    text = run.PAGE.read_text("utf-8")
    assert text.count(run.BEGIN) == text.count(run.END) == 1
    assert run.BEGIN + run.section(results) + run.END in text


def test_every_promise_has_its_part_and_is_judged():
    assert {promise.part for promise in run.PROMISES} == set(run.PARTS)
    high, low = (next(p for p in run.PROMISES if p.lower is lower) for lower in (False, True))
    for promise, sign in ((high, 1), (low, -1)):
        for value, kept in ((promise.least + sign * 0.01, True), (promise.least - sign, False)):
            assert promise.kept(value) is kept
            line = run.table({promise.part: {promise.name: float(value)}})
            assert ("short of it" in line) is not kept
    assert "not measured" in run.table({})
