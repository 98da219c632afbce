"""The optimizer of classes of words: its gains against the log joint, what it leaves behind."""

from __future__ import annotations

import numpy as np
import pytest
from exact.test_types import ALPHA, ETA, GAMMA, SUMS, VALUES, naive, tallies_of
from support.infinite_reference import partitions

from palaver import rng
from palaver.models.states import types
from palaver.models.states.kernels.settle import (
    dissolve_classes,
    merge_classes,
    merge_gains,
    split_classes,
)
from palaver.models.states.kernels.types import TypePriors

LABELS = [labels for labels in partitions(5) if max(labels) > 0]
PRIORS = [TypePriors(ALPHA, ETA, GAMMA, discount, SUMS, VALUES) for discount in (0.0, 0.3)]


def joined(labels, a, b):
    """Labels after a merge, numbered from zero."""
    found = [a if label == b else label for label in labels]
    return tuple(sorted(set(found)).index(label) for label in found)


@pytest.mark.parametrize("priors", PRIORS, ids=["DP", "PY"])
def test_gains_of_all_merges(priors):
    for labels in LABELS[::3]:
        tallies, links = tallies_of(labels)
        gains = merge_gains(links, tallies, max(labels) + 1, priors)
        before = naive(labels, priors.discount, True)
        for a, b in zip(*np.triu_indices(max(labels) + 1, 1), strict=True):
            after = naive(joined(labels, a, b), priors.discount, True)
            assert gains[a, b] == gains[b, a] == pytest.approx(after - before, abs=1e-9)


def joint(tallies, links, priors):
    return types.log_density(tallies, links.totals, priors)


def same_as_counted(tallies, links):
    again = types.tallied(links, tallies.classes, 7, 4)
    for found, counted in zip(tallies, again, strict=True):
        np.testing.assert_array_equal(found, counted)


STEPS = {
    "split": lambda links, tallies, n, priors: split_classes(
        np.argsort(-links.totals), links, tallies, n, 5, priors, 3, 3, 0.0, rng.key(0, "test")
    ),
    "merge": lambda links, tallies, n, priors: merge_classes(links, tallies, n, 5, priors),
    "dissolve": lambda links, tallies, n, priors: dissolve_classes(
        np.argsort(-links.totals), links, tallies, n, priors
    ),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("priors", PRIORS, ids=["DP", "PY"])
def test_no_step_lowers_the_joint(step, priors):
    changed = 0
    for labels in partitions(5):
        tallies, links = tallies_of(labels)
        before = joint(tallies, links, priors)
        n_classes = STEPS[step](links, tallies, max(labels) + 1, priors)
        same_as_counted(tallies, links)
        assert n_classes == len(types.used(tallies)) == tallies.classes.max() + 1
        assert (n_classes > max(labels) + 1) <= (step == "split")
        after = joint(tallies, links, priors)
        changed += n_classes != max(labels) + 1
        assert after > before if n_classes != max(labels) + 1 else after >= before - 1e-9
    assert changed


def test_no_merge_is_left():
    for labels in partitions(5):
        tallies, links = tallies_of(labels)
        n_classes = merge_classes(links, tallies, max(labels) + 1, 5, PRIORS[0])
        assert (merge_gains(links, tallies, n_classes, PRIORS[0]) <= 0).all()


@pytest.mark.parametrize("priors", PRIORS, ids=["DP", "PY"])
def test_one_class_too_many_is_merged_where_that_costs_least(priors):
    lost = 0
    for labels in LABELS:
        n_classes = max(labels) + 1
        tallies, links = tallies_of(labels)
        before = joint(tallies, links, priors)
        gains = merge_gains(links, tallies, n_classes, priors)
        left = merge_classes(links, tallies, n_classes, n_classes - 1, priors)
        same_as_counted(tallies, links)
        if gains.max() <= 0:
            change = joint(tallies, links, priors) - before
            if left == n_classes - 1:
                assert change == pytest.approx(gains.max(), abs=1e-9)
                lost += 1
            else:  # after it, another merge helps
                assert change > gains.max()
    assert lost


@pytest.mark.parametrize("most", [1, 2, 3])
def test_merges_end_at_the_limit(most):
    tallies, links = tallies_of((0, 1, 2, 3, 4))
    assert merge_classes(links, tallies, 5, most, PRIORS[0]) <= most
    same_as_counted(tallies, links)


def test_splits_lose_no_more_than_the_slack():
    """Without slack no class is split where that lowers the joint; with it, as far as it goes."""
    split = {0.0: 0, 0.5: 0, 100.0: 0}
    for labels in partitions(5):
        for slack in split:
            tallies, links = tallies_of(labels)
            before = joint(tallies, links, PRIORS[0])
            n_classes = max(labels) + 1
            found = split_classes(
                np.argsort(-links.totals), links, tallies, n_classes, 5, PRIORS[0], 3, 3, slack,
                rng.key(0, "test"),
            )  # fmt: skip
            same_as_counted(tallies, links)
            assert joint(tallies, links, PRIORS[0]) > before - slack * (found - n_classes) - 1e-9
            split[slack] += found - n_classes
    assert split[0.0] < split[0.5] < split[100.0]


@pytest.mark.parametrize("most", [2, 3, 5])
@pytest.mark.parametrize("priors", PRIORS, ids=["DP", "PY"])
def test_no_round_lowers_the_joint_or_leaves_too_many_classes(priors, most):
    risen = 0
    for labels in partitions(5):
        if max(labels) >= most:
            continue
        tallies, links = tallies_of(labels)
        before = [array.copy() for array in tallies]
        after = types.searched(links, tallies, most, priors, rng.key(2, "test"))
        for was, array in zip(before, tallies, strict=True):
            np.testing.assert_array_equal(was, array)
        gain = joint(after, links, priors) - joint(tallies, links, priors)
        assert gain > 0 or after is tallies
        assert len(types.used(after)) == after.classes.max() + 1 <= most
        counted = types.tallied(links, after.classes, len(after.words) - 1, 4)
        for found, again in zip(after, counted, strict=True):
            np.testing.assert_array_equal(found, again)
        risen += gain > 0
    assert risen


@pytest.mark.parametrize("most", [2, 3, 5])
@pytest.mark.parametrize(
    ("priors", "short"), [(PRIORS[0], 1e-9), (PRIORS[1], 0.1)], ids=["DP", "PY"]
)
def test_rounds_find_the_best_of_all_partitions(priors, short, most):
    """From every start, those at the limit among them; with a discount, they may end 0.1 lower."""
    allowed = [labels for labels in partitions(5) if max(labels) < most]
    best = max(naive(labels, priors.discount, True) for labels in allowed)
    for labels in allowed:
        tallies, links = tallies_of(labels)
        for number in range(20):
            tallies = types.searched(links, tallies, most, priors, rng.key(number, "test"))
        assert best - short < joint(tallies, links, priors) < best + 1e-9


def test_settling_raises_the_joint():
    for labels in partitions(5):
        tallies, links = tallies_of(labels)
        before = joint(tallies, links, PRIORS[0])
        n_classes = types.settle(links, tallies, 5, PRIORS[0], rng.key(1, "test"))
        same_as_counted(tallies, links)
        assert n_classes == len(types.used(tallies))
        assert joint(tallies, links, PRIORS[0]) >= before - 1e-9


def test_the_search_is_the_same_for_the_same_key():
    results = []
    for _ in range(2):
        tallies, links = tallies_of((0, 1, 2, 3, 4))
        results.append(types.searched(links, tallies, 5, PRIORS[0], rng.key(1, "test")).classes)
    np.testing.assert_array_equal(*results)
