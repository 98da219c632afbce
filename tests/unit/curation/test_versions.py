"""Taking a new fit: nothing is lost, also if it is killed in between."""

from pathlib import Path

import pytest

from palaver import store
from palaver.curation import versions
from palaver.errors import InputError


def make_run(folder, words):
    store.save(folder, "model", {"said": words}, {})
    store.save(folder / "settings", "run settings", {"said": words}, {})
    (folder / "curation.json").write_text(words)


@pytest.fixture
def run(tmp_path):
    make_run(tmp_path / "run", "old")
    (tmp_path / "run/splits").mkdir()
    (tmp_path / "run/explore").mkdir()
    make_run(tmp_path / "run/refit", "new")
    return tmp_path / "run"


def check_taken(run):
    assert store.load(run).content["said"] == "new"
    assert store.load(run / "settings").content["said"] == "new"
    assert (run / "curation.json").read_text() == "new"
    assert store.load(run / "versions/1").content["said"] == "old"
    assert (run / "versions/1/splits").is_dir()
    assert (run / "explore").is_dir()
    assert not (run / "refit").exists()
    assert not (run / "taking.json").exists()


def test_the_old_fit_is_kept(run):
    assert versions.take(run) == run / "versions/1"
    check_taken(run)
    with pytest.raises(InputError, match="no new fit"):
        versions.take(run)


@pytest.mark.parametrize("moves", range(9))
def test_a_kill_at_any_move_is_finished_later(run, moves, monkeypatch):
    done = []
    move = Path.replace

    def killed(path, target):
        if "taking" not in str(target):
            if len(done) == moves:
                raise KeyboardInterrupt
            done.append(path)
        return move(path, target)

    monkeypatch.setattr(Path, "replace", killed)
    try:
        versions.take(run)
    except KeyboardInterrupt:
        monkeypatch.undo()
        versions.finish(run)
    check_taken(run)


def test_leaving_removes_the_new_fit_only(run):
    versions.leave(run)
    assert store.load(run).content["said"] == "old"
    assert not (run / "refit").exists()
