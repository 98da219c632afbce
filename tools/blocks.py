"""The fenced blocks of the pages, so that tests can run them: ``python tools/blocks.py`` refreshes.

A page is run from top to bottom in an empty folder and one namespace:

========================  ==================================================================
```` ```python ````       is run
```` ```csv talk.csv ```` any block with the name of a file is written there
```` ```sh ````           each ``palaver`` line is parsed; on the pages of RUN it is run
```` ```text ````         right after such a block, what it prints at 80 columns
========================  ==================================================================

``<!-- not run: reason -->`` on the line before a block leaves it out; its Python must still
compile, its commands must still parse. A comment that begins with ``<!-- python`` is run, too: it
sets the stage for a page whose names need no words.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import typer
from typer.testing import CliRunner

from palaver.cli import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

#: Pages whose commands are run and not only parsed.
RUN = ("docs/tutorial.md", "docs/your_data.md", "docs/assistants.md")

_FENCE = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^>]+) -->\n)?```(?P<kind>\w+)(?: (?P<name>\S+))?\n"
    r"(?P<text>.*?)^```$"
    r"|^<!-- (?P<hidden>python)\n(?P<stage>.*?)^-->$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: Path
    line: int
    kind: str
    name: str | None
    text: str
    reason: str | None
    place: tuple[int, int]

    @property
    def where(self) -> str:
        """The page and line, for messages."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def commands(self) -> list[list[str]]:
        """Return the words of each line that calls Palaver, comments left out."""
        lines = self.text.replace("\\\n", " ").splitlines()
        words = [shlex.split(line, comments=True) for line in lines]
        return [line[1:] for line in words if line and line[0] == "palaver"]


def pages() -> list[Path]:
    """Return all pages whose blocks count."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def prose(page: Path) -> str:
    """Return a page without its blocks."""
    return _FENCE.sub("", page.read_text())


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    text = page.read_text()
    return [_block(page, text, found) for found in _FENCE.finditer(text)]


def _block(page: Path, text: str, found: re.Match[str]) -> Block:
    part = "stage" if found["hidden"] else "text"
    line = text.count("\n", 0, found.start(part)) + 1
    return Block(page, line, found["kind"] or found["hidden"], found["name"],
                 found[part], found["reason"], found.span(part))  # fmt: skip


def parse(command: list[str]) -> None:
    """Raise a click exception if the command line would refuse these words."""
    group = typer.main.get_command(app)
    name, *words = command
    if name.startswith("-"):
        group.make_context("palaver", [name])
        return
    verb = group.commands.get(name)
    if verb is None and Path(name).suffix:  # palaver FILE
        verb, words = group.commands["run"], command
    if verb is None:
        raise ValueError(f"there is no verb {name!r}")
    verb.make_context(name, words)


def run(page: Path, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run a page in a folder; give each block and what its commands printed."""
    values: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        printed = ""
        if block.name:
            path = folder / block.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif block.reason:
            pass
        elif block.kind == "python":
            code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
            with _inside(folder):
                exec(code, values)
        elif block.kind == "sh" and str(page.relative_to(ROOT)) in RUN:
            with _inside(folder):
                printed = "".join(map(_call, block.commands()))
        yield block, printed


def _call(command: list[str]) -> str:
    result = CliRunner().invoke(app, command, env={"COLUMNS": "80"})
    if result.exit_code:
        raise RuntimeError(f"palaver {shlex.join(command)}\n{result.output}") from result.exception
    return "\n".join(line.rstrip() for line in result.output.strip("\n").splitlines()) + "\n"


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def shown(page: Path, results: list[tuple[Block, str]]) -> list[tuple[Block, str]]:
    """Return the text blocks that follow commands, each with what was printed."""
    return [(after, printed) for (_, printed), (after, _) in pairwise(results)
            if printed and after.kind == "text"]  # fmt: skip


def refresh(page: Path) -> None:
    """Write what the commands of a page print into the blocks that show it."""
    with tempfile.TemporaryDirectory() as folder:
        found = shown(page, list(run(page, Path(folder))))
    text = page.read_text()
    for block, printed in reversed(found):
        start, end = block.place
        text = text[:start] + printed + text[end:]
    page.write_text(text)


if __name__ == "__main__":
    for name in sys.argv[1:] or RUN:
        refresh(ROOT / name)
        print(name)
