"""More than one machine: fit and label on a Dask cluster. The only room that imports Dask.

Install it with ``pip install 'holdfast[dask]'``.
"""

try:
    import dask  # noqa: F401
except ImportError as error:
    raise ImportError(
        "holdfast.distributed needs Dask, which is not installed. Install it with "
        "pip install 'holdfast[dask]'."
    ) from error

from holdfast.distributed.fit import fit
from holdfast.distributed.predict import predict

__all__ = ["fit", "predict"]
