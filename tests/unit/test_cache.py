"""Where compiled code is kept."""

from pathlib import Path

from palaver import kernels


def test_a_user_without_a_home_can_still_import(monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setattr(kernels, "__file__", "/nowhere/kernels/__init__.py")
    assert not kernels._has_room_for_cache()
