"""Every format reads back what was written, or gives a clear error."""

import datetime as dt
import gzip
import json
import os
import sys

import polars as pl
import pytest
import zstandard
from polars.testing import assert_frame_equal

import palaver as pv
from palaver.corpus import write as module
from palaver.corpus.write import UNKNOWN_SPEAKER, write
from palaver.errors import CorpusError, FormatError, StoreError

FILES = ("x.jsonl", "x.ndjson", "x.jsonl.gz", "x.ndjson.zst", "x.parquet", "x.csv", "x.tsv",
         "x.csv.gz", "X.JSONL", "x.tsv.zst")  # fmt: skip
ODD_TEXTS = (
    'a "quoted", text; with\ttabs | and \\ backslashes \\n',
    "lines\nand\r\nother\rends\n\n",
    "\x01\x02\x07\x08\x0b\x0c\x1b\x1f\x7f\x80\x9f\u2028\u2029\ufeff\ufffd",
    "😀👩‍👩‍👧‍👦 漢字 العربية é e\u0301",
    "{\"a\": 1}", "[1, 2]", "007", "1.50", "true", "null", "NaN", " padded ",
    "'", '"', '""', ",", "", "=1+2", "#x", "sep=;", "x" * 100_000,
)  # fmt: skip


def table(**columns):
    n = len(next(iter(columns.values()))) if columns else 2
    data = {
        "conversation": ["c"] * n,
        "id": [f"{i:03}" for i in range(n)],
        "speaker": ["ann", None] * (n // 2) + ["ben"] * (n % 2),
        "text": ["x"] * n,
        **columns,
    }
    return pv.Corpus.from_polars(pl.DataFrame(data, strict=False)).table


def again(frame, path):
    return pv.read(write(frame, path)).table


@pytest.mark.parametrize("name", FILES)
def test_odd_texts_and_names_come_back(tmp_path, name):
    frame = table(
        text=list(ODD_TEXTS),
        speaker=[*ODD_TEXTS[:-1], "z"],
        act=[t or None for t in ODD_TEXTS],
    )
    assert_frame_equal(again(frame, tmp_path / name), frame)


@pytest.mark.parametrize("name", FILES)
def test_types_come_back(tmp_path, name):
    moment = dt.datetime(2024, 2, 29, 23, 59, 59, 123456, dt.UTC)
    frame = table(
        time=[moment, None, dt.datetime(1, 1, 1, tzinfo=dt.UTC)],
        whole=[2**53 + 1, -(2**63), None],
        real=[0.1, 1e300, None],
        small=[5e-324, -0.0, 1.0],
        round=[1.0, 2.0, -3e15],
        truth=[True, None, False],
        word=["a", "", None],
        nothing=[None, None, None],
    )
    assert_frame_equal(again(frame, tmp_path / name), frame)


@pytest.mark.parametrize("name", [n for n in FILES if "sv" not in n])
def test_lists_come_back(tmp_path, name):
    frame = table(
        words=[["a", "", "b\n\"'", None], [], None, ["[1]"]],
        numbers=[[2**60], [], None, [1]],
        empty=pl.Series([[], [], [], []], dtype=pl.List(pl.String)),
    )
    assert_frame_equal(again(frame, tmp_path / name), frame)


def test_lists_are_json_text_in_csv(tmp_path):
    frame = again(table(words=[["a", 'b"'], [], None]), tmp_path / "x.csv")
    assert frame["words"].to_list() == ['["a","b\\""]', "[]", None]


def test_null_and_empty_differ_in_csv(tmp_path):
    frame = table(word=["", None])
    write(frame, tmp_path / "x.csv")
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert lines[1].endswith(',"x",""')
    assert lines[2].endswith(',"x",')
    assert pv.read(tmp_path / "x.csv").table["word"].to_list() == ["", None]


def test_numbers_that_json_has_not_become_null(tmp_path):
    frame = table(real=[float("nan"), float("inf"), 0.5])
    assert again(frame, tmp_path / "x.jsonl")["real"].to_list() == [None, None, 0.5]
    assert again(frame, tmp_path / "x.csv")["real"].to_list()[1:] == [float("inf"), 0.5]
    assert_frame_equal(again(frame, tmp_path / "x.parquet"), frame)


def test_odd_names_of_columns(tmp_path):
    names = ["", " ", "a b", 'q"q', "new\nline", "a,b;c", "é", "place", "meta", "Text "]
    frame = table(**{name: ["v", None] for name in names})
    for name in ("x.jsonl", "x.parquet", "x.csv"):
        assert_frame_equal(again(frame, tmp_path / name), frame)


@pytest.mark.parametrize("name", FILES)
def test_no_messages(tmp_path, name):
    empty = table().clear()
    assert_frame_equal(again(empty, tmp_path / name), empty)


def test_many_rows_are_written_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_ROWS_AT_A_TIME", 3)
    frame = table(text=[str(n) for n in range(10)], late=[None] * 9 + [1])
    for name in ("x.jsonl.gz", "x.csv"):
        assert_frame_equal(again(frame, tmp_path / name), frame)


def test_compressed_files_are_what_their_names_say_and_repeat(tmp_path):
    for name, unpack in (
        ("x.jsonl.gz", gzip.decompress),
        ("x.jsonl.zst", lambda data: zstandard.ZstdDecompressor().stream_reader(data).read()),
    ):
        first = write(table(), tmp_path / name).read_bytes()
        assert unpack(first).startswith(b'{"conversation":"c"')
        assert write(table(), tmp_path / name).read_bytes() == first


def test_other_types_are_written_as_text(tmp_path):
    frame = table(
        day=[dt.date(2024, 1, 2), None],
        span=[dt.timedelta(seconds=1), None],
        kind=pl.Series(["a", None], dtype=pl.Categorical),
    )
    assert again(frame, tmp_path / "x.jsonl").select("day", "kind").row(0) == ("2024-01-02", "a")
    assert again(frame, tmp_path / "x.csv").select("day", "kind").row(0) == ("2024-01-02", "a")
    assert_frame_equal(again(frame, tmp_path / "x.parquet"), frame)
    struct = frame.with_columns(pl.struct("day", "kind").alias("both"))
    assert '"2024-01-02"' in again(struct, tmp_path / "x.csv")["both"][0]


@pytest.mark.parametrize("name", ["x.json", "x.txt", "x.parquet.gz", "x.gz", "x.jsonl.bz2", "x.v2"])
def test_other_names_are_refused_with_the_choices(tmp_path, name):
    with pytest.raises(
        FormatError, match=r"must end in \.jsonl or \.ndjson, \.csv or \.tsv"
    ) as caught:
        write(table(), tmp_path / name)
    assert "ConvoKit" in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "folder"])
