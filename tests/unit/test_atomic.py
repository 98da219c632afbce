"""Files and folders appear complete or not at all, and a failure leaves the old ones intact."""

import errno
import os
import stat
import subprocess
import sys

import pytest

from palaver.errors import StoreError
from palaver.store import atomic, locked
from palaver.store.atomic import replace_file, replace_folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def write(path, text, error=None):
    with replace_file(path) as temporary:
        temporary.write_text(text)
        if error:
            raise error


def fill(path, error=None, **files):
    with replace_folder(path) as temporary:
        for name, text in files.items():
            (temporary / name).write_text(text)
        if error:
            raise error


def test_a_file_is_made_and_replaced(tmp_path):
    path = tmp_path / "new" / "x.txt"
    write(path, "one")
    write(path, "two")
    assert path.read_text() == "two"
    assert names(path.parent) == ["x.txt"]


def test_the_temporary_name_is_beside_the_file_and_nothing_shows_before_the_end(tmp_path):
    path = tmp_path / "x.txt"
    with replace_file(path) as temporary:
        temporary.write_text("half")
        assert temporary.parent == tmp_path
        assert not path.exists()
    assert path.read_text() == "half"


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_no_litter(tmp_path, error):
    path = tmp_path / "x.txt"
    write(path, "old")
    with pytest.raises(type(error)):
        write(path, "half", error)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["x.txt"]


def test_the_file_is_synced_before_it_is_renamed(tmp_path, monkeypatch):
    steps = []
    sync, rename = atomic.sync, atomic._rename
    monkeypatch.setattr(atomic, "sync", lambda path: (steps.append("sync"), sync(path)))
    monkeypatch.setattr(atomic, "_rename", lambda *paths: (steps.append("rename"), rename(*paths)))
    write(tmp_path / "x", "text")
    assert steps == ["sync", "rename", "sync"]


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "the disk is full; make room"),
        (errno.EACCES, "not allowed; choose another folder"),
        (errno.EROFS, "read-only; choose another folder"),
    ],
)
def test_errors_of_the_disk_say_what_to_do(tmp_path, code, advice):
    path = tmp_path / "x.txt"
    write(path, "old")
    with pytest.raises(StoreError, match=advice) as caught:
        write(path, "half", OSError(code, os.strerror(code)))
    assert str(path) in str(caught.value)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["x.txt"]


def test_a_folder_in_the_way_and_a_file_on_the_way_are_store_errors(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        write(tmp_path / "folder", "x")
    with pytest.raises(StoreError, match="cannot be written"):
        write(tmp_path / "file" / "x", "x")
    assert names(tmp_path) == ["file", "folder"]


def test_a_name_as_long_as_names_can_be_works(tmp_path):
    path = tmp_path / ("x" * 250 + ".txt")
    write(path, "one")
    assert path.read_text() == "one"


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_permissions_are_kept_and_links_followed(tmp_path):
    path, link = tmp_path / "x.txt", tmp_path / "link.txt"
    write(path, "old")
    path.chmod(0o600)
    link.symlink_to(path)
    write(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_is_made_and_replaced(tmp_path):
    path = tmp_path / "new" / "folder"
    fill(path, a="1", b="2")
    fill(path, c="3")
    assert names(path) == ["c"]
    assert names(path.parent) == ["folder"]


def test_a_failure_leaves_the_old_folder_and_no_litter(tmp_path):
    path = tmp_path / "folder"
    fill(path, a="1")
    with pytest.raises(ValueError, match="mine"):
        fill(path, ValueError("mine"), b="half")
    assert names(path) == ["a"]
    assert names(tmp_path) == ["folder"]


def test_the_old_folder_comes_back_if_the_last_rename_fails(tmp_path, monkeypatch):
    path = tmp_path / "folder"
    fill(path, a="1")
    monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    rename, calls = atomic._rename, []

    def fails_second(source, target):
        calls.append(source)
        if len(calls) == 2:
            raise OSError(errno.EACCES, "no")
        rename(source, target)

    monkeypatch.setattr(atomic, "_rename", fails_second)
    with pytest.raises(StoreError):
        fill(path, b="2")
    assert (path / "a").read_text() == "1"
    assert names(tmp_path) == ["folder"]


def test_windows_renames_wait_for_whoever_holds_the_file(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("x")
    replace, calls = os.replace, []

    def held_twice(source, target):
        calls.append(source)
        if len(calls) < 3:
            raise PermissionError(errno.EACCES, "held")
        replace(source, target)

    monkeypatch.setattr(atomic, "_RENAME_TRIES", 3)
    monkeypatch.setattr(atomic, "_PAUSE_SECONDS", 0)
    monkeypatch.setattr(atomic.os, "replace", held_twice)
    atomic._rename(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_text() == "x"


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a folder is moved aside")
def test_a_folder_is_replaced_in_one_step(tmp_path, monkeypatch):
    path = tmp_path / "folder"
    fill(path, a="1")
    seen, exchange = [], atomic._exchange

    def watched(one, other):
        done = exchange(one, other)
        seen.append((done, names(path)))
        return done

    monkeypatch.setattr(atomic, "_exchange", watched)
    monkeypatch.setattr(atomic, "_rename", None)  # is not called
    fill(path, b="2")
    assert seen == [(True, ["b"])]
    assert names(tmp_path) == ["folder"]


@pytest.mark.skipif(os.name != "posix", reason="processes are told apart on Linux and macOS")
def test_what_killed_processes_left_is_removed_by_the_next_writer(tmp_path):
    code = (
        "import os, signal, sys\nfrom palaver.store.atomic import replace_file, replace_folder\n"
        "with replace_file(sys.argv[1] + '/x') as path, replace_folder(sys.argv[1] + '/y') as y:\n"
        "    path.write_text('half')\n    (y / 'a').write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert len(names(tmp_path)) == 2
    other = tmp_path / ".palaver-0123abcd-1-0123456789abcdef.tmp"  # of another machine
    other.write_text("x")
    with atomic.replace_file(tmp_path / "z") as mine:
        mine.write_text("1")
        write(tmp_path / "x", "2")  # leaves what a living process is writing
    assert names(tmp_path) == [other.name, "x", "z"]


def test_a_write_that_was_cut_short_is_a_full_disk(tmp_path):
    full = pytest.raises(StoreError, match="the disk is full; make room")
    with full, atomic.explained(tmp_path):
        raise OSError("82800 requested and 11248 written")


@pytest.mark.skipif(os.name != "posix", reason="processes are told apart on Linux and macOS")
def test_whoever_takes_the_lock_of_a_folder_removes_the_litter_in_it(tmp_path):
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                           capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
    (tmp_path / "checkpoint").mkdir()
    name = f".palaver-{atomic._HOST}-{ended}-0123456789abcdef.tmp"
    for folder in (tmp_path, tmp_path / "checkpoint"):
        (folder / name).write_text("half")
    with locked(tmp_path):
        assert names(tmp_path) == ["checkpoint", "lock"]
        assert names(tmp_path / "checkpoint") == []
