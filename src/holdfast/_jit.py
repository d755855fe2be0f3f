"""How kernels are compiled: one decorator for all of them."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["kernel", "read_only"]


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


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """View an array as read-only: kernels that take users' arrays see one type, and compile once."""
    view = array.view()
    view.flags.writeable = False
    return view
