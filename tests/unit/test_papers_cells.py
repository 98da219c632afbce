"""Cells of the papers' experiments: kept by their settings, resumable."""

import importlib
import json
import time
from pathlib import Path

import pytest

from benchmarks.papers import Options, pictures
from benchmarks.papers.__main__ import EXPERIMENTS, ROOT
from benchmarks.papers.cells import Cell, Cells


def counting(calls, value):
    def work(folder):
        calls.append(folder)
        return value

    return work


def test_a_cell_is_done_once(tmp_path):
    calls = []
    cell = Cell("a/b c", {"x": 1}, counting(calls, {"y": [1, 2.5, None]}))
    first = Cells(tmp_path).run([cell])
    assert first == {"a/b c": {"y": [1, 2.5, None]}}
    assert Cells(tmp_path).run([cell]) == first
    assert len(calls) == 1
    assert Cells(tmp_path).stored(cell)["settings"] == {"x": 1}


def test_other_settings_are_another_cell(tmp_path):
    calls = []
    for value in (1, 2):
        Cells(tmp_path).run([Cell("a", {"x": value}, counting(calls, value))])
    assert len(calls) == 2
    assert Cell("a", {"x": 1, "y": 2}, print).key == Cell("b", {"y": 2, "x": 1}, print).key


def test_a_failed_cell_is_done_again_and_earlier_ones_are_kept(tmp_path):
    calls = []

    def fail(folder):
        (folder / "checkpoint").write_text("here")
        raise KeyboardInterrupt

    good = Cell("good", {"x": 1}, counting(calls, 1))
    with pytest.raises(KeyboardInterrupt):
        Cells(tmp_path).run([good, Cell("bad", {"x": 2}, fail)])

    def resume(folder):
        return (folder / "checkpoint").read_text()

    results = Cells(tmp_path).run([good, Cell("bad", {"x": 2}, resume)])
    assert results == {"good": 1, "bad": "here"}
    assert len(calls) == 1


def test_half_a_result_is_never_seen(tmp_path):
    cell = Cell("a", {}, lambda folder: object())  # not JSON: writing fails
    with pytest.raises(TypeError):
        Cells(tmp_path).run([cell])
    assert Cells(tmp_path).stored(cell) is None


def test_names_are_unique(tmp_path):
    cell = Cell("a", {"x": 1}, lambda folder: 1)
    with pytest.raises(ValueError, match="same name"):
        Cells(tmp_path).run([cell, Cell("a", {"x": 2}, lambda folder: 2)])


def test_progress_names_the_cell_and_the_time_left(tmp_path, capsys):
    cells = [Cell(str(i), {"x": i}, lambda folder: json.loads("1")) for i in range(3)]
    Cells(tmp_path).run(cells)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert "[1/3] 0" in lines[0]
    assert lines[2].endswith("left")


def test_numbers_on_the_shelf_count_as_done(tmp_path):
    calls = []
    shelf = tmp_path / "shelf.json"
    cells = [
        Cell("a", {"x": (1, 2)}, counting(calls, 1)),
        Cell("b", {"x": 2.5}, counting(calls, 2)),
    ]
    first = Cells(tmp_path / "here", shelf)
    first.run(cells)
    first.shelve(cells)
    elsewhere = Cells(tmp_path / "elsewhere", shelf)
    assert elsewhere.run(cells) == {"a": 1, "b": 2}
    assert elsewhere.seconds(cells) == first.seconds(cells)
    assert len(calls) == 2
    changed = Cell("a", {"x": (1, 3)}, counting(calls, 3))
    assert elsewhere.run([changed, cells[1]]) == {"a": 3, "b": 2}
    elsewhere.shelve([changed, cells[1]])
    assert [r["settings"]["x"] for r in json.loads(shelf.read_text())] == [[1, 3], 2.5]


