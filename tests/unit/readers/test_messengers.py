"""Messengers: what the common test of exports cannot see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.fuzz import read_or_refuse
from support.growth import assert_linear

import palaver as pv
from palaver.corpus.readers.chats.google_chat import iso_time
from palaver.corpus.readers.chats.messenger import repaired

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.mark.parametrize("text", ["Zoë Müller 🙂", "Привет", "日本語", "naïve – “quoted”"])
def test_utf8_read_as_latin1_is_repaired(text: str) -> None:
    assert repaired(text.encode().decode("latin-1")) == text
    assert repaired(text) == text  # what is right stays as it is


def test_text_that_is_really_latin1_stays() -> None:
    assert repaired("déjà vu, ça va") == "déjà vu, ça va"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Tuesday, March 4, 2031 at 3:01:12\u202fPM UTC", "2031-03-04T15:01:12"),
        ("Wednesday, May 7, 2031 at 12:05:00 AM UTC", "2031-05-07T00:05:00"),
        ("Dienstag, 4. März 2031 um 16:00:00 UTC", "2031-03-04T16:00:00"),
        ("martes, 4 de marzo de 2031, 9:00:00 UTC", "2031-03-04T09:00:00"),
        ("mardi 4 mars 2031 à 09:05:00 UTC", "2031-03-04T09:05:00"),
        ("mercoledì 30 aprile 2031 alle ore 10:15:00 UTC", "2031-04-30T10:15:00"),
        ("вторник, 4 марта 2031 г. в 09:05:00 UTC", "2031-03-04T09:05:00"),
        ("maandag 3 maart 2031 om 09:05:00 UTC", "2031-03-03T09:05:00"),
        ("yesterday", None),
        (None, None),
    ],
)
def test_dates_of_google_chat(given: str | None, expected: str | None) -> None:
    assert iso_time(given) == expected


def test_telegram_is_read_as_a_stream(tmp_path: Path) -> None:
    message = (
        '{"id": %d, "type": "message", "date": "2031-03-01", "from_id": "user1", "text": "%s"}'
    )

    def read(n_messages: int) -> None:
        path = tmp_path / "result.json"
        items = ",\n".join(message % (number, "wörd " * 100) for number in range(n_messages))
        path.write_text(
            '{"name": "x", "type": "private_group", "id": 5, "messages": [' + items + "]}"
        )
        assert pv.read(path).n_messages == n_messages

    assert_linear(read, 2_000)


def test_a_name_of_a_chat_in_a_message_is_no_chat() -> None:
    text = 'he wrote "messages": [{"id": 1}] and "name": "evil"'
    data = {"name": "good", "type": "personal_chat", "id": 5, "messages": [
        {"id": 1, "type": "message", "date": "2031-03-01", "from_id": "u1", "text": text},
        {"id": 2, "type": "message", "date": "2031-03-01", "from_id": "u1", "text": "b"},
    ]}  # fmt: skip
    corpus = read_or_refuse(json.dumps(data).encode(), "result.json")
    assert corpus is not None
    assert corpus.table["text"].to_list() == [text, "b"]
    assert set(corpus.table["chat"]) == {"good"}


@pytest.mark.parametrize(
    "name",
    [
        "messenger/inbox",
        "telegram_account/result.json",
        "signal/main.jsonl",
        "teams/messages.json",
        "google-chat/Google Chat",
    ],
)
def test_names_of_chats_are_names_of_people(name: str) -> None:
    whole = str(pv.read(FIXTURES / name).anonymized().table.to_dicts())
    for word in ("Müller", "zoemueller", "Berg", "Family", "Bo Chan", "8:bo", "Office"):
        assert word not in whole
