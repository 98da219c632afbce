"""Streams depend on their names alone."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import palaver as pv
from palaver import rng
from palaver.errors import ParameterError
from palaver.kernels.random import open_stream, uniform, uniforms

DRAWS = 50
PINNED_KEY = [8055805604439694088, 12609007976792455063]
PINNED_DRAWS = [0.21715225418358963, 0.5304116442396318, 0.7953252833563333]


def draws_of(conversation: int, chain: int = 0, sweep: int = 3) -> bytes:
    return uniforms(rng.key(7, "sweep", chain, sweep), conversation, DRAWS).tobytes()


def test_draws_do_not_depend_on_order_or_number_of_workers():
    alone = [draws_of(c) for c in range(40)]
    shuffled = {int(c): draws_of(int(c)) for c in np.random.default_rng(0).permutation(40)}
    assert [shuffled[c] for c in range(40)] == alone
    for n_workers in (1, 2, 3):
        with ThreadPoolExecutor(n_workers) as pool:
            assert list(pool.map(draws_of, range(40))) == alone


def test_every_part_of_the_name_matters():
    names = [(7, "sweep", 0, 3), (8, "sweep", 0, 3), (7, "open", 0, 3), (7, "sweep", 1, 3),
             (7, "sweep", 0, 4), (7, "sweep", 3, 0)]  # fmt: skip
    streams = {uniforms(rng.key(*name), 5, DRAWS).tobytes() for name in names}
    streams |= {uniforms(rng.key(7, "sweep", 0, 3), 6, DRAWS).tobytes()}
    assert len(streams) == 7
    generators = {rng.generator(*name).random(DRAWS).tobytes() for name in names}
    assert len(generators) == 6


def test_streams_are_pinned():
    """The draws of a name never change: results of earlier versions stay reproducible."""
    np.testing.assert_array_equal(rng.key(0, "sweep"), np.array(PINNED_KEY, np.uint64))
    np.testing.assert_allclose(uniforms(rng.key(0, "sweep"), 0, 3), PINNED_DRAWS, rtol=1e-15)


def test_neighbouring_streams_look_independent_and_uniform():
    key = rng.key(1, "test")
    table = np.array([uniforms(key, c, 200) for c in range(2000)])
    n = table.size
    assert abs(table.mean() - 0.5) < 5 * np.sqrt(1 / 12 / n)
    assert abs((table**2).mean() - 1 / 3) < 5 * np.sqrt(4 / 45 / n)
    for left, right in ((table[:-1], table[1:]), (table[:, :-1], table[:, 1:])):
        correlation = np.corrcoef(left.ravel(), right.ravel())[0, 1]
        assert abs(correlation) < 5 / np.sqrt(left.size)
    counts = np.bincount((table[:, 0] * 20).astype(int), minlength=20)
    chi_square = ((counts - 100) ** 2 / 100).sum()
    assert chi_square < 60  # 19 degrees of freedom: 1e-5 beyond 55


def test_xoshiro_against_a_plain_python_twin():
    mask = 2**64 - 1
    state = np.empty(4, np.uint64)
    open_stream(rng.key(3, "twin"), 11, state)
    s = [int(word) for word in state]

    def rotate(x, k):
        return ((x << k) | (x >> (64 - k))) & mask

    for _ in range(100):
        result = (rotate((s[0] + s[3]) & mask, 23) + s[0]) & mask
        t = (s[1] << 17) & mask
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
        assert uniform(state) == (result >> 11) * 2.0**-53


@pytest.mark.parametrize("bad", [-1, 1.5, "seed", True])
def test_bad_seeds(bad):
    with pytest.raises(ParameterError, match="random_state"):
        rng.resolve_seed(bad)


def test_seeds():
    assert rng.resolve_seed(5) == rng.resolve_seed(np.int64(5)) == 5
    assert rng.resolve_seed(np.random.default_rng(1)) == rng.resolve_seed(np.random.default_rng(1))
    assert rng.resolve_seed(None) != rng.resolve_seed(None)


def test_public_functions_take_a_random_state_as_constructors_do():
    corpus = pv.sample(20)
    drawn = int(np.random.default_rng(3).integers(2**32))
    for state in (np.random.default_rng(3), drawn):
        train, test = corpus.split(random_state=state)
        known = corpus.split(random_state=drawn)
        assert (train.fingerprint, test.fingerprint) == tuple(part.fingerprint for part in known)
    assert corpus.split(random_state=None)[1].n_conversations == 5
    sums = np.random.default_rng(0).random((9, 2))
    value = pv.evaluate.bootstrap(sums, random_state=np.random.default_rng(3))
    assert value == pv.evaluate.bootstrap(sums, random_state=drawn)
    for call in (corpus.split, pv.sample, lambda random_state: pv.evaluate.bootstrap(
        sums, random_state=random_state)):  # fmt: skip
        with pytest.raises(ParameterError, match="random_state must not be negative"):
            call(random_state=-1)
