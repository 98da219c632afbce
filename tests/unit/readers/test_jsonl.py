"""JSON lines: the problems of real files, and the same result however a line was read."""

import gzip
import json
import lzma
from itertools import pairwise

import polars as pl
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.fuzz import mutations, read_or_refuse

import palaver as pv
from palaver.corpus.names import PLACE
from palaver.corpus.notes import Notes
from palaver.corpus.readers import jsonl
from palaver.corpus.readers.kernels.json_keys import OTHER, SAME, SAME_WITH_SURROGATES
from palaver.corpus.readers.source import Source
from palaver.errors import CorpusError, FormatError

GOOD = (
    b'{"conversation": "c", "id": "1", "speaker": "ann", "text": "Hi", "time": 1, "act": "greet"}\n'
    b'{"conversation": "c", "id": "2", "reply_to": "1", "text": "Hello \\u00e9", "tags": ["a"]}\n'
    b'{"conversation": "d", "id": "1", "text": "New", "score": 0.5, "meta": {"x": [1]}}\n'
)


@pytest.fixture
def raw(tmp_path):
    """Read bytes with the reader alone."""

    def read(data, name="x.jsonl"):
        path = tmp_path / name
        path.write_bytes(data)
        notes = Notes()
        return jsonl.read(Source(path), notes), notes

    return read


def values(table, name="a"):
    return table[name].to_list()


def test_the_table(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(GOOD)
    corpus = pv.read(path)
    assert corpus.format == "jsonl"
    assert corpus.table.columns[6:] == ["act", "tags", "score", "meta"]
    assert corpus.table.select("conversation", "id", "reply_to", "speaker", "text").rows() == [
        ("c", "1", None, "ann", "Hi"),
        ("c", "2", "1", None, "Hello é"),
        ("d", "1", None, None, "New"),
    ]
    assert values(corpus.table, "tags") == [None, ["a"], None]
    assert values(corpus.table, "meta") == [None, None, '{"x": [1]}']
    assert not corpus.notes.counts


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("x.jsonl.gz", gzip.compress),
        ("x.ndjson.zst", zstandard.ZstdCompressor().compress),
        ("x.jsonl.xz", lzma.compress),
        ("x.txt", bytes),
    ],
)
def test_compressed_and_oddly_named(tmp_path, name, pack):
    (tmp_path / name).write_bytes(pack(GOOD))
    assert pv.read(tmp_path / name).n_messages == 3


@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n \n\t\n", b"\xef\xbb\xbf"])
def test_a_file_without_messages(tmp_path, data):
    (tmp_path / "x.jsonl").write_bytes(data)
    corpus = pv.read(tmp_path / "x.jsonl")
    assert (corpus.n_messages, corpus.n_conversations) == (0, 0)


def test_blank_lines_and_line_ends_keep_the_line_numbers(raw):
    for data in (
        b'\n{"a": 1}\n\n  \t\n{"a": 2}\n\n',
        b'\r\n{"a": 1}\r\n\r\n \r\n{"a": 2}\r\n\r\n',
        b'\n{"a": 1}\nnonsense\n \n{"a": 2}',
    ):
        table, _ = raw(data)
        assert values(table) == [1, 2]
        assert values(table, PLACE) == [2, 5]


def test_bad_lines_are_counted_and_left_out(raw):
    table, notes = raw(
        b'{"a": 1}\nnonsense\n[1, 2]\nnull\n"x"\n3\n{"a": 2} trailing\n{"a": 3}{"a": 4}\n'
        b"{'a': 5}\n{\"a\": " + b"[" * 100_000 + b'\n{"a": 6}\n'
    )
    assert values(table) == [1, 6]
    assert notes.counts == {"bad_line": 9}
    assert notes.places["bad_line"] == [f"line {n}" for n in range(2, 11)]


def test_a_last_line_cut_short_is_truncated(raw):
    table, notes = raw(b'{"a": 1}\n{"a": 2, "b"')
    assert values(table) == [1]
    assert (notes.counts, notes.places["truncated"]) == ({"truncated": 1}, ["line 2"])
    _, notes = raw(b'{"a": 1}\n{"a": 2, "b"\n')
    assert notes.counts == {"bad_line": 1}


