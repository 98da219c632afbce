"""How the views of a fitted model of acts are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from palaver.models.acts.views import Views
from palaver.models.base.stored import Extras


def store_views(views: Views) -> Extras:
    """Return views as values for JSON and arrays."""
    content = {"views": views.names, "features": views.features, "columns": views.columns}
    arrays = {f"table.{view}": table for view, table in views.tables.items()}
    return content, {**arrays, "view_starts": views.starts, "view_weights": views.weights}


def load_views(content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Views:
    """Take back what :func:`store_views` gave."""
    return Views(
        [str(name) for name in content["views"]],
        arrays["view_starts"],
        [str(name) for name in content["features"]],
        arrays["view_weights"],
        {name.removeprefix("table."): a for name, a in arrays.items() if name.startswith("table.")},
        {str(name): [str(v) for v in values] for name, values in content["columns"].items()},
    )
