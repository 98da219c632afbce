"""Hostile texts on the terminal and in spreadsheets; terminals of other encodings; broken pipes."""

import json
import os
import subprocess
import sys

import polars as pl
import pytest
from support.verbs import call

import palaver as pv
from palaver.cli.terminal import escaped_json, visible
from palaver.corpus.write import without_formulas

ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\x7f"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    rows = [
        {"conversation": f"c{i // 4}", "id": str(i), "reply_to": str(i - 1) if i % 4 else None,
         "speaker": f"ann{i % 3}{ESCAPES}", f"odd…{ESCAPES}": "x" * 9,
         "text": f"hello … world {ESCAPES} number {i}. And more of it!"}
        for i in range(40)
    ]  # fmt: skip
    path = folder / "hostile.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


@pytest.fixture(scope="module")
def run_folder(hostile):
    out = hostile.parent / "run"
    call("fit", "lda", hostile, "--classes", 2, "--sweeps", 4, "--out", out)
    return out


def palaver(*arguments, **options):
    """Run the program as a user does."""
    environment = {**os.environ, **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "palaver", *map(str, arguments)],
        env=environment, check=False, **{"capture_output": True, **options},
    )  # fmt: skip


def test_control_characters_show_as_pictures():
    assert visible("a\x1b[2J\x9b1m\x7f\tb\n") == "a␛[2J�1m␡\tb\n"
    assert json.loads(escaped_json(json.dumps("\x9b\x1b", ensure_ascii=False))) == "\x9b\x1b"


@pytest.mark.parametrize(
    "verb", ["check", "people", "summarize", "shares", "classes", "check --json", "people --json"]
)
def test_no_escape_sequence_of_a_file_reaches_the_terminal(verb, hostile, run_folder):
    name, *options = verb.split()
    places = {"shares": [run_folder], "classes": [run_folder]}.get(name, [hostile])
    done = palaver(name, *places, *options, env={"TERM": "xterm", "FORCE_COLOR": "1"})
    assert done.returncode == 0, done.stderr
    shown = (done.stdout + done.stderr).decode()
    assert "owned" in shown or name == "classes"
    for sequence in ("\x1b[2J", "\x1b]0", "\x07", "\x9b", "\x7f"):
        assert sequence not in shown


def test_no_escape_sequence_of_a_name_reaches_the_terminal_in_errors(tmp_path):
    done = palaver("check", tmp_path / f"none{ESCAPES[:4]}")
    assert done.returncode == 1
    assert b"\x1b" not in done.stderr


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1"])
@pytest.mark.parametrize("verb", ["check", "shares"])
def test_terminals_that_lack_characters(encoding, verb, hostile, run_folder):
    place = run_folder if verb == "shares" else hostile
    done = palaver(verb, place, env={"PYTHONIOENCODING": encoding})
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode(encoding)


def test_json_loses_nothing_where_the_terminal_lacks_characters(hostile):
    done = palaver("check", hostile, "--json", env={"PYTHONIOENCODING": "ascii"})
    assert "…" in str(json.loads(done.stdout))


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_that_has_seen_enough(options, hostile):
    command = [sys.executable, "-m", "palaver", "check", str(hostile), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 0, said
    assert b"Traceback" not in said


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_output_to_a_full_device(hostile):
    with open("/dev/full", "w") as full:
        done = palaver("check", hostile, stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert done.stderr.decode().startswith("palaver: the output: cannot be")
    assert b"No space left" in done.stderr


FORMULAS = ["=cmd|' /C calc'!A0", "+1", "-2", "@SUM(A1)", "\t=1", "plain", "", None]


def test_texts_that_a_spreadsheet_takes_for_formulas():
    table = pl.DataFrame({"=1+1": FORMULAS, "n": [-1.5] * len(FORMULAS)})
    safe = without_formulas(table)
    assert safe.columns == ["'=1+1", "n"]
    assert safe["'=1+1"].to_list() == [f"'{text}" for text in FORMULAS[:5]] + ["plain", "", None]
    assert safe["n"].to_list() == table["n"].to_list()


def test_spreadsheets_are_safe_where_asked_for_and_round_trips_exact(tmp_path):
    texts = [text for text in FORMULAS if text]
    corpus = pv.Corpus.from_polars(pl.DataFrame({"speaker": texts, "text": texts}))
    source, plain, safe = (tmp_path / name for name in ("x.jsonl", "plain.csv", "safe.csv"))
    corpus.write(source)
    call("convert", source, plain)
    assert pv.read(plain).table["text"].to_list() == corpus.table["text"].to_list()
    call("convert", source, safe, "--spreadsheet")
    found = pl.read_csv(safe)
    assert not found["speaker"].str.contains(r"^[=+\-@\t]").any()
    assert found["text"][0] == "'" + texts[0]


def test_tables_for_spreadsheets_are_safe_by_default(hostile, run_folder, tmp_path):
    rows = [{"speaker": "=1+1", "text": "hello … world"}, {"speaker": "b", "text": "more of it"}]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    call("shares", run_folder, path, "--out", tmp_path / "safe.csv")
    call("shares", run_folder, path, "--out", tmp_path / "raw.csv", "--formulas")
    assert "'=1+1" in pl.read_csv(tmp_path / "safe.csv")["group"].to_list()
    assert "=1+1" in pl.read_csv(tmp_path / "raw.csv")["group"].to_list()
