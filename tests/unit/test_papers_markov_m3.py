"""The cells of Markov M3's experiment and its page, on tiny data."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.papers import Options, pictures
from benchmarks.papers import markov_m3 as experiment
from benchmarks.papers.cells import Cells
from palaver.encoding.documents import documents_of
from palaver.models.documents.heldout import hold_out_words


@pytest.fixture
def tiny(monkeypatch):
    generator = np.random.default_rng(0)
    topics = generator.dirichlet(np.full(20, 0.2), 3)
    shares = generator.dirichlet(np.full(3, 0.4), 40)
    counts = np.array([generator.multinomial(30, s @ topics) for s in shares], float)
    documents = documents_of(counts)
    split = experiment.Split(documents.part(0, 30), *hold_out_words(documents.part(30, 40)))
    monkeypatch.setattr(experiment, "split_of", lambda data, name: split)
    return split


def test_our_models_cells_and_the_page(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "FOLDER", tmp_path / "pictures")
    words = np.random.default_rng(1).dirichlet(np.full(20, 0.3), 3)
    peer = SimpleNamespace(get_count_by_topics=lambda: [300, 300, 300], eta=0.01)
    monkeypatch.setattr(experiment, "fit_tomotopy", lambda *given: (peer, [0, 1, 2], words))
    options, kept = Options(tmp_path, "quick", 1), Cells(tmp_path / "work")
    cells = [experiment.fit_cell(options, "ap", kind, 3) for kind in ("lda-vb", "m3")]
    cells += [experiment.fit_cell(options, "ap", "m3", 3, truncation=2),
              experiment.swap_cell(options, "ap", 3), experiment.start_cell(options, "ap", 3),
              experiment.stream_cell(options, "kos", 3),
              experiment.picture_cell(options, "kos")]  # fmt: skip
    results = kept.run(cells)
    for name in ("ap/lda-vb/3", "ap/m3/3"):
        assert 3 < results[name]["perplexity"] < 20
    swapped = results["ap/swap/3"]
    assert swapped["m3 with topics of m3"] == pytest.approx(results["ap/m3/3"]["perplexity"])
    assert len(set(swapped.values())) == 6
    foreign = [value for name, value in swapped.items() if name.endswith("lda-gibbs")]
    assert min(foreign) > max(set(swapped.values()) - set(foreign)), "random topics predict worse"
    assert 3 < results["ap/start/3"]["lda-vb"]["perplexity"] < 20
    text = experiment.page(options, kept, results)
    assert "| LDA, variational, ap, K = 3 |" in text
    assert "| compared with | corpus | K = 3 |" in text
    assert "| LDA, variational | ap | " in text
    assert "| Markov M3 |" in text
    assert "| 2 |" in text
    assert "| scikit-learn's online LDA | 30: " in text
    assert "<polyline" in (tmp_path / "pictures" / "markov_m3-online.svg").read_text()
    for picture in ("graph", "walk1"):
        assert f"(markov_m3-{picture}.svg)" in text
        assert "<circle" in (tmp_path / "pictures" / f"markov_m3-{picture}.svg").read_text()
    streams = results["kos/stream/3"]
    assert {seen for curve in streams.values() for seen, *_ in curve} == {30, 60, 90}
    assert all(3 < value < 30 for curve in streams.values() for *_, value in curve)


def test_all_cells_of_all_sizes_have_names_of_their_own(tmp_path):
    for size in ("quick", "full", "paper"):
        names = [c.name for c in experiment.cells(Options(tmp_path, size), Cells(tmp_path))]
        assert len(set(names)) == len(names) > 10


def test_perplexity_is_that_of_the_mixture(tiny):
    words = np.full((2, 20), 1 / 20)
    assert experiment.perplexity(np.full((10, 2), 0.5), words, tiny.heldout) == pytest.approx(20)
