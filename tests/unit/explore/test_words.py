"""What is typed into the search field, and which messages have it."""

import numpy as np
import polars as pl
import pytest

from palaver.errors import DamagedStoreError
from palaver.explore.texts import Texts, write_texts
from palaver.explore.words import Part, first_place, parts_of

TEXTS = [
    "The printer is jammed again",
    "Printers never sleep, do they?",
    "Thank you very much!",
    "you thank, very much",
    "Die Straße nach Zürich ist gesperrt",
    "今天天气很好",
    "天地",
    "สวัสดีครับ",
    'say "hello" AND NOT this OR that*',
    "naïve façade",
    "",
]


@pytest.fixture
def texts(tmp_path):
    table = pl.DataFrame({"id": [f"m{i}" for i in range(len(TEXTS))], "text": TEXTS})
    path = tmp_path / "texts.sqlite"
    titles = [("c", "title")]
    write_texts(
        path, table, table["text"], titles, {"speaker": ["a_b", "axb", "B"]}, lambda _: None
    )
    found = Texts(path)
    yield found
    found.close()


def rows(texts, typed):
    found = set(range(len(TEXTS)))
    for part in parts_of(typed):
        own = set(np.flatnonzero(texts.matching([part])).tolist())
        found = found - own if part.is_excluded else found & own
    return sorted(found)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("printer ", [0]),
        ("printer", [0, 1]),  # may go on
        ("print* ", [0, 1]),
        ("PRINTER ", [0]),
        ('"thank you"', [2]),
        ("thank you ", [2, 3]),
        ("much -you ", []),
        ("very -thank ", []),
        ("-the ", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        ("zurich ", [4]),
        ("天气", [5]),
        ("天", [5, 6]),
        ("天好", []),
        ("สวัส", [7]),
        ("naive facade ", [9]),
        ('"hello and not"', [8]),
        ("AND ", [8]),
        ("that*", [8]),
        ('NEAR(a b) : ^x "unclosed', []),
    ],
)
def test_messages_with_what_was_typed(texts, typed, expected):
    assert rows(texts, typed) == expected


@pytest.mark.parametrize("typed", ["", "  ", "?!", '"', "*", "-", "--", '""', "-*"])
def test_nothing_to_search_for(typed):
    assert parts_of(typed) == []


def test_the_last_word_goes_on_until_a_space_follows():
    assert parts_of("ab cd") == [Part("ab"), Part("cd", is_beginning=True)]
    assert parts_of("ab cd ") == [Part("ab"), Part("cd")]
    assert parts_of('"ab cd') == [Part("ab cd", is_beginning=True)]
    assert parts_of('"ab cd"') == [Part("ab cd")]


def test_where_a_snippet_begins():
    assert first_place("x" * 50 + " Thanks", parts_of("thanks ")) == 51
    assert first_place("nothing", parts_of("thanks ")) == 0


def test_many_rows_come_in_their_order(texts):
    assert [row for row, *_ in texts.messages([4, 0, 2])] == [4, 0, 2]
    assert [text for _, _, text, _ in texts.between(2, 4)] == TEXTS[2:4]
    assert list(texts.rows_of(["m3", "none"])) == [("m3", 3)]


def test_names_are_found_by_what_is_typed_and_signs_are_no_syntax(texts):
    assert texts.names_like("speaker", "a_") == ["a_b"]
    assert texts.names_like("speaker", "b") == ["B", "a_b", "axb"]
    assert texts.names_like("speaker", "%") == []


@pytest.mark.parametrize("damage", ["cut", "zeros", "gone"])
def test_damage_is_noticed(texts, damage, tmp_path):
    path = tmp_path / "damaged.sqlite"
    content = bytearray((tmp_path / "texts.sqlite").read_bytes())
    if damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "zeros":
        content[4096:20_000] = bytes(20_000 - 4096)
        path.write_bytes(content)
    with pytest.raises(DamagedStoreError):
        Texts(path)


def test_a_broken_text_is_indexed_as_it_can_be(tmp_path):
    table = pl.DataFrame({"id": list("abc"), "text": ["nul\x00here", "\u202eright", "w" * 300_000]})
    path = tmp_path / "texts.sqlite"
    write_texts(path, table, table["text"], [], {}, lambda _: None)
    found = Texts(path)
    assert [text for _, _, text, _ in found.messages([0, 1, 2])] == table["text"].to_list()
    for typed in ("nul", "right"):
        assert np.count_nonzero(found.matching(parts_of(typed))) == 1
    found.close()