def test_a_file_without_any_good_line_is_refused(raw):
    with pytest.raises(FormatError, match="none of its lines is a JSON object"):
        raw(b'{\n"a": 1\n}\n')


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_compressed_lines_are_not_unpacked_unasked(raw, pack):
    """Otherwise a few bytes could unpack to any size."""
    with pytest.raises(FormatError, match="none of its lines"):
        raw(pack(GOOD))


def test_damaged_compression_is_refused(tmp_path):
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(GOOD)[:-20])
    with pytest.raises(FormatError, match="truncated"):
        pv.read(tmp_path / "x.jsonl.gz")


@pytest.mark.parametrize(
    ("literals", "expected"),
    [
        (["1", "2"], [1, 2]),
        (["1", "2.5"], [1.0, 2.5]),
        (["1", '"x"', "2.5", "true"], ["1", "x", "2.5", "true"]),
        (["true", "1", "1.0"], ["true", "1", "1.0"]),
        (["true", "false", "null"], [True, False, None]),
        (["9007199254740993", "-9223372036854775808"], [2**53 + 1, -(2**63)]),
        (["9223372036854775808", "1"], ["9223372036854775808", "1"]),
        (["1" + "0" * 50, "5"], ["1" + "0" * 50, "5"]),
        (["NaN", "1.5", "Infinity", "-Infinity"], [None, 1.5, None, None]),
        (["1e400", "1.5"], [None, 1.5]),
        (['["x"]', "[]", "null"], [["x"], [], None]),
        (["[1]", "[2.5]", "[null]"], [[1.0], [2.5], [None]]),
        (['["x"]', '"y"'], ['["x"]', "y"]),
        (["[1]", "2"], ["[1]", "2"]),
        (["[true, 1]"], ["[true, 1]"]),
        (["[true, 1.5]"], ["[true, 1.5]"]),
        (['[true, 1.5, "x"]'], [["true", "1.5", "x"]]),
        (["[[1], 2]", "[3]"], ["[[1], 2]", "[3]"]),
        (['[{"b": 1}, "x"]', '["y"]'], ['[{"b": 1}, "x"]', '["y"]']),
        (['{"b": 1}', "[1]", "2", '"x"'], ['{"b": 1}', "[1]", "2", "x"]),
        (['{"b":1,"c":null}', '{"d":"é\\u0001"}'], ['{"b": 1, "c": null}', '{"d": "é\\u0001"}']),
        (["{}", "null"], ["{}", None]),
        ([f"[{2**70}]"], [f"[{2**70}]"]),
        (['"2024-01-02"', '"{not json}"', '"[1]"'], ["2024-01-02", "{not json}", "[1]"]),
        (['"tab\there"', '"\x01"'], ["tab\there", "\x01"]),
    ],
)
@pytest.mark.parametrize("spoilt", [False, True])
def test_types_of_values_do_not_depend_on_the_way_of_reading(raw, literals, expected, spoilt):
    """A bad line causes the others to be read by Python."""
    lines = [f'{{"a": {literal}}}' for literal in literals] + ["nonsense"] * spoilt
    table, _ = raw("\n".join(lines).encode() + b"\n")
    assert values(table) == expected


@pytest.mark.parametrize("spoilt", [b"", b"nonsense\n"])
def test_of_a_key_named_twice_the_first_counts(raw, spoilt):
    table, _ = raw(b'{"a": 1, "a": 2}\n{"a": 3}\n' + spoilt)
    assert values(table) == [1, 3]


@pytest.mark.parametrize("spoilt", [b"", b"nonsense\n"])
@pytest.mark.parametrize(
    ("escape", "expected", "counted"),
    [
        (rb"\ud800", "\ufffd", 1),
        (rb"x\uDFFFy\uD800", "x\ufffdy\ufffd", 1),
        (rb"\ud83d\ude00", "😀", 0),
        (rb"\ud83d\ud83d\ude00\ude00", "\ufffd😀\ufffd", 1),
        (rb"\\ud800", r"\ud800", 0),
        (rb"\\\ud800", "\\\ufffd", 1),
        (rb"\ud800\n", "\ufffd\n", 1),
    ],
)
def test_lone_surrogates(raw, escape, expected, counted, spoilt):
    table, notes = raw(b'{"a": "fine"}\n{"a": "' + escape + b'"}\n' + spoilt)
    assert values(table) == ["fine", expected]
    assert notes.counts.get("control_characters", 0) == counted
    assert notes.places.get("control_characters", []) == ["line 2"] * counted


