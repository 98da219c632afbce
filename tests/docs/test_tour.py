"""The notebook runs from top to bottom, shows what it promises and is kept without outputs."""

import nbclient
import nbformat

from docs.blocks import ROOT

TOUR = ROOT / "examples" / "tour.ipynb"


def test_tour_is_kept_without_outputs():
    notebook = nbformat.read(TOUR, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.get("outputs"), cell.id
        assert cell.get("execution_count") is None


def test_tour_runs(tmp_path):
    notebook = nbformat.read(TOUR, as_version=4)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=where).execute()
    cells = {cell.id: cell for cell in notebook.cells if cell.cell_type == "code"}
    kinds = {
        name: [set(out.get("data", {})) for out in cell.outputs] for name, cell in cells.items()
    }
    shown = [kind for outputs in kinds.values() for kind in outputs]
    assert sum("image/svg+xml" in kind for kind in shown) == 1  # what follows what
    assert sum("text/html" in kind for kind in shown) >= 10  # tables and charts
    texts = [str(out) for cell in cells.values() for out in cell.outputs]
    assert not any("UserWarning" in text or "stderr" in text for text in texts)
    for name in ("tagged.parquet", "run", "report.html"):
        assert (tmp_path / name).exists()
