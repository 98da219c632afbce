"""Compiled loops of the conditional random field: arrays in, arrays out."""

import palaver.kernels  # noqa: F401  (where numba keeps compiled code)
