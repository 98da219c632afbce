"""A fitted model as people curated it: classes merged and divided, names, marked messages.

There is one mechanism for all models. What a model says about messages, words and transitions is
expected counts per class, and the counts of merged classes add up. So a curated model asks the
fitted one, its ``origin``, and adds up columns and rows.
"""

from palaver.models.curated.apply import (
    apply_curation,
    curation_of,
    load_curated,
    merge_classes,
    save_curated,
)
from palaver.models.curated.model import CuratedModel

__all__ = [
    "CuratedModel", "apply_curation", "curation_of", "load_curated", "merge_classes",
    "save_curated",
]  # fmt: skip
