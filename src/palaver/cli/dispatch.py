"""Which verb is meant: ``palaver FILE`` is ``palaver run FILE``; slips get a suggestion."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

RUN = "run"
#: What options of ours are called elsewhere.
ALSO_CALLED = {
    "--classes": ("acts", "clusters", "components", "k", "n-acts", "n-classes", "n-states",
                  "n-topics", "num-topics", "states", "topics"),
    "--out": ("o", "output"),
    "--column": ("columns", "text", "text-column"),
    "--where": ("filter", "only"),
    "--jobs": ("j", "n-jobs", "threads", "workers"),
    "--sweeps": ("iterations", "n-sweeps", "iter"),
    "--seed": ("random-state", "random-seed"),
}  # fmt: skip


class Verb(TyperCommand):
    """A verb that knows what its options are called elsewhere."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return what is left of the arguments; options that are none get a suggestion."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            asked = str(getattr(error, "option_name", "")).lstrip("-").replace("_", "-")
            known = {name for option in self.params for name in option.opts}
            own = next((name for name, others in ALSO_CALLED.items() if asked in others), "")
            if own in known and own not in (getattr(error, "possibilities", None) or ()):
                error.possibilities = [own]  # type: ignore[attr-defined]
            raise


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
