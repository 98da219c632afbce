"""The page on rebuilt threads reports what the shelf holds, and corpora are in order for it."""

from pathlib import Path

import numpy as np
import polars as pl

import palaver as pv
from benchmarks.papers import Options, threads
from benchmarks.papers.cells import Cells
from benchmarks.papers.threads_data import in_order, thinned
from benchmarks.papers.threads_official import official_scores

ROOT = Path(__file__).parents[2]


def test_the_page_is_that_of_the_shelved_numbers(tmp_path):
    kept = Cells(tmp_path, ROOT / "benchmarks" / "papers" / "results" / "threads.json")
    options = Options(tmp_path)
    results = kept.results(threads.cells(options, kept))
    corpora = [name for name in results if not name.endswith(("/trained", "official", "elsewhere"))]
    assert len(corpora) == 6
    assert {"official", "elsewhere"} <= results.keys()
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


def test_official_measures():
    """Five messages of a log: two conversations, one message with two parents, one before them."""
    lines = [990, 1000, 1001, 1003, 1499]
    ids = [f"c|test:x:{line}" for line in lines]
    plain = [name.removeprefix("c|") for name in ids]
    table = pl.DataFrame(
        {"id": ids, "reply_to": [None, None, ids[0], ids[2], None], "text": ["x"] * 5,
         "conversation": ["x"] * 5, "other_parents": [[], [], [], [plain[0]], []]}
    )  # fmt: skip
    corpus = pv.Corpus.from_polars(table)
    n_system = 500 - 4
    perfect = official_scores(corpus, np.asarray(corpus.parents, np.int64))
    assert perfect[0] == 100
    assert perfect[1] == 100 * (4 + n_system) / (5 + n_system)
    assert perfect[3:] == [100, 100, 100]
    other_parent = official_scores(corpus, np.array([-1, -1, 0, 0, -1]))
    assert other_parent == perfect
    wrong = official_scores(corpus, np.array([-1, 0, 0, 2, -1]))
    assert wrong[0] == 100 * (3 + n_system) / 500
    assert wrong[5] == 0
