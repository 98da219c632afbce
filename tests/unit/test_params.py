"""Declared limits and their error messages."""

import pytest

from palaver.errors import ParameterError
from palaver.params import check, either, flag, nothing, one_of, real, text, whole

LIMITS = {
    "n_classes": whole(1),
    "share": real(0, 1),
    "word_prior": real(above=0),
    "sampler": one_of("auto", "collapsed"),
    "background": flag(),
    "budget": either(real(above=0), nothing()),
    "name": text(),
}


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_classes", 1), ("share", 1), ("share", 0.0), ("word_prior", 1e-9), ("sampler", "auto"),
     ("background", False), ("budget", None), ("budget", 2), ("name", "")],
)  # fmt: skip
def test_legal(name, value):
    check("M4", LIMITS, {name: value})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n_classes", 0, "M4: n_classes must be a whole number >= 1, got 0"),
        ("n_classes", 2.5, "M4: n_classes must be a whole number >= 1, got 2.5"),
        ("n_classes", True, "M4: n_classes must be a whole number >= 1, got True"),
        ("share", 1.01, "M4: share must be a number >= 0 and <= 1, got 1.01"),
        ("share", float("nan"), "M4: share must be a number >= 0 and <= 1, got nan"),
        ("word_prior", 0, "M4: word_prior must be a number > 0, got 0"),
        ("sampler", "fast", "M4: sampler must be one of 'auto', 'collapsed', got 'fast'"),
        ("background", 1, "M4: background must be True or False, got 1"),
        ("budget", 0, "M4: budget must be a number > 0 or None, got 0"),
        ("name", None, "M4: name must be a string, got None"),
        ("classes", 3, "M4: there is no parameter 'classes'"),
    ],
)
def test_illegal(name, value, message):
    with pytest.raises(ParameterError) as caught:
        check("M4", LIMITS, {name: value})
    assert str(caught.value).startswith(message)
