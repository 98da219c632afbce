"""Compiled loops that taggers share: chains of tags."""

import palaver.kernels  # noqa: F401  (where numba keeps compiled code)
