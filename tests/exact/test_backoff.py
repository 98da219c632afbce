"""Backoff models against the definitions, in every context there can be."""

import itertools

import numpy as np
import pytest
from support.backoff_reference import Reference

from palaver.language import Events, Smoothing, estimate, parse_graph
from palaver.language.cases import Cases
from palaver.language.keys import Keys
from palaver.language.tables import COMBINATIONS

N_WORDS, SIZES = 6, (5, 3, 2)
NAMES = ("word", "tag", "state")
A, B, C = 0, 1, 2
#: Graph, edges from each kept set to those below, and where a set takes its counts from.
GRAPHS = {
    "state>tag>word": (
        {(A, B, C): [(A, B)], (A, B): [(A,)], (A,): [()], (): []},
        {(A, B): (A, B, C), (A,): (A, B), (): (A,)},
    ),
    "word>state+tag": (
        {(A, B, C): [(B, C)], (B, C): [(B,), (C,)], (B,): [()], (C,): [()], (): []},
        {(B, C): (A, B, C), (B,): (B, C), (C,): (B, C), (): (B, C)},
    ),
    "tag+word>state": (
        {(A, B, C): [(A, C), (B, C)], (A, C): [(C,)], (B, C): [(C,)], (C,): [()], (): []},
        {(A, C): (A, B, C), (B, C): (A, B, C), (C,): (A, B, C), (): (C,)},
    ),
}


def draw_events(n, seed=3):
    generator = np.random.default_rng(seed)
    words = generator.integers(0, N_WORDS - 1, n) * generator.integers(0, 2, n)
    parents = [generator.integers(-1, size, n) for size in SIZES]
    parents[2][parents[2] < 0] = 0
    return Events(words, parents, np.ones(n, np.int64))


def plain(events):
    columns = [events.words, *events.parents]
    for word, *context in zip(*(column.tolist() for column in columns), strict=True):
        yield word, tuple(None if value < 0 else value for value in context)


CASES = [
    ("modified-kneser-ney", "mean", True, (0,), (True, False, False)),
    ("modified-kneser-ney", "mean", False, (0, 1), (True, True, True)),
    ("modified-kneser-ney", "max", True, (0,), (False, False, False)),
    ("kneser-ney", "product", False, (0,), (True, True, False)),
    ("kneser-ney", "weighted", True, (1, 0, 1, 2), (True, True, True)),
    ("witten-bell", "count-weighted", True, (0,), (True, False, True)),
    ("witten-bell", "product", True, (0, 2), (False, False, True)),
    ("modified-kneser-ney", "count-weighted", False, (0,), (True, True, True)),
]


@pytest.mark.parametrize("text", GRAPHS)
@pytest.mark.parametrize(("discount", "combine", "interpolate", "cutoffs", "types"), CASES)
@pytest.mark.parametrize("n_events", [60, 900])
def test_equals_the_definition(text, discount, combine, interpolate, cutoffs, types, n_events):
    events = draw_events(n_events)
    weights = (1.0, 2.0, 0.5)
    tables = estimate(
        events.unique(SIZES, N_WORDS), parse_graph(text, NAMES), SIZES, N_WORDS, types,
        Smoothing(discount, combine, weights, interpolate, cutoffs),
    )  # fmt: skip
    edges, sources = GRAPHS[text]
    reference = Reference(
        list(plain(events)), range(N_WORDS), edges, sources, discount=discount, combine=combine,
        interpolate=interpolate, cutoffs=cutoffs, types=types, weights=weights,
    )  # fmt: skip
    contexts = list(itertools.product(*(range(-1, size) for size in SIZES)))
    for context in contexts[:: 1 if n_events < 100 else 3]:
        expected = reference.row((A, B, C), tuple(None if v < 0 else v for v in context))
        row = tables.row(context)
        np.testing.assert_allclose(row, [expected[w] for w in range(N_WORDS)], rtol=1e-10)
        assert abs(row.sum() - 1) < 1e-12
        assert row.min() > 0


@pytest.mark.parametrize("combine", COMBINATIONS)
def test_one_by_one_equals_the_whole_distribution(combine):
    events = draw_events(300)
    smoothing = Smoothing(combine=combine, weights=(3.0, 1.0, 1.0))
    tables = estimate(events.unique(SIZES, N_WORDS), parse_graph("state+tag+word", NAMES), SIZES,
                      N_WORDS, (True, False, False), smoothing)  # fmt: skip
    for context in itertools.product(*(range(-1, size) for size in SIZES)):
        columns = [np.full(N_WORDS, value) for value in context]
        np.testing.assert_allclose(
            tables.probability(np.arange(N_WORDS), columns), tables.row(context), rtol=1e-12
        )


@pytest.mark.parametrize("text", GRAPHS)
@pytest.mark.parametrize("combine", COMBINATIONS)
@pytest.mark.parametrize("hidden", [(B, C), (C,), (A, B, C)])
def test_many_cases_equal_one_by_one(text, combine, hidden):
    events = draw_events(60).unique(SIZES, N_WORDS)
    smoothing = Smoothing("kneser-ney", combine=combine, weights=(1.0, 2.0, 3.0))
    tables = estimate(events, parse_graph(text, NAMES), SIZES, N_WORDS, (True,) * 3, smoothing)
    generator = np.random.default_rng(0)
    words = generator.integers(0, N_WORDS, 200)
    parents = [np.sort(generator.integers(-1, size, 200)) for size in SIZES]
    cases = Cases(tables, words, {n: parents[n] for n in range(3) if n not in hidden})
    for given in itertools.product(*(range(-1, SIZES[parent]) for parent in hidden)):
        own = dict(zip(hidden, given, strict=True))
        columns = [np.full(200, own[n]) if n in own else parents[n] for n in range(3)]
        assert np.array_equal(cases(own), tables.probability(words, columns))


def test_stored_and_restored_tables_are_the_same():
    events = draw_events(300)
    tables = estimate(events.unique(SIZES, N_WORDS), parse_graph("word>state+tag", NAMES), SIZES,
                      N_WORDS, (True, False, False), Smoothing())  # fmt: skip
    again = tables.with_arrays(tables.arrays())
    np.testing.assert_array_equal(again.row((1, 1, 1)), tables.row((1, 1, 1)))


@pytest.mark.parametrize("sizes", [(3, 4, 5), (2**40, 7, 2**40, 2**30), (2**61, 2**61, 3)])
def test_keys_find_what_they_numbered_also_beyond_64_bits(sizes):
    generator = np.random.default_rng(1)
    columns = [generator.integers(0, min(size, 4), 50) * (size // 5 + 1) % size for size in sizes]
    keys, numbers = Keys.number(columns, sizes)
    rows = np.stack(columns, axis=1)
    np.testing.assert_array_equal(np.stack(keys.columns(), axis=1)[numbers], rows)
    np.testing.assert_array_equal(np.stack(keys.columns(), axis=1), np.unique(rows, axis=0))
    np.testing.assert_array_equal(keys.find(columns, 50), numbers)
    other = [column.copy() for column in columns]
    other[1] = (other[1] + 1) % sizes[1]
    known = {tuple(row) for row in rows.tolist()}
    expected = [tuple(row) in known for row in np.stack(other, axis=1).tolist()]
    np.testing.assert_array_equal(keys.find(other, 50) >= 0, expected)
    other[0][:] = -1
    assert (keys.find(other, 50) == -1).all()
