"""Compiled loops of M4: arrays in, arrays out."""

import palaver.kernels  # noqa: F401  (where numba keeps compiled code)
