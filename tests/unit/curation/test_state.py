"""What a log of decisions amounts to."""

import pytest

from palaver.curation import CuratedClass, Curation, Mark, Step
from palaver.errors import ParameterError

KEY = "0123456789abcdef"


def start(n=5):
    return Curation.empty("run", n)


def done(state, *actions, by="ann", at="2024"):
    return state.after(Step(tuple(actions), by, at))


def test_a_name_is_a_persons_word_and_a_suggestion_never_replaces_it():
    state = done(start(), {"do": "name", "class": 2, "name": " asks\n for  help "})
    said = state.classes[2].name
    assert (said.text, said.by, said.proposed) == ("asks for help", "ann", False)
    with pytest.raises(ParameterError, match="never replaces"):
        done(state, {"do": "name", "class": 2, "name": "begs", "proposed": True})
    free = done(start(), {"do": "name", "class": 1, "name": "begs", "proposed": True})
    assert free.classes[1].name.proposed
    assert done(free, {"do": "name", "class": 1, "name": "asks"}).classes[1].name.text == "asks"
    assert done(state, {"do": "name", "class": 2, "name": ""}).classes[2].name is None


def test_merged_classes_keep_the_first_persons_name_and_can_be_taken_apart():
    state = done(start(), {"do": "name", "class": 4, "name": "thanks"})
    state = done(state, {"do": "name", "class": 1, "name": "ok", "proposed": True})
    state = done(state, {"do": "merge", "classes": [1, 4]})
    assert [own.ids for own in state.classes] == [(0,), (1, 4), (2,), (3,)]
    assert state.classes[1].name.text == "thanks"
    assert state.groups == [0, 1, 2, 3, 1]
    more = done(state, {"do": "merge", "classes": [4, 0]})
    assert [own.ids for own in more.classes] == [(1, 4, 0), (2,), (3,)]
    apart = done(more, {"do": "separate", "class": 0})
    assert [own.ids for own in apart.classes] == [(0,), (1,), (2,), (3,), (4,)]
    assert apart.classes[1].name.text == "thanks"


def test_parts_of_a_class_get_new_ids():
    state = done(start(3), {"do": "split", "class": 1, "parts": 2, "folder": "splits/ab"})
    assert [own.ids for own in state.classes] == [(0,), (2,), (3,), (4,)]
    assert state.groups == [0, -1, 1, 2, 3]
    assert state.splits[0].parts == (3, 4)
    with pytest.raises(ParameterError, match="no class with the id 1"):
        done(state, {"do": "name", "class": 1, "name": "gone"})
    again = done(state, {"do": "split", "class": 4, "parts": 3, "folder": "splits/cd"})
    assert again.splits[1].parts == (5, 6, 7)
    with pytest.raises(ParameterError, match="take it apart first"):
        done(
            done(state, {"do": "merge", "classes": [0, 3]}),
            {"do": "split", "class": 0, "parts": 2, "folder": "splits/ab"},
        )


def test_marks_of_messages():
    place = {"id": "m1", "key": KEY}
    state = done(start(), {"do": "mark", "class": 1, "right": False, **place})
    state = done(state, {"do": "mark", "class": 3, **place})
    assert state.marks == {(KEY, "m1"): Mark(3, frozenset({1}))}
    changed = done(state, {"do": "mark", "class": 3, "right": False, **place})
    assert changed.marks[KEY, "m1"] == Mark(None, frozenset({1, 3}))
    assert state.marks[KEY, "m1"].right == 3, "the state before is as it was"
    assert not done(changed, {"do": "unmark", **place}).marks


def test_hiding_order_and_description():
    state = done(start(3), {"do": "hide", "class": 0}, {"do": "order", "classes": [2, 1]})
    assert state.classes[0] == CuratedClass((0,), hidden=True)
    assert state.order == (2, 1)
    assert len(state.steps) == 1, "done at once"
    state = done(state, {"do": "show", "class": 0}, {"do": "describe", "class": 0, "text": "x"})
    assert not state.classes[0].hidden
    assert state.classes[0].description.text == "x"


@pytest.mark.parametrize(
    "action",
    [
        {},
        {"do": "explode"},
        {"do": ["name"]},
        {"do": "name", "class": "0", "name": "x"},
        {"do": "name", "class": True, "name": "x"},
        {"do": "name", "class": 0},
        {"do": "name", "class": 0, "name": 7},
        {"do": "name", "class": 0, "name": "x" * 81},
        {"do": "name", "class": 99, "name": "x"},
        {"do": "name", "class": -1, "name": "x"},
        {"do": "merge", "classes": [1]},
        {"do": "merge", "classes": [1, 1]},
        {"do": "merge", "classes": "01"},
        {"do": "merge", "classes": [0, 1, 2, 3, 4]},
        {"do": "separate", "class": 0},
        {"do": "order", "classes": [17]},
        {"do": "mark", "class": 0, "id": "m", "key": "../../etc"},
        {"do": "mark", "class": 0, "id": None, "key": KEY},
        {"do": "mark", "class": 0, "id": "m", "key": KEY, "right": "yes"},
        {"do": "unmark", "id": "m", "key": KEY},
        {"do": "split", "class": 0, "parts": 1, "folder": "splits/ab"},
        {"do": "split", "class": 0, "parts": 2, "folder": "../elsewhere"},
        "name",
    ],
)
def test_what_is_not_possible_is_refused(action):
    state = start()
    with pytest.raises(ParameterError):
        done(state, action)
    assert state == start()


def test_hostile_names_are_data():
    state = done(start(), {"do": "name", "class": 0, "name": "a\u202eb\x1b[2J<script>\u200b"})
    assert state.classes[0].name.text == "ab[2J<script>"
