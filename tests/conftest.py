"""Settings of all tests."""

import os

# Two workers share two cores: polars and BLAS with a thread each are faster than fighting.
os.environ.setdefault("POLARS_MAX_THREADS", "2")
os.environ.setdefault("OMP_NUM_THREADS", "1")
