"""Class shares by group: by hand, with intervals that mean what they say."""

import datetime

import numpy as np
import polars as pl
import pytest
from support.planted import plant

import palaver as pv
from palaver.corpus.grouping import NO_GROUP
from palaver.curation import Step
from palaver.encoding import encode
from palaver.errors import NotFittedError, ParameterError
from palaver.models.curated import apply_curation, curation_of
from palaver.models.views.marks import keys_of
from palaver.models.views.shares import FEW_UNITS, OTHERS, shares_table

DEFAULTS = {"top": 20, "resample": "auto", "level": 0.95, "random_state": 0}


def corpus(speakers, conversations=None, **columns):
    rows = len(speakers)
    table = {
        "conversation": conversations or [f"c{i:04}" for i in range(rows)],
        "id": [f"m{i:04}" for i in range(rows)],
        "speaker": speakers,
        "text": ["x"] * rows,
        **columns,
    }
    return pv.Corpus.from_polars(pl.DataFrame(table))


def ask(shares, corpus, by="speaker", known=None, **options):
    known = np.ones(corpus.n_messages, bool) if known is None else known
    return shares_table(np.asarray(shares, float), corpus, known, by=by, **DEFAULTS | options)


def test_shares_by_hand():
    threads = corpus(["ann", "ann", "bob", None, "ann", "bob"])
    shares = [[1, 0], [0.5, 0.5], [0, 1], [1, 0], [9, 9], [0, 1]]
    known = np.array([True, True, True, True, False, True])
    table = ask(shares, threads, known=known)
    assert table["group"].to_list() == ["ann", "ann", "bob", "bob", NO_GROUP, NO_GROUP]
    np.testing.assert_allclose(table["share"], [0.75, 0.25, 0, 1, 1, 0])
    np.testing.assert_allclose(table["overall"][:2], [0.5, 0.5])
    assert table["messages"].to_list() == [2, 2, 2, 2, 1, 1]
    assert table["low"].null_count() == 6  # too few to say
    assert table["resampled"].unique().to_list() == ["message"]


def test_groups_beyond_the_largest_go_together_and_the_nameless_come_last():
    speakers = ["a"] * 4 + ["b"] * 3 + ["c", "d"] + [None] * 5
    table = ask(np.ones((14, 1)), corpus(speakers), top=2)
    assert table["group"].to_list() == ["a", "b", OTHERS, NO_GROUP]
    assert table["messages"].to_list() == [4, 3, 2, 5]
    everyone = ask(np.ones((14, 1)), corpus(speakers), top=None)
    assert everyone["group"].to_list() == ["a", "b", "c", "d", NO_GROUP]
    same = ask(np.ones((14, 1)), corpus(speakers), top=4)
    assert same["group"].to_list() == everyone["group"].to_list()


def test_periods_are_in_order_and_complete():
    start = datetime.datetime(2023, 12, 30, 22, tzinfo=datetime.UTC)
    times = [start + datetime.timedelta(hours=8 * i) for i in range(30)] + [None]
    threads = corpus(["a"] * 31, time=times)
    groups = {by: ask(np.ones((31, 1)), threads, by, top=1)["group"].to_list()
              for by in ("year", "quarter", "month", "week", "day", "weekday", "hour")}  # fmt: skip
    assert groups["year"] == ["2023", "2024", NO_GROUP]
    assert groups["quarter"] == ["2023-Q4", "2024-Q1", NO_GROUP]
    assert groups["month"] == ["2023-12", "2024-01", NO_GROUP]
    assert groups["week"] == ["2023-W52", "2024-W01", "2024-W02", NO_GROUP]
    assert groups["day"][:2] == ["2023-12-30", "2023-12-31"]
    assert groups["weekday"][0] == "1 Mon"
    assert groups["hour"] == ["06", "14", "22", NO_GROUP]


def test_lists_put_a_message_into_several_groups_and_numbers_are_names():
    threads = corpus(["a", "a"], acts=[["ask", "thank", "ask"], ["ask"]], score=[3, 3])
    table = ask([[1.0], [0.0]], threads, "acts")
    assert table["group"].to_list() == ["ask", "thank"]
    assert table["messages"].to_list() == [2, 1]
    np.testing.assert_allclose(table["share"], [0.5, 1])
    assert ask([[1.0], [0.0]], threads, "score")["group"].to_list() == ["3"]


def test_intervals_cover_and_respect_conversations():
    generator = np.random.default_rng(3)
    covered = {"conversation": 0, "message": 0}
    for seed in range(150):
        tendency = np.repeat(generator.beta(2, 3, 40), 5)  # five messages alike
        shares = (generator.random(200) < tendency).astype(float)
        names = [f"c{i // 5:02}" for i in range(200)]
        threads = corpus(["a"] * 200, names)
        for unit in covered:
            table = ask(
                np.column_stack([shares, 1 - shares]), threads, resample=unit, random_state=seed
            )
            covered[unit] += table["low"][0] <= 0.4 <= table["high"][0]
    assert covered["conversation"] >= 132  # 95 % of 150 is 142.5
    assert covered["message"] < covered["conversation"]


