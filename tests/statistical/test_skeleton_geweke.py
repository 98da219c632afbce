"""Geweke test of the skeleton's sweep and update; a planted bug must be caught."""

import numpy as np
from support.forests import make_forest
from support.geweke import assert_geweke_catches, assert_geweke_passes, geweke

from palaver.encoding import Shard
from palaver.models.skeleton.engine import SkeletonEngine

N_CLASSES, N_WORDS, SHARE_PRIOR, WORD_PRIOR = 2, 3, 0.8, 0.6
FOREST = make_forest([[0, 0, 0], [0], [0, 0]], [-1, 0, -1], [2, 1], n_words=N_WORDS)
NAMES = ["class 0", "class 0 squared", "same class", "word 0", "word 0 squared", "share 0 squared",
         "words of classes"]  # fmt: skip


class Chain:
    """Classes, words, shares and word distributions; ``word_prior`` is what the engine believes."""

    def __init__(self, seed, word_prior=WORD_PRIOR):
        self.rng = np.random.default_rng(seed)
        self.engine = SkeletonEngine(N_WORDS, N_CLASSES, SHARE_PRIOR, word_prior)
        self.draw_all()

    def draw_all(self):
        self.shares = self.rng.dirichlet(np.full(N_CLASSES, SHARE_PRIOR))
        self.words = self.rng.dirichlet(np.full(N_WORDS, WORD_PRIOR), N_CLASSES).T
        self.classes = self.rng.choice(N_CLASSES, 3, p=self.shares).astype(np.int16)
        return self.new_words()

    def new_words(self):
        of_tokens = np.repeat(self.classes, np.diff(FOREST.message_offsets))
        ends = np.cumsum(self.words, axis=0)[:, of_tokens]
        draws = self.rng.random(len(of_tokens)) * ends[-1]
        self.tokens = (draws >= ends).sum(axis=0).astype(np.int32)
        return self.statistics()

    def step(self):
        shared = self.engine.start(self.rng)
        with np.errstate(divide="ignore"):
            shared.arrays = {"log_shares": np.log(self.shares), "log_words": np.log(self.words)}
        shard = Shard(self.tokens, FOREST.message_offsets, FOREST.parents,
                      FOREST.conversation_offsets, 0, 0, 0, N_WORDS)  # fmt: skip
        key = self.rng.integers(2**64, size=2, dtype=np.uint64)
        state = {"classes": self.classes}
        counts = self.engine.sweep(shared, shard, state, key)
        shared, _ = self.engine.update(shared, counts, self.rng)
        self.shares = np.exp(shared.arrays["log_shares"])
        self.words = np.exp(shared.arrays["log_words"])
        return self.new_words()

    def statistics(self):
        first, same = (self.classes == 0).sum(), self.classes[0] == self.classes[2]
        word = (self.tokens == 0).sum()
        return np.array([first, first**2, same, word, word**2, self.shares[0] ** 2,
                         (self.words**2).sum()], float)  # fmt: skip


def run(word_prior=WORD_PRIOR, n_draws=20_000):
    return geweke(Chain(1).draw_all, Chain(2, word_prior).step, n_draws, NAMES)


def test_geweke():
    assert_geweke_passes(run())


def test_a_planted_bug_is_caught():
    assert_geweke_catches(run(word_prior=1.5 * WORD_PRIOR))
