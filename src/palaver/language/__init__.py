"""Backoff language models: counts -> discounts -> probabilities -> ARPA files."""

from palaver.language.backoff import BackoffModel
from palaver.language.counts import Events
from palaver.language.estimate import Smoothing, estimate
from palaver.language.graph import Graph, parse_graph
from palaver.language.tables import Tables

__all__ = ["BackoffModel", "Events", "Graph", "Smoothing", "Tables", "estimate", "parse_graph"]
