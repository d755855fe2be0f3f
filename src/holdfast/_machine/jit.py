"""Kernels: their types of arrays, how they are compiled and loaded; Ctrl-C in a kernel."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.runtime.nrt import rtsys
from numba.extending import intrinsic
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Words = NDArray[np.uint64]
Mask = NDArray[np.bool_]


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` with numba: cached on disk, without the GIL, with strict IEEE arithmetic.

    If numba finds no writable folder for its cache (the package and home folders are read-only),
    each process compiles the function again instead of failing at import. If numba is disabled
    (``NUMBA_DISABLE_JIT=1``), the function runs as plain Python, in which integers also wrap around
    without a warning.
    """
    return _compile(function, cache=True)


def writing_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` like :func:`kernel`, for kernels that write to arrays they are given.

    Such a kernel neither allocates nor returns arrays, so it is compiled without reference counts.
    It compiles faster, and kernels that pass arrays on run faster.
    """
    return _compile(function, cache=True, _nrt=False)


def inner_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a part of kernels that write; a call from Python would end the process."""
    return _compile(function, no_cpython_wrapper=True, _nrt=False)


def inlined_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` like :func:`inner_kernel`, and always into the place of its call.

    A call copies seven words of each array to the stack. Use this for parts of a hot loop that have
    many arrays and one caller.
    """
    return _compile(function, no_cpython_wrapper=True, _nrt=False, forceinline=True)


# Private names of numba; without them kernels are loaded as numba does it.
_PARTS_OF_LOADING = ("_load_overload", "_guard_against_spurious_io_errors")


def _compile(function: Callable[..., Any], **options: bool) -> Callable[..., Any]:
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # numba fills its config late
        return np.errstate(over="ignore")(function)
    njit: Any = numba.njit  # its annotations leave out some options
    try:
        # Checks for divisions by zero would cost time and hinder other optimizations.
        compiled: Callable[..., Any] = njit(
            nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options
        )(function)
    except RuntimeError:  # no folder for the cache
        return _compile(function, **{**options, "cache": False})
    stored: Any = getattr(compiled, "_cache", None)
    if hasattr(stored, "_cache_file"):
        stored._cache_file._source_stamp = digest_kernels()
        if all(hasattr(stored, name) for name in _PARTS_OF_LOADING):
            stored.load_overload = partial(_load, stored, options.get("_nrt", True))
    return compiled


def _load(stored: Any, counted: bool, signature: Any, context: Any) -> Any:
    """Load a kernel from numba's cache; None if it is not there.

    As numba does it, but without importing its 70 modules of rules for compiling first: nothing that
    is compiled needs them, and they take longer than loading all kernels of a fit. Whatever is then
    compiled imports them. Only kernels that allocate need the runtime that counts references.
    """
    if counted:
        rtsys.initialize(context)
    with stored._guard_against_spurious_io_errors():
        return stored._load_overload(signature, context)


def find_kernels(folder: Path) -> list[Path]:
    """List the files with kernels."""
    return sorted((*folder.glob("_machine/hash.py"), *folder.glob("*/*_kernels.py")))


@cache
def digest_kernels(folder: Path = Path(__file__).parents[1]) -> str:
    """Digest of all files with kernels: a cached kernel is valid only if none of them changed.

    numba itself looks at the file of a kernel, not at those of the kernels that it calls.
    """
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in find_kernels(folder):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether numba has the kernel in its cache, as far as one can tell."""
    index = getattr(
        getattr(getattr(function, "_cache", None), "_cache_file", None), "_index_path", ""
    )
    return not index or os.path.exists(index)


@contextmanager
def unwrap_interrupts() -> Iterator[None]:
    """Raise the KeyboardInterrupt that numba hides in a SystemError.

    Python handles a signal that arrives while a kernel runs when it converts the results of the
    kernel to objects. The interpreter then finds results together with an exception, and raises a
    SystemError with the interrupt as its cause.
    """
    try:
        yield
    except SystemError as error:
        cause: BaseException | None = error
        while isinstance(cause, SystemError):
            cause = cause.__cause__ or cause.__context__
        if isinstance(cause, KeyboardInterrupt):
            raise cause.with_traceback(None) from None
        raise


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """View an array as read-only, so that kernels see one type for all arrays and compile once."""
    view = array.view()
    view.flags.writeable = False
    return view


def _emit_prefetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array_type, _ = signature.args
    array = context.make_array(array_type)(context, builder, arguments[0])
    item = cgutils.get_item_pointer(  # type: ignore[no-untyped-call]
        context, builder, array_type, array, [arguments[1]], wraparound=False
    )
    flag, address = ir.IntType(32), ir.IntType(8).as_pointer()
    hint = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        builder.module,
        ir.FunctionType(ir.VoidType(), [address, flag, flag, flag]),
        "llvm.prefetch.p0",
    )
    # for reading, keep in all caches, data
    builder.call(hint, [builder.bitcast(item, address), flag(0), flag(3), flag(1)])
    return context.get_dummy_value()


def _prefetch(_typing_context: Any, array: Any, _i: Any) -> Any:
    """Request ``array[i]``, a valid index, before it is needed; changes no value."""
    return types.void(array, types.intp), _emit_prefetch


def _do_nothing(array: Any, i: int) -> None:
    pass


prefetch: Any = (
    _do_nothing
    if numba.config.DISABLE_JIT  # type: ignore[attr-defined]  # numba fills its config late
    else intrinsic(_prefetch)
)
