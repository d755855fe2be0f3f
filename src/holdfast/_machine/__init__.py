"""Machinery that is independent of clustering: kernels, hashes, threads, interrupts, files.

Commands and tables take numpy and pyarrow from here, which are imported when they are first used: help
needs no numpy, and no fit needs pyarrow.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["arrow_csv", "np", "pa", "parquet", "pc"]

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyarrow import compute as pc
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet
else:

    class _Package:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self._name), name)

    np, pa = _Package("numpy"), _Package("pyarrow")
    pc, arrow_csv, parquet = (_Package(f"pyarrow.{n}") for n in ("compute", "csv", "parquet"))
