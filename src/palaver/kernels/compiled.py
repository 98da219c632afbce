"""How kernels are compiled: the code that their callers need, and no more.

For every function numba also compiles a wrapper for C, which nothing here calls, and one for
Python, which takes longest where arguments are many. Everyone waits for that on the first run.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from numba import njit

#: Compile a function that Python calls.
kernel: Any = partial(njit, cache=True, nogil=True, no_cfunc_wrapper=True)

#: Compile a function that only kernels call: Python would crash (tests/architecture).
inner: Any = partial(kernel, no_cpython_wrapper=True)
