"""DiscordChatExporter JSON: replies, notices, forwards, folders, and truncated files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from support.fuzz import mutations, read_or_refuse, read_tree_or_refuse

import palaver as pv
from palaver.errors import FormatError

FOLDER = Path(__file__).parents[2] / "fixtures" / "discord"
CHANNEL = FOLDER / "Garden Club - Text - tomatoes [900000000000000001].json"
DATA = CHANNEL.read_bytes()


def channel(messages: list[Any], kind: str = "GuildTextChat", identity: str = "7") -> bytes:
    return json.dumps({
        "guild": {"id": "1", "name": "G"},
        "channel": {"id": identity, "type": kind, "name": f"c{identity}"},
        "messages": messages,
    }).encode()  # fmt: skip


def message(identity: str, text: str, reply_to: str | None = None, **fields: Any) -> dict[str, Any]:
    reference = {} if reply_to is None else {"reference": {"messageId": reply_to}}
    author = {"name": "ann", "discriminator": "0"}
    time = "2024-05-01T10:00:00+00:00"
    base = {"id": identity, "type": "Default", "timestamp": time, "content": text}
    return {**base, "author": author, **reference, **fields}


def test_replies_make_conversations_and_the_rest_is_days() -> None:
    corpus = pv.read(CHANNEL)
    assert corpus.format == "discord"
    assert corpus.table.select("conversation", "id", "reply_to", "speaker", "text").rows() == [
        ("900000000000000001/2024-03-01", "1002", None, "Noor#4711", "Welcome @Mia!"),
        ("1003", "1003", None, "mia", "My leaves turn yellow 🍅"),
        ("1003", "1004", "1003", "Noor#4711", "Too much water?"),
        ("1003", "1005", "1004", "mia", ""),
        ("900000000000000001/2024-03-02", "1006", None, "weather#1234", "It will rain tomorrow."),
        ("900000000000000001/2024-03-02", "1007", None, "Noor#4711", ""),
        ("1008", "1008", None, "mia", "I agree with what was deleted"),
    ]
    assert corpus.labels == ["nickname", "bot", "channel", "guild"]
    assert set(corpus.table["channel"]) == {"tomatoes"}
    assert set(corpus.table["guild"]) == {"Garden Club"}
    assert corpus.table.filter("bot")["id"].to_list() == ["1006"]
    time = corpus.table.filter(id="1003")["time"].dt.to_string("%Y-%m-%d %H:%M:%S%.3f").item()
    assert time == "2024-03-01 09:30:00.123"


def test_counts_what_it_left_out() -> None:
    notes = pv.read(CHANNEL).notes
    assert notes.counts == {
        "system_message": 1,
        "media_omitted": 1,
        "quote_cut": 1,
        "no_conversation": 4,
        "empty_text": 2,
        "missing_parent": 1,
    }
    assert notes.places["missing_parent"] == ["message 8"]


def test_reads_a_folder_of_channels() -> None:
    one = channel([message("1", "a"), message("2", "b", "1")], identity="7")
    two = channel([message("3", "c")], identity="8")
    files = {
        "G - one [100000000000000007].json": one,
        "G - two [100000000000000008].json": two,
        "G - bad [100000000000000009].json": b"{}",
        "other.json": b"{}",
    }
    corpus = read_tree_or_refuse(files)
    assert corpus is not None
    assert corpus.format == "discord"
    assert corpus.table["conversation"].to_list() == ["1", "1", "8/2024-05-01"]
    assert corpus.table["channel"].to_list() == ["c7", "c7", "c8"]
    assert corpus.notes.places["bad_file"] == ["G - bad [100000000000000009].json"]


@pytest.mark.parametrize("kind", ["GuildPublicThread", "DirectTextChat"])
def test_a_thread_or_private_chat_is_one_conversation(kind: str) -> None:
    corpus = read_or_refuse(channel([message("1", "a"), message("2", "b")], kind), "x.json")
    assert corpus is not None
    assert corpus.table["conversation"].to_list() == ["7", "7"]


def test_a_crosspost_is_no_reply() -> None:
    reference = {"messageId": "1", "channelId": "another"}
    corpus = read_or_refuse(
        channel([message("1", "a"), message("2", "b", reference=reference)]), "x.json"
    )
    assert corpus is not None
    assert corpus.table["reply_to"].to_list() == [None, None]
    assert corpus.notes.counts == {}


def test_keeps_what_stands_before_the_cut() -> None:
    corpus = read_or_refuse(DATA[: DATA.index(b"It will rain")], CHANNEL.name)
    assert corpus is not None
    assert corpus.table["id"].to_list() == ["1002", "1003", "1004", "1005"]
    assert corpus.notes.counts["truncated"] == 1


def test_survives_wrong_types() -> None:
    strange: list[Any] = [
        None,
        [],
        {"id": 5, "content": None, "author": None, "reference": []},
        {"id": ["a"], "type": 19, "content": 7, "author": {"name": 3, "discriminator": {}}},
        {"content": "\ud83d lone", "timestamp": {}, "reference": {"messageId": {"a": 1}}},
    ]
    corpus = read_or_refuse(channel(strange), "x.json")
    assert corpus is not None
    assert corpus.n_messages == 3
    assert corpus.notes.counts["bad_line"] == 2
    assert corpus.notes.counts["control_characters"] == 1


def test_survives_deep_nesting() -> None:
    data = channel([message("1", "a")])[:-2] + b', {"embeds": ' + b"[" * 100_000
    corpus = read_or_refuse(data, "x.json")
    assert corpus is not None
    assert corpus.table["text"].to_list() == ["a"]
    assert corpus.notes.counts["truncated"] == 1


def test_messages_longer_than_a_chunk() -> None:
    long = "wörter " * 400_000
    corpus = read_or_refuse(channel([message("1", long), message("2", "short", "1")]), "x.json")
    assert corpus is not None
    assert corpus.table["text"].str.len_chars().to_list() == [len(long), 5]


def test_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("{}")
    with pytest.raises(FormatError, match="not a JSON file written by DiscordChatExporter"):
        pv.read(path, format="discord")


@given(mutations(DATA))
@settings(max_examples=60, deadline=None)
def test_only_palaver_errors_escape(data: bytes) -> None:
    read_or_refuse(data, CHANNEL.name, format="discord")
