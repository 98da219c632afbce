"""The compiled loops of the workbench against numpy."""

import numpy as np
import pytest

from palaver.explore.acts import _strongest
from palaver.explore.kernels.messages import count_facets, count_threads, mark_numbers


@pytest.fixture(scope="module", params=range(3))
def messages(request):
    generator = np.random.default_rng(request.param)
    lengths = generator.integers(0, 6, 40)
    n = int(lengths.sum())
    return {
        "offsets": np.concatenate(([0], np.cumsum(lengths))),
        "passing": generator.random(n) < (0.0, 0.1, 0.7)[request.param],
        "codes": generator.integers(-1, 4, n).astype(np.int32),
        "shares": generator.integers(0, 4, (n, 3)).astype(np.float32) / 4,  # with ties and zeros
        "speaking": generator.random(n) < 0.8,
    }


def test_strongest(messages):
    shares, speaking = messages["shares"], messages["speaking"]
    main, strength = _strongest(shares, speaking)
    for row, own in enumerate(shares.tolist()):
        known = speaking[row] and max(own) > 0
        assert main[row] == (own.index(max(own)) if known else -1)
        assert strength[row] == max(own)


def test_counts(messages):
    passing, codes, offsets = messages["passing"], messages["codes"], messages["offsets"]
    threads = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    assert count_threads(passing, offsets) == len(np.unique(threads[passing]))
    columns = np.stack([codes[::-1], np.roll(codes, 1)], axis=1)
    main, periods = np.roll(codes, 2).astype(np.int16), np.roll(codes, 3)
    counts = np.zeros(20, np.int64)
    count_facets(passing, main, periods, columns, 5 * np.arange(4), counts)
    for own, counted in zip((main, periods, *columns.T), counts.reshape(4, 5), strict=True):
        np.testing.assert_array_equal(counted, np.bincount(own[passing] + 1, minlength=5))


@pytest.mark.parametrize("listed", [[], [0], [3, 7, 10, 39]])
def test_numbers(listed):
    marks = np.zeros(40, bool)
    mark_numbers(np.frombuffer(",".join(map(str, listed)).encode(), np.uint8), marks)
    assert np.flatnonzero(marks).tolist() == listed
