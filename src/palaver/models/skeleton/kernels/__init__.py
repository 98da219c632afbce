"""Compiled loops of the skeleton: arrays in, arrays out."""

import palaver.kernels  # noqa: F401  (where numba keeps compiled code)
