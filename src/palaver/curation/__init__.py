"""What people decide about the classes of a run: names, merging, hiding, order, marked messages.

::

    state = read_curation("run/", summary.run_id, n_classes)
    state = change("run/", state, {"do": "name", "class": 3, "name": "asks for help"}, by="max")
    state = undo("run/", state)

Everything is kept in ``run/curation.json``; ``palaver.load("run/")`` applies it.
"""

from palaver.curation.file import (
    FILE,
    as_json,
    change,
    read_curation,
    redo,
    replace_curation,
    undo,
    write_curation,
)
from palaver.curation.state import CuratedClass, Curation, Mark, Said, Split, Step

__all__ = [
    "FILE", "CuratedClass", "Curation", "Mark", "Said", "Split", "Step", "as_json", "change",
    "read_curation", "redo", "replace_curation", "undo", "write_curation",
]  # fmt: skip
