"""Showing what would be sent to a language model, and asking whether to send it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from palaver.endpoint import Endpoint


def consent(endpoint: Endpoint, asked: list[dict[str, str]], note: str) -> None:
    """Show what would be sent, and ask; an error ends the command if the answer is no.

    Parameters
    ----------
    endpoint : Endpoint
    asked : list of dict
        The first question.
    note : str
        What else would be sent.
    """
    from palaver.cli.output import errors
    from palaver.cli.terminal import visible
    from palaver.errors import ParameterError

    errors.print(f"To {endpoint.host}, model {endpoint.model}, this would be sent:", markup=False)
    for message in asked:
        errors.print(visible(message["content"]), style="dim", markup=False, highlight=False)
    key = "with your key" if endpoint.key else "without a key"
    size = sum(len(message["content"]) for message in asked)
    errors.print(f"{size:,} characters, {key}. {note}", markup=False)
    if not sys.stdin.isatty():
        raise ParameterError("nothing was sent: without a terminal, --yes is needed")
    if not typer.confirm("Send it?", err=True):
        raise ParameterError("nothing was sent")
