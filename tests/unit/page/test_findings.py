"""What the page says is about the texts on it, and is supported by them."""

import re

import numpy as np
import polars as pl
import pytest
from support.pages import small_model

import palaver as pv
from palaver.draw import graph
from palaver.models.summary import least_replies, relative, replies_to
from palaver.page.embed import titles_of
from palaver.page.findings import gather


@pytest.fixture(scope="module")
def corpus():
    return pv.sample(60)


@pytest.fixture(scope="module")
def model(corpus):
    return small_model(corpus)


def thanks_only():
    texts = ["Thanks so much, it works now!", "thank you all", "Thanks a lot everybody", "xyzzy"]
    return pv.Corpus.from_polars(pl.DataFrame({"text": texts * 10}), source="thanks.csv")


def test_numbers_are_of_the_texts_on_the_page(corpus, model, tmp_path):
    other = thanks_only()
    found = gather(model, other, 1000, 10**6, predict_heldout=False)
    assert not found.same_texts
    lengths = np.diff(found.encoded.message_offsets)
    by_hand = sum(n * row for n, row in zip(lengths, found.shares, strict=True))
    np.testing.assert_allclose(found.flow.class_shares, by_hand / by_hand.sum())
    assert not np.allclose(found.flow.class_shares, model.class_shares_[found.order], atol=0.05)
    np.testing.assert_allclose(found.flow.effects, 1, atol=1e-6)  # no replies: nothing is known
    page = pv.report(model, other, tmp_path / "r.html").read_text().split("<script")[0]
    largest = "ABCD"[int(np.argmax(found.flow.class_shares))]
    headline = re.search(r'<p class="headline">(.*?)</p>', page, re.S)[1]
    assert re.search(r'href="#act-(.)"', headline)[1] == largest
    assert 'id="other-texts"' in page
    assert 'class="note no-arrows"' in page
    assert "times</b> as likely" not in page
    assert 'id="openings"' not in page
    assert 'id="background"' not in page  # known of the others only
    known = pv.report(model, corpus, tmp_path / "known.html").read_text().split("<script")[0]
    for part in ("times</b> as likely", 'id="openings"', 'id="background"'):
        assert part in known
    for part in ('id="other-texts"', "no-arrows"):
        assert part not in re.sub(r"<style.*?</style>", "", known, flags=re.S)


def test_other_texts_with_replies_are_counted(corpus, model):
    train, other = corpus.split(0.5, random_state=1)
    fitted = small_model(train)
    found = gather(fitted, other, 1000, 10**6, predict_heldout=False)
    assert found.flow.observed
    replies = np.flatnonzero(other.parents >= 0)
    pairs = found.shares[other.parents[replies]].T @ found.shares[replies]
    np.testing.assert_allclose(
        found.flow.following[:-1], pairs / pairs.sum(axis=1, keepdims=True), atol=1e-3
    )
    same = gather(model, corpus, 1000, 10**6, predict_heldout=False)
    assert same.same_texts
    assert not same.flow.observed
    np.testing.assert_array_equal(same.flow.class_shares, model.class_shares_[same.order])


def test_usual_is_the_average_over_replies_and_unanswered_classes_say_nothing():
    """C is most of what is said, but nobody answers it: its row is what the prior says."""
    shares = np.array([0.2, 0.2, 0.6])
    following = np.array([[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.1, 0.1, 0.8]])
    answered = np.array([30.0, 90.0, 0.0])
    effects = relative(following, shares, answered)
    usual = 0.25 * following[0] + 0.75 * following[1]
    np.testing.assert_allclose(effects[:2], following[:2] / usual)
    np.testing.assert_array_equal(effects[2], 1)
    np.testing.assert_allclose(effects[3], following[3] / shares)
    edges = graph.find_edges(shares, following, effects, answered=answered)
    assert {(edge.source, edge.replies) for edge in edges} == {(0, 30), (1, 90), (-1, None)}
    np.testing.assert_array_equal(relative(following, shares, np.zeros(3))[:3], 1)


def test_replies_are_counted_by_what_they_answer():
    shares = np.array([[0.5, 0.5], [1, 0], [0, 1], [0, 0], [0, 0], [1, 0]])
    parents = np.array([-1, 0, 0, 2, -1, 4])  # the message of row 3 has no words
    np.testing.assert_array_equal(replies_to(shares, parents), [1, 1])
    assert least_replies(np.full(8, 1000.0)) == 20
    assert least_replies(np.full(8, 24.0)) == 6
    assert least_replies(np.full(8, 1.0)) == 3


def test_examples_are_those_of_their_class(corpus, model):
    """Characteristic words go by class number, the page by size: do not mix them up."""
    found = gather(model, corpus, 1000, 10**6, predict_heldout=False)
    shares = model.transform(corpus) * found.speaking[:, None]
    table = pv.exemplars(model, corpus, 3, shares=shares)
    assert found.order.tolist() != list(range(4))  # or this test could not fail
    for rank, number in enumerate(found.order.tolist()):
        assert found.examples[rank] == table.filter(pl.col("class") == number)["message"].to_list()


def test_threads_are_called_so_that_people_can_read_it():
    table = pl.DataFrame(
        {
            "conversation": ["dev/1707902606.000000", "dev/2024-03-03", "t18", "<3@x.org>", "e/1"],
            "text": ["a", "b", "c", "d", "e"],
            "time": [1707902606, None, 1707902606, None, None],
            "channel": ["dev", "dev", None, None, "dev"],
            "subject": [None, " ", None, "Printer  broken", None],
        }
    )
    first = pv.Corpus.from_polars(table).table
    titles = dict(zip(first["conversation"], titles_of(first), strict=True))
    assert titles == {
        "dev/1707902606.000000": "#dev, 2024-02-14 09:23",
        "dev/2024-03-03": "#dev, 2024-03-03",
        "t18": "Thread t18",
        "<3@x.org>": "Printer broken",
        "e/1": "Thread e/1",
    }
    assert "Printer broken" not in titles_of(first, anonymized=True)
    plain = pv.Corpus.from_polars(pl.DataFrame({"text": ["a"]})).table
    assert titles_of(plain) == [f"Thread {plain['conversation'][0]}"]


def test_the_graph_in_notebooks_can_know_what_is_answered(corpus, model):
    alone = thanks_only()
    assert "data-effect" in model.plot_graph(corpus=corpus)
    picture = model.plot_graph(corpus=alone)
    assert not re.search(r'data-from="\d', picture)


def test_empty_classes_stand_behind_a_line_and_one_class_is_spoken_of_as_one(tmp_path):
    texts = ["thanks a lot", "it works now", "is it broken?", "try again please"] * 6
    small = pv.Corpus.from_polars(pl.DataFrame({"text": texts}))
    many = pv.LDA(n_classes=40, n_sweeps=30, random_state=1).fit(small)
    page = pv.report(many, small, tmp_path / "many.html").read_text()
    n_empty = int(re.search(r"<summary>(\d+) empty topics", page)[1])
    before, behind = page.split('<details class="empty">')
    assert before.count('<article class="card') == 40 - n_empty
    assert behind.count('<article class="card') == n_empty > 10
    assert before.count('<li><a href="#act-') == 40 - n_empty
    assert page.count('data-node="') == 2 * (40 - n_empty)
    one = pv.M4(n_classes=1, n_sweeps=4).fit(small)
    page = pv.report(one, small, tmp_path / "one.html").read_text()
    assert "these 1 act" not in page
    assert "asked for a single act" in page
