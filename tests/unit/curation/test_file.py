"""``curation.json``: written in one step, by one at a time, and never half understood."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from palaver import store
from palaver.curation import FILE, Curation, change, file, read_curation, redo, undo, write_curation
from palaver.errors import (
    DamagedStoreError,
    InputError,
    LockedStoreError,
    NewerStoreError,
    ParameterError,
    StaleCurationError,
)


def named(number, name):
    return {"do": "name", "class": number, "name": name}


def read(folder):
    return read_curation(folder, "run", 4)


def test_what_is_written_is_read(tmp_path):
    state = change(tmp_path, read(tmp_path), named(0, "asks"), named(1, "é — 你好"), by="ann")
    state = change(tmp_path, state, {"do": "merge", "classes": [2, 3]}, by="bob")
    assert read(tmp_path) == state
    assert state.revision == 2
    content = json.loads((tmp_path / FILE).read_text("utf-8"))
    assert content["classes"][1]["name"]["text"] == "é — 你好"
    assert content["classes"][0]["name"]["by"] == "ann"
    assert content["log"][1]["at"].endswith("+00:00")


def test_undo_and_redo_to_the_ends(tmp_path):
    states = [read(tmp_path)]
    for number in range(3):
        states.append(change(tmp_path, states[-1], named(number, f"name {number}")))
    state = states[-1]
    for before in reversed(states[:-1]):
        state = undo(tmp_path, state)
        assert state.classes == before.classes
    with pytest.raises(InputError, match="nothing to undo"):
        undo(tmp_path, state)
    for after in states[1:]:
        state = redo(tmp_path, state)
        assert state.classes == after.classes
    with pytest.raises(InputError, match="nothing to redo"):
        redo(tmp_path, state)
    assert state.revision == 9, "it grows with every change"
    state = change(tmp_path, undo(tmp_path, state), named(3, "other"))
    assert not state.undone, "what was undone cannot be redone after something else"
    assert read(tmp_path) == state


def test_a_change_that_changes_nothing_is_not_written(tmp_path):
    """So that a command whose end was not seen can be given again."""
    actions = (named(0, "asks"), {"do": "hide", "class": 1}, {"do": "merge", "classes": [2, 3]})
    state = change(tmp_path, read(tmp_path), *actions, by="ann")
    before = (tmp_path / FILE).read_bytes()
    again = change(tmp_path, state, *actions[:2], by="bob")
    assert again == state
    assert (tmp_path / FILE).read_bytes() == before
    assert change(tmp_path, state, named(0, "asks why"), by="bob").revision == 2


def test_two_windows_do_not_overwrite_each_other(tmp_path):
    one = other = read(tmp_path)
    change(tmp_path, one, named(0, "first"))
    for attempt in (lambda: change(tmp_path, other, named(0, "second")),
                    lambda: undo(tmp_path, other)):  # fmt: skip
        with pytest.raises(StaleCurationError, match="revision 1, you have seen 0"):
            attempt()
    assert read(tmp_path).classes[0].name.text == "first"


def test_many_writers_lose_nothing(tmp_path):
    def write(number):
        while True:
            try:
                return change(tmp_path, read(tmp_path), named(number % 4, f"name {number}"))
            except StaleCurationError:
                continue

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(12)))
    state = read(tmp_path)
    assert state.revision == 12
    assert {step.actions[0]["name"] for step in state.steps} == {f"name {n}" for n in range(12)}


def test_a_change_that_is_refused_writes_nothing(tmp_path):
    state = change(tmp_path, read(tmp_path), named(0, "asks"))
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(ParameterError):
        change(tmp_path, state, named(1, "thanks"), named(77, "nobody"))
    assert (tmp_path / FILE).read_bytes() == before


def test_a_run_that_is_being_fitted_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(file, "_PATIENCE_SECONDS", 0.1)
    with store.locked(tmp_path), pytest.raises(LockedStoreError):
        change(tmp_path, read(tmp_path), named(0, "asks"))
    assert not (tmp_path / FILE).exists()


def test_another_fit_has_other_classes(tmp_path):
    change(tmp_path, read(tmp_path), named(0, "asks"))
    with pytest.raises(StaleCurationError, match=r"another fit .* `palaver name`"):
        read_curation(tmp_path, "other", 4)


def test_saving_a_model_keeps_what_others_decided(tmp_path):
    mine = change(tmp_path, read(tmp_path), named(0, "asks"))
    change(tmp_path, mine, named(1, "thanks"))
    write_curation(tmp_path, read(tmp_path))
    with pytest.raises(StaleCurationError, match="other decisions"):
        write_curation(tmp_path, Curation.empty("run", 4))
    assert read(tmp_path).classes[1].name.text == "thanks"


def damages():
    yield "nothing", lambda content: ""
    yield "no JSON", lambda content: content[:50]
    yield "deep", lambda content: "[" * 100_000
    yield "a list", lambda content: "[]"
    yield "a number", lambda content: "7"
    for key in ("palaver", "version", "run", "revision", "log", "n_classes"):
        for value in (None, [], {}, "x", -1, 1.5, [7], [{"actions": 3}], [{"actions": [3]}]):
            if (key, value) not in (("run", "x"), ("log", [])):
                yield (
                    f"{key}={value}",
                    lambda content, key=key, value=value: json.dumps(
                        {**json.loads(content), key: value}
                    ),
                )
        yield (
            f"no {key}",
            lambda content, key=key: json.dumps(
                {k: v for k, v in json.loads(content).items() if k != key}
            ),
        )
    yield "undone", lambda content: json.dumps({**json.loads(content), "undone": [{"actions": 1}]})


@pytest.mark.parametrize("damage", [pytest.param(d, id=name) for name, d in damages()])
def test_a_damaged_file_is_said_to_be_damaged(damage, tmp_path):
    change(tmp_path, read(tmp_path), named(0, "asks"))
    path = tmp_path / FILE
    path.write_text(damage(path.read_text("utf-8")), "utf-8")
    with pytest.raises(DamagedStoreError, match="backup"):
        read(tmp_path)


def test_a_newer_file_asks_for_a_newer_palaver(tmp_path):
    change(tmp_path, read(tmp_path), named(0, "asks"))
    path = tmp_path / FILE
    path.write_text(path.read_text("utf-8").replace('"version": 1', '"version": 2'), "utf-8")
    with pytest.raises(NewerStoreError, match="newer Palaver"):
        read(tmp_path)


def test_thousands_of_marks_are_read_quickly(tmp_path):
    marks = [{"do": "mark", "class": n % 4, "id": f"m{n}", "key": f"{n:016x}"} for n in range(5000)]
    state = read(tmp_path)
    for first in range(0, 5000, 500):
        state = change(tmp_path, state, *marks[first : first + 500])
    assert len(read(tmp_path).marks) == 5000


def test_a_split_is_kept_and_undone(tmp_path):
    state = read_curation(tmp_path, "run", 3)
    split = {"do": "split", "class": 1, "parts": 2, "folder": "splits/ab"}
    state = change(tmp_path, state, {"do": "order", "classes": [1, 2]}, split)
    again = read_curation(tmp_path, "run", 3)
    assert again.splits == state.splits
    assert again.order == (3, 4, 2)
    assert again.numbers_of(1) == [again.number_of(3), again.number_of(4)]
    assert undo(tmp_path, again).splits == ()
