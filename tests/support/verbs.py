"""Verbs of the command line, called from tests."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

from palaver.cli import app
from palaver.errors import PalaverError


def call(*arguments: Any, code: int = 0) -> str:
    """Run a verb and return what it printed: with --json, without what it warned of."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout if "--json" in arguments else result.output


def fails(*arguments: Any) -> str:
    """Run a verb that must fail without crashing; return its message."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code != 0, result.output
    assert isinstance(result.exception, PalaverError | SystemExit), result.exception
    return f"{result.exception} {result.output}"
