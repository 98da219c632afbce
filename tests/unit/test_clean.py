"""The cleaning policy: exact counts and places for everything that tidying can find."""

import datetime as dt
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.growth import assert_linear

import palaver as pv
from palaver.corpus.clean import tidy
from palaver.corpus.notes import KINDS, Notes
from palaver.corpus.times import TIME, parse_times
from palaver.errors import CorpusError, ParameterError

UTC = dt.UTC


def message(conversation="c", id=None, reply_to=None, text="x", **others):
    return {"conversation": conversation, "id": id, "reply_to": reply_to, "text": text, **others}


def tidied(*messages, places=True, **options):
    """Tidy messages from lines 1, 2, 3..."""
    raw = pl.DataFrame(messages, infer_schema_length=None)
    if places:
        raw = raw.with_columns(pl.int_range(1, pl.len() + 1).alias("place"))
    notes = Notes()
    return tidy(raw, notes, **options), notes


def rows(result, *columns):
    return result.table.select(columns).rows()


def lines(*numbers):
    return [f"line {number}" for number in numbers]


def test_clean_messages_stay_as_they_are():
    result, notes = tidied(message(id="1"), message(id="2", reply_to="1"), message("d", "1"))
    assert rows(result, "conversation", "id", "reply_to") == [
        ("c", "1", None),
        ("c", "2", "1"),
        ("d", "1", None),
    ]
    assert result.parents.tolist() == [-1, 0, -1]
    assert result.conversation_offsets.tolist() == [0, 2, 3]
    assert result.table.schema["time"] == TIME
    assert not notes.counts


def test_no_messages():
    result, notes = tidy(pl.DataFrame({"text": []}), notes := Notes()), notes
    assert result.table.height == 0
    assert result.conversation_offsets.tolist() == [0]
    assert result.table.schema["time"] == TIME
    assert not notes.counts
    assert tidy(pl.DataFrame(), Notes()).table.columns[5] == "text"


def test_one_message():
    result, _ = tidied(message(id="1"))
    assert result.conversation_offsets.tolist() == [0, 1]


# Parents


def test_missing_parents():
    result, notes = tidied(message(id="1"), message(id="2", reply_to="9"))
    assert rows(result, "reply_to") == [(None,), (None,)]
    assert (notes.counts, notes.places["missing_parent"]) == ({"missing_parent": 1}, lines(2))


def test_messages_that_answer_themselves():
    result, notes = tidied(message(id="1"), message(id="2", reply_to="2"))
    assert result.parents.tolist() == [-1, -1]
    assert (notes.counts, notes.places["self_parent"]) == ({"self_parent": 1}, lines(2))


def test_parents_in_another_conversation():
    result, notes = tidied(message(id="1"), message("d", "2", "1"), message("d", "3", "2"))
    assert result.parents.tolist() == [-1, -1, 1]
    assert (notes.counts, notes.places["foreign_parent"]) == ({"foreign_parent": 1}, lines(2))


def test_cycles_are_cut_at_their_earliest_message():
    result, notes = tidied(
        message(id="1", reply_to="3"),
        message(id="2", reply_to="1"),
        message(id="3", reply_to="2"),
        message(id="4", reply_to="3"),
        message("d", "5", "6"),
        message("d", "6", "5"),
    )
    assert rows(result, "id", "reply_to") == [
        ("1", None), ("2", "1"), ("3", "2"), ("4", "3"), ("5", None), ("6", "5"),
    ]  # fmt: skip
    assert notes.counts == {"cyclic_parent": 2}
    assert notes.places["cyclic_parent"] == lines(1, 5)


def test_replies_before_their_parents_are_moved():
    result, notes = tidied(
        message(id="3", reply_to="2"),
        message(id="2", reply_to="1"),
        message(id="1"),
        message(id="4"),
    )
    assert rows(result, "id", "reply_to") == [("1", None), ("2", "1"), ("3", "2"), ("4", None)]
    assert result.parents.tolist() == [-1, 0, 1, -1]
    assert (notes.counts, notes.places["reordered"]) == ({"reordered": 2}, lines(1, 2))


