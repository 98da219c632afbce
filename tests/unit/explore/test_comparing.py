"""Two groups side by side: the numbers are those of the messages, mistakes are said."""

import io

import numpy as np
import polars as pl

import palaver as pv
from palaver.explore.answered import answered_arrays, evidence_of
from palaver.explore.comparing import _sentence
from palaver.questions.changes import Group, compare


def groups(corpus):
    values = corpus.table["topic"].unique().sort().to_list()
    return {"a.by.topic": values[0], "b.by.topic": values[1]}, values


def test_shares_and_answers_are_those_of_the_messages(client, workbench, corpus):
    asked, values = groups(corpus)
    found = client.get("/api/compare", **asked)
    classified, index = workbench.answers.classified, workbench.index
    for side, value, name in zip((0, 1), values, ("before", "after"), strict=False):
        rows = (corpus.table["topic"] == value).to_numpy() & index.speaking
        expected = classified.shares[rows].astype(float).mean(axis=0)
        np.testing.assert_allclose([act[name] for act in found["acts"]], expected, atol=1e-6)
        assert found["groups"][side]["messages"] == rows.sum()
        begun = rows & (index.place == 0)
        assert found["groups"][side]["begun"]["messages"] == begun.sum()
        total = sum(own["messages"] for own in found["groups"][side]["acts"])
        assert total == (classified.main[rows] >= 0).sum()
    for act in found["acts"]:
        assert act["clear"] == (act["low"] > 0 or act["high"] < 0)
        assert act["low"] <= act["difference"] <= act["high"]


def test_intervals_are_those_of_palaver_compare_groups(client, workbench, corpus):
    asked, values = groups(corpus)
    found = client.get("/api/compare", **asked)
    classified, index = workbench.answers.classified, workbench.index
    topics = corpus.table["topic"].to_numpy()
    taken = np.flatnonzero(np.isin(topics, values[:2]) & index.speaking)
    taken = np.flatnonzero(np.isin(index.conversation, index.conversation[taken]))
    pair = tuple(
        Group(value, np.flatnonzero((topics == value)[taken] & index.speaking[taken]))
        for value in values[:2]
    )
    units = index.conversation[taken].astype(np.int64)
    expected = compare(classified.shares[taken].astype(float), units, [pair], 0.95, 0)
    for name in ("before", "after", "low", "high", "p"):
        np.testing.assert_array_equal([act[name] for act in found["acts"]],
                                      getattr(expected, name)[0])  # fmt: skip


def test_shares_over_time_are_those_of_the_messages(client, workbench, corpus):
    asked, values = groups(corpus)
    found = client.get("/api/compare", **asked)
    classified, index = workbench.answers.classified, workbench.index
    periods, days = index.periods
    assert found["days"] == days
    speakers = next(group for group in found["who"] if group["field"] == "speaker")
    codes, names = index.codes("speaker"), index.names("speaker")
    for side, value in enumerate(values[:2]):
        group = (corpus.table["topic"] == value).to_numpy() & index.speaking
        for period in range(len(days)):
            rows = np.flatnonzero(group & (periods == period))
            acts = [own[period] for own in found["series"][side]]
            people = [own[period] for own in speakers["series"][side]]
            if not len(rows):
                assert {*acts, *people} == {None}
                continue
            np.testing.assert_allclose(acts, classified.shares[rows].mean(axis=0), atol=1e-4)
            shown = [names.index(name) for name, *_ in speakers["values"]]
            expected = [(codes[rows] == code).mean() for code in shown]
            np.testing.assert_allclose(people, expected, atol=1e-4)


def test_answers_are_those_of_the_page(client, workbench, corpus):
    talk = pv.ask(pv.load(workbench.run), corpus)
    waits = {row["group"]: row for row in talk.waits().iter_rows(named=True)}
    found = client.get("/api/compare", **{"a.last": 1})
    assert found["replies"] == "recorded"
    for place, act in enumerate(workbench.answers.classified.acts):
        one, other = (group["acts"][place] for group in found["groups"])
        row = waits[talk.called(act.number)]
        assert one["messages"] + other["messages"] == row["messages"]
        answered = row["messages"] - one["unanswered"] - other["unanswered"]
        assert answered / row["messages"] == row["answered"]


def test_it_is_known_how_answers_are_known(corpus):
    assert evidence_of(corpus) == "recorded"
    loose = pv.Corpus.from_polars(corpus.table.drop("reply_to"))
    assert evidence_of(loose) == "order"
    rebuilt = pv.ThreadRebuilder.default().rebuild(loose)
    assert evidence_of(rebuilt) == "inferred"
    assert answered_arrays(rebuilt)["answered"].any()


def test_an_empty_second_group_is_the_rest_and_openings_differ(client, workbench):
    found = client.get("/api/compare", **{"a.last": 1, "name.a": "openings", "name.b": "the rest"})
    index = workbench.index
    both = [own["messages"] for own in found["groups"]]
    assert sum(both) == index.speaking.sum()
    assert any(act["clear"] for act in found["acts"])
    assert "openings" in found["sentences"][0]
    assert "95% interval" in found["sentences"][0]


def test_the_same_words_by_chance_do_not_differ(client):
    found = client.get("/api/compare", **{"a.first": 2, "a.q": "the ", "b.first": 2})
    assert all(act["p"] is None or 0 < act["p"] <= 1 for act in found["acts"])


def test_mistakes_are_said(client):
    assert "different" in client.refused("/api/compare", **{"a.q": "x", "b.q": "x"})
    assert "first group" in client.refused("/api/compare", **{"a.q": "zzzzzz", "b.q": "the"})


def test_a_comparison_is_exported(client, corpus):
    asked, _ = groups(corpus)
    query = "&".join(f"{key}={value}" for key, value in asked.items())
    for kind, read in (("csv", pl.read_csv), ("parquet", pl.read_parquet)):
        status, headers, body = client.ask("GET", f"/export/comparison.{kind}?{query}")
        assert status == 200
        assert "attachment" in headers["content-disposition"]
        assert {"before", "after", "low", "high", "p"} <= set(read(io.BytesIO(body)).columns)
    assert client.ask("GET", "/export/anything.exe")[0] == 400


def test_what_differs_little_does_not_look_equal():
    row = {"name": "thanks", "first": "openings", "second": "all others", "before": 0.031,
           "after": 0.034, "low": 0.001, "high": 0.005}  # fmt: skip
    said = _sentence(row)
    assert "(3.1%)" in said
    assert "(3.4%): 0.3 points, 95% interval 0.1 to 0.5" in said
    assert "(3%)" in _sentence(row | {"after": 0.2, "low": 0.1, "high": 0.2})
