"""Forums: what the common test of exports cannot see."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from support.fuzz import read_or_refuse
from support.growth import assert_linear

import palaver as pv
from palaver.errors import FormatError

FIXTURES = Path(__file__).parents[2] / "fixtures"
POSTS = FIXTURES / "stackexchange" / "bread" / "Posts.xml"


def test_code_has_a_column_of_its_own() -> None:
    posts = pv.read(POSTS.parent).table
    assert posts["code"].to_list() == [["flour = 500"], None, None, None]
    assert posts["kind"].to_list() == ["question", "comment", "answer", "comment"]
    assert posts["score"].to_list() == [12, 0, -1, 5]
    issue = pv.read(FIXTURES / "github" / "both.json").table
    assert issue["code"].to_list()[0] == ["Traceback: heat"]
    assert issue["bot"].to_list() == [False, False, True, False, False]


def test_posts_or_comments_alone() -> None:
    posts = pv.read(POSTS)
    assert posts.table["id"].to_list() == ["1", "3"]
    comments = pv.read(POSTS.with_name("Comments.xml"))
    assert comments.table["conversation"].to_list() == ["1", "3"]
    assert comments.table["reply_to"].null_count() == 2  # what they answer is in the other file
    assert comments.notes.counts == {}


BOMB = b"""<?xml version="1.0"?>
<!DOCTYPE posts [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>
<posts>
  <row Id="1" PostTypeId="1" Body="&c;" />
</posts>
"""
FOREIGN = b"""<?xml version="1.0"?>
<!DOCTYPE posts [<!ENTITY a SYSTEM "file:///etc/passwd">]>
<posts>
  <row Id="1" PostTypeId="1" Body="x" />
</posts>
"""


@pytest.mark.parametrize("data", [BOMB, FOREIGN, BOMB.replace(b"<!ENTITY", b"<!ELEMENT")])
def test_declared_entities_are_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "Posts.xml"
    path.write_bytes(data)
    with pytest.raises(FormatError, match="declares XML entities"):
        pv.read(path, format="stackexchange")


def test_a_cut_dump_keeps_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "Posts.xml"
    path.write_bytes(POSTS.read_bytes()[:-60])
    corpus = pv.read(path)
    assert corpus.table["id"].to_list() == ["1"]
    assert corpus.notes.counts["truncated"] == 1


def test_dumps_take_linear_time(tmp_path: Path) -> None:
    row = (
        '  <row Id="%d" PostTypeId="1" CreationDate="2031-03-01T09:00:00" Body="%s" Title="t" />\n'
    )

    def read(n_posts: int) -> None:
        path = tmp_path / "Posts.xml"
        rows = "".join(row % (number, "word " * 60) for number in range(n_posts))
        path.write_text(f"<posts>\n{rows}</posts>\n")
        assert pv.read(path).n_messages == n_posts

    assert_linear(read, 1_000)


@pytest.mark.parametrize("mark", ["<!--", "<pre>", "```\n~~~\n", "> \n", "<p", "<quote>"])
def test_hostile_markup_takes_no_time(mark: str) -> None:
    body = mark * 50_000
    issue = {"number": 1, "title": "t", "body": body, "user": {"login": "a"}, "html_url": "x"}
    item = {"by": "a", "id": 1, "type": "story", "time": 1, "text": body}
    old = {
        "conversations": [{"id": "1", "MessageList": [{"messagetype": "Text", "content": body}]}]
    }
    start = time.process_time()
    for known, record in (("github", issue), ("hackernews", item), ("teams", old)):
        assert read_or_refuse(json.dumps(record).encode(), "x.json", format=known) is not None
    assert time.process_time() - start < 5


def test_deep_trees(tmp_path: Path) -> None:
    tree: dict[str, Any] = {"id": 5000, "author": "a", "text": "x", "children": []}
    for number in range(400):
        tree = {"id": number, "author": "a", "text": "x", "created_at_i": 5, "children": [tree]}
    path = tmp_path / "x.json"
    path.write_text(json.dumps(tree))
    assert pv.read(path).n_messages == 401
