"""Bounds of the replies' log probability: never wrong, and narrow where messages are long."""

import numpy as np
import pytest

from palaver.kernels.simd.lanes import aligned
from palaver.models.m4.kernels import bounds, replies
from palaver.models.m4.kernels.arguments import Threads

K, N_WORDS, N_REPLIES = 11, 60, 4


def family_of(rng: np.random.Generator, *, is_dirichlet: bool, scale: float):
    """Return a message with replies of two bases, one of which has two parents."""
    lengths = np.array([N_WORDS, 20, *rng.integers(1, 90, N_REPLIES)])
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    classes = rng.integers(0, K + 1, offsets[-1]).astype(np.int16)  # K: background
    parents = [[], [], *[[0]] * (N_REPLIES - 1), [0, 1]]
    threads = Threads(
        np.zeros(offsets[-1], np.int32), offsets, np.array([0, len(lengths)]), 0,
        np.concatenate(([0], np.cumsum([len(own) for own in parents]))),
        np.array([a for own in parents for a in own], np.int32),
        rng.integers(0, 2, len(lengths)).astype(np.int32), rng.normal(size=(2, 2)),
        np.full(len(lengths), -1, np.int16), np.zeros(1, np.int64), offsets,
    )  # fmt: skip
    layout = replies.lay_out(scale * rng.normal(size=(K + 2, K)), threads.designs, is_dirichlet)
    links = replies.make_links(threads)
    family = replies.make_family(links, layout.stride)
    n_groups = replies.open_family(0, classes, links, layout, family)
    own = classes[: lengths[0]]
    sums = aligned(layout.stride)
    sums[:K] = sum(layout.rows.reshape(K + 1, -1)[k, :K] for k in own)
    return own, sums, layout, family, n_groups


@pytest.mark.parametrize("is_dirichlet", [True, False])
@pytest.mark.parametrize("scale", [0.3, 1.5])
def test_changes_are_within_their_bounds(is_dirichlet: bool, scale: float) -> None:
    rng = np.random.default_rng(3)
    widths = []
    for _ in range(5):
        own, sums, layout, family, n_groups = family_of(rng, is_dirichlet=is_dirichlet, scale=scale)
        n_units = int((own < K).sum())
        here = (n_groups, K, K, n_units, sums, layout, family)
        rounding = bounds.open_bounds(n_groups, n_units, sums, layout, family)
        assert 0 < rounding < 1e-6
        change, doubt = bounds.bounded_change(*here)
        assert abs(change) + doubt < 1e-12
        start = replies.family_log(*here)
        for old in np.unique(own):
            for new in range(K + 1):
                after = n_units - (old < K) + (new < K)
                moved = (n_groups, new, int(old), after, sums, layout, family)
                change, doubt = bounds.bounded_change(*moved)
                exact = replies.family_log(*moved) - start
                assert abs(exact - change) <= doubt + rounding
                widths.append(doubt)
    if scale < 1:
        assert np.median(widths) < 0.05


def test_no_bounds_in_short_messages_and_for_huge_scores() -> None:
    rng = np.random.default_rng(4)
    _, sums, layout, family, n_groups = family_of(rng, is_dirichlet=True, scale=1.0)
    assert bounds.open_bounds(n_groups, 3, sums, layout, family) < 0
    family.rests[:K] = 30.0
    assert bounds.open_bounds(n_groups, 30, sums, layout, family) < 0


def test_long_replies_have_the_slopes_of_finite_differences() -> None:
    rng = np.random.default_rng(5)
    own, sums, layout, family, n_groups = family_of(rng, is_dirichlet=True, scale=0.5)
    for entry in range(8):  # counts beyond what is added term by term
        family.entry_count[entry] += 200
    n_units = int((own < K).sum())
    assert bounds.open_bounds(n_groups, n_units, sums, layout, family) > 0
    for j in range(K):
        step = aligned(layout.stride)
        step[:] = sums
        step[j] += 1e-5 * n_units
        logs, lines = [], []
        for at in (sums, step):
            moved = (n_groups, K, K, n_units, at, layout, family)
            logs.append(replies.family_log(*moved))
            lines.append(bounds.bounded_change(*moved)[0])
        assert np.diff(logs) == pytest.approx(np.diff(lines), abs=1e-7)
