"""The cache of folders behind URLs belongs to its user alone."""

import os

import pytest

from palaver.errors import StoreError
from palaver.store import remote

pytestmark = pytest.mark.skipif(os.name != "posix", reason="owners and modes are of Unix")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "_cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(remote, "_fetch", lambda url, folder: folder.mkdir(parents=True))
    return tmp_path / "cache"


def test_the_cache_is_made_for_its_user_alone(cache):
    assert remote.local_folder("s3://x/y").parent == cache
    assert cache.stat().st_mode & 0o777 == 0o700


def test_a_cache_that_others_may_write_to_is_refused(cache):
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.raises(StoreError, match="others may write to it; remove it, or set TMPDIR"):
        remote.local_folder("s3://x/y")


def test_a_cache_of_another_user_is_refused(cache, monkeypatch):
    cache.mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(StoreError, match="belongs to another user"):
        remote.local_folder("s3://x/y")


def test_a_link_in_place_of_the_cache_is_refused(cache, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    cache.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="belongs to another user"):
        remote.local_folder("s3://x/y")
