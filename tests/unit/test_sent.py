"""Globals that are sent over a network as less, and made again where they arrive."""

import numpy as np
import pytest

import palaver as pv
from palaver import rng
from palaver.encoding import encode
from palaver.parallel import LocalExecutor
from palaver.parallel.wire import array_bytes, packed, unpacked

SIZE = {"n_classes": 9}
MODELS = {
    "lda": pv.LDA(**SIZE, sampler="parallel"),
    "m4": pv.M4(**SIZE, sampler="parallel"),
    "block-hmm": pv.BlockHMM(**SIZE, sampler="parallel"),
    "collapsed": pv.LDA(**SIZE, sampler="collapsed"),
    "infinite-hmm": pv.InfiniteHMM(one_state_per_word=False),
    "infinite-block-hmm": pv.InfiniteHMM(unit="message"),
}


@pytest.mark.parametrize("name", MODELS)
def test_what_is_sent_makes_the_same_bytes(name):
    data = encode(pv.sample(30))
    engine = MODELS[name]._engine(data)
    where = LocalExecutor(1)
    where.begin(engine, MODELS[name]._shards(data, engine))
    shared = engine.start(rng.generator(0, "start"))
    where.open({0: shared}, {0: rng.key(0, "open")})
    for sweep in range(3):
        merged = where.round({0: shared}, {0: rng.key(0, "sweep", sweep)})[0]
        assert shared.sent is None, "kept during a sweep on threads"
        shared, _ = engine.update(shared, merged, rng.generator(0, "update", sweep))
        parts = packed(shared.sent)
        made = engine.complete(unpacked(parts))
        assert {n: a.dtype for n, a in made.items()} == {
            n: a.dtype for n, a in shared.arrays.items()
        }
        for array, again in ((a, made[n]) for n, a in shared.arrays.items()):
            np.testing.assert_array_equal(array, again)
            assert again.flags.writeable
            assert again.flags.c_contiguous == array.flags.c_contiguous
    where.end()
    if name != "collapsed":
        assert array_bytes(parts) < 0.5 * array_bytes(shared.arrays)
