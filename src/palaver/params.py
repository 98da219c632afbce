"""Declared limits of parameters, one checker, one form of message.

A model declares ``limits = {"n_classes": whole(1), "sampler": one_of("auto", "collapsed")}``;
:func:`check` compares values with them, the command line and the documentation read them.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from palaver.errors import ParameterError


class Limit(Protocol):
    """What a parameter may be."""

    def admits(self, value: Any) -> bool:
        """Return whether ``value`` is legal."""
        ...

    def describe(self) -> str:
        """Say in words what is legal, to follow 'must be'."""
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
        """Say the bounds in words."""
        noun = "a whole number" if self.whole else "a number"
        low = f"{'>' if self.open_low else '>='} {self.low:g}" if self.low > -math.inf else ""
        high = f"<= {self.high:g}" if self.high < math.inf else ""
        return " ".join(part for part in (noun, " and ".join(filter(None, (low, high)))) if part)


@dataclass(frozen=True)
class Choice:
    """One of a few words; see :func:`one_of`."""

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
        """Say the type in words."""
        return self.words


@dataclass(frozen=True)
class Either:
    """Any of several limits; see :func:`either`."""

    limits: tuple[Limit, ...]

    def admits(self, value: Any) -> bool:
        """Return whether one of the limits admits ``value``."""
        return any(limit.admits(value) for limit in self.limits)

    def describe(self) -> str:
        """Join the limits' words."""
        return " or ".join(limit.describe() for limit in self.limits)


@dataclass(frozen=True)
class Predicate:
    """Whatever passes a test; see :func:`such`."""

    test: Callable[[Any], bool]
    words: str

    def admits(self, value: Any) -> bool:
        """Return whether ``value`` passes."""
        return self.test(value)

    def describe(self) -> str:
        """Say in words what passes."""
        return self.words


def whole(low: float = -math.inf, high: float = math.inf) -> Limit:
    """Admit whole numbers from ``low`` to ``high``."""
    return Number(True, low, high)


def real(low: float = -math.inf, high: float = math.inf, *, above: float | None = None) -> Limit:
    """Admit numbers from ``low`` to ``high``, or strictly ``above`` a bound."""
    return Number(False, low if above is None else above, high, above is not None)


def one_of(*options: str) -> Limit:
    """Admit a few words."""
    return Choice(options)


def flag() -> Limit:
    """Admit True and False."""
    return Kind(bool, "True or False")


def text() -> Limit:
    """Admit any string."""
    return Kind(str, "a string")


def nothing() -> Limit:
    """Admit None."""
    return Kind(type(None), "None")


def such(words: str, test: Callable[[Any], bool]) -> Limit:
    """Admit what passes a test."""
    return Predicate(test, words)


def either(*limits: Limit) -> Limit:
    """Admit what any of ``limits`` admits."""
    return Either(limits)


def unless_learned(value: float | str) -> float | None:
    """Return a parameter that is a number or ``"learn"``: the number, or None if learned."""
    return None if value == "learn" else float(value)


def check(owner: str, limits: Mapping[str, Limit], values: Mapping[str, Any]) -> None:
    """Compare values with their declared limits.

    Parameters
    ----------
    owner : str
        Who is asking, such as ``"M4"``; it starts the message.
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
            raise ParameterError(f"{owner}: there is no parameter {name!r}; known are {known}")
        if not limits[name].admits(value):
            raise ParameterError(
                f"{owner}: {name} must be {limits[name].describe()}, got {value!r}"
            )
