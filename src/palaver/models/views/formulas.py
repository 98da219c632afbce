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
    tokens = [*_tokens(formula)]
    names: set[str] = set()
    depth: list[bool] = []  # of open parentheses: whether each is that of a call
    wants, n_operands, multiplies = True, 0, False
    for i, (kind, text) in enumerate(tokens[:-1]):
        following = tokens[i + 1][1]
        if kind == "strange":
            raise _refused(formula, f"has {text!r} in it")
        if kind != "sign":
            if not wants:
                raise _refused(formula, f"has no operator before {text!r}")
            n_operands += not any(depth)
            wants = kind == "name" and following == "("
            if wants and text not in FUNCTIONS:
                raise _refused(formula, f"calls {text!r}")
            if kind == "number" and float(text) > MOST:
                raise _refused(formula, f"has a number above {MOST}")
            is_option = kind == "name" and following == "=" and tokens[i - 1][1] in ("(", ",")
            if kind == "quoted" or (kind == "name" and not wants and not is_option):
                names.add(text)
        elif text == "(":
            if not wants:
                raise _refused(formula, "calls something that is no function")
            depth.append(i > 0 and tokens[i - 1][0] == "name")
        elif text == "=":
            if not (depth and depth[-1] and tokens[i - 1][0] == "name"
                    and tokens[i - 2][1] in ("(", ",")):  # fmt: skip
                raise _refused(formula, "has a = that is no option of a function")
            wants = True
        elif wants and not (text in "+-" and following not in "),"):
            raise _refused(formula, f"has nothing before {text!r}")
        elif text == ")":
            if not depth:
                raise _refused(formula, "closes a parenthesis that was not opened")
            depth.pop()
        elif text == "," and not (depth and depth[-1]):
            raise _refused(formula, "has a comma outside a function")
        else:
            after = tokens[i + 2][1] if i + 2 < len(tokens) else ""
            if text == "**" and (following not in POWERS or after == "**"):
                raise _refused(formula, f"has a power that is none of {', '.join(POWERS)}")
            multiplies |= not any(depth) and text in ("*", ":", "/", "**")
            wants = True
    if depth or (wants and len(tokens) > 1):
        raise _refused(formula, "ends before it is complete")
    if n_operands > (MOST_FACTORS if multiplies else MOST_OPERANDS):
        raise _refused(formula, f"has more than {MOST_OPERANDS} terms, or {MOST_FACTORS} factors")
    return sorted(names - set(_CONSTANTS))


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
