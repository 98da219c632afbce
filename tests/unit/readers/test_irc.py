from __future__ import annotations

import gzip
import shutil
from pathlib import Path

from hypothesis import given, settings
from support.fuzz import mutations, read_tree_or_refuse

import palaver as pv

FIXTURES = Path(__file__).parents[2] / "fixtures" / "irc"
BASE = "2031-05-04_03"
LOG = FIXTURES / f"{BASE}.ascii.txt"
LINKS = FIXTURES / f"{BASE}.annotation.txt"


def _name(line: int | None) -> str | None:
    return None if line is None else f"{BASE}:{line}"


def test_links_make_threads() -> None:
    corpus = pv.read(LOG)
    assert corpus.format == "irc"
    expected = [
        # conversation, line, parent, others, speaker, text
        (0, 0, None, [], "old", "does anyone know grub?"),  # linked, though before the rest
        (0, 3, None, [], "kite", "hi, my sound is gone since the update"),
        (0, 4, 3, [], "wren", "kite: which release?"),
        (0, 5, None, [], "rook", "is back"),
        (0, 6, 4, [], "kite", "wren: 31.04"),
        (0, 7, 5, [0], "old", "rook: wb. and grub?"),
        (0, 9, 7, [6], "wren", "kite, old: sorry, no idea"),
        (10, 10, None, [], "[_]`", "try pavucontrol > output"),  # replies to a line of the system
    ]
    assert corpus.table.select(
        "conversation", "id", "reply_to", "other_parents", "speaker", "text"
    ).rows() == [
        (_name(thread), _name(line), _name(parent), [_name(other) for other in others], who, words)
        for thread, line, parent, others, who, words in expected
    ]
    assert corpus.table["time"].dt.to_string("%H:%M").to_list()[:3] == ["03:50", "03:55", "03:56"]
    assert corpus.notes.counts == {"extra_parent": 2, "system_message": 1}
    assert corpus.notes.places["extra_parent"] == [f"{LOG.name} line 8", f"{LOG.name} line 10"]


def test_without_links_a_channel_is_one_conversation(tmp_path: Path) -> None:
    shutil.copy(LOG, tmp_path)
    corpus = pv.read(tmp_path / LOG.name)
    assert (corpus.n_conversations, corpus.n_messages) == (1, 9)
    assert corpus.table["conversation"][0] == BASE
    assert corpus.notes.counts == {"system_message": 2}


def test_other_programs_logs() -> None:
    corpus = pv.read(FIXTURES / "channel.log")
    assert corpus.format == "irc"
    assert corpus.table.select("speaker", "text").rows() == [
        ("wren", "anyone around?"),
        ("rook", "yes"),
        ("wren", "waves"),
    ]
    assert corpus.notes.counts == {"system_message": 2}


def test_folder_of_logs(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    for file in (LOG, LINKS):
        shutil.copy(file, tmp_path / "train")
    (tmp_path / "train" / "2031-06-01.ascii.txt").write_text("[10:00] <a> hi\n")
    (tmp_path / "train" / f"{BASE}.tok.txt").write_text("<s> hi </s>\n")
    corpus = pv.read(tmp_path)
    assert corpus.format == "irc"
    assert corpus.table["conversation"].unique(maintain_order=True).to_list() == [
        f"train/{BASE}:0",
        f"train/{BASE}:10",
        "train/2031-06-01",
    ]


def test_compressed_links(tmp_path: Path) -> None:
    shutil.copy(LOG, tmp_path)
    (tmp_path / f"{LINKS.name}.gz").write_bytes(gzip.compress(LINKS.read_bytes()))
    assert pv.read(tmp_path / LOG.name).n_conversations == 2


def test_bad_links_and_lines_are_counted(tmp_path: Path) -> None:
    (tmp_path / "x.ascii.txt").write_text("[10:00] <a> one\n[10:01] <b> two\nrubbish\n")
    (tmp_path / "x.annotation.txt").write_text("1 0 -\n0 99 -\nx y -\n-1 0 -\n0 0 -\n\n")
    corpus = pv.read(tmp_path / "x.ascii.txt", format="irc")
    assert corpus.table["reply_to"].to_list() == [None, "x:0"]
    assert corpus.notes.places["bad_line"] == [
        "x.annotation.txt line 2",
        "x.annotation.txt line 3",
        "x.annotation.txt line 4",
        "x.ascii.txt line 3",
    ]


def test_truncated_log_loses_its_last_links_only(tmp_path: Path) -> None:
    data = LOG.read_bytes()
    (tmp_path / LOG.name).write_bytes(data[: data.index(b"=== owl")])
    shutil.copy(LINKS, tmp_path)
    corpus = pv.read(tmp_path / LOG.name)
    assert corpus.n_messages == 6
    assert corpus.notes.counts["bad_line"] == 3


@settings(max_examples=40, deadline=None)
@given(mutations(LOG.read_bytes()), mutations(LINKS.read_bytes()))
def test_broken_bytes(log: bytes, links: bytes) -> None:
    files = {LOG.name: log, LINKS.name: links}
    read_tree_or_refuse(files)
    read_tree_or_refuse(files, LOG.name, format="irc")
