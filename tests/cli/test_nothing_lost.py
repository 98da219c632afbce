"""Disks that are full or read-only, two writers: hours of work are never lost."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import palaver as pv
from palaver.store import locked


@pytest.fixture
def threads(tmp_path):
    return pv.sample(30).write(tmp_path / "threads.jsonl")


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 3 MB; needs the right to mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def palaver(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "palaver", *map(str, arguments)], capture_output=True, text=True
    )


def test_a_full_disk_does_not_end_a_run(threads, small_disk):
    """Checkpoints fail with a warning; the model is saved where there is space."""
    run = small_disk / "run"
    fit = ["fit", "lda", threads, "--classes", 3, "--sampler", "collapsed", "--sweeps"]
    assert "disk" not in palaver(*fit, 20, "--out", run).stderr
    free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    (small_disk / "filling").write_bytes(b"x" * free)
    full = palaver("fit", "--resume", run, "--sweeps", 40, "--checkpoint-seconds", 0)
    assert full.returncode == 0, full.stderr
    assert "Traceback" not in full.stderr
    assert "no checkpoint of sweep 21" in full.stderr
    assert "the disk is full; make room" in full.stderr
    rescued = Path(re.search(r"the model was saved in (\S+) instead", full.stderr)[1])
    assert pv.load(rescued).n_sweeps_ == 40
    assert pv.load(run).n_sweeps_ == 20, "what was there before is untouched"
    (small_disk / "filling").unlink()
    again = palaver("fit", "--resume", run, "--sweeps", 40)
    assert again.returncode == 0, again.stderr
    assert (pv.load(run).class_words_ == pv.load(rescued).class_words_).all()


def test_two_processes_on_one_run(threads, tmp_path):
    run = tmp_path / "run"
    assert palaver("fit", "lda", threads, "--sweeps", 4, "--out", run).returncode == 0
    with locked(run):
        second = palaver("fit", "--resume", run, "--sweeps", 8)
    assert second.returncode == 1
    assert "another process is writing to it; wait for it" in second.stderr
    assert "Traceback" not in second.stderr


def test_a_folder_that_cannot_be_written(threads, small_disk):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    result = palaver("fit", "lda", threads, "--sweeps", 4, "--out", small_disk / "run")
    assert result.returncode == 1
    assert "the disk is read-only; choose another folder" in result.stderr
    assert "Traceback" not in result.stderr
