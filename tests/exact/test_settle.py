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
        np.argsort(-links.totals), links, tallies, n, 5, priors, 3, 3, rng.key(0, "test")
    ),
    "merge": merge_classes,
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
        n_classes = merge_classes(links, tallies, max(labels) + 1, PRIORS[0])
        assert (merge_gains(links, tallies, n_classes, PRIORS[0]) <= 0).all()


def test_settling_is_the_same_for_the_same_key():
    results = []
    for _ in range(2):
        tallies, links = tallies_of((0, 1, 2, 3, 4))
        types.settle(links, tallies, 5, PRIORS[0], rng.key(1, "test"))
        results.append(tallies.classes.copy())
    np.testing.assert_array_equal(*results)
