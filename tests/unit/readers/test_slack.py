"""Slack exports: threads, names, notices, and hostile archives."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fuzz import mutations, read_or_refuse, read_tree_or_refuse

import palaver as pv
from palaver.errors import FormatError

EXPORT = Path(__file__).parents[2] / "fixtures" / "slack"
FILES = {
    file.relative_to(EXPORT).as_posix(): file.read_bytes()
    for file in sorted(EXPORT.rglob("*.json"))
}


def make_zip(files: dict[str, bytes], prefix: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(prefix + name, data)
    return buffer.getvalue()


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_reads_threads_and_days() -> None:
    corpus = pv.read(EXPORT)
    assert corpus.format == "slack"
    shown = corpus.table.select("conversation", "id", "reply_to", "speaker").rows()
    assert shown == [
        ("D0DM1/2024-01-02", "1704186500.000100", None, "ana"),
        ("D0DM1/2024-01-02", "1704186510.000100", None, "Ben Ode"),
        ("general/2024-01-02", "1704186060.000200", None, "ana"),
        ("general/2024-01-02", "1704186240.000500", None, "buildbot"),
        ("general/2024-01-02", "1704186300.000600", None, "ana"),
        ("general/1704186120.000300", "1704186120.000300", None, "Ben Ode"),
        ("general/1704186120.000300", "1704186180.000400", "1704186120.000300", "ana (U03ANA)"),
        ("general/1704186120.000300", "1704272400.000100", "1704186120.000300", "Ben Ode"),
        ("general/2024-01-03", "1704272460.000200", None, "Dee Guest"),
        ("help-desk/1704186000.000100", "1704186000.000100", None, "ana"),
        ("help-desk/1704186000.000100", "1704186001.000100", "1704186000.000100", "Ben Ode"),
        ("help-desk/1704186010.000100", "1704186010.000100", None, None),
        ("help-desk/1704186010.000100", "1704186011.000100", "1704186010.000100", "Ben Ode"),
        ("help-desk/1704186020.000100", "1704186020.000100", None, "ana"),
        ("help-desk/1704186020.000100", "1704186021.000100", "1704186020.000100", "Ben Ode"),
    ]
    assert corpus.labels == ["channel", "bot"]
    assert corpus.table["channel"].unique(maintain_order=True).to_list() == [
        "ana, Ben Ode", "general", "help-desk",
    ]  # fmt: skip
    assert corpus.table.filter("bot")["speaker"].to_list() == ["buildbot"]


def test_texts_are_as_people_saw_them() -> None:
    texts = dict(pv.read(EXPORT).table.select("id", "text").rows())
    assert texts["1704186060.000200"] == (
        "Morning @here! Plan & notes: the plan https://example.com/plan <draft>"
    )
    assert texts["1704186120.000300"] == "Printer is down again, @ana (U03ANA)?"
    assert texts["1704186180.000400"] == "On it, see #help-desk"
    assert texts["1704186240.000500"] == "Build 17 passed"
    assert texts["1704272400.000100"] == "Works now http://example.com"
    assert texts["1704272460.000200"] == "Hello @zoe and ann@example.com"
    assert texts["1704186010.000100"] == ""


def test_times_and_notes() -> None:
    corpus = pv.read(EXPORT)
    row = corpus.table.filter(id="1704186060.000200")
    assert row["time"].dt.to_string("%Y-%m-%d %H:%M:%S%.6f").item() == "2024-01-02 09:01:00.000200"
    assert corpus.notes.counts == {"system_message": 1, "media_omitted": 1, "empty_text": 2}
    assert corpus.notes.places["media_omitted"] == ["general/2024-01-02.json message 6"]


@pytest.mark.parametrize("prefix", ["", "Our workspace export/"])
def test_reads_a_zip(tmp_path: Path, prefix: str) -> None:
    corpus = pv.read(write(tmp_path / "export.zip", make_zip(FILES, prefix)))
    assert corpus.format == "slack"
    assert corpus.table.equals(pv.read(EXPORT).table)


def test_reads_one_channel_without_lists(tmp_path: Path) -> None:
    corpus = pv.read(EXPORT / "help-desk", format="slack")
    assert corpus.n_conversations == 3
    assert corpus.table["speaker"][0] == "U01ANA"


def test_bad_files_and_records_are_counted() -> None:
    files = {
        "users.json": b'{"not": "a list"}',
        "channels.json": b"[null, 3, {}]",
        "general/2024-01-01.json": b'[{"ts": "1.5", "text": "kept"}, "loose", null, {"te',
        "general/2024-01-02.json": b'[{"ts": 7, "text": 5, "user": [], "subtype": null}]',
        "general/2024-01-03.json": b"",
    }
    corpus = read_tree_or_refuse(files)
    assert corpus is not None
    assert corpus.table["text"].to_list() == ["kept", "5"]
    assert corpus.notes.counts["bad_line"] == 2
    assert corpus.notes.counts["truncated"] == 2
    assert corpus.notes.places["truncated"] == [
        "general/2024-01-01.json",
        "general/2024-01-03.json",
    ]


def test_missing_thread_start_is_a_repair() -> None:
    day = json.dumps([{"ts": "2.0", "thread_ts": "1.0", "user": "U", "text": "late"}]).encode()
    corpus = read_tree_or_refuse({"users.json": b"[]", "general/2024-01-01.json": day})
    assert corpus is not None
    assert corpus.table["conversation"].to_list() == ["general/1.0"]
    assert corpus.notes.of("repair") == {"missing_parent": 1}


def test_refuses_names_outside_of_the_archive(tmp_path: Path) -> None:
    path = write(tmp_path / "bad.zip", make_zip({**FILES, "../../escape.json": b"[]"}))
    with pytest.raises(FormatError, match="outside itself"):
        pv.read(path)
    assert not (tmp_path.parent / "escape.json").exists()


def test_does_not_follow_links(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret.json", b'[{"ts": "1.0", "text": "secret"}]')
    link = zipfile.ZipInfo("general/2024-01-09.json")
    link.external_attr = 0o120777 << 16
    buffer = io.BytesIO(make_zip(FILES))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(link, str(secret))
    corpus = pv.read(write(tmp_path / "link.zip", buffer.getvalue()))
    assert corpus.table.equals(pv.read(EXPORT).table)
    folder = tmp_path / "folder"
    (folder / "general").mkdir(parents=True)
    write(folder / "users.json", b"[]")
    write(folder / "general" / "2024-01-01.json", b'[{"ts": "1.0", "text": "open"}]')
    (folder / "general" / "2024-01-02.json").symlink_to(secret)
    assert pv.read(folder).table["text"].to_list() == ["open"]


def test_refuses_bombs(tmp_path: Path) -> None:
    day = b"[" + b" " * 3_000_000 + b"]"
    path = write(tmp_path / "bomb.zip", make_zip({**FILES, "general/2024-01-09.json": day}))
    assert path.stat().st_size < 20_000
    with pytest.raises(FormatError, match="max_bytes"):
        pv.read(path, max_bytes=1_000_000)


def test_says_that_an_archive_is_encrypted(tmp_path: Path) -> None:
    data = bytearray(make_zip(FILES))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # where the flags are
        at = data.find(signature)
        while at >= 0:
            data[at + offset] |= 1
            at = data.find(signature, at + 4)
    with pytest.raises(FormatError, match="encrypted"):
        pv.read(write(tmp_path / "locked.zip", bytes(data)))


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_only_palaver_errors_escape(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(FILES)))
    files = {**FILES, name: data.draw(mutations(FILES[name]))}
    read_or_refuse(make_zip(files), "export.zip", format="slack")


@given(mutations(make_zip(FILES)))
@settings(max_examples=60, deadline=None)
def test_only_palaver_errors_escape_archives(data: bytes) -> None:
    read_or_refuse(data, "export.zip")
