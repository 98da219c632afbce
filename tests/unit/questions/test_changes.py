"""What changed: differences, intervals that hold for all classes at once, and who is compared."""

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.errors import ParameterError
from palaver.questions.changes import REST, Group, bundles, compare, compare_sums
from palaver.questions.talk import Talk


def talk_of(shares, **columns):
    """One message per row of ``columns``; conversations of two unless they are given."""
    n = len(shares)
    table = {"conversation": [f"c{i // 2}" for i in range(n)], "text": ["word"] * n, **columns}
    corpus = pv.Corpus.from_polars(pl.DataFrame(table))
    return Talk(corpus, np.asarray(shares, float), np.ones(n, bool))


def test_a_difference_is_that_of_mean_shares():
    shares = [[1, 0], [1, 0], [0, 1], [0.5, 0.5]] * 10
    talk = talk_of(shares, role=["a", "a", "b", "b"] * 10)
    table = talk.compare_groups("role").sort("class")
    assert table["first"].to_list() == ["a", "a"]
    assert table["second"].to_list() == ["b", "b"]
    assert table["before"].to_list() == [1, 0]
    assert table["after"].to_list() == pytest.approx([0.25, 0.75])
    assert table["difference"].to_list() == pytest.approx([-0.75, 0.75])
    assert (table["messages_before"] == 20).all()
    assert (table["messages_after"] == 20).all()


def made(generator, effect=0.0, n_conversations=30, n_classes=6):
    """Messages of conversations that have a leaning of their own, in two groups."""
    units = np.repeat(np.arange(2 * n_conversations), 4)
    leaning = generator.dirichlet(np.ones(n_classes), 2 * n_conversations)
    second = np.arange(2 * n_conversations) >= n_conversations
    leaning[second] = (1 - effect) * leaning[second]
    leaning[second, 0] += effect
    classes = [generator.choice(n_classes, p=leaning[unit]) for unit in units]
    groups = [Group(str(i), np.flatnonzero(second[units] == i)) for i in (0, 1)]
    return np.eye(n_classes)[classes], units, [(groups[0], groups[1])]


def test_without_a_change_few_tables_have_a_clear_one():
    # 150 tables without any change: 95% intervals that hold for all classes at once are wrong in
    # 7.5 of them; more than 16 have a probability of 0.2%
    wrong = 0
    generator = np.random.default_rng(1)
    for seed in range(150):
        found = compare(*made(generator), 0.95, seed)
        wrong += bool(((found.low > 0) | (found.high < 0)).any())
        assert ((found.p < 0.05) == ((found.low > 0) | (found.high < 0))).mean() > 0.95
    assert wrong <= 16


def test_a_change_is_found_and_its_interval_holds():
    generator = np.random.default_rng(2)
    held = clear = 0
    for seed in range(60):
        found = compare(*made(generator, 0.4), 0.95, seed)
        truth = 0.4 * (1 - 1 / 6)
        held += found.low[0, 0] <= truth <= found.high[0, 0]
        clear += found.low[0, 0] > 0
    assert held >= 54
    assert clear >= 54


