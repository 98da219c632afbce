"""``check``, ``convert`` and ``demo``: through the runner, and once through a real process."""

import json
import subprocess
import sys

import pytest
from support.verbs import call

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
    assert "Known formats" in unknown.stderr
    version = palaver("--version")
    assert version.stdout.strip() == f"palaver {pv.__version__}"
