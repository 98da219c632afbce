"""Formulas of effects: what is let through to the package that would evaluate any Python."""

import time

import pytest

from palaver.errors import ParameterError
from palaver.models.views.formulas import check_size, columns_of

CALLS = (
    "log((exit)(3)(x))", "(exit)(3)", "exit (4)", "log((lambda: x)())", "C(x)(3)", "`x`(3)",
    "x + C((eval)((chr)(49)))", "log(x.sum())", "log([exit(1)])", "log(x:=exit)", "eval(x)",
    "__import__('os')", "log(x if (print)(1) else x)", "poly(x, degree=(exit)(3))", "x[0]", "{x}",
    "log(x)\\", "'x'", '"x"', "x.y", "x @ y", "x\x00", "log(=x)", "(x=3)", "x, y", "log(x",
    "x)", "x y", "log()", "x +", "+", "log(x,)", "9**9**9", "x**9**9", "poly(x, 1000)",
    "bs(x, df=1e9)", "(x + y)**100", "`", "x ~ y", "x" * 2000, "+".join("x" * 200),
    "*".join("x" * 20), "(" * 500 + "x" + ")" * 500,
)  # fmt: skip


@pytest.mark.parametrize("formula", CALLS)
def test_what_is_no_plain_formula_is_refused_at_once(formula):
    began = time.process_time()
    with pytest.raises(ParameterError, match="cannot read"):
        columns_of(formula)
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("", []), ("1", []), ("role", ["role"]), ("-1 + x", ["x"]), ("x - 1", ["x"]),
        ("x*y + x:y/`my col`", ["my col", "x", "y"]), ("(x + y)**2", ["x", "y"]),
        ("log(x + 0.5) + poly(y, 2)", ["x", "y"]), ("bs(x, df=4)", ["x"]),
        ("C(day)", ["day"]), ("poly(x, degree=3, raw=True)", ["x"]),
        ("scale(log(Größe))", ["Größe"]),
    ],
)  # fmt: skip
def test_formulas_name_columns(formula, columns):
    assert columns_of(formula) == columns


def test_more_terms_than_memory_holds_are_refused():
    levels = {"a": 50, "b": 50, "c": 50, "x": 1}
    check_size(iter([["1"], ["a", "b"]]), levels, 10_000)
    with pytest.raises(ParameterError, match="125,000 terms"):
        check_size(iter([["a", "b", "c"]]), levels, 10_000)
