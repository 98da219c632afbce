"""Stored folders: round trip, damage, newer formats, kills, locks."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from palaver.errors import (
    DamagedStoreError,
    LockedStoreError,
    NewerStoreError,
    OlderStoreError,
    StoreError,
)
from palaver.store import load, locked, save
from palaver.store.fingerprint import fingerprint_of
from palaver.store.folder import MANIFEST

ARRAYS = {
    "counts": np.arange(12, dtype=np.int32).reshape(3, 4),
    "empty": np.empty((0, 2)),
    "scalar": np.array(2.5),
    "flags": np.array([True, False]),
}


@pytest.fixture
def folder(tmp_path):
    save(tmp_path / "run", "model", {"name": "x", "text": "ä\n"}, ARRAYS)
    return tmp_path / "run"


def array_file(folder: Path, name: str) -> Path:
    return next(folder.glob(f"arrays-*/{name}.npy"))


@pytest.mark.parametrize("mapped", [False, True])
def test_round_trip(folder, mapped):
    stored = load(folder, "model", mapped=mapped)
    assert stored.content == {"name": "x", "text": "ä\n"}
    assert stored.versions["numpy"] == np.__version__
    assert not stored.from_previous
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(stored.arrays[name], array)
        assert stored.arrays[name].dtype == array.dtype
        assert stored.arrays[name].shape == array.shape


def test_second_save_replaces_and_leaves_no_old_files(folder):
    save(folder, "model", {"name": "y"}, {"other": np.ones(3)})
    assert set(load(folder).arrays) == {"other"}
    assert len(list(folder.glob("arrays-*"))) == 1


def test_numbers_of_numpy_are_kept_as_pythons(tmp_path):
    save(tmp_path, "model", {"n": np.int64(3), "deep": [{"x": np.float32(0.5)}]}, {})
    assert load(tmp_path).content == {"n": 3, "deep": [{"x": 0.5}]}


def test_content_that_json_cannot_hold_leaves_the_folder_as_it_was(folder):
    for content in ({"n": {1, 2}}, {"n": float("nan")}):
        with pytest.raises(StoreError, match="cannot be saved as JSON"):
            save(folder, "model", content, {})
    assert load(folder).content["name"] == "x"
    assert len(list(folder.glob("arrays-*"))) == 1


def test_objects_are_refused(tmp_path):
    with pytest.raises(ValueError, match="Object arrays"):
        save(tmp_path, "model", {}, {"bad": np.array([{}], dtype=object)})


def test_altered_content_is_noticed(folder):
    path = array_file(folder, "counts")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedStoreError, match=r"altered.*from a backup"):
        load(folder)


def test_cut_short_is_noticed_also_when_mapped(folder):
    path = array_file(folder, "counts")
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(DamagedStoreError, match="bytes instead of"):
        load(folder, mapped=True)


def test_missing_array_is_noticed(folder):
    array_file(folder, "counts").unlink()
    with pytest.raises(DamagedStoreError, match="missing"):
        load(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "one"}', '{"format": 2}', "\x00"])
def test_damaged_manifest(folder, text):
    (folder / MANIFEST).write_text(text)
    with pytest.raises(DamagedStoreError):
        load(folder)


def test_manifest_cannot_name_files_elsewhere(folder):
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["generation"] = "../elsewhere"
    (folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(DamagedStoreError, match="outside"):
        load(folder)


def test_newer_format(folder):
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["format"] = 99
    (folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(NewerStoreError, match="newer Palaver"):
        load(folder)


def test_older_format_says_to_fit_again(folder):
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["format"] = 1
    (folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(OlderStoreError, match=r"older Palaver .* fit or write it again"):
        load(folder)


def test_not_a_stored_folder(tmp_path):
    with pytest.raises(StoreError, match="not a folder written by Palaver"):
        load(tmp_path)


def test_wrong_kind(folder):
    with pytest.raises(StoreError, match="holds a model, not a corpus"):
        load(folder, "corpus")


def test_falls_back_to_the_generation_before(folder):
    save(folder, "model", {"name": "new"}, {"counts": np.ones(2)}, keep_previous=True)
    newest = json.loads((folder / MANIFEST).read_text())["generation"]
    (folder / newest / "counts.npy").write_bytes(b"")
    stored = load(folder)
    assert stored.from_previous
    assert stored.content["name"] == "x"


def test_kill_while_saving_leaves_a_loadable_folder(tmp_path):
    script = (
        "import sys, numpy as np\n"
        "from palaver.store import save\n"
        "for i in range(10**6):\n"
        "    save(sys.argv[1], 'model', {'i': i}, {'a': np.full(20_000, i)}, keep_previous=True)\n"
        "    print(i, flush=True)\n"
    )
    pauses = np.random.default_rng(5).uniform(0, 0.05, 6)
    for pause in pauses:
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "run")], stdout=subprocess.PIPE
        )
        process.stdout.readline()
        time.sleep(pause)
        process.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        process.communicate()
        stored = load(tmp_path / "run")
        assert not stored.from_previous
        assert (stored.arrays["a"] == stored.content["i"]).all()


def test_lock_is_exclusive_between_processes_and_dies_with_its_holder(tmp_path):
    script = (
        "import sys, time\nfrom palaver.store import locked\n"
        "with locked(sys.argv[1]):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE
    )
    try:
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(LockedStoreError, match="another process"), locked(tmp_path):
            pass
    finally:
        process.kill()
        process.communicate()
    with locked(tmp_path):
        pass


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user without root")
def test_read_only_folder(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="cannot be written"):
        save(tmp_path / "run", "model", {}, {})


def test_fingerprints_tell_what_differs_in_any_way():
    row = np.arange(6, dtype=np.int32)
    parts = [
        (row,), (row.reshape(2, 3),), (row.reshape(3, 2),), (row.view(np.uint32),), (row[::-1],),
        (row, 1), (1, row), ("ab", "c"), ("abc",), (1, 23), (12, 3), (123,), ("123",), (),
    ]  # fmt: skip
    assert len({fingerprint_of(*part) for part in parts}) == len(parts)
    assert fingerprint_of(row.reshape(2, 3).T) == fingerprint_of(row.reshape(2, 3).T.copy())
