"""Central people from different parts of the reply graph."""

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.errors import InputError, ParameterError
from palaver.ranking.people import left_out, reply_graph


def corpus_of(*rows):
    table = pl.DataFrame(rows, schema=["conversation", "id", "reply_to", "speaker", "text"],
                         orient="row")  # fmt: skip
    return pv.Corpus.from_polars(table)


SMALL = corpus_of(
    ("x", "1", None, "ann", "a"), ("x", "2", "1", "bob", "b"), ("x", "3", "2", "ann", "c"),
    ("x", "4", "3", "ann", "d"), ("y", "5", None, None, "e"), ("y", "6", "5", "bob", "f"),
    ("y", "7", "6", "cyd", "g"),
)  # fmt: skip


def test_reply_graph_by_hand():
    graph, names = reply_graph(SMALL, "answered")
    assert names == ["ann", "bob", "cyd"]
    np.testing.assert_array_equal(graph.toarray(), [[1, 1, 0], [1, 1, 0], [0, 1, 1]])
    np.testing.assert_array_equal(reply_graph(SMALL, "answering")[0].toarray(), graph.toarray().T)
    np.testing.assert_array_equal(
        reply_graph(SMALL)[0].toarray(), [[1, 2, 0], [2, 1, 1], [0, 1, 1]]
    )


def test_facts():
    table = pv.people(SMALL)
    assert table.columns == ["rank", "speaker", "prominence", "messages", "conversations",
                             "replies_received", "replies_given", "nearby"]  # fmt: skip
    rows = {row["speaker"]: row for row in table.to_dicts()}
    ann, bob, cyd = (rows[name] for name in ("ann", "bob", "cyd"))
    assert (ann["messages"], ann["replies_received"], ann["replies_given"]) == (3, 1, 1)
    assert (bob["messages"], bob["conversations"]) == (2, 2)
    assert (bob["replies_received"], bob["replies_given"]) == (2, 1)
    assert (cyd["replies_received"], cyd["replies_given"]) == (0, 1)
    assert pv.people(SMALL, top=1)["nearby"].to_list() == [2]


def test_the_list_reaches_into_all_corners():
    """Two circles of people, one much busier: both are among the first two."""
    draw = np.random.default_rng(0)
    rows = []
    for circle, size, n_messages in (("big", 12, 300), ("small", 6, 40)):
        for i in range(n_messages):
            answers = f"{circle}{draw.integers(i)}" if i else None
            speaker = f"{circle}-{int(size * draw.random() ** 2)}"
            rows.append((circle, f"{circle}{i}", answers, speaker, "text"))
    table = pv.people(corpus_of(*rows), top=2)
    assert {name.split("-")[0] for name in table["speaker"]} == {"big", "small"}
    assert sum(table["nearby"]) == 18 - 2


def test_prominence_is_time_of_a_walk_and_the_first_has_the_most():
    table = pv.people(SMALL, weight=0.9)
    graph = reply_graph(SMALL)[0].toarray()
    step = 0.9 * graph / graph.sum(axis=1, keepdims=True) + 0.1 * np.array([3, 2, 1]) / 6
    time = np.linalg.matrix_power(step, 500)[0]
    rows = dict(zip(table["speaker"], table["prominence"], strict=True))
    np.testing.assert_allclose([rows[name] for name in ("ann", "bob", "cyd")], time, rtol=1e-9)
    assert table["prominence"].arg_max() == 0


def test_bots_and_people_without_replies_are_left_out_unless_asked():
    rows = [("x", "1", None, "ann", "a"), ("x", "2", "1", "bob", "b")]
    rows += [("y", f"b{i}", None, "buildbot", "deployed") for i in range(9)]
    rows += [("z", "3", None, "dan", "hello"), ("x", "4", "1", "helper", "beep")]
    marked = [row[3] in ("buildbot", "helper") for row in rows]
    corpus = corpus_of(*rows).with_columns(bot=pl.Series(marked))
    assert set(pv.people(corpus)["speaker"]) == {"ann", "bob"}
    assert left_out(corpus) == (1, 2)
    assert pv.people(corpus, everyone=True).height == 5
    assert left_out(SMALL) == (0, 0)
    only = corpus_of(("x", "1", None, "ann", "a"), ("x", "2", "1", "ann", "b"))
    with pytest.raises(InputError, match="nobody replies to anybody else"):
        pv.people(only)


def test_mistakes():
    with pytest.raises(InputError, match="no speakers"):
        pv.people(corpus_of(("x", "1", None, None, "a"), ("x", "2", "1", None, "b")))
    with pytest.raises(InputError, match=r"corpus.chained\(\)"):
        pv.people(corpus_of(("x", "1", None, "ann", "a"), ("x", "2", None, "bob", "b")))
    with pytest.raises(ParameterError, match="people: top must be"):
        pv.people(SMALL, top=0)
    with pytest.raises(ParameterError, match="people: direction must be one of"):
        pv.people(SMALL, direction="up")
