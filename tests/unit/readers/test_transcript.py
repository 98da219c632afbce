"""Transcripts of meetings: times, names, and text that is none."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import palaver as pv
from palaver.errors import FormatError

FOLDER = Path(__file__).parents[2] / "fixtures" / "transcript"


def test_times_count_from_the_start() -> None:
    corpus = pv.read(FOLDER / "teams.txt")
    assert corpus.table["time"].dt.epoch("s").to_list() == [3, 8, 3730]
    old = pv.read(FOLDER / "teams-old.txt")  # two segments of one speaker are one message
    assert old.table["end"].to_list() == [3.0, 9.25]


@pytest.mark.parametrize(
    "text",
    [
        "Ann: hi\nBob: hello\n",
        "Chapter 1\n\nIt was 10:15. Ann came.\nShe sat down at 10:20.\n",
        "Bus 12  10:15\n",
        "10:15\n10:20\n10:30\n",
        "Ingredients: flour, water\nTime: 2 hours\n",
    ],
)
def test_what_is_no_transcript(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(text)
    with pytest.raises(FormatError):
        pv.read(path)


def test_a_document_without_a_transcript_is_said_to_be_one_of_office(tmp_path: Path) -> None:
    path = tmp_path / "x.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", "<d><p><t>Dear all</t></p></d>")
    with pytest.raises(FormatError, match="Office document"):
        pv.read(path)


def test_a_document_with_entities_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(
            "word/document.xml", '<!DOCTYPE d [<!ENTITY a "a">]><d><p><t>&a;</t></p></d>'
        )
    with pytest.raises(FormatError, match="declares XML entities"):
        pv.read(path, format="transcript")
