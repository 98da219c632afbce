"""Agreement between coders: published values, enumeration, and what has no value."""

import itertools
import math

import numpy as np
import pytest

from palaver.errors import ParameterError
from palaver.evaluate.agreement import alpha_interval, cohen_kappa, krippendorff_alpha

# the example of Krippendorff (2011), section C; categories from 0
_KRIPPENDORFF = np.array(
    [
        [0, 1, 2, 2, 1, 0, 3, 0, 1, -1, -1, -1],
        [0, 1, 2, 2, 1, 1, 3, 0, 1, 4, -1, 2],
        [-1, 2, 2, 2, 1, 2, 3, 1, 1, 4, 0, -1],
        [0, 1, 2, 2, 1, 3, 3, 0, 1, 4, 0, -1],
    ]
)


def test_alpha_of_the_published_example():
    assert krippendorff_alpha(_KRIPPENDORFF) == pytest.approx(0.743, abs=5e-4)
    low, high = alpha_interval(_KRIPPENDORFF)
    assert low < 0.743 < high <= 1
    assert alpha_interval(_KRIPPENDORFF) == (low, high)


def naive_alpha(codes):
    """Return alpha from all ordered pairs of values within items, and across them."""
    pairs, values = [], []
    for item in np.asarray(codes).T:
        own = [value for value in item.tolist() if value >= 0]
        if len(own) >= 2:
            values += own
            pairs += [((a != b), 1 / (len(own) - 1)) for a, b in itertools.permutations(own, 2)]
    observed = sum(differ * weight for differ, weight in pairs) / len(values)
    across = [a != b for a, b in itertools.permutations(values, 2)]
    return 1 - observed / (sum(across) / len(across))


@pytest.mark.parametrize("seed", range(5))
def test_alpha_is_that_of_all_pairs(seed):
    codes = np.random.default_rng(seed).integers(-1, 4, size=(3, 15))
    assert krippendorff_alpha(codes) == pytest.approx(naive_alpha(codes))


def test_kappa():
    # Cohen's own arithmetic: 70 of 100 agree, chance gives 50
    first = [0] * 50 + [1] * 50
    second = [0] * 35 + [1] * 15 + [0] * 15 + [1] * 35
    assert cohen_kappa(first, second) == pytest.approx(0.4)
    assert cohen_kappa([0, 1, -1], [0, 1, 1]) == 1


def test_what_has_no_value():
    assert math.isnan(krippendorff_alpha([[0, -1], [-1, 1]]))
    assert math.isnan(krippendorff_alpha([[1, 1], [1, 1]]))
    assert math.isnan(cohen_kappa([0, 0], [0, 0]))
    assert math.isnan(cohen_kappa([0, -1], [-1, 0]))
    with pytest.raises(ParameterError):
        krippendorff_alpha([[0.5, 1.0]])
    with pytest.raises(ParameterError):
        cohen_kappa([-2], [0])
