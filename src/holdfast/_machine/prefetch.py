"""A hint to the processor, for kernels with random memory access."""

from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["prefetch"]


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
    """Request ``array[i]`` before it is needed, so that the kernel waits less for memory.

    Changes no value. `i` must be a valid index. Does nothing if numba is disabled.
    """
    return types.void(array, types.intp), _emit_prefetch


def _do_nothing(array: Any, i: int) -> None:
    pass


prefetch: Any = (
    _do_nothing
    if numba.config.DISABLE_JIT  # type: ignore[attr-defined]  # numba fills its config late
    else intrinsic(_prefetch)
)
