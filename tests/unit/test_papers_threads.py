"""The page on rebuilt threads reports what the shelf holds, and corpora are in order for it."""

from pathlib import Path

import numpy as np
import polars as pl

import palaver as pv
from benchmarks.papers import Options, threads
from benchmarks.papers.cells import Cells
from benchmarks.papers.threads_data import in_order, thinned

ROOT = Path(__file__).parents[2]


def test_the_page_is_that_of_the_shelved_numbers(tmp_path):
    kept = Cells(tmp_path, ROOT / "benchmarks" / "papers" / "results" / "threads.json")
    options = Options(tmp_path)
    results = kept.results(threads.cells(options, kept))
    assert len([name for name in results if not name.endswith("/trained")]) == 6
    text = threads.page(options, kept, results)
    assert text == (ROOT / "docs" / "results" / "threads.md").read_text("utf-8")


def test_messages_are_put_in_order_with_their_parents():
    table = pl.DataFrame(
        {"id": ["a", "b", "c"], "reply_to": [None, "a", "b"], "time": [5, 9, 7], "text": ["x"] * 3}
    )
    corpus = in_order(pv.Corpus.from_polars(table))
    assert corpus.table["id"].to_list() == ["a", "c", "b"]
    assert corpus.parents.tolist() == [-1, 2, 0]  # the parent of c comes later


def test_every_so_many_conversations():
    corpus = pv.sample(40)
    part = thinned(corpus, corpus.n_messages // 4)
    assert part.n_conversations == 10
    assert np.array_equal(thinned(corpus, 10**9).parents, corpus.parents)