def test_values_that_no_text_holds_are_refused(tmp_path, name):
    for column in (
        pl.Series("raw", [b"x", b"y"]),
        pl.Series("raw", [object(), 1], dtype=pl.Object),
    ):
        with pytest.raises(CorpusError, match="the column 'raw' holds"):
            write(table().with_columns(column), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch):
    path = write(table(), tmp_path / "x.jsonl")
    before = path.read_bytes()

    def fails(frame, stream):
        stream.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(module._WRITERS, ".jsonl", fails)
    with pytest.raises(StoreError, match="disk is full"):
        write(table(text=["new"]), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.jsonl"]


# ConvoKit


def convokit(frame, path):
    write(frame, path)
    utterances = [
        json.loads(line) for line in (path / "utterances.jsonl").read_text("ascii").splitlines()
    ]
    others = {p.stem: json.loads(p.read_text("ascii")) for p in path.glob("*.json")}
    return utterances, others


def test_a_convokit_folder(tmp_path):
    frame = table(
        id=["1", "2"],
        reply_to=[None, "1"],
        speaker=["é😀", None],
        time=[1704164645, 1704164646],
        text=["漢字 \"meta\":null,", "x"],
        act=["ask", None],
        n=[1, 2],
        share=[0.5, float("nan")],
        ok=[True, False],
        tags=[["a"], []],
    )  # fmt: skip
    utterances, others = convokit(frame, tmp_path / "corpus")
    assert utterances[0] == {
        "id": "1", "conversation_id": "c", "text": '漢字 "meta":null,', "speaker": "é😀",
        "meta": {"act": "ask", "n": 1, "share": 0.5, "ok": True, "tags": ["a"]},
        "reply-to": None, "timestamp": 1704164645, "vectors": [],
    }  # fmt: skip
    assert utterances[1]["speaker"] == UNKNOWN_SPEAKER
    assert utterances[1]["reply-to"] == "1"
    assert utterances[1]["meta"]["share"] is None
    entry = {"meta": {}, "vectors": []}
    assert others == {
        "speakers": {"é😀": entry, UNKNOWN_SPEAKER: entry},
        "conversations": {"c": entry},
        "corpus": {},
        "index": {
            "utterances-index": {
                "act": ["<class 'str'>"],
                "n": ["<class 'int'>"],
                "share": ["<class 'float'>"],
                "ok": ["<class 'bool'>"],
                "tags": ["<class 'list'>"],
            },
            "speakers-index": {},
            "conversations-index": {},
            "overall-index": {},
            "version": 1,
            "vectors": [],
        },
    }


def test_a_convokit_folder_comes_back(tmp_path):
    frame = table(
        id=["1", "2", "3"],
        reply_to=[None, "1", "1"],
        speaker=["a", "b", "a"],
        text=list(ODD_TEXTS[:3]),
        time=["2024-01-02T03:04:05.678901Z", None, "1960-01-01"],
        act=["ask", None, ""],
        tags=[["a"], [], None],
    )
    path = tmp_path / "corpus"
    assert_frame_equal(again(frame, path), frame)
    assert pv.read(path).format == "convokit"
    assert_frame_equal(again(frame.head(1), path), frame.head(1), check_dtypes=False)


def test_messages_without_further_columns_have_empty_meta(tmp_path):
    utterances, _ = convokit(table(), tmp_path / "corpus")
    assert [utterance["meta"] for utterance in utterances] == [{}, {}]


def test_ids_become_unique_across_conversations(tmp_path):
    frame = table(
        conversation=["a", "a", "a/1", "a%2F1"],
        id=["1/x", "2", "x", "x"],
        reply_to=[None, "1/x", None, None],
    )
    utterances, _ = convokit(frame, tmp_path / "corpus")
    assert [u["id"] for u in utterances] == ["a/1/x", "a/2", "a%2F1/x", "a%252F1/x"]
    assert [u["reply-to"] for u in utterances] == [None, "a/1/x", None, None]
    unique = frame.with_columns(
        id=pl.Series(["1", "2", "3", "4"]), reply_to=pl.lit(None, pl.String)
    )
    utterances, _ = convokit(unique, tmp_path / "other")
    assert [u["id"] for u in utterances] == ["1", "2", "3", "4"]


def test_only_an_old_corpus_or_an_empty_folder_is_replaced(tmp_path):
    (tmp_path / "mine").mkdir()
    assert write(table(), tmp_path / "mine") == tmp_path / "mine"
    write(table(text=["new", "newer"]), tmp_path / "mine")
    assert pv.read(tmp_path / "mine").table["text"].to_list() == ["new", "newer"]
    (tmp_path / "mine" / "thesis.doc").write_text("precious")
    with pytest.raises(StoreError, match=r"other files, such as 'thesis\.doc'"):
        write(table(), tmp_path / "mine")
    (tmp_path / "file").write_text("precious")
    with pytest.raises(StoreError, match="is a file"):
        write(table(), tmp_path / "file")
    assert (tmp_path / "file").read_text() == "precious"


@pytest.mark.skipif(sys.platform == "win32", reason="dots at the end of names")
def test_a_folder_with_a_dot_in_its_name_must_exist(tmp_path):
    (tmp_path / "v1.2").mkdir()
    write(table(), tmp_path / "v1.2")
    assert pv.read(tmp_path / "v1.2").n_messages == 2
