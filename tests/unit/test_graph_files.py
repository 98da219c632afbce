"""Graphs in files, pictures of rankings, and plain texts to summarize."""

import gzip

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import palaver as pv
from palaver.draw.springs import spring_layout
from palaver.errors import FormatError, InputError
from palaver.ranking.documents import is_plain, read_documents
from palaver.ranking.graphs import read_graph
from palaver.ranking.picture import coverage_curves, expected_visits, graph_picture

EDGES = [("a", "b", 2.0), ("b", "c", 1.0), ("c", "a", 1.0), ("a", "b", 0.5), ("d", "d", 3.0)]
GRAPHML = """<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="edge" attr.name="weight" attr.type="double"/>
<graph edgedefault="undirected"><node id="a"/><node id="b"/><node id="c"/>
<edge source="a" target="b"><data key="d0">2.5</data></edge>
<edge source="b" target="c" directed="true"/></graph></graphml>"""


def written(tmp_path, name, **columns):
    table = pl.DataFrame(EDGES, schema=["source", "target", "weight"], orient="row")
    path = tmp_path / name
    table = table.rename(columns)
    if path.suffix == ".parquet":
        table.write_parquet(path)
    else:
        table.write_csv(path, separator={".tsv": "\t"}.get(path.suffix, ","))
    return path


@pytest.mark.parametrize("name", ["edges.csv", "edges.tsv", "edges.parquet"])
def test_edges_of_a_table(tmp_path, name):
    graph = read_graph(written(tmp_path, name))
    assert graph.names.to_list() == ["a", "b", "c", "d"]
    expected = np.zeros((4, 4))
    for one, other, weight in EDGES:
        expected["abcd".index(one), "abcd".index(other)] += weight
    assert_allclose(graph.edges.toarray(), expected)
    both = read_graph(written(tmp_path, name), undirected=True).edges.toarray()
    assert_allclose(both, expected + expected.T - np.diag(np.diag(expected)))
    assert_allclose(graph.with_loops(2.0).edges.toarray(), expected + 2 * np.eye(4))


def test_columns_by_other_names(tmp_path):
    graph = read_graph(written(tmp_path, "edges.csv", source="Who", target="Whom", weight="n"))
    assert graph.edges[0, 1] == 2.5
    assert "'Who' and 'Whom' are used" in graph.notes[0]
    unweighted = tmp_path / "plain.csv"
    unweighted.write_text("from;to\na;b\n;c\n")
    graph = read_graph(unweighted)
    assert graph.edges.toarray().tolist() == [[0, 1], [0, 0]]
    assert graph.notes == ["rows left out because they lack source or target: 1"]


def test_graphml(tmp_path):
    path = tmp_path / "g.graphml"
    path.write_text(GRAPHML)
    expected = [[0, 2.5, 0], [2.5, 0, 1], [0, 0, 0]]
    assert read_graph(path).edges.toarray().tolist() == expected
    with gzip.open(tmp_path / "g.graphml.gz", "wt") as stream:
        stream.write(GRAPHML)
    assert read_graph(tmp_path / "g.graphml.gz").edges.toarray().tolist() == expected


def test_nodes_of_graphml_are_called_by_their_labels(tmp_path):
    key = '<key id="d1" for="node" attr.name="Label" attr.type="string"/>'
    nodes = {name: f'<node id="{name}"><data key="d1">{name * 2}</data></node>' for name in "abc"}
    labelled = GRAPHML.replace("<graph ", f"{key}<graph ")
    for name, node in nodes.items():
        labelled = labelled.replace(f'<node id="{name}"/>', node)
    path = tmp_path / "g.graphml"
    path.write_text(labelled)
    graph = read_graph(path)
    assert graph.names.to_list() == ["aa", "bb", "cc"]
    assert graph.notes == ["items are called by their label, not by their id"]
    assert graph.edges.toarray().tolist() == [[0, 2.5, 0], [2.5, 0, 1], [0, 0, 0]]
    path.write_text(labelled.replace(">cc<", ">aa<"))  # two of the same name
    assert read_graph(path).names.to_list() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("x.csv", "source\na\n", "needs two columns"),
        ("x.csv", "source,target,weight\na,b,much\n", "'much', which is no number"),
        ("x.csv", "source,target,weight\na,b,-1\n", "non-negative; the edge from 'a' to 'b'"),
        ("x.csv", "source,target,weight\na,b,inf\n", "finite"),
        ("x.csv", "", "cannot be read"),
        ("x.csv", "source,target\n", "has no items"),
        ("x.doc", "a,b\n", "is a table"),
        ("x.graphml", "<graphml><graph><node/></graph></graphml>", "does not say"),
        ("x.graphml", "<graphml>", "no sound GraphML"),
        ("x.graphml", "<graphml></graphml>", "has no element <graph>"),
        ("x.graphml", '<!DOCTYPE g [<!ENTITY a "b">]><graphml/>', "document type"),
    ],
)
def test_graphs_that_cannot_be_read(tmp_path, name, text, said):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_graph(path)