def test_parents_that_a_table_with_nulls_made_real():
    result, notes = tidied(message(id=1), message(id=2, reply_to=1.0), message(id=3, reply_to=2.0))
    assert rows(result, "id", "reply_to") == [("1", None), ("2", "1"), ("3", "2")]
    result, notes = tidied(message(id="1"), message(id="2", reply_to="1.0"))
    assert rows(result, "reply_to") == [(None,), ("1",)]
    assert not notes.counts
    result, notes = tidied(message(id="1.0"), message(id="1", reply_to="1.0"))
    assert rows(result, "reply_to") == [(None,), ("1.0",)]


# Ids and conversations


def test_duplicate_ids_are_renamed_and_the_first_keeps_its_replies():
    result, notes = tidied(
        message(id="a"),
        message(id="a~2"),
        message(id="a"),
        message(id="a", reply_to="a"),
        message("d", "a"),
        message("d", "b", "a"),
    )
    assert rows(result, "id", "reply_to") == [
        ("a", None), ("a~2", None), ("a~3", None), ("a~4", "a"), ("a", None), ("b", "a"),
    ]  # fmt: skip
    assert (notes.counts, notes.places["duplicate_id"]) == ({"duplicate_id": 2}, lines(3, 4))


def test_many_equal_ids_take_linear_time():
    def rename(n_messages):
        table = pl.DataFrame({"id": ["x"] * n_messages, "text": ["t"] * n_messages})
        result = tidy(table, notes := Notes())
        assert result.table["id"][-1] == f"x~{n_messages}"
        assert notes.counts["duplicate_id"] == n_messages - 1

    assert_linear(rename, 1_000)


def test_missing_ids_are_made_from_the_row():
    result, notes = tidied(message(), message(id="  "), message(id="#1"))
    assert rows(result, "id") == [("#1",), ("#2",), ("#1~2",)]
    assert notes.counts == {"generated_id": 2, "duplicate_id": 1}
    assert notes.places["generated_id"] == lines(1, 2)
    assert notes.places["duplicate_id"] == lines(3)


def test_without_conversations_and_replies_all_is_one():
    result, notes = tidied({"text": "x"}, {"text": "y"})
    assert rows(result, "conversation") == [("conversation",)] * 2
    assert notes.counts == {"generated_id": 2, "one_conversation": 2}
    assert notes.places["one_conversation"] == lines(1, 2)


def test_without_conversations_replies_tell_them():
    result, notes = tidied(
        message(None, "1"),
        message(None, "2", "1"),
        message(None, "3"),
        message(None, "4", "2"),
        message(None, "5", "gone"),
        message(None, "6", "6"),
        message(None, "7", "8"),
        message(None, "8", "7"),
        message("known", "9"),
        message(None, "10", "9"),
        message("own", "11", "10"),
        message(None, "12", "11"),
    )
    assert dict(rows(result, "id", "conversation")) == {
        "1": "1", "2": "1", "4": "1", "3": "3", "5": "5", "6": "6", "7": "7", "8": "7",
        "9": "known", "10": "known", "11": "own", "12": "own",
    }  # fmt: skip
    assert notes.counts == {
        "no_conversation": 10,
        "missing_parent": 1,
        "self_parent": 1,
        "cyclic_parent": 1,
        "foreign_parent": 1,
    }
    assert notes.places["foreign_parent"] == lines(11)


def test_a_long_chain_without_conversations():
    n = 5000
    ids = [str(i) for i in range(n)]
    table = pl.DataFrame({"id": ids, "reply_to": [None, *ids[:-1]], "text": ["x"] * n})
    assert tidy(table[::-1], Notes()).table["conversation"].unique().to_list() == ["0"]


