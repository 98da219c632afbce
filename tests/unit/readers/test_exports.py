"""Every export: what is read from it, who says what to whom, and what broken versions do."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.exports import EXPECTED
from support.fuzz import mutations, read_or_refuse, read_tree_or_refuse

import palaver as pv

FIXTURES = Path(__file__).parents[2] / "fixtures"
COLUMNS = ("conversation", "id", "reply_to", "speaker", "text")
FILES = sorted(name for name in EXPECTED if (FIXTURES / name).is_file())
JSON = [name for name in FILES if name.endswith(("json", "jsonl"))]
FOLDERS = sorted(set(EXPECTED) - set(FILES))


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_read(name: str) -> None:
    corpus = pv.read(FIXTURES / name)
    rows, notes = EXPECTED[name]
    assert corpus.format == name.partition("/")[0].partition("_")[0]
    assert corpus.table.select(COLUMNS).rows() == rows
    assert corpus.notes.counts == notes
    assert corpus.table["time"].null_count() in (0, corpus.n_messages)


@pytest.mark.parametrize("name", FOLDERS)
def test_an_archive_is_read_like_the_folder(name: str, tmp_path: Path) -> None:
    folder = FIXTURES / name
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder).as_posix())
    corpus = pv.read(path)
    assert corpus.format == name.partition("/")[0]
    assert corpus.table.select(COLUMNS).rows() == EXPECTED[name][0]


@pytest.mark.parametrize("name", FILES)
def test_broken_bytes(name: str) -> None:
    path = FIXTURES / name
    known = name.partition("/")[0].partition("_")[0]

    @settings(max_examples=6, deadline=None)
    @given(mutations(path.read_bytes()))
    def check(data: bytes) -> None:
        read_or_refuse(data, path.name, format=known)
        read_or_refuse(data, path.name)

    check()


@pytest.mark.parametrize("name", FOLDERS)
def test_broken_bytes_in_folders(name: str) -> None:
    folder = FIXTURES / name
    files = {f.relative_to(folder).as_posix(): f.read_bytes() for f in folder.rglob("*.*")}

    @settings(max_examples=6, deadline=None)
    @given(st.fixed_dictionaries({name: mutations(data) for name, data in files.items()}))
    def check(broken: dict[str, bytes]) -> None:
        read_tree_or_refuse(broken)

    check()


#: Places of a file to break, chosen by its name; raise it to search for more.
N_PLACES = 20

#: Values that nobody expects in a field.
WRONG: tuple[Any, ...] = (
    None, True, 7, -1, 10**30, 1.5e308, float("nan"), "", " ", "x", "\ud83d", "\0", [], {}, [[]],
    [None, 3, "x", {}], {"a": {"a": []}}, "9" * 5000, ["x"] * 3, [{"type": "text", "text": {}}],
)  # fmt: skip


@pytest.mark.parametrize("name", JSON)
def test_wrong_types_anywhere(name: str) -> None:
    """Replace every value of every file by something else, one at a time."""
    path = FIXTURES / name
    known = name.partition("/")[0].partition("_")[0]
    text = path.read_text(encoding="utf-8")
    is_lines = name.endswith("jsonl")
    try:
        records = [json.loads(line) for line in text.splitlines()] if is_lines else json.loads(text)
    except ValueError:
        pytest.skip("several values that follow each other")
    chooser = random.Random(name)
    places = list(_places(records))
    for place in chooser.sample(places, min(len(places), N_PLACES)):
        changed = _with(records, place, chooser.choice(WRONG))
        written = "\n".join(map(json.dumps, changed)) if is_lines else json.dumps(changed, indent=1)
        read_or_refuse(written.encode(), path.name, format=known)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every value inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inside:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from _places(item, (*path, key))


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    changed = deepcopy(value)
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = new
    return changed


@pytest.mark.parametrize("name", JSON)
def test_a_file_that_ends_early_keeps_what_came_before(name: str) -> None:
    data = (FIXTURES / name).read_bytes()
    known = name.partition("/")[0].partition("_")[0]
    whole = len(EXPECTED[name][0])
    for share in (0.3, 0.6, 0.9):
        corpus = read_or_refuse(data[: int(share * len(data))], Path(name).name, format=known)
        if corpus is not None and corpus.n_messages < whole:
            assert corpus.notes.of("loss"), f"{share}: silently lost"


def test_deep_nesting_ends_in_words() -> None:
    for known in ("telegram", "github", "bluesky", "hackernews", "langfuse", "chatgpt", "zendesk"):
        deep = b'{"messages": [{"id": 1, "children": ' + b'[{"children": ' * 50_000
        read_or_refuse(deep, "x.json", format=known)
