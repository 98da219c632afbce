"""How kernels are compiled: the code that their callers need, and no more.

For every function numba also compiles a wrapper for C, which nothing here calls, and one for
Python, which takes longest where arguments are many. Everyone waits for that on the first run.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from numba import njit, types
from numba.extending import intrinsic

#: Compile a function that Python calls.
kernel: Any = partial(njit, cache=True, nogil=True, no_cfunc_wrapper=True)

#: Compile a function that only kernels call: Python would crash (tests/architecture).
inner: Any = partial(kernel, no_cpython_wrapper=True)


@intrinsic
def compact(context):  # type: ignore[no-untyped-def]
    """Keep the code of the calling kernel small: plain loops are not unrolled nor copied.

    For kernels that are called once per document or message, or whose inner loops are in
    :mod:`palaver.kernels.simd` or in kernels that they call. Sums keep their order.
    """

    def codegen(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        builder.function.attributes.add("optsize")
        return target.get_dummy_value()

    return types.void(), codegen
