"""Run the notebook and keep what it shows in it: ``python tools/tour.py``.

A forge shows a notebook as it is stored. Outputs hold no paths and no times of this machine;
``tests/docs/test_tour.py`` says so.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import nbclient
import nbformat

TOUR = Path(__file__).parents[1] / "examples" / "tour.ipynb"


def executed(folder: str) -> nbformat.NotebookNode:
    """Return the notebook as it is after a run in a folder."""
    notebook = nbformat.read(TOUR, as_version=4)
    where = {"metadata": {"path": folder}}
    nbclient.NotebookClient(notebook, timeout=300, resources=where, record_timing=False).execute()
    notebook.metadata.pop("language_info", None)  # versions of the one who ran it
    return notebook


def main() -> None:
    """Run the notebook in a folder that is thrown away, and write it back."""
    with tempfile.TemporaryDirectory() as folder:
        nbformat.write(executed(folder), TOUR)


if __name__ == "__main__":
    main()
