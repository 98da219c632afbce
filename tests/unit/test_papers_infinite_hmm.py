"""The cells of the infinite HMM's experiment and its page, on tiny data."""

import pytest

from benchmarks.papers import Options, infinite_hmm_data, infinite_hmm_words, pictures
from benchmarks.papers import infinite_hmm as experiment
from benchmarks.papers.cells import Cells

SENTENCES = [["the", "cat", "sat"], ["a", "dog", "ran"]] * 6
TAGS = ["D", "N", "V"] * 12
CHUNKS = [["B-NP", "I-NP", "B-VP"]] * 8


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    text = infinite_hmm_data.Tagged(
        SENTENCES, [None] * 24 + TAGS[24:], 6, 8, tuple(CHUNKS), (["D", "N", "V"],) * 8
    )
    for module in (experiment, infinite_hmm_words):
        monkeypatch.setattr(module, "corpus", lambda data, name, size: text)
    monkeypatch.setattr(pictures, "FOLDER", tmp_path)
    return text


def test_cells_and_the_page(tiny, tmp_path):
    pytest.importorskip("pycrfsuite")
    options, kept = Options(tmp_path, "quick", 1), Cells(tmp_path / "work")
    cells = experiment.cells(options, kept)
    results = kept.run(cells)
    for run in experiment.RUNS:
        assert len(results[f"wsj/{run}"]["curve"]) == experiment.POINTS
        assert results[f"wsj/{run}"]["scores"]["items"] == 12
    assert results["chunks/given tags"]["f1"] == 1
    text = experiment.page(options, kept, results)
    assert "| PY fixed |" in text
    assert "| states, DP learned |" in text
    assert "Web text" in text
    assert "| newspaper | default | 5 |" in text
    assert "| words and states |" in text
    assert "| words and states after 1 sweep |" in text
    assert "| 100 |" in text
    assert "| 100 | 5 |" in text
    assert "one-way analysis of variance" in text
    assert (tmp_path / "infinite_hmm-quick.svg").exists()


def test_a_page_of_what_is_done(tmp_path):
    assert experiment.page(Options(tmp_path), Cells(tmp_path), {}).startswith("# The infinite HMM")


def test_all_cells_of_all_sizes_have_names_of_their_own(tmp_path):
    for size in ("quick", "full", "paper"):
        names = [c.name for c in experiment.cells(Options(tmp_path, size), Cells(tmp_path))]
        assert len(set(names)) == len(names) == 63
