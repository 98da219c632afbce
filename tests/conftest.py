"""Settings of all tests."""

import os

import pytest
from hypothesis import settings

# Two workers share two cores: polars and BLAS with a thread each are faster than fighting.
os.environ.setdefault("POLARS_MAX_THREADS", "2")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same cases in every run, so that a change is judged by what it changed. To look for new
# ones, again and again: pytest --hypothesis-profile=explore tests/unit
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile("fixed")


#: Folders whose tests share what is dear to start: a Ray cluster; a browser, a model and a page.
TOGETHER = ("tests/cluster", "tests/browser")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep the tests of some folders on one worker each; all others go where there is room."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFolder(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return next((folder for folder in TOGETHER if nodeid.startswith(folder)), nodeid)

    return ByFolder(config, log)
