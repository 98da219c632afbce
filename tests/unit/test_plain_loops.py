"""Loops that stand in for numpy functions."""

import numpy as np
import pytest
from support.compiled import called

from palaver.kernels.plain import copy_to, largest_places


@pytest.mark.parametrize("n_places", [1, 4, 9])
def test_largest_places_are_those_of_a_stable_sort(n_places):
    values = np.array([0.2, 0.7, 0.2, 0.0, 0.9, 0.7, 0.2, 0.0, 0.1])
    places = np.empty(n_places, np.int32)
    padded = np.concatenate(([5.0], values, [5.0]))
    called(largest_places)(padded, 1, len(values), n_places, places)
    assert places.tolist() == np.argsort(values, kind="stable")[::-1][:n_places].tolist()


def test_copy_to_leaves_the_rest_alone():
    target = np.zeros(6)
    copy_to(np.array([1.0, 2.0, 3.0, 4.0]), 3, target, 2)
    assert target.tolist() == [0, 0, 1, 2, 3, 0]
