"""The notebook runs from top to bottom, shows what it promises and is kept as it was run."""

import re

import nbformat

from tools.tour import TOUR, executed


def test_tour_is_kept_with_what_it_shows_and_nothing_of_who_ran_it():
    """Forges show a notebook as it is stored; `python tools/tour.py` runs it again."""
    notebook = nbformat.read(TOUR, as_version=4)
    nbformat.validate(notebook)
    assert TOUR.stat().st_size < 500_000
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert all(cell.outputs for cell in code)
    assert all("execution" not in cell.metadata for cell in code)  # times
    assert set(notebook.metadata) == {"kernelspec"}
    shown = " ".join(str(cell.outputs) for cell in code)
    assert not re.search(r"(?<![\w.:/<])/(home|root|tmp|usr|work|Users|private)/", shown)
    assert "Traceback" not in shown


def test_tour_runs(tmp_path):
    notebook = executed(str(tmp_path))
    cells = {cell.id: cell for cell in notebook.cells if cell.cell_type == "code"}
    kinds = {
        name: [set(out.get("data", {})) for out in cell.outputs] for name, cell in cells.items()
    }
    shown = [kind for outputs in kinds.values() for kind in outputs]
    assert sum("image/svg+xml" in kind for kind in shown) == 5  # the graph and four charts
    assert sum("text/html" in kind for kind in shown) >= 8  # tables and the link to the page
    texts = [str(out) for cell in cells.values() for out in cell.outputs]
    assert not any("UserWarning" in text or "stderr" in text for text in texts)
    for name in ("tagged.parquet", "run", "report.html"):
        assert (tmp_path / name).exists()
