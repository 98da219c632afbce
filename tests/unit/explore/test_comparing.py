"""Two groups side by side: the numbers are those of the messages, mistakes are said."""

import io

import numpy as np
import polars as pl


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
