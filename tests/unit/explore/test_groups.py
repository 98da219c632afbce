"""The compiled loops of comparisons against numpy."""

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.explore.answered import answered_arrays
from palaver.explore.index import links_of
from palaver.explore.kernels.groups import (
    add_shares,
    count_answered,
    count_talk,
    count_values,
    mark_units,
    middle_waits,
)
from palaver.questions.changes import bundles

N_UNITS, N_ACTS = 40, 3


@pytest.fixture(scope="module", params=range(3))
def messages(request):
    generator = np.random.default_rng(request.param)
    lengths = generator.integers(1, 8, N_UNITS)
    n = int(lengths.sum())
    first = generator.random(n) < (0.02, 0.4, 0.9)[request.param]
    return {
        "n": n,
        "groups": (first, ~first if request.param else generator.random(n) < 0.5),
        "units": np.repeat(np.arange(N_UNITS, dtype=np.int32), lengths),
        "offsets": np.concatenate(([0], np.cumsum(lengths))),
        "periods": generator.integers(-1, 4, n).astype(np.int32),
        "codes": generator.integers(-1, 5, (n, 2)).astype(np.int32),
        "shares": generator.random((n, N_ACTS)).astype(np.float32),
        "main": generator.integers(-1, N_ACTS, n).astype(np.int16),
        "seconds": np.where(generator.random(n) < 0.9, generator.integers(0, 500, n), np.nan),
    }


def test_units_and_shares(messages):
    groups, units, periods = (messages[name] for name in ("groups", "units", "periods"))
    marks = np.zeros((2, N_UNITS), bool)
    mark_units(*groups, units, marks)
    tied = (np.arange(N_UNITS) % 7).astype(np.int16)
    sums, series = np.zeros((2, 7, N_ACTS + 1)), np.zeros((2, 5, N_ACTS + 1))
    add_shares(*groups, units, tied, periods, messages["shares"], sums, series)
    values = np.column_stack([messages["shares"], np.ones(messages["n"])])
    for group, own in enumerate(groups):
        np.testing.assert_array_equal(np.flatnonzero(marks[group]), np.unique(units[own]))
        for bundle in range(7):
            expected = values[own & (tied[units] == bundle)].sum(axis=0)
            np.testing.assert_allclose(sums[group, bundle], expected)
        for period in range(5):
            expected = values[own & (periods == period - 1)].sum(axis=0)
            np.testing.assert_allclose(series[group, period], expected)


def test_values_and_talk(messages):
    groups, codes, periods = (messages[name] for name in ("groups", "codes", "periods"))
    starts, counts = np.array([0, 6]), np.zeros((2, 12), np.int64)
    count_values(*groups, codes, starts, counts)
    shown = np.full(12, -1, np.int32)
    shown[[1, 3, 10]] = 0, 1, 2  # two values of the first column, one of the second
    talk = np.zeros((2, 3, 4), np.int64)
    count_talk(*groups, codes, starts, shown, periods, talk)
    for group, own in enumerate(groups):
        for column in range(2):
            expected = np.bincount(codes[own, column] + 1, minlength=6)
            np.testing.assert_array_equal(counts[group, 6 * column : 6 * column + 6], expected)
        for place, (column, value) in enumerate([(0, 0), (0, 2), (1, 3)]):
            rows = own & (codes[:, column] == value) & (periods >= 0)
            np.testing.assert_array_equal(
                talk[group, place], np.bincount(periods[rows], minlength=4)
            )


def corpus_of(messages):
    """Return the messages as a corpus without replies."""
    seconds = messages["seconds"].tolist()
    return pv.Corpus.from_polars(pl.DataFrame({
        "conversation": [str(unit) for unit in messages["units"]],
        "id": [str(row) for row in range(messages["n"])],
        "speaker": [None if code < 0 else str(code) for code in messages["codes"][:, 0]],
        "time": [None if np.isnan(s) else int(s) + 10**9 for s in seconds],
        "text": ["hello"] * messages["n"],
    }))  # fmt: skip


def test_where_nobody_answers_anybody_messages_follow_each_other(messages):
    n, offsets = messages["n"], messages["offsets"]
    links = links_of(np.full(n, -1, np.int32), offsets, "replies")
    before = np.arange(n) - 1
    np.testing.assert_array_equal(links, np.where(np.isin(np.arange(n), offsets), -1, before))


def test_answers_and_median_waits(messages):
    n, groups, main = (messages[name] for name in ("n", "groups", "main"))
    found = answered_arrays(corpus_of(messages))
    wait = np.full(n, np.nan)
    wait[found["waited"]] = found["waits"]
    opens = found["replied"] < 0
    np.testing.assert_array_equal(np.flatnonzero(opens), messages["offsets"][:-1])
    cells, counts = np.empty(n, np.int16), np.zeros((2, N_ACTS + 2, 3), np.int64)
    count_answered(*groups, main, opens, found["answered"], ~np.isnan(wait), cells, counts)
    known, middle = counts[:, :, 2], np.full((2, N_ACTS + 2, 2), np.nan)
    middle_waits(cells, found["waited"], found["waits"], known, np.zeros_like(known), middle)
    for group, own in enumerate(groups):
        for act in range(N_ACTS + 2):
            rows = own & (opens if act == N_ACTS + 1 else main == act - 1)
            waits = wait[rows & ~np.isnan(wait)]
            expected = [rows.sum(), (rows & ~found["answered"]).sum(), len(waits)]
            assert counts[group, act].tolist() == expected
            median = np.median(waits) if len(waits) else np.nan
            np.testing.assert_array_equal(middle[group, act].mean(), median)


def test_bundles_are_of_one_size():
    assert bundles(1500, 0).tolist() == list(range(1500))
    sizes = np.bincount(bundles(5003, 0))
    assert len(sizes) == 2000
    assert sizes.sum() == 5003
    assert set(sizes) == {2, 3}