def test_scattered_conversations_are_brought_together_with_their_places():
    result, notes = tidied(message("c"), message("d"), message("c", text=""), message("d", text=""))
    assert rows(result, "conversation", "text") == [("c", "x"), ("c", ""), ("d", "x"), ("d", "")]
    assert notes.places["empty_text"] == lines(3, 4)
    result, notes = tidied(message("c", "1"), message("d", "2"), message("c", "3", "9"))
    assert notes.places["missing_parent"] == lines(3)


# Texts


def test_null_empty_and_blank_texts_are_kept():
    result, notes = tidied(
        *(message(text=t, id=str(n)) for n, t in enumerate([None, "", " \n\t", "x"]))
    )
    assert rows(result, "text") == [("",), ("",), (" \n\t",), ("x",)]
    assert (notes.counts, notes.places["empty_text"]) == ({"empty_text": 3}, lines(1, 2, 3))


def test_null_characters_are_removed():
    result, notes = tidied(
        message(id="1", text="a\0b"),
        message(id="2\0", text="x\ufffe\uffff"),
        message(id="3", text="\x01"),
    )
    assert rows(result, "id", "text") == [("1", "ab"), ("2", "x"), ("3", "\x01")]
    assert notes.counts == {"control_characters": 2}
    assert notes.places["control_characters"] == lines(1, 2)


def test_long_texts_are_kept_and_counted():
    result, notes = tidied(
        message(id="1", text="x" * 10_000_000), message(id="2", text="y" * 1_000_000)
    )
    assert result.table["text"].str.len_bytes().to_list() == [10_000_000, 1_000_000]
    assert (notes.counts, notes.places["long_text"]) == ({"long_text": 1}, lines(1))


def test_lone_surrogates_and_mixed_encodings_in_a_file(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        b'{"id": "1", "conversation": "c", "text": "\\ud83d"}\n'
        b'{"id": "2", "conversation": "c", "text": "\xc3\xa9"}\n'
        b'{"id": "3", "conversation": "c", "text": "\xe9"}\n'
    )
    corpus = pv.read(path)
    assert corpus.table["text"].to_list() == ["\ufffd", "é", "é"]
    assert corpus.notes.places == {"control_characters": lines(1), "decoded": lines(3)}


# Times


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1_704_164_645, "2024-01-02T03:04:05"),
        (1_704_164_645.25, "2024-01-02T03:04:05.25"),
        (1_704_164_645_250, "2024-01-02T03:04:05.25"),
        (1_704_164_645_250_001, "2024-01-02T03:04:05.250001"),
        (1_704_164_645_250_001_000, "2024-01-02T03:04:05.250001"),
        (12.5, "1970-01-01T00:00:12.5"),
        (-86_400, "1969-12-31T00:00:00"),
        ("1704164645", "2024-01-02T03:04:05"),
        ("2024-01-02", "2024-01-02T00:00:00"),
        ("2024-01-02 03:04", "2024-01-02T03:04:00"),
        ("2024-01-02T03:04:05", "2024-01-02T03:04:05"),
        ("2024-01-02t03:04:05z", "2024-01-02T03:04:05"),
        (" 2024-01-02 03:04:05 UTC ", "2024-01-02T03:04:05"),
        ("2024-01-02T03:04:05.123456789Z", "2024-01-02T03:04:05.123456"),
        ("2024-01-02T03:04:05,5", "2024-01-02T03:04:05.5"),
        ("2024-01-02T03:04:05+05:30", "2024-01-01T21:34:05"),
        ("2024-01-02T03:04:05-0530", "2024-01-02T08:34:05"),
        ("2024-01-02 03:04:05+02", "2024-01-02T01:04:05"),
        ("2024-01-02 03:04:05 -08:00", "2024-01-02T11:04:05"),
        ("03:04", "1970-01-01T03:04:00"),
        ("3:04:05", "1970-01-01T03:04:05"),
        ("00:12:05.250", "1970-01-01T00:12:05.25"),
        ("12:05.250", "1970-01-01T00:12:05.25"),
        ("12:05,25", "1970-01-01T00:12:05.25"),
    ],
)
def test_times(value, expected):
    read = dt.datetime.fromisoformat(expected).replace(tzinfo=UTC)
    assert parse_times(pl.Series("time", [value])).to_list() == [read]
    assert parse_times(pl.Series("time", [str(value), "?", None], dtype=pl.String)).to_list() == [
        read, None, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [
        "yesterday",
        "2024-13-01",
        "2024-02-30",
        "12:75",
        "1e300",
        "nan",
        "inf",
        "-1e20",
        "2024-01-02T",
    ],
)
def test_times_that_cannot_be_read(value):
    result, notes = tidied(message(id="1", time="12:30"), message(id="2", time=value))
    assert result.table["time"].is_null().to_list() == [False, True]
    assert (notes.counts, notes.places["bad_time"]) == ({"bad_time": 1}, lines(2))


