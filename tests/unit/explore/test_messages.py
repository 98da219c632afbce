"""The compiled loops of the workbench against numpy."""

import numpy as np
import pytest

from palaver.explore.kernels.messages import count_codes, count_threads, strongest, sum_by_unit


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
    main, strength = np.empty(len(shares), np.int16), np.empty(len(shares), np.float32)
    strongest(shares, speaking, main, strength)
    silent = ~speaking | (shares.max(axis=1) == 0)
    np.testing.assert_array_equal(main, np.where(silent, -1, shares.argmax(axis=1)))
    np.testing.assert_array_equal(strength, shares.max(axis=1))


def test_counts(messages):
    passing, codes, offsets = messages["passing"], messages["codes"], messages["offsets"]
    counts = np.zeros(5, np.int64)
    count_codes(passing, codes, counts)
    np.testing.assert_array_equal(counts, np.bincount(codes[passing] + 1, minlength=5))
    threads = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    assert count_threads(passing, offsets) == len(np.unique(threads[passing]))


def test_sums(messages):
    passing, codes, shares = messages["passing"], messages["codes"], messages["shares"]
    sums = np.zeros((4, 4))
    sum_by_unit(passing, codes, shares, sums)
    for code in range(4):
        own = shares[passing & (codes == code)].astype(float)
        np.testing.assert_array_equal(sums[code], [*own.sum(axis=0), len(own)])
