"""The thread models' experiment runs from fits to page, on a few threads of the sample."""

from itertools import pairwise

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


def test_larger_runs_do_all_that_smaller_ones_do(tmp_path):
    sizes = ("quick", "full", "paper")
    for less, more in pairwise(m4.PLANS[size] for size in sizes):
        assert set(less.classes) <= set(more.classes)
        assert less.n_chains < more.n_chains
        assert less.n_sweeps < more.n_sweeps
        assert less.fold_sweeps <= more.fold_sweeps
        for name in less.sources.keys() & more.sources.keys():
            source = less.sources[name]
            limit = more.sources[name].n_conversations
            assert limit is None or limit >= source.n_conversations
            assert set(less.classes_of(name)) <= set(more.classes_of(name))
    for size in sizes:
        names = [cell.name for cell in m4.cells(Options(tmp_path, size, 1), Cells(tmp_path))]
        assert len(names) == len(set(names))
        assert all(any(name.startswith(f"{source}/") for name in names)
                   for source in m4.PLANS[size].sources)  # fmt: skip
