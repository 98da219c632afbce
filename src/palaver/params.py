"""Declared limits of parameters, with one checker and one form of error message.

A model declares ``limits = {"n_classes": whole(1), "sampler": one_of("auto", "collapsed")}``;
:func:`check` tests values against them; the command line and the documentation read them too.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from palaver.errors import ParameterError


class Limit(Protocol):
    """The values that a parameter may take."""

    def admits(self, value: Any) -> bool:
        """Return whether ``value`` is legal."""
        ...

    def describe(self) -> str:
        """Describe the legal values, in words that can follow 'must be'."""
        ...


@dataclass(frozen=True)
class Number:
    """A number within bounds; see :func:`whole` and :func:`real`."""

    whole: bool
    low: float
    high: float
    open_low: bool = False

    def admits(self, value: Any) -> bool:
        """Return whether ``value`` is a number of the right kind within the bounds."""
        kind = numbers.Integral if self.whole else numbers.Real
        if isinstance(value, bool) or not isinstance(value, kind):
            return False
        number = float(value)  # not-a-number fails both comparisons
        above = number > self.low if self.open_low else number >= self.low
        return above and number <= self.high

    def describe(self) -> str:
        """Describe the bounds in words."""
        noun = "a whole number" if self.whole else "a number"
        low = f"{'>' if self.open_low else '>='} {self.low:g}" if self.low > -math.inf else ""
        high = f"<= {self.high:g}" if self.high < math.inf else ""
        return " ".join(part for part in (noun, " and ".join(filter(None, (low, high)))) if part)


@dataclass(frozen=True)
class OneOf:
    """One of a few strings; see :func:`one_of`."""

    options: tuple[str, ...]

    def admits(self, value: Any) -> bool:
        """Return whether ``value`` is one of the options."""
        return isinstance(value, str) and value in self.options

    def describe(self) -> str:
        """List the options."""
        return "one of " + ", ".join(repr(option) for option in self.options)


@dataclass(frozen=True)
class Kind:
    """Any value of a type; see :func:`flag`, :func:`text` and :func:`nothing`."""

    type: type
    words: str

    def admits(self, value: Any) -> bool:
        """Return whether ``value`` has the type."""
        return isinstance(value, self.type)

    def describe(self) -> str:
        """Name the type in words."""
        return self.words


@dataclass(frozen=True)
class Either:
    """Any of several limits; see :func:`either`."""

    limits: tuple[Limit, ...]

    def admits(self, value: Any) -> bool:
        """Return whether any of the limits admits ``value``."""
        return any(limit.admits(value) for limit in self.limits)

    def describe(self) -> str:
        """Join the descriptions of the limits with "or"."""
        return " or ".join(limit.describe() for limit in self.limits)


@dataclass(frozen=True)
class Predicate:
    """Any value that passes a test; see :func:`satisfies`."""

    test: Callable[[Any], bool]
    words: str

    def admits(self, value: Any) -> bool:
        """Return whether ``value`` passes."""
        return self.test(value)

    def describe(self) -> str:
        """Describe what passes the test."""
        return self.words


def whole(low: float = -math.inf, high: float = math.inf) -> Limit:
    """Admit whole numbers from ``low`` to ``high``."""
    return Number(True, low, high)


def real(low: float = -math.inf, high: float = math.inf, *, above: float | None = None) -> Limit:
    """Admit numbers from ``low`` to ``high``, or strictly ``above`` a bound."""
    return Number(False, low if above is None else above, high, above is not None)


def one_of(*options: str) -> Limit:
    """Admit the given strings."""
    return OneOf(options)


def flag() -> Limit:
    """Admit True and False."""
    return Kind(bool, "True or False")


def text() -> Limit:
    """Admit any string."""
    return Kind(str, "a string")


def nothing() -> Limit:
    """Admit None."""
    return Kind(type(None), "None")


def satisfies(words: str, test: Callable[[Any], bool]) -> Limit:
    """Admit whatever passes a test; ``words`` describe it."""
    return Predicate(test, words)


def either(*limits: Limit) -> Limit:
    """Admit whatever any of ``limits`` admits."""
    return Either(limits)


def unless_learned(value: float | str) -> float | None:
    """Return the value of a parameter that may be ``"learn"``: a number, or None if learned."""
    return None if value == "learn" else float(value)


def check(owner: str, limits: Mapping[str, Limit], values: Mapping[str, Any]) -> None:
    """Check values against their declared limits.

    Parameters
    ----------
    owner : str
        What the parameters belong to, such as ``"M4"``; the error message starts with it.
    limits, values : mapping
        A value without a limit is an unknown parameter.

    Raises
    ------
    ParameterError
        ``M4: n_classes must be a whole number >= 1, got 0``.
    """
    for name, value in values.items():
        if name not in limits:
            known = ", ".join(sorted(limits))
            raise ParameterError(f"{owner}: there is no parameter {name!r}; choose from {known}")
        if not limits[name].admits(value):
            raise ParameterError(
                f"{owner}: {name} must be {limits[name].describe()}, got {value!r}"
            )
