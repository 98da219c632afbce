"""Tables of measured and promised figures are made from the stored results."""

import json

import pytest

from benchmarks import run


@pytest.mark.parametrize("path", run.PAGES, ids=lambda path: path.name)
def test_pages_show_the_figures_that_are_kept(path):
    page, results = path.read_text("utf-8"), json.loads(run.RESULTS.read_text("utf-8"))
    assert page.count(run.BEGIN) == page.count(run.END) == 1
    now = run.written(page, run.PAGES[path](results))
    assert page == now, "refresh with python -m benchmarks.run --page"
    outside = page.replace(run.PAGES[path](results), "")
    assert path.name != "README.md" or "×" not in outside, "a ratio outside of the table"


def test_every_promise_has_its_part_and_is_judged():
    assert {promise.part for promise in run.PROMISES} == set(run.PARTS)
    high, low = (next(p for p in run.PROMISES if p.lower is lower) for lower in (False, True))
    for promise, sign in ((high, 1), (low, -1)):
        for value, kept in ((promise.least + sign * 0.01, True), (promise.least - sign, False)):
            assert promise.kept(value) is kept
            line = run.table({promise.part: {promise.name: float(value)}})
            assert ("short of it" in line) is not kept
    assert "not measured" in run.table({})


def test_the_chain_of_the_gaussian_benchmark_sweeps():
    from benchmarks.gaussian_hmm import chain_of, planted

    chain = chain_of(*planted(400))
    chain.sweep()
