"""RANK: central and different items of a graph; examples, summaries and people by it."""
