"""The page: one HTML file about a model and a corpus, for people to read."""

from palaver.page.build import report

__all__ = ["report"]
