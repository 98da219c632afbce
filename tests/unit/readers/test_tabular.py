"""CSV, TSV and Parquet: the problems that spreadsheets and scripts leave."""

import gzip
import io
import time
import zlib

import polars as pl
import pytest
from hypothesis import given, settings
from support.fuzz import mutations, read_or_refuse

import palaver as pv
from palaver.corpus.names import CELLS, PLACE
from palaver.corpus.notes import Notes
from palaver.corpus.readers import tabular
from palaver.corpus.readers.source import Source
from palaver.errors import CorpusError, FormatError

GOOD = (
    "conversation,id,reply_to,speaker,time,text,act,score\r\n"
    "c,007,,ann,2024-01-02T03:04:05Z,\"Hi, all\",greet,0.5\r\n"
    "c,8,007,ben,1704164646,\"two\r\nlines \"\"quoted\"\"\",,1\r\n"
    "d,007,,,,é,,\r\n"
).encode()  # fmt: skip


@pytest.fixture
def raw(tmp_path):
    """Read text with the reader alone; return rows without their places, and the notes."""

    def read(data, name="x.csv"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        notes = Notes()
        table = tabular.read_csv(Source(path), notes)
        return table.drop(PLACE, CELLS, strict=False), notes

    return read


def test_the_table(tmp_path):
    (tmp_path / "x.csv").write_bytes(GOOD)
    corpus = pv.read(tmp_path / "x.csv")
    assert corpus.format == "csv"
    assert corpus.table.select(pl.exclude("time")).rows() == [
        ("c", "007", None, "ann", "Hi, all", "greet", 0.5),
        ("c", "8", "007", "ben", 'two\r\nlines "quoted"', None, 1.0),
        ("d", "007", None, None, "é", None, None),
    ]
    assert corpus.table["time"].dt.epoch("s").to_list() == [1704164645, 1704164646, None]
    assert not corpus.notes.counts


def test_compressed(tmp_path):
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(GOOD))
    assert pv.read(tmp_path / "x.csv.gz").n_messages == 3


@pytest.mark.parametrize("data", ["", "\n\n", "id,text", "id,text\n", "id,text\r\n\r\n"])
def test_a_file_without_messages(tmp_path, data):
    (tmp_path / "x.csv").write_text(data, newline="")
    corpus = pv.read(tmp_path / "x.csv")
    assert (corpus.n_messages, corpus.n_conversations) == (0, 0)
    assert corpus.table.columns == ["conversation", "id", "reply_to", "speaker", "time", "text"]


@pytest.mark.parametrize(
    "name", ["id", "message_id", "Speaker", "conversation_id", "parent", "text"]
)
def test_our_columns_are_never_numbers(raw, name):
    table, _ = raw(f"{name},x\n1.50,1\n2.50,2\n")
    assert table[name].to_list() == ["1.50", "2.50"]


def test_other_names_for_columns_that_are_there_are_no_names_of_ours(raw):
    table, _ = raw("speaker,caller,text\nA,1632,x\n")
    assert table["caller"].to_list() == [1632]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "-20", "0"], [1, -20, 0]),
        (["9223372036854775807", "1"], [2**63 - 1, 1]),
        (["9223372036854775808", "1"], ["9223372036854775808", "1"]),
        (["18446744073709551616", "1"], ["18446744073709551616", "1"]),
        (["007", "8"], ["007", "8"]),
        (["-0", "1"], [0.0, 1.0]),
        (["1.5", "2", "3e-05", "1e+16", "-0.0"], [1.5, 2.0, 3e-5, 1e16, 0.0]),
        (["1.50", "2.25"], [1.5, 2.25]),
        (["1.1", "1.10"], ["1.1", "1.10"]),
        (["inf", "-inf", "2.0"], [float("inf"), float("-inf"), 2.0]),
        (["true", "", "false"], [True, None, False]),
        (["True", "False"], ["True", "False"]),
        (["1", "x"], ["1", "x"]),
        (["1", "true"], ["1", "true"]),
        (["1 ", "2"], ["1 ", "2"]),
        (["+1", "2"], ["+1", "2"]),
        (["", ""], [None, None]),
        (['""', "1"], ["", "1"]),
    ],
)
def test_numbers_only_where_writing_loses_nothing(raw, cells, expected):
    table, _ = raw("x,text\n" + "".join(f"{cell},t\n" for cell in cells))
    assert table["x"].to_list() == expected


