"""Any corpus survives a round trip; any bytes are read or rejected, without a crash."""

import datetime as dt
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from support.fuzz import GARBAGE, check_tidy, read_or_refuse, read_tree_or_refuse

import palaver as pv
from palaver.corpus.clean import tidy
from palaver.corpus.notes import Notes
from palaver.corpus.readers import FORMATS

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufffe\uffff")
TEXTS = st.text(CHARACTERS, max_size=12) | st.sampled_from(
    [
        '"',
        '""',
        ',"',
        "\r",
        "\r\n",
        "\n\n",
        "{}",
        "[]",
        '["x"]',
        "007",
        "1.0",
        "😀",
        "\\ud800",
        "\t",
    ]
)
NAMES = TEXTS.filter(lambda name: name.strip())
TIMES = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31), timezones=st.just(dt.UTC))
NEAR_TIMES = st.datetimes(
    dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1), timezones=st.just(dt.UTC)
)
WORDS = st.text(CHARACTERS, max_size=6).map(lambda word: f"v{word}")
SCALARS = {
    "word": (pl.String, WORDS),
    "whole": (pl.Int64, st.integers(-(2**63), 2**63 - 1)),
    "real": (pl.Float64, st.floats(allow_nan=False, allow_infinity=False)),
    "truth": (pl.Boolean, st.booleans()),
}
LISTS = {"words": (pl.List(pl.String), st.lists(TEXTS, max_size=3))}


@st.composite
def tables(draw, columns, *, times=TIMES, for_convokit=False):
    """Tidy tables, with further columns of the given types that have some value."""
    n = draw(st.integers(1, 7))
    some = st.lists(st.sampled_from(sorted(columns)), unique=True)
    rows = range(n)
    names = st.none() | NAMES
    ids = st.lists(NAMES, min_size=n, max_size=n, unique=True)
    data = {
        "conversation": draw(st.lists(st.sampled_from(["c", "d/e", "é"]), min_size=n, max_size=n)),
        "id": draw(ids if for_convokit else st.lists(names, min_size=n, max_size=n)),
        "speaker": [draw(NAMES if for_convokit else names) for _ in rows],
        "time": pl.Series([draw(st.none() | times) for _ in rows], dtype=pl.Datetime("us", "UTC")),
        "text": [draw(NAMES if for_convokit else TEXTS) for _ in rows],  # " " becomes "" there
    }
    data["reply_to"] = [draw(st.none() | st.sampled_from(data["id"])) for _ in rows]
    schema = dict.fromkeys(("conversation", "id", "reply_to", "speaker", "text"), pl.String)
    for name in draw(some):
        dtype, values = columns[name]
        cells = [draw(st.none() | values) for _ in range(n - 1)]
        data[name] = pl.Series([draw(values), *cells], dtype=dtype)
    return pv.Corpus.from_polars(pl.DataFrame(data, schema_overrides=schema)).table


def comes_back(table, name):
    with tempfile.TemporaryDirectory() as folder:
        corpus = pv.Corpus.from_polars(table)
        path = corpus.write(Path(folder) / name)
        read = pv.read(path)
    assert_frame_equal(read.table, table)
    assert read.parents.tolist() == corpus.parents.tolist()
    assert read.fingerprint == corpus.fingerprint
    assert set(read.notes.counts) <= {"empty_text"}


quickly = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@given(tables(SCALARS | LISTS), st.sampled_from(["x.jsonl", "x.jsonl.gz", "x.ndjson.zst"]))
@quickly
def test_json_lines(table, name):
    comes_back(table, name)


@given(tables(SCALARS | LISTS))
@quickly
def test_parquet(table):
    comes_back(table, "x.parquet")


@given(tables(SCALARS), st.sampled_from(["x.csv", "x.tsv", "x.csv.gz"]))
@quickly
def test_csv(table, name):
    comes_back(table, name)


@given(tables(SCALARS | LISTS, times=NEAR_TIMES, for_convokit=True))
@quickly
def test_convokit(table):
    comes_back(table, "folder")


@given(tables(SCALARS | LISTS))
@quickly
def test_tidying_again_changes_nothing(table):
    again = tidy(table, notes := Notes())
    assert_frame_equal(again.table, table)
    assert set(notes.counts) <= {"empty_text"}


PIECES = st.sampled_from(
    [
        *GARBAGE,
        b'{"text": "x", "id": 1}\n',
        b'[{"text": "x", "user": "U1", "ts": "1.2"}]',
        b'{"messages": [{"role": "user", "content": "x"}]}\n',
        b"a,b,text\n1,2,x\n",
        b"From ann@example.com Mon Jan  1 00:00:00 2024\nSubject: x\n\nbody\n",
        b"1/2/24, 10:30 - Ann: hi\n",
        b"[10:30] <ann> hi\n",
        b"WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n<v Ann>hi\n",
        b"@UTF8\n@Begin\n*CHI:\thi .\n@End\n",
        b"1\tThe\tthe\tDET\t_\t_\t0\troot\t_\t_\n\n",
        b"3\n4\n2\n1 1 5\n",
        b"0 -1 name some words\n",
        b"A|hello|sd\n",
        b"PAR1",
        b"PK\x03\x04",
        b"\x28\xb5\x2f\xfd",  # zstd, gzip and zlib, which polars unpacks without being asked
        b"\x1f\x8b\x08\x00",
        b"x\x9c",
        b"x\x01",
    ]
)
BYTES = st.binary(max_size=60) | st.lists(PIECES | st.binary(max_size=8), max_size=8).map(b"".join)


@pytest.mark.parametrize("format", [known.name for known in FORMATS])
def test_any_bytes_are_read_or_refused(format):
    @given(BYTES, st.sampled_from(["x", "x.jsonl", "x.csv", "x.ascii.txt"]))
    @settings(max_examples=40, deadline=None)
    def check(data, name):
        read_or_refuse(data, name, format=format)

    check()


@pytest.mark.parametrize("format", [known.name for known in FORMATS])
def test_any_folder_is_read_or_refused(format):
    files = {
        "x.txt": b"x",
        "users.json": b"[",
        "utterances.jsonl": b"\n",
        "a/2024-01-02.json": b"{",
    }
    read_tree_or_refuse(files, format=format)
    read_tree_or_refuse({"empty": b""}, format=format)


@given(BYTES, st.sampled_from([".gz", ".zst", ".bz2", ".xz", ".zip"]))
@settings(max_examples=60, deadline=None)
def test_any_bytes_under_the_names_of_archives(data, suffix):
    read_or_refuse(data, f"x.jsonl{suffix}")


def test_the_checker_sees_what_is_untidy():
    corpus = pv.Corpus.from_polars(pl.DataFrame({"text": ["a", "b"]}))
    check_tidy(corpus)
    corpus.parents[0] = 1
    with pytest.raises(AssertionError):
        check_tidy(corpus)
