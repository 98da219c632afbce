"""The skeleton's conditional and sweep against enumeration and a naive twin."""

import itertools

import numpy as np
from support.forests import make_forest

from palaver.kernels.random import uniforms
from palaver.models.skeleton.engine import SkeletonEngine
from palaver.models.skeleton.kernels.sweep import class_posteriors, class_weights, draw_classes
from palaver.parallel import Globals

FOREST = make_forest([[0, 1, 1], [], [2, 0], [1]], [-1, 0, -1, 2], [2, 2], n_words=3)


def parameters(n_classes=3, seed=0):
    generator = np.random.default_rng(seed)
    words = generator.dirichlet(np.ones(FOREST.n_words), n_classes).T
    return np.log(words), np.log(generator.dirichlet(np.ones(n_classes)))


def message(b):
    return FOREST.tokens[FOREST.message_offsets[b] : FOREST.message_offsets[b + 1]]


def test_posteriors_equal_enumeration_over_all_messages():
    log_words, log_shares = parameters()
    n_messages = len(FOREST.message_offsets) - 1
    joint = np.zeros((n_messages, 3))
    for classes in itertools.product(range(3), repeat=n_messages):
        logs = [log_shares[k] + log_words[message(b), k].sum() for b, k in enumerate(classes)]
        for b, k in enumerate(classes):
            joint[b, k] += np.exp(sum(logs))
    found = np.empty((n_messages, 3))
    class_posteriors(FOREST.tokens, FOREST.message_offsets, log_words, log_shares, found)
    np.testing.assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), atol=1e-10)


def test_sweep_equals_a_naive_twin():
    log_words, log_shares = parameters(seed=1)
    key = np.array([5, 7], np.uint64)
    classes = np.empty(4, np.int16)
    words, totals = np.zeros((3, 3), np.int32), np.zeros(3, np.int64)
    draw_classes(
        FOREST.tokens, FOREST.message_offsets, FOREST.conversation_offsets, 0, log_words,
        log_shares, key, classes, words, totals,
    )  # fmt: skip
    weights, expected = np.empty(3), []
    for c in range(2):
        for u, b in zip(uniforms(key, c, 2), (2 * c, 2 * c + 1), strict=True):
            class_weights(message(b), log_words, log_shares, weights)
            expected.append(int(np.searchsorted(np.cumsum(weights / weights.sum()), u)))
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(totals, np.bincount(expected, minlength=3))
    for b, k in enumerate(expected):
        np.subtract.at(words, (message(b), k), 1)
    assert not words.any()


def test_long_messages_do_not_underflow():
    log_words, log_shares = parameters()
    weights = np.empty(3)
    class_weights(np.zeros(20_000, np.int32), log_words, log_shares, weights)
    assert weights.max() == 1
    assert weights.argmax() == log_words[0].argmax()


def test_log_joint_equals_the_integral_over_shares_and_words():
    """Two messages of one word each: all integrals are rational numbers."""
    engine = SkeletonEngine(n_words=2, n_classes=2, share_prior=1.0, word_prior=1.0)
    shared = Globals("sweep", engine.start(np.random.default_rng(0)).arrays)
    same = {"word_counts": np.array([[2, 0], [0, 0]], np.int32), "class_counts": np.array([2, 0])}
    other = {"word_counts": np.array([[1, 1], [0, 0]], np.int32), "class_counts": np.array([1, 1])}
    for statistics, expected in ((same, 1 / 3 * 1 / 3), (other, 1 / 6 * 1 / 4)):
        _, info = engine.update(shared, statistics, np.random.default_rng(0))
        np.testing.assert_allclose(np.exp(info["log_joint"]), expected)
