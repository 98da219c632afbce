"""``check``, ``convert`` and ``demo``: through the runner, and once through a real process."""

import json
import subprocess
import sys
from zipfile import ZipFile

import pytest
from support.verbs import call, fails

import palaver as pv
from palaver.cli import app

GOOD = [
    {"conversation": "a", "id": "1", "speaker": "Ann", "text": "Mail me: ann@mail.example"},
    {"conversation": "a", "id": "2", "reply_to": "1", "speaker": "Bob", "text": "Done"},
]


@pytest.fixture
def threads(tmp_path):
    path = tmp_path / "threads.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in GOOD))
    return path


def test_check_as_json(threads):
    facts = json.loads(call("check", threads, "--json"))
    assert (facts["conversations"], facts["messages"], facts["speakers"]) == (1, 2, 2)
    assert facts["shape"]["deepest_reply"] == 1
    assert facts["notes"] == []


def test_check_as_text_names_problems_and_lines(threads):
    threads.write_text(threads.read_text() + '{"conversation": "a", "id": "3", "reply_to": "9"}\n')
    output = call("check", threads)
    assert "missing_parent" in output
    assert "line 3" in output


def test_check_exits_with_1_when_something_is_lost(threads):
    threads.write_text(threads.read_text() + "{broken\n")
    facts = json.loads(call("check", threads, "--json", code=1))
    assert facts["notes"][0]["kind"] == "bad_line"
    assert facts["notes"][0]["places"] == ["line 3"]


def test_check_exits_with_1_on_no_messages(tmp_path):
    (tmp_path / "empty.jsonl").write_text('{"text": "x"}\n'[:0])
    call("check", tmp_path / "empty.jsonl", "--format", "jsonl", code=1)


def test_columns_can_be_named(tmp_path):
    path = tmp_path / "odd.jsonl"
    path.write_text('{"what": "hello"}\n')
    facts = json.loads(call("check", path, "--column", "text=what", "--json"))
    assert facts["messages"] == 1
    call("check", path, "--column", "what", code=2)


def test_check_points_to_rebuilding_and_to_empty_columns(tmp_path):
    path = tmp_path / "flat.jsonl"
    rows = [{"conversation": "a", "text": text, "act": None} for text in ("hello", "good day")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    shown = call("check", path)
    assert "palaver reconstruct" in shown
    assert "act (empty)" in shown


FORUM = """nr,in_reply_to,who,when,msg,mood
100,,ann,2024-01-02 10:00,who has a drill?,calm
101,100,bob,2024-01-02 10:05,"I have :rocket: one [b]here[/b], and two at home",calm
102,101,ann,2024-01-02 10:09,thanks a lot,glad
"""


def test_check_says_which_column_is_which_and_shows_messages(tmp_path, monkeypatch):
    path = tmp_path / "forum.csv"
    path.write_text(FORUM)
    monkeypatch.setattr("palaver.cli.output.console.width", 60)
    shown = call("check", path, "--column", "id=nr")
    words = " ".join(shown.split())
    assert "columns id=nr, reply_to=in_reply_to, speaker=who, time=when, text=msg other" in words
    assert "  bob: I have :rocket: one [b]here[/b], and two at home\n" in shown
    assert all(len(line) <= 60 for line in shown.splitlines())
    facts = json.loads(call("check", path, "--column", "id=nr", "--json"))
    assert facts["columns"]["text"] == "msg"
    assert facts["shape"]["replies"] == 2
    assert "mood (2)" in words
    message = fails("check", path, "--column", "text=body")
    assert "the file has only 'nr', 'in_reply_to', 'who', 'when', 'msg', 'mood'" in message
    path.write_text(FORUM.replace("msg", "said"))
    assert "'nr', 'in_reply_to', 'who', 'when', 'said', 'mood' is" in fails("check", path)


def test_lost_replies_are_told_with_the_column_that_has_the_ids(tmp_path):
    path = tmp_path / "forum.csv"
    path.write_text(FORUM)
    shown = " ".join(call("check", path).split())
    assert "no column of ids was found. Try" in shown
    assert "(--column id=nr)" in shown
    assert "2 repairs, 0 losses; for details: palaver check" in call(
        "convert", path, tmp_path / "x.jsonl"
    )
    assert "--column id=nr" not in call("check", path, "--column", "id=nr")
    path.write_text(FORUM.replace(",100,", ",7,").replace(",101,", ",8,"))
    assert "If one of 'nr', 'mood' holds the ids" in pv.read(path).notes.advice[0]
    loose = tmp_path / "loose.csv"
    loose.write_text("id,text\n1,hello\n2,good day\n")
    alone = tmp_path / "alone.csv"
    alone.write_text("thread,text\n1,hello\n2,good day\n")
    assert "palaver reconstruct" in call("check", loose)
    assert "--column conversation=" in " ".join(call("check", alone).split())


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.parquet", "out.csv", "out"])
def test_convert_round_trip(threads, tmp_path, name):
    report = json.loads(call("convert", threads, tmp_path / name, "--json"))
    assert report["messages"] == 2
    again = pv.read(tmp_path / name)
    assert again.table["text"].to_list() == [row["text"] for row in GOOD]
    assert again.table["reply_to"].to_list() == [None, "1"]


def test_convert_anonymizes(threads, tmp_path):
    call("convert", threads, tmp_path / "out.jsonl", "--anonymize")
    text = (tmp_path / "out.jsonl").read_text()
    assert "Ann" not in text
    assert "ann@mail" not in text
    assert "<email>" in text


def test_convert_chains(threads, tmp_path):
    rows = [{"conversation": "a", "id": str(i), "text": "x"} for i in range(3)]
    threads.write_text("".join(json.dumps(row) + "\n" for row in rows))
    call("convert", threads, tmp_path / "out.jsonl", "--chain")
    assert pv.read(tmp_path / "out.jsonl").parents.tolist() == [-1, 0, 1]


def test_unknown_files_get_the_list_of_formats_only_where_it_helps(tmp_path):
    (tmp_path / "x.bin").write_bytes(bytes(range(256)) * 50)
    message = fails("check", tmp_path / "x.bin")
    assert "export it as CSV" in message
    assert "docs/formats.md" in message
    assert "slack" not in message
    (tmp_path / "x.txt").write_text("Dear diary,\n\ntoday nothing happened at all.\n")
    lines = [line.split() for line in fails("check", tmp_path / "x.txt").splitlines()]
    assert ["whatsapp", "WhatsApp", "chat", "exported", "as", "text"] in lines
    with ZipFile(tmp_path / "x.xlsx", "w") as book:
        book.writestr("[Content_Types].xml", "<Types/>")
    assert "save it as CSV" in fails("check", tmp_path / "x.xlsx")


def test_every_verb_has_help_with_an_example():
    for command in app.registered_commands:
        assert "Example:" in call(command.name, "--help")


def test_real_process_and_no_traceback_for_a_mistake(tmp_path):
    def palaver(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "palaver", *map(str, arguments)],
            capture_output=True, text=True, env={"COLUMNS": "40", "PATH": ""},
        )  # fmt: skip

    missing = palaver("check", tmp_path / "nothing.jsonl")
    assert missing.returncode == 1
    assert missing.stderr.startswith("palaver: ")
    assert "Traceback" not in missing.stderr
    assert palaver("check").returncode == 2
    (tmp_path / "x.bin").write_bytes(bytes(range(256)) * 50)
    unknown = palaver("check", tmp_path / "x.bin")
    assert unknown.returncode == 1
    assert "binary file" in unknown.stderr
    version = palaver("--version")
    assert version.stdout.strip() == f"palaver {pv.__version__}"