def test_times_of_other_types():
    moment = dt.datetime(2024, 1, 2, 3, 4, 5, 6000)
    zone = dt.timezone(dt.timedelta(hours=2))
    for series, expected in [
        (pl.Series([moment]), moment),
        (pl.Series([moment], dtype=pl.Datetime("ns")), moment),
        (pl.Series([moment.replace(tzinfo=zone)]), moment - dt.timedelta(hours=2)),
        (pl.Series([moment.date()]), dt.datetime(2024, 1, 2)),
        (pl.Series([moment.time()]), dt.datetime(1970, 1, 1, 3, 4, 5, 6000)),
        (pl.Series([dt.timedelta(seconds=90)]), dt.datetime(1970, 1, 1, 0, 1, 30)),
    ]:
        assert parse_times(series.alias("time")).to_list() == [expected.replace(tzinfo=UTC)]
    assert parse_times(pl.Series("time", [True])).to_list() == [None]


def test_years_that_cannot_be_written_are_bad_times():
    far = pl.Series([10**18, -(10**18)], dtype=pl.Int64).cast(pl.Datetime("us"))
    raw = pl.DataFrame({"id": ["1", "2"], "text": ["x", "y"], "time": far})
    result = tidy(raw, notes := Notes())
    assert result.table["time"].null_count() == 2
    assert notes.places["bad_time"] == ["row 1", "row 2"]


def test_empty_times_are_no_bad_times():
    _, notes = tidied(
        message(id="1", time=""), message(id="2", time="  "), message(id="3", time=None)
    )
    assert not notes.counts


# Columns


def test_usual_names_of_columns_are_known():
    result, _ = tidied(
        {"Thread_ID": 1, "msg_id": 7, "author": "ann", "Body": "hi", "ts": 1, "x": 2}
    )
    assert rows(result, "conversation", "id", "speaker", "text", "x") == [
        ("1", "7", "ann", "hi", 2)
    ]


def test_columns_beyond_ours_keep_their_types_or_become_text():
    raw = pl.DataFrame(
        {
            "text": ["a", "b"],
            "list": [["x"], []],
            "numbers": [[1], None],
            "empty": pl.Series([[], None], dtype=pl.List(pl.Null)),
            "nothing": [None, None],
            "struct": [{"a": 1}, None],
            "deep": [[["x"]], None],
            "array": pl.Series([[1, 2], None], dtype=pl.Array(pl.Int64, 2)),
            "bytes": [b"x", b"\xff"],
            "inner": [{"a": b"\xff"}, None],
            "object": pl.Series([object, None], dtype=pl.Object),
        }
    )
    table = tidy(raw, Notes()).table
    assert table.row(0, named=True) | {"inner": "", "object": ""} == {
        "conversation": "conversation", "id": "#1", "reply_to": None, "speaker": None,
        "time": None, "text": "a", "list": ["x"], "numbers": [1], "empty": [], "nothing": None,
        "struct": '{"a":1}', "deep": '[["x"]]', "array": "[1,2]", "bytes": "x", "inner": "",
        "object": "",
    }  # fmt: skip
    assert table["bytes"][1] == "\ufffd"
    assert table.schema["nothing"] == pl.String
    assert table.schema["empty"] == pl.List(pl.String)
    assert table["struct"][1] is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], ["1", "2"]),
        ([1.0, None], ["1", None]),
        ([1.5, 2.0], ["1.5", "2.0"]),
        ([True, False], ["true", "false"]),
        ([["a"], ["b"]], ['["a"]', '["b"]']),
        ([{"a": 1}, None], ['{"a":1}', None]),
        ([b"x", None], ["x", None]),
        ([dt.date(2024, 1, 2), None], ["2024-01-02", None]),
    ],
)
def test_our_columns_become_strings(values, expected):
    raw = pl.DataFrame({"speaker": values, "text": ["x", "y"]})
    assert tidy(raw, Notes()).table["speaker"].to_list() == expected


