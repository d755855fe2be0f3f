"""Share out rows to threads; results never depend on how."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

__all__ = ["share_rows"]

_WORTHWHILE = 1 << 17


def share_rows(n_rows: int, work: Callable[[slice], object]) -> None:
    """Call `work` for consecutive parts of the rows, in threads if there are many rows.

    `work` writes to places of its own for each row; kernels release the GIL.
    """
    parts = min(os.cpu_count() or 1, n_rows // _WORTHWHILE)
    if parts < 2:
        work(slice(0, n_rows))
        return
    ends = [n_rows * i // parts for i in range(parts + 1)]
    with ThreadPoolExecutor(parts) as pool:
        list(pool.map(lambda i: work(slice(ends[i], ends[i + 1])), range(parts)))
