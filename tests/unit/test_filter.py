"""Filtering a corpus."""

from datetime import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.verbs import call, fails

import palaver as pv
from palaver.corpus.filter import examples
from palaver.errors import ParameterError


@pytest.fixture
def corpus():
    return pv.Corpus.from_polars(
        pl.DataFrame(
            {
                "conversation": ["a", "a", "a", "a", "b", "b"],
                "id": ["1", "2", "3", "4", "5", "6"],
                "reply_to": [None, "1", "2", "3", None, "5"],
                "time": [datetime(2002, 1 + i, 1) for i in range(6)],
                "text": ["one", "two", "three", "four", "five", "six"],
                "bot": [False, True, True, False, True, True],
                "likes": [1, 2, 3, 4, 5, None],
                "tags": [["x"], ["x", "y"], [], None, ["y"], ["x"]],
            }
        )
    )


def test_replies_to_what_is_left_out_answer_what_that_answered(corpus):
    kept = corpus.filter("bot=false")
    assert kept.table["id"].to_list() == ["1", "4"]
    assert kept.table["reply_to"].to_list() == [None, "1"]
    assert kept.parents.tolist() == [-1, 0]
    assert kept.conversation_offsets.tolist() == [0, 2]  # b is gone
    late = corpus.filter("bot=true")
    assert late.table["reply_to"].to_list() == [None, "2", None, "5"]
    assert corpus.filter().table.equals(corpus.table)
    assert corpus.filter("likes>9").n_conversations == 0


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("likes>=4", "45"), ("likes < 2", "1"), ("likes=", "6"), ("likes!=", "12345"),
        ("likes!=3", "12456"), ("time>=2002-05", "56"), ("time=2002-02", "2"),
        ("time<=2002-02-01", "12"), ("text!=six", "12345"), ("tags=x", "126"),
        ("tags!=x", "345"), ("text==four", "4"),
        ("time>2002-03", "456"), ("time=2002", "123456"), ("bot=TRUE", "2356"),
        ("text = four", "4"),
    ],
)  # fmt: skip
def test_conditions(corpus, condition, ids):
    assert "".join(corpus.filter(condition).table["id"]) == ids


def test_several_conditions_and_expressions(corpus):
    kept = corpus.filter("bot=true", pl.col("likes") > 2)
    assert kept.table["id"].to_list() == ["3", "5"]


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("likes", "COLUMN=VALUE"), ("stars=1", "there is no column 'stars'"),
        ("likes=many", "holds numbers"), ("bot=1", "true and false"), ("likes>", "needs a value"),
        ("tags>x", "has lists"), ("time>=2002-4", "like 2002-03-31"), ("time>=March", "like 2002"),
        ("time>=2002-13", "like 2002"), (None, "must be a polars"),
        ({"bot": True}, "must be a polars"),
        (pl.col("likes") + 1, "must be true or false"), (pl.col("stars") > 1, "does not fit"),
    ],
)  # fmt: skip
def test_mistakes(corpus, condition, told):
    with pytest.raises(ParameterError, match=told):
        corpus.filter(condition)


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=10))
def test_the_nearest_kept_message_above_is_the_parent(rows):
    parents = [row - 1 - back % (row + 1) for row, (back, _) in enumerate(rows)]
    table = pl.DataFrame(
        {
            "conversation": ["c"] * len(rows),
            "id": [str(row) for row in range(len(rows))],
            "reply_to": [None if p < 0 else str(p) for p in parents],
            "text": ["word"] * len(rows),
            "keep": [keep for _, keep in rows],
        },
        schema_overrides={"reply_to": pl.String},
    )
    corpus = pv.Corpus.from_polars(table)
    kept = corpus.filter("keep=true")
    by_id = dict(zip(corpus.table["id"], corpus.table["reply_to"], strict=True))
    for own, found in kept.table.select("id", "reply_to").rows():
        above = by_id[own]
        while above is not None and not rows[int(above)][1]:
            above = by_id[above]
        assert found == above
    if len(kept):
        again = pv.Corpus.from_polars(kept.table)
        np.testing.assert_array_equal(again.parents, kept.parents)
        assert not again.notes.of("repair")


def test_examples_of_values_are_the_most_frequent_and_say_whether_there_are_more(corpus):
    assert examples("tags=z", corpus.table) == "tags has x, y"
    assert examples("likes=9", corpus.table, 2).endswith(", ...")
    assert not examples("likes=9", corpus.table, 5).endswith(", ...")


def test_convert_writes_a_part(tmp_path):
    pv.sample(20).write(tmp_path / "all.jsonl")
    whole = pl.read_ndjson(tmp_path / "all.jsonl")
    value = whole["act"][0]
    call("convert", tmp_path / "all.jsonl", tmp_path / "part.jsonl", "--where", f"act={value}")
    part = pl.read_ndjson(tmp_path / "part.jsonl")
    assert 0 < part.height < whole.height
    assert set(part["act"]) == {value}
    told = fails("convert", tmp_path / "all.jsonl", tmp_path / "x.jsonl", "--where", "kind=1")
    assert "there is no column 'kind'" in told
    told = fails("convert", tmp_path / "all.jsonl", tmp_path / "x.jsonl", "--where", "act=Joke")
    assert "--where act=Joke: act has" in " ".join(told.split())
    assert value in told
    assert not (tmp_path / "x.jsonl").exists()
