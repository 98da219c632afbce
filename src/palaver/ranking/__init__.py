"""RANK: central and different items of a graph; examples, summaries and people by it."""

from palaver.ranking.grasshopper import grasshopper
from palaver.ranking.result import Ranking

__all__ = ["Ranking", "grasshopper"]
