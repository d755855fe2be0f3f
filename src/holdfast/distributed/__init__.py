"""More than one machine: fit and label on any Dask cluster. The only place that imports Dask.

Install it by ``pip install 'holdfast[dask]'``.
"""

try:
    import dask  # noqa: F401
except ImportError as error:
    raise ImportError(
        "holdfast.distributed needs Dask; install it by `pip install 'holdfast[dask]'`."
    ) from error

from holdfast.distributed.fit import fit
from holdfast.distributed.predict import predict

__all__ = ["fit", "predict"]
