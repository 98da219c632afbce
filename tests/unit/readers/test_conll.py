from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from support.fuzz import mutations, read_or_refuse
from support.shared import shared_data

import palaver as pv

FIXTURES = Path(__file__).parents[2] / "fixtures" / "conll"
CHUNKS, FILES, MAILS = (FIXTURES / name for name in ("chunks.txt", "files.txt", "mails.conllu"))


def _read(tmp_path: Path, text: str, name: str = "x.conll") -> pv.Corpus:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return pv.read(path, format="conll")


def test_word_tag_and_chunk() -> None:
    corpus = pv.read(CHUNKS)
    assert corpus.format == "conll"
    assert corpus.table.select("conversation", "id", "reply_to", "text").rows() == [
        ("chunks", "1", None, "The pound fell ."),
        ("chunks", "2", None, "It cost # 5 ."),
        ("chunks", "3", None, "Markets rose ."),
    ]
    assert corpus.table.select("tokens", "pos", "chunk").row(1) == (
        ["It", "cost", "#", "5", "."],
        ["PRP", "VBD", "#", "CD", "."],
        ["B-NP", "B-VP", "B-NP", "I-NP", "O"],
    )
    assert corpus.labels == ["tokens", "pos", "chunk"]
    assert corpus.notes.counts == {}


def test_a_column_that_names_the_file_is_the_conversation() -> None:
    corpus = pv.read(FILES)
    assert corpus.table.select("conversation", "text").rows() == [
        ("doc_1", "Rain fell ."),
        ("doc_1", "It stopped ."),
        ("doc_2", "Snow fell ."),
    ]
    assert corpus.labels == ["tokens", "pos"]


def test_universal_dependencies() -> None:
    corpus = pv.read(MAILS)
    assert corpus.format == "conll"
    columns = ("conversation", "id", "speaker", "text", "tokens", "upos", "xpos")
    assert corpus.table.select(columns).rows() == [
        ("mail-1", "mail-1-s1", None, "Don't go.", ["Do", "n't", "go", "."],
         ["AUX", "PART", "VERB", "PUNCT"], ["VB", "RB", "VB", "."]),
        ("mail-1", "mail-1-s2", "Ann", "Yes !", ["Yes", "!"], ["INTJ", "PUNCT"], ["UH", "."]),
        ("mails:2", "3", None, "#1", ["#1"], ["SYM"], ["NN"]),
    ]  # fmt: skip
    assert corpus.notes.counts == {}


def test_named_entities_documents_and_other_columns(tmp_path: Path) -> None:
    text = (
        "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\n"
        "-DOCSTART- -X- O O\n\nRome NNP I-NP I-LOC\n! . O O\n"
    )
    corpus = _read(tmp_path, text)
    assert corpus.table["conversation"].to_list() == ["x:1", "x:2"]
    assert corpus.table.select("pos", "chunk", "ner").row(0) == (
        ["NNP", "VBZ"],
        ["I-NP", "I-VP"],
        ["I-ORG", "O"],
    )
    corpus = _read(tmp_path, "a X 1\nb Y 2\n\nc X 3\n")
    assert corpus.table["column3"].to_list() == [["1", "2"], ["3"]]


def test_lines_that_do_not_fit_are_counted_unless_comments(tmp_path: Path) -> None:
    corpus = _read(tmp_path, "# a comment of words\na X O\nb\nc X B-NP\n\n\n\nd X O extra\ne X O")
    assert corpus.table["text"].to_list() == ["a c", "e"]
    assert corpus.notes.places["bad_line"] == ["x.conll line 3", "x.conll line 8"]


def test_tabs_and_many_blanks(tmp_path: Path) -> None:
    assert _read(tmp_path, "New York\tNNP\n.\t.\n").table["tokens"][0].to_list() == [
        "New York",
        ".",
    ]
    assert _read(tmp_path, "a   X\r\n b\t Y \r\n").table["pos"][0].to_list() == ["X", "Y"]


def test_broken_universal_lines_are_counted(tmp_path: Path) -> None:
    text = MAILS.read_text().replace("2\t!\t!", "x\t!\t!").replace("4\t.\t.\tPUNCT", "4\t.")
    corpus = _read(tmp_path, text, "x.conllu")
    assert corpus.table["text"].to_list() == ["Don't go.", "Yes", "#1"]
    assert corpus.table["tokens"].list.len().to_list() == [3, 1, 1]
    assert corpus.notes.places["bad_line"] == ["x.conllu line 9", "x.conllu line 14"]


def test_places_survive_braces_in_names(tmp_path: Path) -> None:
    text = MAILS.read_text().replace("mail-1-s2", "mail-1-s1")
    corpus = _read(tmp_path, text, "a{b}.conllu")
    assert corpus.notes.places["duplicate_id"] == ["a{b}.conllu line 13"]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "-DOCSTART- -X- O\n"])
def test_no_sentences(tmp_path: Path, text: str) -> None:
    assert _read(tmp_path, text).n_messages == 0
    assert _read(tmp_path, text, "x.conllu").n_messages == 0


def test_folder(tmp_path: Path) -> None:
    for name in ("one.conllu", "two.conllu"):
        (tmp_path / name).write_text(MAILS.read_text().replace("mail-1", name))
    corpus = pv.read(tmp_path)
    assert (corpus.format, corpus.n_messages, corpus.n_conversations) == ("conll", 6, 4)


@pytest.mark.parametrize(
    ("name", "n_conversations", "n_sentences", "n_tokens", "labels"),
    [
        ("conll2000/train.txt.gz", 1, 8_936, 211_727, ["tokens", "pos", "chunk"]),
        ("wsj-sample/wsj-sample.txt.gz", 199, 3_914, 94_084, ["tokens", "pos"]),
        ("ud-english-ewt/en_ewt-ud-dev.conllu.gz", 318, 2_001, 25_147, ["tokens", "upos", "xpos"]),
    ],
)
def test_published_counts(
    name: str, n_conversations: int, n_sentences: int, n_tokens: int, labels: list[str]
) -> None:
    corpus = pv.read(shared_data(name))
    assert corpus.format == "conll"
    assert corpus.n_conversations == n_conversations
    assert corpus.n_messages == n_sentences
    assert corpus.table["tokens"].list.len().sum() == n_tokens
    assert corpus.labels == labels
    assert corpus.notes.counts == {}


@pytest.mark.parametrize("path", [CHUNKS, FILES, MAILS], ids=lambda path: path.name)
def test_broken_bytes(path: Path) -> None:
    @settings(max_examples=40, deadline=None)
    @given(mutations(path.read_bytes()))
    def check(data: bytes) -> None:
        read_or_refuse(data, path.name, format="conll")
        read_or_refuse(data, path.name)

    check()


def test_a_column_without_values_does_not_name_the_file(tmp_path: Path) -> None:
    corpus = _read(tmp_path, "the DT -\ncat NN -\n\na DT -\ndog NN -\n")
    assert "column3" in corpus.table.columns
