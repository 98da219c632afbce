"""The second look: its features against a naive twin, its shortlists, and learning in steps."""

import math
from itertools import pairwise

import numpy as np
import pytest

from palaver.threads.kernels.links import keep_likeliest
from palaver.threads.kernels.second import STRUCTURE, fill_structure, no_trees
from palaver.threads.pairs import CandidatePairs
from palaver.threads.ranker import Ranker, normalized
from palaver.threads.steps import Scale, averaged, divided, fit_in_steps, gradients


def draw(seed, offsets, n_speakers=3, window=6):
    """Return messages of conversations with candidates, chances, similarities and parents."""
    dice = np.random.default_rng(seed)
    n = offsets[-1]
    firsts = np.repeat(offsets[:-1], np.diff(offsets))
    speakers = dice.integers(-1, n_speakers, n).astype(np.int32)
    addressed = dice.integers(-1, n_speakers, n).astype(np.int32)
    lists = [[*range(max(firsts[i], i - window), i), -1] for i in range(n)]
    chances = [dice.dirichlet(np.ones(len(some))) for some in lists]
    alike = [dice.random(len(some)).astype(np.float32) for some in lists]
    parents = np.array([lists[i][int(np.argmax(chances[i]))] for i in range(n)])
    return firsts, speakers, addressed, lists, chances, alike, parents


def expected(i, j, given):
    """Return the features of a candidate by their definitions."""
    firsts, speakers, addressed, lists, chances, alike, parents = given
    chance = dict(zip(lists[i], chances[i], strict=True))
    similar = dict(zip(lists[i], alike[i], strict=True))
    found = {"chance": math.log(chance[j]),
             "behind best": math.log(chance[j]) - math.log(max(chances[i]))}  # fmt: skip

    def root(k):
        while parents[k] >= 0:
            k = parents[k]
        return k

    def tree_of(speaker):
        said = [k for k in range(firsts[i], i) if speaker >= 0 and speakers[k] == speaker]
        return root(said[-1]) if said else None

    mine, theirs = tree_of(speakers[i]), tree_of(addressed[i])
    if j < 0:
        return {**found, "no parent": 1.0, "no parent, spoken before": float(mine is not None)}
    top = root(j)
    tree = [k for k in range(firsts[i], i) if root(k) == top]
    near = [k for k in lists[i] if k in tree]
    own = [k for k in near if speakers[i] >= 0 and speakers[k] == speakers[i]]
    start = dict(zip(lists[j], chances[j], strict=True))[-1]
    above = parents[j]
    return {
        **found,
        "tree, log size": math.log(len(tree)),
        "tree, latest": max(tree) == j,
        "tree, log since": math.log(i - max(tree)),
        "tree, mine": mine == top,
        "tree, not mine": mine is not None and mine != top,
        "tree, chance": math.log(sum(chance[k] for k in near)),
        "tree, my start": speakers[i] >= 0 and speakers[top] == speakers[i],
        "tree, alone": len(tree) == 1,
        "tree, similarity": sum(similar[k] for k in near),
        "tree, nearest": max(similar[k] for k in near),
        "tree, log my messages": math.log1p(len(own)),
        "tree, addressee's": theirs == top,
        "tree, not addressee's": theirs is not None and theirs != top,
        "tree, previous": root(i - 1) == top,
        "starts": above < 0,
        "replies to me": above >= 0 and speakers[i] >= 0 and speakers[above] == speakers[i],
        "log replies": math.log1p(sum(parents[k] == j for k in range(j + 1, i))),
        "chance of start": math.log(start),
    }


@pytest.mark.parametrize("seed", range(3))
def test_structure_is_that_of_the_definitions(seed):
    offsets = np.array([0, 14, 15, 40])
    given = draw(seed, offsets)
    firsts, speakers, addressed, lists, chances, alike, parents = given
    trees = no_trees(40, 3)
    rows = []
    for begin, end in ((0, 20), (20, 40)):  # batches share the trees
        lengths = [len(lists[i]) for i in range(begin, end)]
        pair_offsets = np.concatenate(([0], np.cumsum(lengths)))
        structure = np.empty((pair_offsets[-1], len(STRUCTURE)), np.float32)
        fill_structure(
            trees, np.arange(begin, end), pair_offsets,
            np.concatenate(lists[begin:end]).astype(np.int32), np.concatenate(chances[begin:end]),
            parents[begin:end], np.concatenate(alike[begin:end]), speakers, addressed,
            firsts[begin:end], structure,
        )  # fmt: skip
        rows.append(structure)
    rows = np.vstack(rows)
    at, seen = 0, set()
    for i in range(40):
        for j in lists[i]:
            wanted = expected(i, j, given)
            values = [float(wanted.get(name, 0.0)) for name in STRUCTURE]
            np.testing.assert_allclose(rows[at], values, atol=2e-5, err_msg=f"{i} {j}")
            seen |= {name for name, value in wanted.items() if value}
            at += 1
    assert seen == set(STRUCTURE)


