"""Compiled loops of the nested HDP: arrays in, arrays out."""

import palaver.kernels  # noqa: F401  (where numba keeps compiled code)