def test_nan_is_a_number(raw):
    table, _ = raw("x,text\nNaN,t\n1.5,t\n")
    assert table["x"].is_nan().to_list() == [True, False]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("id;text\n1;a,b\n", "x.csv"),
        ("id\ttext\n1\ta,b\n", "x.tsv"),
        ("id\ttext\n1\ta,b\n", "x.csv"),
        ("id|text\n1|a,b\n", "x.csv"),
        ("sep=;\nid;text\n1;a,b\n", "x.csv"),
        ("sep=;\r\nid;text\r\n1;a,b\r\n", "x.csv"),
        ('"sep=|"\nid|text\n1|a,b\n', "x.csv"),
        ('id,text\n1,"a,b"\n', "x.tsv"),
        ('"id;;;",text\n1,"a,b"\n', "x.csv"),
        ("\n\nid;text\n1;a,b\n", "x.csv"),
        ("id;text\r1;a,b\r", "x.csv"),
    ],
)
def test_separators_and_line_ends(raw, data, name):
    assert raw(data, name)[0].cast(pl.String).rows() == [("1", "a,b")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(raw, encoding):
    table, notes = raw("id,text\n1,é😀\n".encode(encoding))
    assert table.rows() == [("1", "é😀")]
    assert not notes.counts


def test_mixed_encodings_are_read_line_by_line(raw):
    table, notes = raw("id,text\n1,é\n".encode() + "2,é\n".encode("cp1252"))
    assert table["text"].to_list() == ["é", "é"]
    assert notes.places["decoded"] == ["line 3"]


def test_headers(raw):
    table, _ = raw('"a ""b""","two\nlines",text,text,text_2\n1,2,3,4,5\n')
    assert table.columns == ['a "b"', "two\nlines", "text", "text_2", "text_2_2"]
    assert raw('"id,text\n1,a\n')[0].rows() == [("1", "a")]


def test_null_bytes_and_long_cells(tmp_path, raw):
    table, _ = raw(b"id,text\n1,a\x00b\n2," + b"x" * 10_000_000 + b'\n3,"' + b"y" * 10_000_000)
    assert table["text"].str.len_bytes().to_list() == [3, 10_000_000, 10_000_000]
    (tmp_path / "x.csv").write_bytes(b"id,text\n1,a\x00b\n")
    corpus = pv.read(tmp_path / "x.csv")
    assert corpus.table["text"].to_list() == ["ab"]
    assert corpus.notes.places["control_characters"] == ["row 1"]


def test_ragged_and_blank_rows(raw, tmp_path):
    data = "id,text,act\n1,a,b,c\n2,x\n\n,,\n3\n4,y,z\n"
    table, notes = raw(data)
    assert table.rows() == [("2", "x", None), ("3", None, None), ("4", "y", "z")]
    assert notes.places == {"bad_line": ["row 1"]}
    (tmp_path / "y.csv").write_text(data)
    corpus = pv.read(tmp_path / "y.csv")
    assert corpus.table["id"].to_list() == ["2", "4"]
    assert corpus.notes.places["bad_line"] == ["row 1", "row 5"]
    table, notes = raw(data.replace(",c", ""))  # without the long row, polars reads it
    assert table.rows() == [("1", "a", "b"), ("2", "x", None), ("3", None, None), ("4", "y", "z")]


@pytest.mark.parametrize("quote", ["", '"x""y"'])  # by polars, and row by row
def test_rows_that_end_before_their_text_are_lost_and_counted(tmp_path, quote):
    path = tmp_path / "x.csv"
    rows = ["id,reply_to,text,act", "1,,hello,a", "2,1", "2,1,the real one,b", "3,1,,", "4,1,", "5"]
    path.write_text("\n".join([*rows, f'6,1,"two\nlines",{quote}', "7,6,short"]))
    corpus = pv.read(path)
    assert corpus.table["id"].to_list() == ["1", "2", "3", "4", "6", "7"]
    assert corpus.table["text"].to_list() == [
        "hello",
        "the real one",
        "",
        "",
        "two\nlines",
        "short",
    ]
    assert corpus.notes.places["bad_line"] == ["row 2", "row 6"]
    assert corpus.notes.places["empty_text"] == ["row 4", "row 5"]
    with pytest.raises(CorpusError, match="row 2"):
        pv.read(path, on_bad="error")


def test_the_text_that_a_row_lacks_is_the_mapped_one(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("id,said,text\n1,hello\n2\n3,hi,x\n")
    mapped = pv.read(path, columns={"text": "said"})
    assert mapped.table["text"].to_list() == ["hello", "hi"]
    assert mapped.notes.of("loss") == {"bad_line": 1}
    assert pv.read(path).table["id"].to_list() == ["3"]


@pytest.mark.parametrize(
    ("data", "texts", "counts"),
    [
        ('1,he said "hi" x\n2,b\n', ['he said "hi" x', "b"], {}),
        ('1,5" disk\n2,b\n', ['5" disk', "b"], {}),
        ('1,"he "said" so"\n2,b\n', ['he said" so"', "b"], {"stray_quote": 1}),
        ('1,"never closed\n2,b\n3,"c, d"\n', ["never closed", "b", "c, d"], {"stray_quote": 1}),
        ('1,"never closed\n2,b\n3,c\n', ["never closed", "b", "c"], {"stray_quote": 1}),
        ('1, "spaced, quoted"\n2,b\n', ["spaced, quoted", "b"], {"stray_quote": 1}),
        ('1,"good\nlines"\n2,"x"y\n', ["good\nlines", "xy"], {"stray_quote": 1}),
        ('1,b\n2,"cut here', ["b", "cut here"], {"truncated": 1}),
        ('1,"a""b"\n2,"c, d"\n3,""\n', ['a"b', "c, d", ""], {}),
    ],
)
def test_quotes(raw, data, texts, counts):
    table, notes = raw("id,text\n" + data)
    assert table["text"].to_list() == texts
    assert notes.counts == counts


def test_quotes_in_tables_without_quoting(raw):
    table, notes = raw('id\ttext\n1\t"odd\n2\tit\'s "fine"\n3\ta, b\n', "x.tsv")
    assert table["text"].to_list() == ["odd", 'it\'s "fine"', "a, b"]
    assert notes.places == {"stray_quote": ["row 1"]}


def test_hopeless_quotes_take_linear_time(raw):
    start = time.perf_counter()
    table, notes = raw("id,text\n" + '1,"""a\n' * 30_000)
    assert table.height == 30_000
    assert notes.counts == {"stray_quote": 30_000}
    assert (
        time.perf_counter() - start < 30
    )  # rereading the rest of the file for each row would take hours


def test_text_that_happens_to_be_compressed_data_is_not_unpacked(raw):
    """Otherwise a few bytes could unpack to any size."""
    packed = b"x\x01+\xd2\xa9\x02\x00\x02+\x01\x19"
    assert zlib.decompress(packed) == b"r,z"
    assert raw(b"text,id\n" + packed)[0]["text"].to_list() == [packed.decode()]
    assert raw(b"text,id\nx\x01y,1\nx\x5e,2\n")[0]["text"].to_list() == ["x\x01y", "x^"]
    assert raw(b"text,id\nx^2,1\n")[0]["text"].to_list() == ["x^2"]


def test_an_empty_cell_is_null_and_quotes_make_it_an_empty_string(raw):
    table, _ = raw('id,text,act\n1,,""\n2,"",\n')
    assert table.rows() == [("1", None, ""), ("2", "", None)]


def test_columns_are_mapped(tmp_path):
    (tmp_path / "x.csv").write_text("nr,says,who\n01,hi,ann\n")
    corpus = pv.read(tmp_path / "x.csv", columns={"id": "nr", "text": "says", "speaker": "who"})
    assert corpus.table.select("id", "text", "speaker").rows() == [("01", "hi", "ann")]
    with pytest.raises(CorpusError, match="'text' to 'body'"):
        pv.read(tmp_path / "x.csv", columns={"text": "body"})
    with pytest.raises(CorpusError, match="'words' is not one of"):
        pv.read(tmp_path / "x.csv", columns={"words": "says"})
    with pytest.raises(CorpusError, match="to the same column"):
        pv.read(tmp_path / "x.csv", columns={"text": "says", "id": "says"})


def parquet(table):
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def test_parquet(tmp_path):
    table = pl.DataFrame(
        {"thread": [1.0, 1.0], "id": [1, 2], "parent": [None, 1.0], "body": [b"x", "é".encode()],
         "nested": [{"a": 1}, None], "list": [["x"], []], "place": ["Rome", None]}
    )  # fmt: skip
    (tmp_path / "data").write_bytes(parquet(table))
    corpus = pv.read(tmp_path / "data")
    assert corpus.format == "parquet"
    assert corpus.table.select(pl.exclude("speaker", "time")).rows() == [
        ("1", "1", None, "x", '{"a":1}', ["x"], "Rome"),
        ("1", "2", "1", "é", None, [], None),
    ]


def test_damaged_parquet(tmp_path):
    (tmp_path / "x.parquet").write_bytes(parquet(pl.DataFrame({"text": ["x"]}))[:-8])
    with pytest.raises(FormatError, match="cannot be read as Parquet"):
        pv.read(tmp_path / "x.parquet")


@given(mutations(GOOD))
@settings(max_examples=60, deadline=None)
def test_only_palaver_errors_escape_csv(data):
    read_or_refuse(data, "x.csv")


@given(mutations(parquet(pl.DataFrame({"id": ["a", "b"], "text": ["x", "y"], "n": [1, None]}))))
@settings(max_examples=60, deadline=None)
def test_only_palaver_errors_escape_parquet(data):
    read_or_refuse(data, "x.parquet", format="parquet")
