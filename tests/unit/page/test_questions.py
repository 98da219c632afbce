"""Questions of analysts on the page, and topics next to each other."""

import numpy as np
import polars as pl
import pytest
from support.pages import small_model

import palaver as pv
from palaver.page.findings import gather
from palaver.page.questions import make_questions
from palaver.page.relevance import distances, scaled, topic_view


@pytest.fixture(scope="module")
def corpus():
    return pv.sample(60)


@pytest.fixture(scope="module")
def model(corpus):
    return small_model(corpus)


@pytest.fixture(scope="module")
def findings(model, corpus):
    return gather(model, corpus, predict_heldout=False)


def test_numbers_are_those_of_the_verbs(model, corpus, findings):
    found, talk = make_questions(findings), pv.ask(model, corpus)
    waits = talk.waits("class")
    rows = found["waiting"]["rows"]
    assert [row["messages"] for row in rows] == waits["messages"].to_list()
    assert [row["answered"] for row in rows] == waits["answered"].to_list()
    pair = talk.helpers().row(0, named=True)
    shown = found["helping"]["pairs"][0]
    assert (shown["helper"], shown["answers"]) == (pair["helper"], pair["answers"])
    middle = found["changed"]["since"]
    halves = talk.compare_groups(between=(f"time<{middle}", f"time>={middle}"))
    assert found["changed"]["n_clear"] == halves["clear"].sum()


def test_planted_change_is_said(model, corpus):
    half = np.arange(corpus.n_messages) >= corpus.n_messages // 2
    texts = (
        pl.when(pl.Series(half)).then(pl.lit("thanks a lot, thank you")).otherwise(pl.col("text"))
    )
    day = pl.when(pl.Series(half)).then(pl.lit("2024-02-01")).otherwise(pl.lit("2024-01-01"))
    table = corpus.table.with_columns(text=texts, time=day)
    changed = pv.Corpus.from_polars(table)
    found = make_questions(gather(model, changed, predict_heldout=False))["changed"]
    assert found["since"] == "2024-02-01"
    assert found["rows"]
    most = found["rows"][0]
    assert abs(most["after"] - most["before"]) == pytest.approx(most["points"] / 100)


def test_roles_and_documents_have_no_helpers(model, corpus):
    place = pl.int_range(pl.len()).over("conversation")
    roles = pl.when(place % 2 == 0).then(pl.lit("A")).otherwise(pl.lit("B"))
    long = corpus.take(np.flatnonzero(np.diff(corpus.conversation_offsets) > 1))
    spoken = pv.Corpus.from_polars(long.table.with_columns(speaker=roles))
    found = make_questions(gather(model, spoken, predict_heldout=False))
    assert found["helping"] is None
    assert found["waiting"] is None
    assert len(found["balance"]["rows"]) == 2
    lda = pv.LDA(n_classes=4, n_sweeps=10).fit(corpus.separated())
    found = make_questions(gather(lda, corpus.separated(), predict_heldout=False))
    assert found["helping"] is found["waiting"] is found["balance"] is None


def test_similar_topics_are_close():
    rows = np.array([[0.7, 0.2, 0.1], [0.65, 0.25, 0.1], [0.1, 0.2, 0.7]])
    apart = distances(rows)
    np.testing.assert_allclose(np.diag(apart), 0, atol=1e-7)
    mixed = (rows[0] + rows[2]) / 2
    exact = sum((row * np.log(row / mixed)).sum() for row in (rows[0], rows[2])) / 2
    assert apart[0, 2] == pytest.approx(np.sqrt(exact))
    places = scaled(apart)
    drawn = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.testing.assert_allclose(drawn, apart, atol=1e-6)  # three points fit into a plane


def test_words_of_the_slider_hide_what_is_hidden(corpus):
    lda = pv.LDA(n_classes=4, n_sweeps=10).fit(corpus)
    order = lda.summary().order
    n_words = int(corpus.table["text"].str.count_matches(r"\w+").sum())
    view = topic_view(lda, order, n_words, frozenset())
    frequent = max(view.words[0], key=lambda word: word[1])[0]
    assert frequent == lda.top_words(1).filter(pl.col("class") == int(order[0]))["word"][0]
    without = topic_view(lda, order, n_words, frozenset([frequent]))
    assert all(frequent != word for own in without.words for word, _, _ in own)
    assert topic_view(lda, order[:2], n_words, frozenset()) is None


def test_one_large_class_is_pointed_out(corpus, tmp_path):
    model = pv.BlockHMM(n_classes=2, n_sweeps=10).fit(corpus)
    page = pv.report(model, corpus, tmp_path / "page.html", predict_heldout=False).read_text(
        "utf-8"
    )
    shares = np.bincount(model.message_classes(corpus), minlength=2) / corpus.n_messages
    assert shares.max() > 0.4  # of two classes, one is that large
    said = page[page.index('id="dominant"') :][:700]
    assert f"holds {shares.max():.0%} of the messages. An act that is so large" in said
