"""How kernels are compiled: one decorator for all of them, one for those that only kernels call."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["inner_kernel", "kernel", "read_only"]


Scalar = TypeVar("Scalar", bound=np.generic)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` with numba: cached on disk, without the GIL, strict IEEE arithmetic.

    Where numba finds no writable place for its cache (package folder and home both read-only) the
    function is compiled anew in each process instead of failing at import. With numba switched off
    (``NUMBA_DISABLE_JIT=1``) it runs as it is; words wrap around there too, without a warning.
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

    It is never called from Python, so it needs no place of its own in the cache. Looking for one
    takes time at every import.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return np.errstate(over="ignore")(function)
    compiled: Callable[..., Any] = numba.njit(nogil=True)(function)
    return compiled


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """View an array as read-only: kernels that take users' arrays see one type, and compile once."""
    view = array.view()
    view.flags.writeable = False
    return view
