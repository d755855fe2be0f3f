"""Decorators that compile kernels: one for all kernels, one for those that only kernels call."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["inner_kernel", "is_compiled", "kernel", "read_only"]


Scalar = TypeVar("Scalar", bound=np.generic)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` with numba: cached on disk, without the GIL, with strict IEEE arithmetic.

    If numba finds no writable folder for its cache (the package and home folders are read-only),
    each process compiles the function again instead of failing at import. If numba is disabled
    (``NUMBA_DISABLE_JIT=1``), the function runs as plain Python, in which integers also wrap around
    without a warning.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # numba fills its config late
        return np.errstate(over="ignore")(function)
    try:
        compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        compiled = numba.njit(nogil=True)(function)
    return compiled


def inner_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` like :func:`kernel`, but as a part of the kernels that call it.

    It is never called from Python, so it needs no cache entry, and imports are faster without one.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return np.errstate(over="ignore")(function)
    compiled: Callable[..., Any] = numba.njit(nogil=True)(function)
    return compiled


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether numba has the kernel in its cache, as far as one can tell."""
    index = getattr(
        getattr(getattr(function, "_cache", None), "_cache_file", None), "_index_path", ""
    )
    return not index or os.path.exists(index)


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """View an array as read-only, so that kernels see one type for all arrays and compile once."""
    view = array.view()
    view.flags.writeable = False
    return view