def test_a_model_that_an_undone_cell_needs_is_fitted_again(tmp_path):
    calls = []
    shelf = tmp_path / "shelf.json"
    fit = Cell("fit", {"x": 1}, counting(calls, "fitted"))
    first = Cells(tmp_path / "here", shelf)
    first.run([fit])
    first.shelve([fit])
    judge = Cell("judge", {"of": fit.key}, counting(calls, "judged"))
    elsewhere = Cells(tmp_path / "elsewhere", shelf)
    elsewhere.run([fit, judge])
    assert [folder.name.split("-")[0] for folder in calls] == ["fit", "fit", "judge"]
    elsewhere.shelve([fit, judge])
    Cells(tmp_path / "third", shelf).run([fit, judge])
    assert len(calls) == 3


def test_what_a_lost_cell_needs_is_done_again(tmp_path):
    """A chain: the fit is needed by a measurement on the shelf, and that by an undone cell."""
    done = []

    def work(name, *needed):
        def do(folder):
            assert all((cells.folder(cell) / "file").exists() for cell in needed)
            (folder / "file").touch()
            done.append(name)

        return do

    shelf = tmp_path / "shelf.json"
    fit, other = Cell("fit", {"a": 1}, work("fit")), Cell("other", {"b": 1}, work("other"))
    judge = Cell("judge", {"of": fit.key}, work("judge", fit))
    cells = Cells(tmp_path / "here", shelf)
    cells.run([fit, other, judge])
    cells.shelve([fit, other, judge])
    done.clear()
    cells = Cells(tmp_path / "elsewhere", shelf)
    cells.run([fit, other, judge, Cell("compare", {"of": judge.key}, work("compare", judge))])
    assert done == ["fit", "judge", "compare"]


def test_wanted_cells_come_with_what_they_need(tmp_path):
    fit, other = Cell("fit", {"a": 1}, lambda _: 1), Cell("other", {"b": 1}, lambda _: 1)
    judge = Cell("judge", {"of": fit.key}, lambda _: 2)
    everything = [fit, other, judge]
    cells = Cells(tmp_path / "here", tmp_path / "shelf.json")
    assert cells.with_needed([judge], everything) == [fit, judge]
    cells.run([fit])
    assert cells.with_needed([judge], everything) == [judge]
    cells.shelve(everything)
    elsewhere = Cells(tmp_path / "elsewhere", cells.shelf)
    assert elsewhere.with_needed([judge], everything) == [fit, judge]
    assert elsewhere.run([fit, judge]) == {"fit": 1, "judge": 2}
    elsewhere.shelve(everything)
    assert Cells(tmp_path / "third", cells.shelf).with_needed([judge], everything) == [judge]


def test_processor_time_is_that_of_all_threads_and_attempts(tmp_path):
    def work(folder):
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass
        if not (folder / "tried").exists():
            (folder / "tried").touch()
            raise KeyboardInterrupt

    cells, cell = Cells(tmp_path), Cell("busy", {}, work)
    with pytest.raises(KeyboardInterrupt):
        cells.run([cell])
    cells.run([cell])
    assert 0.5 < cells.processor_seconds([cell]) < 5
    idle = Cell("idle", {"x": 1}, lambda folder: time.sleep(0.3))
    cells.run([idle])
    assert cells.processor_seconds([idle]) < 0.25 < cells.seconds([idle])


#: The page of M4 needs the corpora for its baselines.
@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "m4"])
def test_pages_are_what_the_shelf_says(name, tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "FOLDER", tmp_path)
    module = importlib.import_module(EXPERIMENTS[name])
    kept = Cells(tmp_path, Path(pictures.__file__).parent / "results" / f"{name}.json")
    options = Options(tmp_path)
    text = module.page(options, kept, kept.results(module.cells(options, kept)))
    written = (ROOT / "docs" / "results" / f"{name}.md").read_text("utf-8")
    assert text == written, f"refresh with python -m benchmarks.papers {name} --page"
    for picture in tmp_path.glob("*.svg"):
        assert picture.read_text() == (ROOT / "docs/results" / picture.name).read_text()
