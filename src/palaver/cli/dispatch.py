"""Which verb is meant: ``palaver FILE`` is ``palaver run FILE``; slips get a suggestion."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from typer.core import TyperGroup

RUN = "run"


class Verbs(TyperGroup):
    """Verbs; a first argument that is none of them but a file is what ``run`` is about.

    A verb's name wins over a file of that name: ``./demo`` is the file.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # versions differ in their types
        """Return the verb and its arguments."""
        first = args[0]
        run = self.get_command(ctx, RUN)
        if self.get_command(ctx, first) is not None or run is None or first.startswith("-"):
            return super().resolve_command(ctx, args)
        if _exists(first):
            return RUN, run, args
        if any(mark in first for mark in "./\\"):
            ctx.fail(f"There is no file {first!r}, and no verb of that name.")
        near = difflib.get_close_matches(first.lower(), self.list_commands(ctx), 1, 0.6)
        hint = f" Did you mean `palaver {near[0]}`?" if near else ""
        ctx.fail(f"No such verb or file: {first!r}.{hint}")


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long, or with a NUL
        return False
