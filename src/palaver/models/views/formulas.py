"""Formulas of effects: which columns they name; nothing but sums and products of these is let in.

The package that evaluates formulas takes any Python in them. So a formula is read here first, word
by word: what is not a column, a number, an operator or one of a few functions is refused, as is
whatever would make more columns than memory holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from palaver.errors import ParameterError

#: Functions that a formula may use.
FUNCTIONS = ("C", "bs", "center", "cs", "log", "poly", "scale")
#: Most characters, columns and functions, those of them that may be multiplied, and cells.
MOST_CHARACTERS, MOST_OPERANDS, MOST_FACTORS, MOST_CELLS = 1000, 100, 10, 2 * 10**8
#: Largest number (of degrees, knots) and largest power.
MOST, POWERS = 100, ("1", "2", "3")
_TOKEN = re.compile(
    r"\s*(?:(?P<name>[^\W\d]\w*)|`(?P<quoted>[^`]+)`|(?P<number>\d+(?:\.\d*)?|\.\d+)"
    r"|(?P<sign>\*\*|[-+*:/(),=])|(?P<end>$)|(?P<strange>.))",
    re.DOTALL,
)
_CONSTANTS = ("True", "False", "None")

Token = tuple[str, str]


def columns_of(formula: str) -> list[str]:
    """Return the columns that a formula without its ~ names, sorted.

    Raises
    ------
    ParameterError
        It is no formula, has anything else in it, or is too long.
    """
    if len(formula) > MOST_CHARACTERS:
        raise _refused(formula, f"is longer than {MOST_CHARACTERS:,} characters")
    return _Reading(formula).columns()


class _Reading:
    """One pass over the words of a formula, each of which must be in its place.

    Attributes
    ----------
    names : set of str
        Columns so far.
    calls : list of bool
        Open parentheses: whether each is that of a call.
    wants : bool
        Whether something to calculate with must come next.
    n_operands : int
        Columns, numbers and calls so far, without what calls are given.
    multiplies : bool
        Whether any of these are multiplied.
    """

    def __init__(self, formula: str) -> None:
        self.formula = formula
        self.tokens = [*_tokens(formula)]
        self.names: set[str] = set()
        self.calls: list[bool] = []
        self.wants, self.n_operands, self.multiplies = True, 0, False

    def columns(self) -> list[str]:
        """Read the formula; return its columns, sorted."""
        for place, (kind, text) in enumerate(self.tokens[:-1]):
            if kind == "strange":
                raise self.refused(f"has {text!r} in it")
            if kind == "sign":
                self.sign(place, text)
            else:
                self.operand(place, kind, text)
        if self.calls or (self.wants and len(self.tokens) > 1):
            raise self.refused("ends before it is complete")
        if self.n_operands > (MOST_FACTORS if self.multiplies else MOST_OPERANDS):
            raise self.refused(f"has more than {MOST_OPERANDS} terms, or {MOST_FACTORS} factors")
        return sorted(self.names - set(_CONSTANTS))

    def operand(self, place: int, kind: str, text: str) -> None:
        """Take a column, a number, the name of a function, or that of an option."""
        if not self.wants:
            raise self.refused(f"has no operator before {text!r}")
        following = self.tokens[place + 1][1]
        is_call = kind == "name" and following == "("
        if is_call and text not in FUNCTIONS:
            raise self.refused(f"calls {text!r}")
        if kind == "number" and float(text) > MOST:
            raise self.refused(f"has a number above {MOST}")
        is_option = kind == "name" and following == "=" and self.tokens[place - 1][1] in ("(", ",")
        if kind == "quoted" or (kind == "name" and not is_call and not is_option):
            self.names.add(text)
        self.n_operands += not any(self.calls)
        self.wants = is_call

    def sign(self, place: int, text: str) -> None:
        """Take an operator, a parenthesis, a comma or the = of an option."""
        if text == "(":
            self.opening(place)
        elif text == "=":
            self.option(place)
        elif self.wants and not (text in "+-" and self.tokens[place + 1][1] not in "),"):
            raise self.refused(f"has nothing before {text!r}")
        elif text == ")":
            if not self.calls:
                raise self.refused("closes a parenthesis that was not opened")
            self.calls.pop()
        else:
            self.operator(place, text)

    def opening(self, place: int) -> None:
        """Take an opening parenthesis."""
        if not self.wants:
            raise self.refused("calls something that is no function")
        self.calls.append(place > 0 and self.tokens[place - 1][0] == "name")

    def option(self, place: int) -> None:
        """Take the = between the name and the value of an option."""
        before, name = self.tokens[place - 2 : place] if place > 1 else (("", ""), ("", ""))
        if not (self.calls and self.calls[-1] and name[0] == "name" and before[1] in ("(", ",")):
            raise self.refused("has a = that is no option of a function")
        self.wants = True

    def operator(self, place: int, text: str) -> None:
        """Take what stands between two operands, or before one."""
        if text == "," and not (self.calls and self.calls[-1]):
            raise self.refused("has a comma outside a function")
        following, after = (self.tokens[min(place + i, len(self.tokens) - 1)][1] for i in (1, 2))
        if text == "**" and (following not in POWERS or after == "**"):
            raise self.refused(f"has a power that is none of {', '.join(POWERS)}")
        self.multiplies |= not any(self.calls) and text in ("*", ":", "/", "**")
        self.wants = True

    def refused(self, why: str) -> ParameterError:
        """Return the error that says what is wrong."""
        return _refused(self.formula, why)


def check_size(terms: Iterator[list[str]], levels: Mapping[str, int], n_rows: int) -> None:
    """Refuse a formula whose terms, lists of factors, have more values than memory holds."""
    n_columns = 0
    for factors in terms:
        wide = 1
        for factor in factors:
            for kind, text in _tokens(factor):
                wide *= levels.get(text, 1) if kind in ("name", "quoted") else 1
                wide *= max(1, int(float(text))) if kind == "number" else 1
        n_columns += wide
    if n_columns * n_rows > MOST_CELLS:
        raise ParameterError(
            f"effects: the formula has up to {n_columns:,} terms for {n_rows:,} messages, which is "
            "too much; use + instead of * or :, or columns with fewer values"
        )


def _tokens(formula: str) -> Iterator[Token]:
    """Yield the kind and text of each part; the last one is the end."""
    for match in _TOKEN.finditer(formula):
        kind = str(match.lastgroup)
        yield kind, match[kind]
        if kind == "end":
            return


def _refused(formula: str, why: str) -> ParameterError:
    shown = formula if len(formula) < 100 else formula[:97] + "..."
    return ParameterError(
        f"effects: cannot read {'~' + shown!r}: it {why}. A formula may use columns, numbers, "
        f"+ - * : / ** and {', '.join(FUNCTIONS)}; put backticks around names of columns with "
        "other characters, as in `my column`"
    )
