"""The reader of a DUC-layout folder, and the parts of the paper's experiment."""

from pathlib import Path

import numpy as np
import pytest
from support.shared import shared_data

import palaver as pv
from benchmarks.papers import grasshopper, grasshopper_page
from benchmarks.papers.duc import read_duc
from benchmarks.papers.grasshopper_grid import (
    centroid_prior,
    length_prior,
    nested,
    vector_graph,
)
from benchmarks.papers.pictures import curves, weighted_points
from palaver.ranking.documents import document_text
from palaver.ranking.similarity import tfidf

DUC = Path(__file__).parents[1] / "fixtures" / "duc"


def test_read_duc():
    first, second = read_duc(DUC)
    assert (first.name, second.name) == ("d30001t", "d30002t")
    assert len(first.documents) == 2
    assert first.documents[0].startswith("The bridge over the Oder was closed on Friday.")
    assert "Engineers & workers\nfound cracks" in first.documents[0]
    assert "HEADLINE" not in first.documents[0]
    assert len(first.references) == 2
    assert second.documents == ["Plain text is read as it is. It has no marks."]
    summary = pv.summarize(first.documents, bytes=665, stemmed=True)
    assert len(summary) == 5
    assert len(" ".join(summary.sentences).encode()) <= 665


def test_duc_cell(tmp_path):
    result = grasshopper._duc_cell(DUC).work(tmp_path)
    assert all(0 < recall <= 1 for recall in result["recalls"])
    assert "on 2 sets" in "".join(grasshopper_page.duc_part(result))
    assert "0.3755" in "".join(grasshopper_page.duc_part(None))


def test_duc_mistakes(tmp_path):
    with pytest.raises(ValueError, match="no folders docs/SET"):
        read_duc(tmp_path)
    (tmp_path / "docs" / "d1").mkdir(parents=True)
    with pytest.raises(ValueError, match="no summaries"):
        read_duc(tmp_path)
    assert document_text("<text>a<p>b</text> c") == "a\n\nb"


def test_toy_and_pictures(tmp_path):
    result = grasshopper._toy_cell().work(tmp_path)
    assert sorted(result["groups"]) == [0, 1, 2]
    assert len(set(result["central_groups"])) == 1
    assert result["own_group"] > 0.9
    picture = grasshopper_page.toy_picture(result)
    assert picture.count("<circle") == 3 * 300 + 1 + 2 + 3
    lines = curves({"a <b>": {"x": np.arange(1, 6.0)}}, "k", "label")
    assert "a &lt;b&gt;" in lines
    assert lines.count("<polyline") == 1
    assert weighted_points(np.eye(2), {"t": (np.ones(2), [])}, "l").count("<circle") == 2


def test_costar_graph():
    path = shared_data("movies/netflix.jsonl.gz")
    graph, names, movies, homes, (n_movies,) = grasshopper.costar_graph(path.parents[1])
    assert n_movies == 2308
    assert graph.shape[0] == len(names) == len(movies) == len(homes)
    assert (graph != graph.T).nnz == 0
    np.testing.assert_array_equal(graph.diagonal(), 1)
    assert grasshopper._coverage([[1, 2], [2], [3]], [1, 0, 2]) == [1, 2, 3]


def test_settings_are_chosen_on_other_topics():
    # two settings: the second is better on the first two topics, the first by far on the last one
    f = np.array([[0.1, 0.1, 0.9], [0.2, 0.2, 0.1]])
    result = {"settings": [["mmr", "binary", "edges", 0.5], ["grasshopper", "binary", "even", 0.5],
                           ["grasshopper", "cosine", "even", 0.5]],
              "scores": {"20": np.repeat(np.vstack(([9, 9, 9], f))[:, :, None], 4, axis=2).tolist()}
              }  # fmt: skip
    scores, chosen = nested(result, 20, "grasshopper")
    np.testing.assert_allclose(scores[:, 1], [0.1, 0.1, 0.1])  # each misled by the others
    assert chosen == {"binary, even, 0.5": 2, "cosine, even, 0.5": 1}


def test_priors_and_graphs_of_the_grid():
    texts = ["the cat sleeps", "the cat sleeps a lot", "dogs bark"]
    centre = centroid_prior(tfidf(texts))
    assert centre[2] < centre[0]
    np.testing.assert_array_equal(length_prior([*texts, "w " * 99]), [3, 5, 2, 20])
    vectors = pv.WordVectors(["cat", "dogs"], np.array([[1.0, 0.0], [0.0, 1.0]], np.float32))
    graph = vector_graph(texts, vectors).toarray()
    assert graph[0, 1] == pytest.approx(1.0)
    assert graph[0, 2] == 0.0
