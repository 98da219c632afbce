"""Who answers whom, and how soon, against what a reader would count."""

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.errors import ParameterError
from palaver.questions.answers import network, starts
from palaver.questions.talk import Talk

START = 1_700_000_000


def talk_of(rows, shares=None, **columns):
    """A talk of (conversation, id, reply_to, speaker, minutes or None)."""
    names = ("conversation", "id", "reply_to", "speaker", "time")
    table = pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
    table = table.with_columns(
        text=pl.lit("some words"), time=START + 60 * pl.col("time"), **columns
    )
    corpus = pv.Corpus.from_polars(table)
    given = np.ones((len(rows), 1)) if shares is None else np.asarray(shares, float)
    return Talk(corpus, given, np.ones(len(rows), bool))


THREAD = [
    ("t", "1", None, "ann", 0),
    ("t", "2", "1", "ann", 5),  # adds something
    ("t", "3", "2", "bob", 65),
    ("t", "4", "1", "cyd", 90),
    ("t", "5", "3", "ann", 100),
    ("u", "6", None, "dan", 0),
    ("u", "7", "6", "dan", 10),
]


def test_the_first_answer_is_by_somebody_else_and_what_one_adds_passes_it_on():
    found = talk_of(THREAD).answers
    assert found.recorded
    assert found.first.tolist() == [2, 2, 4, -1, -1, -1, -1]
    assert found.wait[:3].tolist() == [65 * 60, 60 * 60, 35 * 60]
    assert np.isnan(found.wait[3:]).all()


def test_without_recorded_replies_the_next_person_answers():
    rows = [("t", str(i), None, who, i) for i, who in enumerate("aabba")]
    found = talk_of(rows).answers
    assert not found.recorded
    assert found.first.tolist() == [2, 2, 4, 4, -1]


def test_bots_do_not_answer():
    talk = talk_of([("t", "1", None, "ann", 0), ("t", "2", "1", "robot", 1),
                    ("t", "3", "1", "bob", 30)],
                   bot=pl.Series([False, True, False]))  # fmt: skip
    assert talk.answers.first.tolist() == [2, -1, -1]
    assert talk.helpers()["helper"].to_list() == ["bob"]


def test_bots_are_skipped_where_the_next_person_answers():
    talk = talk_of([("t", str(i), None, who, i) for i, who in enumerate(("ann", "robot", "bob"))],
                   bot=pl.Series([False, True, False]))  # fmt: skip
    assert talk.answers.first.tolist() == [2, -1, -1]


def test_a_message_that_says_not_what_it_answers_follows_the_one_before():
    rows = [*THREAD, ("v", "8", None, "eve", 0), ("v", "9", None, "fay", 3)]
    talk = talk_of(rows)
    assert talk.answers.first.tolist()[-2:] == [8, -1]
    assert starts(talk).tolist() == [0, 5, 7]
    assert ("fay", "eve") in {row[:2] for row in talk.helpers().rows()}


def test_where_all_replies_are_to_the_opening_the_next_person_answers():
    """As in Slack: a thread says nothing about which of its messages is meant."""
    who = ("ann", "bob", "ann", "ann", "bob")
    rows = [("t", str(i), "0" if i else None, name, i) for i, name in enumerate(who)]
    talk = talk_of(rows)
    assert talk.answers.recorded
    assert talk.answers.first.tolist() == [1, 2, 4, 4, -1]
    assert {row[:3] for row in talk.helpers().rows()} == {("bob", "ann", 2)}
    rows = [
        ("t", str(i), "0" if i else None, name, i) for i, name in enumerate(("ann", "bob", "cyd"))
    ]
    assert talk_of(rows).answers.first.tolist() == [1, -1, -1]  # nobody comes back: two answers


def test_those_who_answer_most_people_come_first():
    rows = [("t", "0", None, "ann", 0), *(("t", str(i), "0", "bob", i) for i in range(1, 6))]
    for i, who in enumerate(("ann", "eve", "fay")):
        rows += [(f"u{i}", f"q{i}", None, who, 0), (f"u{i}", f"a{i}", f"q{i}", "cyd", 1)]
    table = network(talk_of(rows))
    assert table.select("speaker", "people_helped", "given").rows()[:2] == [
        ("cyd", 3, 3), ("bob", 1, 5),
    ]  # fmt: skip


def naive(corpus, row):
    """All answers below a message by others, through what its author added."""
    speakers = corpus.table["speaker"].to_list()
    found = []
    for child in np.flatnonzero(corpus.parents == row).tolist():
        found += naive(corpus, child) if speakers[child] == speakers[row] else [child]
    return found


def test_answers_are_those_of_a_naive_search():
    generator = np.random.default_rng(0)
    for _ in range(30):
        n = 40
        parents = [None] + [int(generator.integers(i)) for i in range(1, n)]
        rows = [("t", str(i), None if p is None else str(p), "abc"[generator.integers(3)],
                 int(generator.integers(1000)) if generator.random() < 0.8 else None)
                for i, p in enumerate(parents)]  # fmt: skip
        talk = talk_of(rows)
        times = talk.corpus.table["time"].to_list()
        for row in range(n):
            late = START * 10
            own = [(t.timestamp() if (t := times[i]) is not None else late, i)
                   for i in naive(talk.corpus, row)]  # fmt: skip
            assert talk.answers.first[row] == (min(own)[1] if own else -1)


def test_pairs_count_answers_both_ways():
    table = talk_of(THREAD).helpers()
    rows = {row[:2]: row[2:5] for row in table.rows()}
    assert rows[("bob", "ann")] == (1, 1, 1)
    assert rows[("ann", "bob")] == (1, 1, 1)
    assert rows[("cyd", "ann")] == (1, 0, 1)
    assert len(rows) == 3


def test_people_with_one_message_are_not_ranked():
    table = network(talk_of(THREAD))
    assert table["speaker"].to_list() == ["ann", "dan"]
    assert table.row(0)[1:] == (3, 1, 1, 2, 2)


def test_waits_count_those_that_nobody_answers():
    every = talk_of(THREAD).waits("all")
    assert every.rows() == [("all", 2, 0.5, 0.0, 0.5, 65 * 60.0)]
    by_person = talk_of(THREAD).waits("speaker")
    assert dict(by_person.select("group", "answered").rows()) == {"ann": 1.0, "dan": 0.0}
    assert talk_of(THREAD).waits("helper")["group"].to_list() == ["bob"]


def test_waits_by_class_take_all_messages():
    shares = np.eye(2)[[0, 0, 1, 1, 1, 0, 0]]
    table = talk_of(THREAD, shares).waits("class")
    assert dict(table.select("group", "messages").rows()) == {"A": 4, "B": 3}
    assert dict(table.select("group", "answered").rows()) == {"A": 0.5, "B": pytest.approx(1 / 3)}


def test_waits_without_times_are_unknown():
    rows = [("t", "1", None, "ann", None), ("t", "2", "1", "bob", None)]
    assert talk_of(rows).waits("all").rows() == [("all", 1, 1.0, None, None, None)]


def test_unanswered_messages_are_listed_latest_first():
    rows = [*THREAD, ("v", "8", None, "eve", 999)]
    assert talk_of(rows).unanswered()["id"].to_list() == ["8", "6"]
    shares = np.eye(2)[[0, 1, 0, 1, 0, 0, 0, 0]]
    assert talk_of(rows, shares).unanswered("B")["id"].to_list() == ["4"]


def test_a_wrong_group_is_refused():
    with pytest.raises(ParameterError, match="no column 'nothing'"):
        talk_of(THREAD).waits("nothing")