def test_null_characters_are_taken_out_of_texts(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(b'{"id": "a\\u0000", "text": "x\\u0000y"}\n')
    corpus = pv.read(tmp_path / "x.jsonl")
    assert corpus.table.select("id", "text").row(0) == ("a", "xy")
    assert corpus.notes.places["control_characters"] == ["line 1"]


def test_encodings(raw):
    text = '{"a": "é"}\n{"a": "😀"}\n'
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        table, notes = raw(text.encode(encoding))
        assert values(table) == ["é", "😀"]
        assert not notes.counts
    table, notes = raw('{"a": "é"}\n'.encode() + '{"a": "é"}\n'.encode("cp1252"))
    assert values(table) == ["é", "é"]
    assert notes.places["decoded"] == ["line 2"]


def test_a_column_called_place_belongs_to_its_owner(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(b'{"place": "Paris", "text": ""}\n')
    corpus = pv.read(tmp_path / "x.jsonl")
    assert values(corpus.table, "place") == ["Paris"]
    assert corpus.notes.places["empty_text"] == ["line 1"]


def test_a_long_message_is_kept(tmp_path):
    (tmp_path / "x.jsonl").write_text(json.dumps({"text": "x" * 10_000_000}))
    corpus = pv.read(tmp_path / "x.jsonl")
    assert corpus.table["text"].str.len_bytes().to_list() == [10_000_000]
    assert corpus.notes.counts["long_text"] == 1


def test_a_table_without_texts_names_its_columns(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(b'{"a": 1, "b": 2}\n')
    with pytest.raises(CorpusError, match="'a', 'b' is known to hold texts; name the one that"):
        pv.read(tmp_path / "x.jsonl")
    (tmp_path / "x.jsonl").write_bytes(b'{"a": "one", "post": "and several words"}\n')
    with pytest.raises(CorpusError, match=r"is it 'post'\? .*--column text=post"):
        pv.read(tmp_path / "x.jsonl")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=5,
)  # fmt: skip
RECORDS = st.lists(
    st.dictionaries(st.sampled_from("abc"), JSON, min_size=1), min_size=1, max_size=6
)


@given(RECORDS)
@example([{"a": [0, 2**63]}])
@settings(max_examples=150, deadline=None)
def test_compiled_and_interpreted_reading_agree(records):
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    whole = jsonl._read_block(data, 1, Notes())
    spoilt = jsonl._read_block(data + b"nonsense\n", 1, Notes())
    assert whole.schema == spoilt.schema
    assert whole.equals(spoilt)


@given(RECORDS, st.lists(st.integers(0, 6), max_size=2))
@settings(max_examples=100, deadline=None)
def test_blocks_hold_the_same_as_the_whole(records, cuts):
    lines = [json.dumps(record).encode() + b"\n" for record in records]
    limits = sorted({0, len(lines), *(min(cut, len(lines)) for cut in cuts)})
    blocks = [jsonl._read_block(b"".join(lines[a:b]), a + 1, Notes()) for a, b in pairwise(limits)]
    joined = jsonl._stack(blocks)
    assert joined[PLACE].to_list() == list(range(1, len(lines) + 1))
    whole = jsonl._read_block(b"".join(lines), 1, Notes())
    assert set(joined.columns) == set(whole.columns)
    for name in whole.columns:
        assert joined[name].null_count() == whole[name].null_count()


def test_blocks_of_different_types_are_joined_as_text():
    parts = [b'{"a": 1}\n', b'{"a": "x"}\n', b'{"a": ["y"]}\n', b'{"a": true}\n', b'{"a": null}\n']
    tables = [jsonl._read_block(part, 1, Notes()) for part in parts]
    assert values(jsonl._stack(tables)) == ["1", "x", '["y"]', "true", None]
    lists = [jsonl._read_block(part, 1, Notes()) for part in (b'{"a": []}\n', b'{"a": ["y"]}\n')]
    assert jsonl._stack(lists).schema["a"] == pl.List(pl.String)


@given(mutations(GOOD))
@settings(max_examples=60, deadline=None)
def test_only_palaver_errors_escape(data):
    read_or_refuse(data, "x.jsonl")


@given(RECORDS, RECORDS)
@example([{"a": []}], [{"a": [False]}])
@example([{"a": {}}], [{"a": 0.0}])
@example([{"a": "x"}], [{"a": "y"}])
@settings(max_examples=150, deadline=None)
def test_the_schema_of_the_block_before_changes_nothing(before, after):
    blocks = [
        "".join(json.dumps(r) + "\n" for r in records).encode() for records in (before, after)
    ]
    first = jsonl._read_block(blocks[0], 1, Notes())
    schema = {name: dtype for name, dtype in first.schema.items() if name != PLACE}
    plain, quick = (jsonl._read_block(blocks[1], 9, Notes(), known) for known in (None, schema))
    names = sorted({*first.columns, *plain.columns})
    plain, quick = (jsonl._stack([first, table]).select(names) for table in (plain, quick))
    assert quick.equals(plain)


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ('{"a": 1, "b": "x"}', True),
        ('{"b": "x", "a": 1}', True),
        ('{"b": "a: {\\"c\\": 1}"}', True),
        ('{"a": {"c": 1}}', True),
        ('{"a" : [{"c": "]"}]}', True),
        ('{"a": 1, "b": null}', True),
        ('{"b": 5}', False),
        ('{"b": {"a": "x"}}', False),
        ('{"c": 1}', False),
        ('{"a": 1, "c": null}', False),
        ('{"a": 1, "a": 2}', False),
        ('{"\\u0061": 1}', False),
        ('{"a": 1}, {"c": 2}', False),
        ('{"a": "x', False),
        ('{"a": 1', False),
    ],
)
def test_other_keys_are_noticed(line, known):
    schema = {"a": pl.Int64(), "b": pl.String()}
    assert (jsonl._fit(line.encode(), schema) != OTHER) is known
    assert (jsonl._fit(f'{{"a": 1}}\n{line}\n'.encode(), schema) != OTHER) is known


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("x", SAME), ("\\u00e4\\n", SAME), ("\\\\ud83d", SAME), ("\\ud83d", SAME_WITH_SURROGATES),
        ("\\n\\uDE00\\n", SAME_WITH_SURROGATES),
    ],
)  # fmt: skip
def test_escaped_halves_of_pairs_are_noticed(value, answer):
    block = f'{{"a": 1, "b": "{value}"}}\n{{"a": 2}}\n'.encode()
    assert jsonl._fit(block, {"a": pl.Int64(), "b": pl.String()}) == answer


