from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from support.fuzz import mutations, read_or_refuse
from support.shared import shared_data

import palaver as pv
from palaver.corpus.readers.switchboard import act_class, clean_text
from palaver.errors import FormatError

FIXTURES = Path(__file__).parents[2] / "fixtures" / "switchboard"
CSV = FIXTURES / "sw_0900_9901.utt.csv"
BARS = FIXTURES / "sw9902.txt"
MEETING = FIXTURES / "Bxx001.txt"
HEADER = CSV.read_text().partition("\n")[0]


def test_csv_table() -> None:
    corpus = pv.read(CSV)
    assert corpus.format == "switchboard"
    assert corpus.table.select("id", "speaker", "text", "act", "raw_act").rows() == [
        ("sw9901.0", "A", "Okay.", 'fo_o_fw_"_by_bc', "o"),
        ("sw9901.1", "A", "So, what, what do you grow, uh on that balcony of yours?", "qw", "qw"),
        ("sw9901.2", "B", "Uh-huh.", "b", "b"),
        ("sw9901.4", "B", "Well, mostly beans and/or peas.", "sd", "sd^e"),
        ("sw9901.5", "B", 'I think they said, "easy."', "sv", "sv,o@"),
        ("sw9901.6", "A", "", "x", "x"),
    ]
    assert corpus.table["conversation"].unique().to_list() == ["sw9901"]
    assert corpus.table["raw_text"][1] == (
        "{D So, } [ what, + what ] do you grow, {F uh } -- on that balcony of yours? /"
    )
    assert corpus.table["turn"].to_list() == ["1", "1", "2", "4", "4", "5"]
    assert corpus.table["reply_to"].null_count() == 6
    assert corpus.notes.counts == {"continuation": 1, "empty_text": 1}
    assert corpus.notes.places["continuation"] == ["sw_0900_9901.utt.csv row 4"]


def test_bars_join_continuations_to_the_same_speaker_only() -> None:
    corpus = pv.read(BARS)
    assert corpus.format == "switchboard"
    assert corpus.table.select("id", "speaker", "text", "act", "raw_act").rows()[1:5] == [
        ("sw9902.2", "B", "Well,", None, "+"),  # B has said nothing yet that this could continue
        ("sw9902.3", "B", "it is bright, and it opens late.", "sv", "sv"),
        ("sw9902.4", "A", "Uh-huh.", "b", "b"),
        ("sw9902.6", "B", "I go there on Sundays.", "sd", "sd"),
    ]
    assert corpus.notes.counts == {"continuation": 1}


def test_meeting_form_has_three_levels_of_acts() -> None:
    corpus = pv.read(MEETING)
    assert corpus.table.select("speaker", "text", "act", "act_general", "act_full").rows() == [
        ("fe901", "okay.", "F", "fg", "fg"),
        ("fe901", "so um", "F", "fh", "fh"),
        ("me902", "are we all here?", "Q", "qy", "qy^rt"),
        ("fe901", "not yet.", "S", "s", "s^nd"),
    ]


def test_folder_and_archive_of_conversations(tmp_path: Path) -> None:
    folder = tmp_path / "swda" / "sw09utt"
    folder.mkdir(parents=True)
    shutil.copy(CSV, folder)
    again = CSV.read_text().replace("9901", "9903")
    (folder / "sw_0901_9903.utt.csv").write_text(again)
    (tmp_path / "swda" / "swda-metadata.csv").write_text("conversation_no,topic\n9901,GARDENS\n")
    with zipfile.ZipFile(tmp_path / "swda.zip", "w") as archive:
        for file in sorted((tmp_path / "swda").rglob("*.csv")):
            archive.write(file, file.relative_to(tmp_path))
    for path in (tmp_path / "swda", tmp_path / "swda.zip"):
        corpus = pv.read(path)
        assert corpus.format == "switchboard"
        assert corpus.table["conversation"].unique(maintain_order=True).to_list() == [
            "sw9901",
            "sw9903",
        ]
        assert corpus.n_messages == 12


def test_folder_of_text_files(tmp_path: Path) -> None:
    shutil.copy(BARS, tmp_path)
    shutil.copy(MEETING, tmp_path)
    (tmp_path / "a_readme.txt").write_text("What is in here.\n")
    corpus = pv.read(tmp_path)
    assert corpus.format == "switchboard"
    assert corpus.table["conversation"].unique(maintain_order=True).to_list() == [
        "Bxx001",
        "sw9902",
    ]


def test_rows_of_a_wrong_length_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "sw_0900_9901.utt.csv"
    path.write_text(CSV.read_text() + "sw09utt,9/sw9901,9901,7,sd\n")
    corpus = pv.read(path)
    assert corpus.notes.counts["bad_line"] == 1
    assert corpus.notes.places["bad_line"] == ["sw_0900_9901.utt.csv row 8"]


def test_files_put_together_repeat_the_header(tmp_path: Path) -> None:
    path = tmp_path / "all.csv"
    path.write_text(CSV.read_text() + CSV.read_text().replace("9901", "9903"))
    assert pv.read(path).n_conversations == 2
    assert pv.read(path).n_messages == 12


def test_bar_lines_of_a_wrong_length_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text("A|hi|fp\nB|what | is this\n", encoding="utf-8")
    corpus = pv.read(path, format="switchboard")
    assert corpus.n_messages == 2
    path.write_text("A|hi|fp\nno bars here\n\n", encoding="utf-8")
    corpus = pv.read(path, format="switchboard")
    assert corpus.n_messages == 1
    assert corpus.notes.places["bad_line"] == ["talk.txt line 2"]


def test_header_without_rows_is_an_empty_corpus(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text(HEADER + "\n")
    assert pv.read(path).n_messages == 0


def test_other_files_are_refused_with_reasons(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("nothing of the kind\n")
    with pytest.raises(FormatError, match=r"speaker\|text\|act"):
        pv.read(path, format="switchboard")


def test_a_table_with_bars_stays_a_table(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("speaker|text|act\nA|hi|fp\n")
    assert pv.read(path).format == "csv"


def test_unclosed_quote_keeps_what_came_before(tmp_path: Path) -> None:
    path = tmp_path / "cut.csv"
    path.write_text(CSV.read_text().replace("<Laughter>", '"' + "x" * 200_000))
    corpus = pv.read(path)
    assert corpus.n_messages >= 5
    assert corpus.notes.of("loss")


def test_classes_and_words_agree_with_the_published_corpus() -> None:
    table = pl.read_ndjson(shared_data("swda/swda-full.jsonl.gz"), infer_schema_length=None)
    tags = table.filter(~pl.col("raw_act").str.starts_with("+")).select("raw_act", "act").unique()
    assert [(raw, act) for raw, act in tags.rows() if act_class(raw) != act] == []
    words = re.compile(r"[\w'-]*\w[\w'-]*")
    sample = table.sample(20_000, seed=0).select("raw_text", "text").rows()
    different = [
        raw for raw, text in sample if words.findall(clean_text(raw)) != words.findall(text)
    ]
    assert len(different) <= 1


@settings(max_examples=40, deadline=None)
@given(mutations(CSV.read_bytes()))
def test_broken_csv(data: bytes) -> None:
    read_or_refuse(data, "sw_0900_9901.utt.csv", format="switchboard")


@settings(max_examples=40, deadline=None)
@given(mutations(BARS.read_bytes()))
def test_broken_bars(data: bytes) -> None:
    read_or_refuse(data, "sw9902.txt", format="switchboard")
    read_or_refuse(data, "sw9902.txt")