def test_conversations_of_different_lengths_do_not_widen_an_interval():
    names = [f"c{i:02}" for i in range(40) for _ in range(1 + i % 7)]
    table = ask(np.full((len(names), 2), 0.5), corpus(["a"] * len(names), names))
    np.testing.assert_allclose(table.select("low", "high").to_numpy(), 0.5, rtol=1e-12)


def test_many_units_cost_little_and_keep_their_spread():
    generator = np.random.default_rng(4)
    shares = generator.random((30_000, 1))
    table = ask(shares, corpus(["a"] * 30_000, ["c"] * 30_000))
    error = shares.std() / np.sqrt(30_000)
    np.testing.assert_allclose(table["high"][0] - table["low"][0], 2 * 1.96 * error, rtol=0.12)
    again = ask(shares, corpus(["a"] * 30_000, ["c"] * 30_000))
    assert again.equals(table)


def test_what_is_resampled_depends_on_the_corpus():
    many = corpus(["a"] * 60, [f"c{i // 2:02}" for i in range(60)])
    assert ask(np.ones((60, 1)), many)["resampled"][0] == "conversation"
    few = corpus(["a"] * 60, [f"c{i // 30}" for i in range(60)])
    assert ask(np.ones((60, 1)), few)["resampled"][0] == "message"
    table = ask(np.ones((60, 1)), few, resample="conversation")
    assert table["conversations"][0] == 2 < FEW_UNITS
    assert table["low"][0] is None


def test_nothing_to_count():
    table = ask(np.ones((2, 3)), corpus(["a", "b"]), known=np.zeros(2, bool))
    assert table.height == 0
    assert table.columns[:3] == ["group", "class", "share"]


def test_a_models_shares_and_coherence():
    model = plant("m4", np.random.default_rng(2))
    model.seed_ = 1
    threads = model.simulate((40, 4, 12), random_state=3)
    threads = threads.with_columns(even=pl.Series(np.arange(threads.n_messages) % 2 == 0))
    table = model.shares(threads, by="even", n_sweeps=10)
    assert set(table["group"]) == {"true", "false"}
    sums = table.group_by("group").agg(pl.col("share").sum())["share"]
    np.testing.assert_allclose(sums, 1)
    assert (table["low"] <= table["share"]).all()
    assert (table["share"] <= table["high"]).all()
    coherence = model.coherence(threads, n_words=5)
    assert coherence.columns == ["class", "coherence", "words"]
    encoded = encode(threads, model.vocabulary_)
    tops = np.argsort(-model.class_words_, axis=1, kind="stable")[:, :5]
    expected = pv.evaluate.npmi(encoded.tokens, encoded.message_offsets, tops)
    np.testing.assert_allclose(coherence["coherence"], expected)
    other = model.coherence(encoded, n_words=5, by="distinctiveness")
    assert other["words"].to_list() != coherence["words"].to_list()


def test_wrong_questions_are_answered_before_the_work():
    model = plant("m4", np.random.default_rng(2))
    model.seed_ = 1
    threads = corpus(["a", "b"])
    for options, message in (
        ({"by": "mood"}, "no column 'mood'; group by year, quarter, .* speaker"),
        ({"by": "month"}, "needs times, and no message has one"),
        ({"top": 0}, "top must be"),
        ({"resample": "word"}, "resample must be"),
    ):
        with pytest.raises(ParameterError, match=message):
            model.shares(threads, **options)
    with pytest.raises(ParameterError, match="takes a Corpus"):
        model.shares(encode(threads))
    with pytest.raises(ParameterError, match="n_words must be"):
        model.coherence(threads, n_words=1)
    for call in (pv.M4().shares, pv.M4().coherence):
        with pytest.raises(NotFittedError):
            call(threads)


def test_marks_of_people_count_in_shares_and_effects():
    threads = pv.sample(12)
    threads = threads.with_columns(
        half=pl.Series(["a" if i % 2 else "b" for i in range(threads.n_messages)])
    )
    model = pv.LDA(n_classes=3, n_sweeps=4).fit(threads)
    marks = [
        {"do": "mark", "class": 2 if half == "a" else 0, "id": id, "key": key}
        for half, id, key in zip(
            threads.table["half"], threads.table["id"], keys_of(threads), strict=True
        )
    ]
    curated = apply_curation(model, curation_of(model).after(Step(tuple(marks))))
    table = curated.shares(threads, by="half", n_sweeps=2)
    found = {(row["group"], row["class"]): row["share"] for row in table.to_dicts()}
    assert [found["a", k] for k in range(3)] == [0, 0, 1]
    assert [found["b", k] for k in range(3)] == [1, 0, 0]
    effects = curated.effects(threads, "~ half", n_sweeps=2, n_draws=3)
    effects = effects.filter(pl.col("term") == "half=b")
    assert effects["effect"].to_list() == pytest.approx([1, 0, -1])
    wrong = {"do": "mark", "class": 1, "id": marks[0]["id"], "key": marks[0]["key"], "right": False}
    doubted = apply_curation(model, curation_of(model).after(Step((wrong,))))
    before, after = (
        m.annotate(threads, n_sweeps=2).table.select("^share_.*$").to_numpy()
        for m in (model, doubted)
    )
    rest = before[0, [0, 2]]
    np.testing.assert_allclose(after[0], [rest[0] / rest.sum(), 0, rest[1] / rest.sum()])
    np.testing.assert_array_equal(after[1:], before[1:])
