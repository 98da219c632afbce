from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from support.fuzz import mutations, read_tree_or_refuse
from support.shared import shared_data

import palaver as pv
from palaver.errors import FormatError

FIXTURES = Path(__file__).parents[2] / "fixtures" / "bagofwords"
FARM = FIXTURES / "docword.farm.txt"
VOCAB = FIXTURES / "vocab.farm.txt"


@pytest.fixture
def farm(tmp_path: Path) -> Path:
    for file in FIXTURES.iterdir():
        shutil.copy(file, tmp_path)
    return tmp_path / FARM.name


def test_table() -> None:
    corpus = pv.read(FARM)
    assert corpus.format == "bagofwords"
    assert corpus.table.select("conversation", "id", "text", "tokens", "label").rows() == [
        ("1", "1", "cow cow milk", ["cow", "cow", "milk"], "a"),
        ("2", "2", "", [], "b"),
        ("3", "3", "barn cow hay hay hay", ["barn", "cow", "hay", "hay", "hay"], "a"),
    ]
    assert corpus.notes.counts == {"empty_text": 1}


def test_folder_and_compressed_files(farm: Path) -> None:
    assert pv.read(farm.parent).n_messages == 3
    for name in ("docword", "vocab", "labels"):
        file = farm.with_name(f"{name}.farm.txt")
        farm.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    corpus = pv.read(farm.with_name("docword.farm.txt.gz"))
    assert corpus.format == "bagofwords"
    assert corpus.table["label"].to_list() == ["a", "b", "a"]


def test_a_folder_of_several_asks_for_one(farm: Path) -> None:
    shutil.copy(farm, farm.with_name("docword.other.txt"))
    with pytest.raises(FormatError, match=r"name one docword file.*docword\.other\.txt"):
        pv.read(farm.parent)


def test_without_labels(farm: Path) -> None:
    farm.with_name("labels.farm.txt").unlink()
    assert pv.read(farm).labels == ["tokens"]


def test_documents_in_any_order_and_odd_blanks(farm: Path) -> None:
    farm.write_bytes(b"3\r\n4\r\n5\r\n3 3 3\r\n\r\n 3  2\t1 \r\n1 2 2\r\n1 4 1\r\n3 1 1")
    assert pv.read(farm).table["text"].to_list() == ["cow cow milk", "", "hay hay hay cow barn"]


def test_no_counts(farm: Path) -> None:
    farm.write_text("3\n4\n0\n")
    assert pv.read(farm).table["text"].to_list() == [""] * 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "first three lines"),
        ("3\n4\nx\n", "first three lines"),
        ("3\n4\n6\n1 2 2\n1 4 1\n3 1 1\n3 2 1\n3 3 3\n", "line 3: the header says 6 counts, but 5"),
        ("3\n4\n4\n1 2 2\n1 4 1\n3 1 1\n3 2 1\n3 3 3\n", "line 3: the header says 4 counts, but 5"),
        ("3\n5\n1\n1 2 2\n", r"line 2: the header says 5 words, but vocab\.farm\.txt has 4"),
        ("4\n4\n1\n1 2 2\n", r"line 1: the header says 4 documents, but labels\.farm\.txt has 3"),
        ("3\n4\n2\n1 2 2\n4 2 2\n", r"line 5: the number of the document is not in 1\.\.3"),
        ("3\n4\n2\n1 2 2\n1 5 2\n", r"line 5: the number of the word is not in 1\.\.4"),
        ("3\n4\n2\n1 2 2\n1 0 2\n", r"line 5: the number of the word is not in 1\.\.4"),
        ("3\n4\n2\n1 2 2\n1 1 0\n", "line 5: the count is not positive"),
        ("3\n4\n2\n1 2 2\n1 1\n", "line 5: the count is not positive"),
        ("3\n4\n2\n1 2 2\n1 1 1 1\n", "line 5: not three whole numbers"),
        ("3\n4\n2\n1 2 2\n1 one 1\n", "line 5: not three whole numbers"),
        ("3\n4\n1\n1 2 999999999999\n", "raise max_bytes"),
    ],
)
def test_what_is_wrong_is_named(farm: Path, text: str, message: str) -> None:
    farm.write_text(text)
    with pytest.raises(FormatError, match=message):
        pv.read(farm)


def test_too_many_documents_for_the_counts(farm: Path) -> None:
    farm.with_name("labels.farm.txt").unlink()
    farm.write_text("999999999\n4\n1\n1 2 2\n")
    with pytest.raises(FormatError, match="line 1: 999,999,999 documents cannot be right"):
        pv.read(farm)


def test_missing_vocabulary(farm: Path) -> None:
    farm.with_name("vocab.farm.txt").unlink()
    with pytest.raises(FormatError, match=r"there is no vocab\.farm\.txt"):
        pv.read(farm)


@pytest.mark.parametrize(
    ("name", "n_documents", "n_tokens"), [("kos", 3_430, 467_714), ("nips", 1_500, 1_870_706)]
)
def test_published_counts(name: str, n_documents: int, n_tokens: int) -> None:
    corpus = pv.read(shared_data(f"{name}/docword.{name}.txt.gz"))
    assert corpus.n_conversations == corpus.n_messages == n_documents
    assert corpus.table["tokens"].list.len().sum() == n_tokens


@settings(max_examples=60, deadline=None)
@given(mutations(FARM.read_bytes()), mutations(VOCAB.read_bytes(), 1))
def test_broken_bytes(counts: bytes, words: bytes) -> None:
    read_tree_or_refuse({FARM.name: counts, VOCAB.name: VOCAB.read_bytes()}, FARM.name)
    read_tree_or_refuse({FARM.name: counts, VOCAB.name: words})
