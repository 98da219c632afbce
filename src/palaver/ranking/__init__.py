"""RANK: central and diverse items of a graph; used for examples, summaries and people."""
