"""``palaver explore``: starting, and everything that can be wrong with a start."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request

import polars as pl
import pytest
from support.verbs import call, fails
from support.workbench import Client

import palaver as pv
from palaver.explore import serve as serving
from palaver.explore.stored import origin_of, place_of


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A run of a file, and the file."""
    folder = tmp_path_factory.mktemp("explored")
    file = pv.sample(60).write(folder / "talk.jsonl")
    call("fit", file, "--out", folder / "run", "--sweeps", 10, "--chains", 2)
    return folder


@pytest.fixture
def place(fitted, tmp_path):
    """A copy of both, at other addresses, so that tests can break it."""
    shutil.copytree(fitted, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def served(monkeypatch):
    """What would be served."""
    found = []

    def serve(workbench, *, port, open_browser, tell):
        tell("http://127.0.0.1:1/?token=x", 1)
        found.append({"n": workbench.index.n_messages, "port": port, "open": open_browser,
                      "read_only": workbench.read_only})  # fmt: skip

    monkeypatch.setattr(serving, "serve", serve)
    return found


def index_of(run):
    return sorted(path.name for path in place_of(run, anonymize=False).iterdir())


def test_the_index_is_made_once_and_again_after_a_new_fit(fitted, place, served):
    run = place / "run"
    assert "http://127.0.0.1:1/?token=x" in call("explore", run, fitted / "talk.jsonl", "--no-open")
    made = index_of(run)
    call("explore", run, fitted / "talk.jsonl", "--read-only", "--port", 9000)
    assert index_of(run) == made
    assert [own["port"] for own in served] == [None, 9000]
    assert [own["open"] for own in served] == [False, True]
    assert [own["read_only"] for own in served] == [False, True]
    call("fit", "--resume", run, "--sweeps", 12)
    call("explore", run, fitted / "talk.jsonl")
    assert index_of(run) != made


def test_what_people_decide_needs_no_new_index(place):
    run = place / "run"
    before = origin_of(run, "x")
    (run / "curation.json").write_text("{}")
    assert origin_of(run, "x") == before


@pytest.mark.parametrize("damage", ["texts", "arrays", "manifest", "overview"])
def test_a_damaged_index_is_made_again(fitted, place, served, damage):
    run = place / "run"
    call("explore", run, fitted / "talk.jsonl")
    folder = place_of(run, anonymize=False)
    files = {"texts": "texts-*", "arrays": "arrays-*/shares*", "manifest": "manifest.json"}
    path = next(folder.glob(files.get(damage, "overview-*")))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    call("explore", run, fitted / "talk.jsonl")
    assert len(served) == 2


def test_a_file_that_moved_or_changed_is_asked_for(fitted, place, served):
    run = place / "run"
    file = fitted / "talk.jsonl"
    kept = file.read_bytes()
    try:
        file.unlink()
        said = fails("explore", run)
        assert str(file) in said
        assert "give a FILE" in said
        (place / "talk.jsonl").write_bytes(kept)
        call("explore", run, place / "talk.jsonl")
        table = pv.read(place / "talk.jsonl").table.with_columns(
            text=pl.col("text") + pl.lit(" changed")
        )
        pv.Corpus.from_polars(table).write(file)
        said = fails("explore", run)
        assert "has changed since" in said
        assert f"palaver explore {run} {file}" in said
    finally:
        file.write_bytes(kept)
    assert [own["n"] for own in served] == [pv.read(file).n_messages]


def test_texts_are_in_the_index_when_the_file_is_gone(fitted, place, served):
    run, file = place / "run", fitted / "talk.jsonl"
    call("explore", run)
    kept = file.read_bytes()
    try:
        file.unlink()
        call("explore", run)
    finally:
        file.write_bytes(kept)
    assert len(served) == 2


def test_what_is_no_run_is_said(tmp_path):
    assert "palaver fit FILE --out" in fails("explore", tmp_path)


def test_missing_packages_are_said(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "starlette", None)
    assert "pip install 'palaver[explore]'" in fails("explore", tmp_path)


def test_an_sqlite_without_fts_is_said(monkeypatch, tmp_path):
    import sqlite3

    from palaver.explore import texts

    class Old:
        def execute(self, *_):
            raise sqlite3.OperationalError("no such module: fts5")

        def close(self):
            pass

    monkeypatch.setattr(texts.sqlite3, "connect", lambda *_: Old())
    assert "FTS5" in fails("explore", tmp_path)


def test_no_browser_where_there_is_no_screen(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not serving.has_browser()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_from_the_first_line_to_ctrl_c(fitted, place):
    command = [sys.executable, "-u", "-m", "palaver", "explore", str(place / "run"),
               str(fitted / "talk.jsonl"), "--port", "0", "--no-open"]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "COLUMNS": "200"},
    ) as process:  # fmt: skip
        watchdog = threading.Timer(120, process.kill)
        watchdog.start()
        address = ""
        while not address:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            address = "".join(re.findall(r"http://\S+", line))
        for _ in range(100):
            try:
                client = Client(address)
                break
            except ConnectionError:
                time.sleep(0.1)
        assert client.get("/api/search")["messages"] > 0
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(address.partition("?")[0], timeout=10)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr.read() == ""
        watchdog.cancel()