def test_categories_become_strings():
    speakers = pl.Series(["ann", "ben"], dtype=pl.Categorical)
    table = tidy(pl.DataFrame({"speaker": speakers, "text": ["x", "y"]}), Notes()).table
    assert table.schema["speaker"] == pl.String


# Refusing


def test_on_bad_error_names_the_first_ten_places():
    table = pl.DataFrame({"id": list(range(30)), "reply_to": [99] * 30, "text": ["x"] * 30})
    with pytest.raises(CorpusError) as caught:
        pv.Corpus.from_polars(table, on_bad="error", source="my table")
    message = str(caught.value)
    assert message.startswith(
        "my table: 30 problems and on_bad='error' (--strict); the first places:\n  row 1:"
    )
    assert "row 10: parent that is not in the file" in message
    assert "row 11" not in message
    assert message.endswith("on_bad='repair' (without --strict).")


def test_on_bad_error_lets_notes_pass(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"text": ""}\n')
    corpus = pv.read(tmp_path / "x.jsonl", on_bad="error")
    assert corpus.notes.counts == {"generated_id": 1, "one_conversation": 1, "empty_text": 1}
    (tmp_path / "x.jsonl").write_text('{"text": "x"}\nnonsense\n')
    with pytest.raises(CorpusError, match=r"1 problem .*\n  line 2: line or record that cannot"):
        pv.read(tmp_path / "x.jsonl", on_bad="error")
    with pytest.raises(ParameterError, match="on_bad must be one of 'repair', 'error'"):
        pv.read(tmp_path / "x.jsonl", on_bad="ignore")


def test_only_the_first_ten_places_are_kept():
    _, notes = tidied(*(message(id=str(n), text="") for n in range(25)))
    assert notes.counts == {"empty_text": 25}
    assert notes.places["empty_text"] == lines(*range(1, 11))
    _, notes = tidied(message(id="1", text=""), places=False)
    assert notes.places["empty_text"] == ["row 1"]


def test_every_kind_has_a_severity_and_words():
    assert {severity for severity, _ in KINDS.values()} == {"note", "repair", "loss"}
    assert all(words for _, words in KINDS.values())


NAMES = st.none() | st.sampled_from(["", " ", "a", "b", "c", "a~2", "#1", "é\0"])
TEXTS = st.none() | st.text(max_size=3)
TIMES = st.none() | st.sampled_from(["", "12:30", "2024-01-02", "1e9", "?"])


@given(
    st.lists(
        st.fixed_dictionaries(
            {"conversation": NAMES, "id": NAMES, "reply_to": NAMES, "time": TIMES, "text": TEXTS}
        ),
        min_size=1,
        max_size=12,
    )
)
@settings(max_examples=200, deadline=None)
def test_tidy_tables_are_tidy_and_stay_so(messages):
    schema = dict.fromkeys(messages[0], pl.String)
    result = tidy(pl.DataFrame(messages, schema=schema), Notes())
    table, n = result.table, len(messages)
    assert sorted(table["text"].str.len_bytes()) == sorted(
        len(
            (m["text"] or "").replace("\0", "").replace("\ufffe", "").replace("\uffff", "").encode()
        )
        for m in messages
    )
    assert table.select("conversation", "id").is_unique().all()
    assert np.all(result.parents < np.arange(n))
    parents = [None if p < 0 else table["id"][int(p)] for p in result.parents]
    assert table["reply_to"].to_list() == parents
    assert table["conversation"].rle().len() == table["conversation"].n_unique()
    again = tidy(table, notes := Notes())
    assert again.table.equals(table)
    assert again.parents.tolist() == result.parents.tolist()
    assert set(notes.counts) <= {"empty_text"}


