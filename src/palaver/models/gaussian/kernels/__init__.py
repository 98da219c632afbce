"""Compiled loops of the Gaussian HMM and mixture: arrays in, arrays out."""

import palaver.kernels  # noqa: F401  (where numba keeps compiled code)