def test_shortlists_keep_the_likeliest_and_the_start():
    dice = np.random.default_rng(0)
    offsets = np.concatenate(([0], np.cumsum(dice.integers(1, 12, 50))))
    scores = dice.integers(0, 5, offsets[-1]).astype(float)
    kept = np.empty(len(scores), bool)
    keep_likeliest(scores, offsets, 4, kept)
    for begin, end in pairwise(offsets):
        order = sorted(range(begin, end), key=lambda p: (-scores[p], -p))
        wanted = {*order[:4], end - 1} if end - begin > 4 else set(order)
        assert set(begin + np.flatnonzero(kept[begin:end])) == wanted


def network(seed, n_features=4, n_units=3):
    dice = np.random.default_rng(seed)
    shapes = [(n_features,), (n_features, n_units), (n_units,), (n_units,)]
    return [dice.normal(size=shape).astype(np.float32) for shape in shapes]


def draw_pairs(n_messages, seed=0):
    dice = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(dice.integers(2, 9, n_messages))))
    features = dice.normal(size=(offsets[-1], 4)).astype(np.float32) * [1, 2, 3, 1] + [5, 0, 1, 0]
    messages = np.arange(n_messages)
    candidates = np.zeros(offsets[-1], np.int32)
    return CandidatePairs(features.astype(np.float32), offsets, candidates, messages)


def loss_of(numbers, pairs, right):
    weights, inner, constants, outer = numbers
    ranker = Ranker(weights, np.vstack((inner, constants)), outer)
    return -np.log(normalized(ranker.scores(pairs), pairs.offsets)[right]).mean()


def test_gradients_against_differences():
    pairs = draw_pairs(30)
    right = np.zeros(len(pairs.candidates), bool)
    right[pairs.offsets[:-1] + 1] = True
    numbers = [part.astype(np.float64) * 0.3 for part in network(1)]
    found = gradients([n.astype(np.float32) for n in numbers], pairs.features, right, pairs.offsets)
    for part, gradient in zip(numbers, found, strict=True):
        for place in np.ndindex(part.shape):
            ends = []
            for step in (1e-2, -1e-2):
                part[place] += step
                ends.append(loss_of(numbers, pairs, right))
                part[place] -= step
            wanted = (ends[0] - ends[1]) / 2e-2
            assert gradient[place] == pytest.approx(wanted, rel=5e-3, abs=5e-4)


def test_scaled_and_plain_rankers_agree():
    pairs = draw_pairs(20)
    scale = Scale.of(pairs.features)
    np.testing.assert_allclose(scale.means, pairs.features.mean(axis=0), rtol=1e-4)
    numbers = network(2)
    scaled = ((pairs.features - scale.means) / scale.spreads).astype(np.float32)
    weights, inner, constants, outer = numbers
    wanted = scaled @ weights + np.tanh(scaled @ inner + constants) @ outer
    found = scale.unscaled(numbers).scores(pairs)
    differences = found - wanted
    np.testing.assert_allclose(differences, differences[0], atol=1e-4)  # a constant cancels


def test_averages_and_temperatures_of_rankers():
    pairs = draw_pairs(20)
    rankers = [Ranker(w, np.vstack((u, c)), v) for w, u, c, v in map(network, (3, 4))]
    mean = np.mean([ranker.scores(pairs) for ranker in rankers], axis=0)
    np.testing.assert_allclose(averaged(rankers).scores(pairs), mean, atol=1e-4)
    np.testing.assert_allclose(divided(rankers[0], 2.0).scores(pairs),
                               rankers[0].scores(pairs) / 2, atol=1e-4)  # fmt: skip


def test_small_steps_learn_what_two_features_mean_together():
    pairs = draw_pairs(3000)
    pairs.features[:, :2] = 5 + np.sign(pairs.features[:, :2] - [5, 0])
    signs = pairs.features[:, :2] - 5
    score = 4.0 * signs[:, 0] * signs[:, 1] + 0.5 * pairs.features[:, 2]
    right = np.zeros(len(score), bool)
    for begin, end in zip(pairs.offsets, pairs.offsets[1:], strict=False):
        right[begin + np.argmax(score[begin:end])] = True
    told = []
    options = {"penalty": 0.01, "n_units": 16, "scale": Scale.of(pairs.features)}
    found = [
        fit_in_steps(pairs, right, generator=np.random.default_rng(0), on_share=told.append,
                     **options)
        for _ in range(2)
    ]  # fmt: skip
    assert sum(told) == pytest.approx(2.0)
    np.testing.assert_array_equal(found[0].packed, found[1].packed)
    scores = found[0].scores(pairs)
    best = np.repeat(np.maximum.reduceat(scores, pairs.offsets[:-1]), np.diff(pairs.offsets))
    assert (right & (scores == best)).sum() / 3000 > 0.85  # by weights alone, less than 0.6
