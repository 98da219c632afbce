"""WhatsApp text: two layouts, three orders of dates, notices, media, marks."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from support.fuzz import mutations, read_or_refuse
from support.growth import assert_linear

import palaver as pv
from palaver.errors import FormatError

FOLDER = Path(__file__).parents[2] / "fixtures" / "whatsapp"
ANDROID = FOLDER / "WhatsApp Chat with Garden.txt"
IOS = FOLDER / "_chat.txt"


def read_text(text: str, name: str = "chat.txt") -> pv.Corpus:
    corpus = read_or_refuse(text.encode(), name, format="whatsapp")
    assert corpus is not None
    return corpus


def times(text: str) -> list[str]:
    return read_text(text).table["time"].dt.to_string("%Y-%m-%d %H:%M:%S").to_list()


def test_android() -> None:
    corpus = pv.read(ANDROID)
    assert corpus.format == "whatsapp"
    table = corpus.table
    assert set(table["conversation"]) == {"WhatsApp Chat with Garden"}
    shown = table["time"].dt.to_string("%m-%d %H:%M").alias("shown")
    assert table.select(shown, "speaker", "text").rows() == [
        ("03-04 21:59", "Ann", "Hello all\nwho brings the soil?\n- 2 bags"),
        ("03-04 22:02", "+44 7700 900123", ""),
        ("03-04 22:03", 'Bob "Bobby" Smith', "see https://example.com: cheap"),
        ("03-05 00:10", "Ann", "my balcony"),
        ("03-05 00:15", "Ann", "Done"),
        ("03-05 08:00", 'Bob "Bobby" Smith', ""),
        ("03-13 08:00", "Ann", "note: 3/4 is in March"),
    ]
    assert table["reply_to"].null_count() == table.height
    assert corpus.labels == []


def test_android_notes() -> None:
    notes = pv.read(ANDROID).notes
    assert notes.of("repair", "loss") == {}
    assert notes.counts["system_message"] == 3
    assert notes.places["system_message"] == ["line 1", "line 2", "line 13"]
    assert notes.counts["media_omitted"] == 1
    assert notes.places["empty_text"] == ["line 6", "line 11"]


def test_ios() -> None:
    corpus = pv.read(IOS)
    assert corpus.format == "whatsapp"
    shown = corpus.table["time"].dt.to_string("%Y-%m-%d %H:%M:%S").alias("shown")
    assert corpus.table.select(shown, "speaker", "text").rows() == [
        ("2024-02-01 20:15:10", "Änne", "Wer hat Erde?"),
        ("2024-02-02 20:16:00", "Bo", ""),
        ("2024-02-03 20:17:00", "Änne", ""),
        ("2024-02-04 07:00:00", "Bo", "Danke!"),
        ("2024-02-05 07:01:00", "Änne", ""),
    ]
    assert corpus.notes.counts["media_omitted"] == 3
    assert corpus.notes.counts["system_message"] == 1


def test_reads_a_zip_with_media(tmp_path: Path) -> None:
    path = tmp_path / "WhatsApp Chat - Garten.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(IOS, "_chat.txt")
        archive.writestr("00000012-PHOTO.jpg", b"\xff\xd8")
    corpus = pv.read(path)
    assert corpus.format == "whatsapp"
    assert set(corpus.table["conversation"]) == {"WhatsApp Chat - Garten"}
    assert corpus.n_messages == 5


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        (["3/4/24", "13/4/24"], ["2024-04-03", "2024-04-13"]),  # no month is 13
        (["3/4/24", "3/13/24"], ["2024-03-04", "2024-03-13"]),
        (["1/2/24", "1/3/24", "2/1/25"], ["2024-02-01", "2024-03-01", "2025-01-02"]),  # forward
        (["9/8/24", "9/9/24", "10/1/24"], ["2024-09-08", "2024-09-09", "2024-10-01"]),
        (["2024-01-02", "2024-02-01"], ["2024-01-02", "2024-02-01"]),
        (["2024/1/2", "2024/1/31"], ["2024-01-02", "2024-01-31"]),
        (["03.04.2024", "04.04.2024"], ["2024-04-03", "2024-04-04"]),  # open: the day first
        (["3-4-2024"], ["2024-04-03"]),
    ],
)
def test_order_of_dates(dates: list[str], expected: list[str]) -> None:
    text = "\n".join(f"{date}, 10:00 - Ann: hi" for date in dates)
    assert times(text) == [f"{day} 10:00:00" for day in expected]


@pytest.mark.parametrize(
    ("start", "clock"),
    [
        ("1/2/24, 12:05 AM - ", "00:05:00"),
        ("1/2/24, 12:05 PM - ", "12:05:00"),
        ("1/2/24, 1:05\u202fp.\u00a0m. - ", "13:05:00"),
        ("[1/2/24, 1:05:09\u202fpm] ", "13:05:09"),
        ("1/2/24 à 13:05 - ", "13:05:00"),
        ("1/2/24 13.05 - ", "13:05:00"),
        ("\u200e[1/2/2024, 13:05:09] ", "13:05:09"),
        ("[2024/1/2 下午1:05:09] ", "13:05:09"),
        ("٠٢/٠١/٢٠٢٤، ١:٠٥ م - ", "13:05:00"),
    ],
)
def test_clocks(start: str, clock: str) -> None:
    corpus = read_text(f"{start}Ann: hi")
    assert corpus.table["time"].dt.to_string("%H:%M:%S").to_list() == [clock]
    assert corpus.table["speaker"].to_list() == ["Ann"]


@pytest.mark.parametrize(
    "words", ["Medien ausgeschlossen", "Multimedia omitido", "Médias omis", "Mídia oculta"]
)
def test_media_in_other_languages(words: str) -> None:
    corpus = read_text(f"1/2/24, 10:00 - Ann: <{words}>\n1/2/24, 10:01 - Ann: <3 and <so on>")
    assert corpus.table["text"].to_list() == ["", "<3 and <so on>"]
    assert corpus.notes.counts["media_omitted"] == 1


def test_impossible_times_are_counted() -> None:
    corpus = read_text("1/2/24, 10:00 - Ann: a\n40/13/24, 10:00 - Ann: b\n2/2/24, 99:00 - Ann: c")
    assert corpus.notes.counts["bad_time"] == 2
    assert corpus.table["text"].to_list() == ["a", "b", "c"]


def test_lines_before_the_first_message_are_counted() -> None:
    corpus = read_text("cut off\n1/2/24, 10:00 - Ann: a")
    assert corpus.notes.places["bad_line"] == ["line 1"]


def test_windows_lines_and_encoding() -> None:
    data = "1/2/24, 10:00 - Zoë: hé\r\nhö\r\n".encode("cp1252")
    corpus = read_or_refuse(data, "chat.txt")
    assert corpus is not None
    assert corpus.table.select("speaker", "text").row(0) == ("Zoë", "hé\nhö")
    assert corpus.notes.counts["decoded"] == 1


def test_long_blanks_take_linear_time() -> None:
    def read(n_blanks: int) -> None:
        corpus = read_text("1/2/24, 10:00 - Ann: a" + " " * n_blanks + "<b>")
        assert corpus.n_messages == 1

    assert_linear(read, 8_000)


def test_refuses_other_text(tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_text("Dear diary,\nnothing happened.")
    with pytest.raises(FormatError, match="no line starts with a date"):
        pv.read(path, format="whatsapp")


@given(mutations(ANDROID.read_bytes()))
@settings(max_examples=50, deadline=None)
def test_only_palaver_errors_escape(data: bytes) -> None:
    read_or_refuse(data, "chat.txt", format="whatsapp")


@given(mutations(IOS.read_bytes()))
@settings(max_examples=30, deadline=None)
def test_only_palaver_errors_escape_ios(data: bytes) -> None:
    read_or_refuse(data, "_chat.txt")
