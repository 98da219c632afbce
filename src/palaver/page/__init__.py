"""The page: one HTML file about a model and a corpus, for people to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palaver.page.build import report as report

__all__ = ["report"]


def __getattr__(name: str) -> Any:
    if name != "report":  # what the workbench needs of the page is loaded without the rest
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from palaver.page.build import report

    return report
