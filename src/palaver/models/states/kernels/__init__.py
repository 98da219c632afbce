"""Compiled loops of hidden-state models: arrays in, arrays out."""

import palaver.kernels  # noqa: F401  (where numba keeps compiled code)
