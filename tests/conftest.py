"""Settings of all tests."""

import os

from hypothesis import settings

# Two workers share two cores: polars and BLAS with a thread each are faster than fighting.
os.environ.setdefault("POLARS_MAX_THREADS", "2")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same cases in every run, so that a change is judged by what it changed. To look for new
# ones, again and again: pytest --hypothesis-profile=explore tests/unit
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile("fixed")
