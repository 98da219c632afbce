"""Compiled loops of M4: arrays in, arrays out.

Equation numbers are those of Paul (2012); what a file adds of its own has a letter or a name.
"""

import palaver.kernels  # noqa: F401  (where numba keeps compiled code)