def test_a_key_that_appears_late_is_kept(tmp_path, monkeypatch):
    lines = [{"text": "Hello there"}] * 50 + [{"text": "Bye", "mood": "sad"}]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    blocks = Source.blocks
    monkeypatch.setattr(Source, "blocks", lambda self, size: blocks(self, 100))
    assert values(pv.read(tmp_path / "x.jsonl").table, "mood") == [None] * 50 + ["sad"]


@pytest.mark.parametrize("first", [30, 1_000])
def test_any_number_of_threads_reads_the_same(tmp_path, monkeypatch, first):
    lines = [json.dumps({"text": f"Hello {i}", "n": i}) for i in range(60)]
    lines[20], lines[40] = "no JSON", '{"text": "late", "mood": ["sad"], "n": 1.5}'
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join([*lines, '{"text": "cut']))
    monkeypatch.setattr(jsonl, "_BLOCK", 100)
    monkeypatch.setattr(jsonl, "_FIRST", first)
    found = []
    for n_threads in (1, 3):
        monkeypatch.setattr("polars.thread_pool_size", lambda n=n_threads: n)
        notes = Notes()
        found.append((jsonl.read(Source(path), notes), notes))
    (one, noted), (three, noted_by_three) = found
    assert one.equals(three)
    assert noted == noted_by_three
    assert noted.places == {"bad_line": ["line 21"], "truncated": ["line 61"]}