def test_reading_and_tables_agree(tmp_path):
    messages = [message(id="1", act=["x"]), message(id="2", reply_to="1", text="é", act=[])]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(m) + "\n" for m in messages))
    table = pv.Corpus.from_polars(pl.DataFrame(messages)).table
    assert pv.read(tmp_path / "x.jsonl").table.equals(table)


def test_a_users_own_place_column_is_kept() -> None:
    corpus = pv.Corpus.from_polars(pl.DataFrame({"text": ["a"], "place": ["Paris"]}))
    assert corpus.table["place"].to_list() == ["Paris"]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["13.01.2024 09:15", "02.01.2024"], ["2024-01-13 09:15", "2024-01-02 00:00"]),
        (["01/13/2024 9:15 PM", "01/02/2024 12:05 am"], ["2024-01-13 21:15", "2024-01-02 00:05"]),
        (["13/02/2024", "01/02/2024 10:00:30"], ["2024-02-13 00:00", "2024-02-01 10:00"]),
        (["01/02/2024 10:00 AM"], ["2024-01-02 10:00"]),
        (["01/13/2024 12:05 p.m."], ["2024-01-13 12:05"]),
        (["13/01/2024 9:15 PM", "01/13/2024", "01/02/2024"],  # both orders: days first
         ["2024-01-13 21:15", None, "2024-02-01 00:00"]),
        (["01/02/2024 10:00"], ["2024-02-01 10:00"]),
        (["13/13/2024", "31.02.2024"], [None, None]),
    ],
)  # fmt: skip
def test_local_dates_are_read_by_what_the_whole_column_tells(texts, expected) -> None:
    found = parse_times(pl.Series(texts)).dt.strftime("%Y-%m-%d %H:%M").to_list()
    assert found == expected


@pytest.mark.parametrize("name", ["dialog_no", "对话编号", "id_conversa", "block"])
def test_a_column_that_may_hold_the_conversations_is_suggested(name):
    table = pl.DataFrame({
        "text": [f"text {i}" for i in range(24)], "score": [i % 3 for i in range(24)],
        "half": [i // 12 for i in range(24)], name: [i // 4 for i in range(24)],
    })  # fmt: skip
    corpus = pv.Corpus.from_polars(table)
    assert corpus.n_conversations == 1
    assert corpus.notes.advice == [
        f"all messages were put into one conversation; is it {name!r}? Try "
        f'columns={{"conversation": "{name}"}} (--column conversation={name})'
    ]
    assert pv.Corpus.from_polars(table, columns={"conversation": name}).n_conversations == 6


@pytest.mark.parametrize(
    ("name", "speaker", "guessed"),
    [("dialog_no", True, True), ("meeting", True, True), ("dialog_no", False, False),
     ("topic", True, False), ("block", True, False)],
)  # fmt: skip
def test_only_a_column_that_is_called_so_is_taken_for_the_conversations(name, speaker, guessed):
    table = pl.DataFrame({
        "text": [f"text {i}" for i in range(24)], name: [i // 4 for i in range(24)],
        "speaker" if speaker else "tone": ["ann", "bob"] * 12,
    })  # fmt: skip
    notes = pv.Corpus.from_polars(table).notes
    assert notes.guesses == ({"conversation": name} if guessed else {})
    assert notes.advice


def test_columns_that_hold_no_conversations_are_not_suggested():
    table = pl.DataFrame({
        "text": [f"text {i}" for i in range(24)], "tone": ["calm", "angry"] * 12,
        "number": range(24), "same": ["x"] * 24, "some": [None] * 12 + ["y"] * 12,
    })  # fmt: skip
    assert pv.Corpus.from_polars(table).notes.advice == []
