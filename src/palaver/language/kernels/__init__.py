"""Compiled loops of the backoff models: lookups."""

import palaver.kernels  # noqa: F401  (where numba keeps compiled code)
