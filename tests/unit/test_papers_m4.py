"""The thread models' experiment runs from fits to page, on a few threads of the sample."""

import pytest

from benchmarks.papers import Options, m4
from benchmarks.papers.cells import Cells


@pytest.fixture
def tiny(monkeypatch):
    plan = m4.Plan(
        {"sample": m4.Source(None, 24)}, classes=(2,), n_chains=1, n_sweeps=40, n_samples=2,
        fold_sweeps=4, n_restarts=2,
    )  # fmt: skip
    monkeypatch.setitem(m4.PLANS, "quick", plan)


def test_every_cell_is_done_and_shown(tiny, tmp_path):
    options, kept = Options(tmp_path / "nowhere", "quick", 1), Cells(tmp_path)
    cells = m4.cells(options, kept)
    assert len(cells) == 3 + 1 + 3 * 2 + 2 + 1
    text = m4.page(options, kept, kept.run(cells))
    assert "not computed" not in text
    assert text.count("\n| sample | 2 |") == 5
    assert "nan" not in text
    alone = Cells(tmp_path / "clone", tmp_path / "shelf.json")  # numbers without the models
    Cells(tmp_path, alone.shelf).shelve(cells)
    assert m4.page(options, alone, alone.run(m4.cells(options, alone))) == text
    early = m4.page(options, kept, kept.results(cells[:3]))
    assert "10 of the run's cells are not computed yet" in early


def test_the_full_plan_is_the_issues():
    plan = m4.PLANS["full"]
    assert (plan.n_chains, plan.n_sweeps, plan.classes) == (2, 1000, (5, 15, 25))
    assert plan.sources["4forums"].n_conversations == 500
    paper = m4.PLANS["paper"]
    assert (paper.n_chains, paper.n_sweeps, paper.n_samples) == (4, 5000, 5)
    assert paper.classes == (5, 10, 15, 20, 25)
