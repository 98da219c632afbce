"""Write the reference pages from the code: ``python tools/reference.py``.

docs/cli.md has every verb with its examples, arguments and options; docs/python.md every public
name with its call and what it does. A test holds both to what this writes.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import typer

import palaver as pv
from palaver.cli import app
from palaver.models import MODELS, model_class

DOCS = Path(__file__).parents[1] / "docs"

#: What the public names are for, in the order in which a newcomer meets them.
GROUPS = {
    "Reading": ["read", "sample", "Corpus"],
    "What every model can": [],
    "Models of what people do": ["M4", "BlockHMM", "InfiniteHMM", "GaussianHMM", "GaussianMixture"],
    "Models of what talk is about": ["LDA", "MarkovM3", "OnlineLDA"],
    "Taggers, from labels": ["HiddenBackoffTagger", "MaxEntTagger"],
    "Looking and keeping": ["report", "load"],
    "Examples, summaries, people": ["exemplars", "summarize", "people", "grasshopper", "rank"],
    "Who answers whom": ["ThreadRebuilder"],
    "Judging and choosing": ["choose", "compare", "evaluate"],
    "Words and vectors": ["Encoded", "Vocabulary", "WordVectors", "utterance_vectors",
                          "BackoffModel"],
    "Clusters": ["RayExecutor"],
}  # fmt: skip


#: Methods that rooms use among themselves.
INNER = {"check_data", "check_params", "cut", "draw_classes", "message_shares", "needs_texts",
         "sized", "tables",
         "begin", "end", "restore", "round", "states"}  # fmt: skip


def cli_page() -> str:
    """Return docs/cli.md."""
    group: Any = typer.main.get_command(app)
    lines = [
        "# The command line",
        "",
        "Written by `python tools/reference.py` from what `palaver VERB --help` says. A run is the",
        "folder that `palaver fit` writes; FILE is anything that [Palaver reads](formats.md).",
        "Every verb takes `--json`: one JSON value on standard output, for programs.",
        "",
        "| verb | what it does |",
        "|---|---|",
    ]
    verbs = group.commands.items()
    lines += [f"| [`{name}`](#palaver-{name}) | {_first(verb.help)} |" for name, verb in verbs]
    for name, verb in verbs:
        lines += ["", *_verb(name, verb)]
    return "\n".join(lines) + "\n"


def _verb(name: str, verb: Any) -> list[str]:
    paragraphs = [" ".join(part.split()) for part in inspect.cleandoc(verb.help).split("\n\n")]
    examples = [re.sub(r"^Example: `(.*)`$", r"\1", p) for p in paragraphs if p.startswith("Exam")]
    context = verb.make_context(name, [], resilient_parsing=True)
    usage = " ".join(part.upper() for part in verb.collect_usage_pieces(context))
    usage = usage.replace("{", "").replace("}", "")
    lines = [f"## palaver {name}", "", f"`palaver {name} {usage}`", ""]
    for paragraph in paragraphs:
        if not paragraph.startswith("Example:"):
            lines += [paragraph, ""]
    lines += ["```sh", *examples, "```", "", "| | default | |", "|---|---|---|"]
    for parameter in verb.params:
        if parameter.name == "help":
            continue
        default = parameter.default
        told = "" if default in (None, False, (), []) or parameter.required else f"`{default}`"
        if callable(default) or parameter.param_type_name == "argument":
            told = "" if not parameter.required else "needed"
        lines.append(f"| {_names(parameter)} | {told} | {parameter.help or ''} |")
    return lines


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}`"
    names = ", ".join(f"`{name}`" for name in parameter.opts)
    return names


def python_page() -> str:
    """Return docs/python.md."""
    lines = [
        "# Python names",
        "",
        "Written by `python tools/reference.py` from the code. `import palaver as pv` gives `pv`;",
        "`help(pv.M4)` says what every parameter means. What all models share is listed once, see",
        "[models/README.md](models/README.md#what-all-of-them-share). Tables are polars.",
    ]
    common = _common()
    for title, names in GROUPS.items():
        lines += ["", f"## {title}", ""]
        if not names:
            lines += [_method(pv.M4, each, "- ") for each in sorted(common)]
        for name in names:
            value = getattr(pv, name)
            if inspect.ismodule(value):
                lines += _room(name, value)
            elif inspect.isclass(value):
                lines += _kind(name, value, common)
            else:
                lines += [f"- **`pv.{name}{_call(value)}`**: {_first(value.__doc__)}"]
    return "\n".join(lines) + "\n"


def _common() -> set[str]:
    """Return the methods that all models have."""
    return set.intersection(*(set(_methods(model_class(name))) for name in MODELS))


def _methods(kind: type) -> list[str]:
    members = inspect.getmembers(
        kind, lambda each: inspect.isfunction(each) or inspect.ismethod(each)
    )
    return [name for name, each in members if not name.startswith("_") and name not in INNER
            and each.__doc__]  # fmt: skip


def _room(name: str, room: Any) -> list[str]:
    lines = [f"- **`pv.{name}`**: {_first(room.__doc__)}"]
    for each in room.__all__:
        value = getattr(room, each)
        if inspect.isfunction(value):
            lines.append(f"  - `{each}{_call(value)}`: {_first(value.__doc__)}")
    return lines


def _kind(name: str, kind: type, common: set[str]) -> list[str]:
    told = _first(kind.__doc__)
    page = DOCS / "models" / f"{getattr(kind, 'name', '-').replace('-', '_')}.md"
    if page.is_file():
        told += f" [Its page](models/{page.name})."
    known = common if page.is_file() else set()
    own = [each for each in _methods(kind) if each not in known]
    return [f"- **`pv.{name}`**: {told}", *(_method(kind, each, "  - ") for each in own)]


def _method(kind: type, name: str, bullet: str) -> str:
    value = getattr(kind, name)
    return f"{bullet}`{name}{_call(value)}`: {_first(value.__doc__)}"


def _call(value: Any) -> str:
    """Return the names of what a function takes, with defaults that can be read."""
    parts = []
    for parameter in inspect.signature(value).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        parts.append(f"{star}{parameter.name}{_default(parameter.default)}")
    return f"({', '.join(parts)})"


def _default(value: Any) -> str:
    """Return a default as it would be written, or dots where that says nothing or too much."""
    if value is inspect.Parameter.empty:
        return ""
    plain = value is None or isinstance(value, bool | int | float | str | tuple)
    written = repr(value).replace("'", '"')
    return f"={written}" if plain and len(written) <= 24 else "=..."


def _first(text: str | None) -> str:
    """Return the first paragraph of a docstring on one line, as Markdown."""
    paragraph = inspect.cleandoc(text or "").split("\n\n")[0]
    plain = re.sub(r":\w+:`~?(?:palaver\.)?([^`]*)`", r"`\1`", " ".join(paragraph.split()))
    return plain.replace("``", "`").replace("|", "\\|")


PAGES = {"cli.md": cli_page, "python.md": python_page}

if __name__ == "__main__":
    for name, write in PAGES.items():
        (DOCS / name).write_text(write())
        print(DOCS / name)