def test_prior_of_some_items(tmp_path):
    graph = read_graph(written(tmp_path, "edges.csv"))
    path = tmp_path / "prior.csv"
    path.write_text("who,how much\nc,2\nnew,1\n")
    both, prior = graph.with_prior(path)
    assert both.names.to_list() == ["a", "b", "c", "d", "new"]
    assert prior.tolist() == [0, 0, 2, 0, 1]
    assert both.edges.shape == (5, 5)
    assert both.edges[0, 1] == 2.5
    assert len(both.notes) == 2
    path.write_text("who,how much\nc,2\nc,1\n")
    with pytest.raises(InputError, match="'c' occurs more than once"):
        graph.with_prior(path)
    path.write_text("who,how much\nc,-2\n")
    with pytest.raises(InputError, match="'c' has '-2'"):
        graph.with_prior(path)


def three_groups():
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(centre, 0.3, (20, 2)) for centre in ((0, 0), (3, 0), (0, 3))])
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    return np.exp(-distances / 0.16), np.repeat(["a", "b", "c"], 20)


def test_visits_are_those_of_the_ranking():
    graph, _ = three_groups()
    ranking = pv.grasshopper(graph, weight=0.9, top=4)
    for k in (1, 2, 3):
        visits = expected_visits(ranking.walk, ranking.order[:k])
        assert visits.argmax() == ranking.order[k]
        assert_allclose(visits.max(), ranking.scores[k])


def test_picture_and_coverage():
    graph, groups = three_groups()
    ranking = pv.grasshopper(graph, prior=np.arange(60.0) + 20, weight=0.95, top=5)
    names = [f"<{number}>" for number in range(60)]
    drawn = graph_picture(ranking, names)
    assert drawn.count("<circle") == 3 * 60 + 1 + 2 + 3
    assert "&lt;" in drawn
    assert "<59>" not in drawn
    assert drawn == graph_picture(ranking, names)
    found = coverage_curves(ranking, pl.Series(groups))
    assert found["grasshopper"][2] == 3
    assert found["by prior"].tolist() == [1, 1, 1, 1, 1]
    assert 1 < found["random"][1] < 2


def test_linked_nodes_are_close():
    graph, groups = three_groups()
    from scipy import sparse

    places = spring_layout(sparse.csr_matrix(graph))
    distances = np.sqrt(((places[:, None] - places) ** 2).sum(axis=2))
    same = groups[:, None] == groups
    assert distances[same].mean() < 0.5 * distances[~same].mean()


def test_documents(tmp_path):
    (tmp_path / "d1").mkdir()
    (tmp_path / "d2").mkdir()
    (tmp_path / "d1" / "APW.0240").write_text("<DOC><TEXT>One <P>two.</P></TEXT></DOC>")
    (tmp_path / "d1" / "note.txt").write_text("A < b. Three.")
    (tmp_path / "d2" / "x.md").write_text("Four.")
    (tmp_path / "d2" / "x.png").write_bytes(b"\x89PNG")
    found, n_lost = read_documents(tmp_path)
    assert [(d.name, d.folder) for d in found] == [
        ("d1/APW.0240", "d1"), ("d1/note.txt", "d1"), ("d2/x.md", "d2"),
    ]  # fmt: skip
    assert found[0].text.split() == ["One", "two."]
    assert found[1].text == "A < b. Three."
    assert n_lost == 0
    assert not is_plain(".hidden")
    with pytest.raises(FormatError, match="no plain text"):
        read_documents(tmp_path / "d2" / "x.png")
    with pytest.raises(FormatError, match="no such file"):
        read_documents(tmp_path / "nothing")
