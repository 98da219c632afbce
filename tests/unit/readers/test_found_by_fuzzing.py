"""Inputs that once ended in a traceback, cut down to what mattered; found by fuzz/readers.py."""

import os
import shutil
from pathlib import Path

import pytest
from support.fuzz import read_or_refuse, read_tree_or_refuse

import palaver as pv

FIXTURES = Path(__file__).parents[2] / "fixtures"
CHAT = (
    b'{"participants": [], "messages": [{"sender_name": "Ann", "timestamp_ms": 1, "content": "hi"}'
    b'], "title": "\\ud83d"}'
)


def test_a_title_may_hold_half_a_pair_of_surrogates():
    corpus = read_tree_or_refuse({"inbox/a_1/message_1.json": CHAT}, format="messenger")
    assert corpus.table["text"].to_list() == ["hi"]
    assert corpus.table["title"].to_list() == ["\ufffd"]


def test_a_charset_may_hold_a_nul():
    mail = (
        b"From a@b Mon Jan  1 00:00:00 2024\nMessage-ID: <1@b>\nFrom: a@b\n"
        b'Content-Type: text/plain; charset="\0"\n\nh\xc3\xa9llo\n'
    )
    assert read_or_refuse(mail, "list.mbox").n_messages == 1


@pytest.mark.parametrize("encoding", [b"utf-B", b"x\x80y", b"rot13"])
def test_an_encoding_of_xml_may_be_unknown(encoding):
    posts = (
        b'<?xml version="1.0" encoding="' + encoding + b'"?><posts><row Id="1" Body="x"/></posts>'
    )
    for name in ("Posts.xml", "Comments.xml"):
        read_tree_or_refuse({f"bread/{name}": posts}, format="stackexchange")


def test_a_parent_that_is_left_out_may_have_half_a_pair_in_its_name():
    nodes = (
        b'{"id": "r", "parent": "\\ud83d", "message": {"author": {"role": "system"}, "content": '
        b'{"content_type": "text", "parts": ["x"]}}}',
        b'{"id": "m", "parent": "r", "message": {"author": {"role": "user"}, "content": '
        b'{"content_type": "text", "parts": ["hello"]}}}',
    )
    chat = b'[{"mapping": {"r": %b, "m": %b}, "id": "c", "title": "t"}]' % nodes
    corpus = read_or_refuse(chat, "conversations.json", format="chatgpt")
    assert corpus.table["text"].to_list() == ["hello"]


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes")
@pytest.mark.parametrize("file", ["conll/mails.conllu", "conll/chunks.txt", "chatlog/lmsys.parquet",
                                  "chatlog/openai.jsonl", "webvtt/call.vtt"])  # fmt: skip
def test_names_of_files_need_not_be_utf_8(file, tmp_path):
    path = tmp_path / (os.fsdecode(b"caf\xe9") + Path(file).name)
    try:
        shutil.copy(FIXTURES / file, path)
    except OSError:
        pytest.skip("this disk takes no such names")
    corpus = pv.read(path)
    assert corpus.n_messages == pv.read(FIXTURES / file).n_messages
    for suffix in (".csv", ".jsonl", ".parquet"):
        again = corpus.write(tmp_path / (os.fsdecode(b"caf\xe9") + suffix))
        assert pv.read(again).n_messages == corpus.n_messages