def test_bundles_of_very_many_conversations_keep_the_spread():
    generator = np.random.default_rng(3)
    sizes = generator.integers(1, 9, (2, 12_000)) * (generator.random((2, 12_000)) < [[0.2], [0.9]])
    sums = sizes[:, :, None] * np.concatenate(
        [generator.dirichlet((0.2, 0.5, 2.0), (2, 12_000)), np.ones((2, 12_000, 1))], axis=2
    )
    found = compare_sums(sums, [(0, 1)], 0.95, 0)
    # what a linear approximation says, which many conversations make exact
    totals = sums.sum(axis=1, keepdims=True)
    means = totals[:, :, :-1] / totals[:, :, -1:]
    effects = (sums[:, :, :-1] - means * sums[:, :, -1:]) / totals[:, :, -1:]
    error = np.sqrt(((effects[1] - effects[0]) ** 2).sum(axis=0))
    width = (found.high - found.low)[0] / 2 / error
    np.testing.assert_allclose(width, width.mean(), rtol=0.1)
    assert 1.96 < width.mean() < 2.6  # of three classes at once: at most Bonferroni's 2.39
    # sums by bundle, as the workbench has them, say the same
    tied = np.zeros((2, 2000, 4))
    np.add.at(tied.transpose(1, 0, 2), bundles(12_000, 0), sums.transpose(1, 0, 2))
    n_units = np.count_nonzero(sizes, axis=1)
    for one, other in zip(found, compare_sums(tied, [(0, 1)], 0.95, 0, n_units), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_messages_of_one_conversation_count_less_than_those_of_many():
    generator = np.random.default_rng(3)
    shares, units, compared = made(generator, 0.1)
    apart = np.arange(len(units))
    whole, single = (compare(shares, u, compared, 0.95, 0) for u in (units, apart))
    assert ((whole.high - whole.low) > (single.high - single.low)).all()


def test_periods_are_compared_with_the_one_before_and_groups_with_the_rest():
    n = 60
    times = [f"2024-{1 + i // 10:02d}-01" for i in range(n)]
    talk = talk_of(
        np.eye(3)[np.arange(n) % 3], time=times, room=[f"r{i // 2 % 3}" for i in range(n)]
    )
    quarters = talk.compare_groups("quarter")
    assert quarters["first"].unique().to_list() == ["2024-Q1"]
    assert quarters["second"].unique().to_list() == ["2024-Q2"]
    months = talk.compare_groups("month", top=3)
    assert months["second"].unique(maintain_order=True).to_list() == ["2024-05", "2024-06"]
    rooms = talk.compare_groups("room")
    assert set(rooms["first"]) == {REST}
    assert set(rooms["second"]) == {"r0", "r1", "r2"}
    both = talk.compare_groups(between=("time<2024-04", "time>=2024-04"))
    assert both["before"].to_list() == quarters["before"].to_list()


def test_too_few_conversations_have_no_interval():
    talk = talk_of(np.eye(2)[[0, 1] * 40], role=["a"] * 72 + ["b"] * 8)
    table = talk.compare_groups("role", resample="conversation")
    assert table["low"].null_count() == table.height
    assert not table["clear"].any()


def test_a_class_that_nobody_has_is_no_change():
    shares = np.zeros((80, 3))
    shares[np.arange(80), np.arange(80) % 2] = 1
    table = talk_of(shares, role=["a", "b"] * 40).compare_groups("role", resample="message")
    assert table.filter(pl.col("class") == 2)["p"].to_list() == [None]
    assert table.filter(pl.col("class") != 2)["clear"].all()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "give by"),
        ({"by": "nothing"}, "no column 'nothing'"),
        ({"by": "same"}, "nothing to compare"),
        ({"between": ("time<2024",)}, "two conditions"),
        ({"between": ("same=x", "same=y")}, "no message matches same=y"),
        ({"by": "month"}, "no message has one"),
    ],
)
def test_questions_without_an_answer_are_refused(asked, said):
    talk = talk_of(np.eye(2)[[0, 1]], same=["x", "x"])
    if "between" in asked and "time<2024" in asked["between"]:
        talk = talk_of(np.eye(2)[[0, 1]], same=["x", "x"], time=["2024-01-01"] * 2)
    with pytest.raises(ParameterError, match=said):
        talk.compare_groups(**asked)


def test_two_columns_are_crossed():
    talk = talk_of(
        np.eye(2)[[0, 1] * 20], role=["a", "b"] * 20, shift=["day", "day", "night", None] * 10
    )
    assert set(talk.compare_groups("role,shift", resample="message")["second"]) == {
        "a × day", "b × day", "a × night", "b × (none)"
    }  # fmt: skip
