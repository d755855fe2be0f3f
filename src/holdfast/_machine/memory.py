"""What to say, and what to let go of, when memory runs out."""

import traceback
from typing import Any

import numpy as np

__all__ = ["explain_shortage"]

_BYTES_A_ROW = 200  # beyond the input, at the worst moment; measured by benchmarks/growth.py
_BYTES_A_VALUE = 16  # coordinates, unsorted and sorted


def explain_shortage(error: MemoryError, X: Any) -> MemoryError:
    """Turn the failed allocation of a fit into an error with advice.

    Lets go of what the failed fit still holds: its arrays would stay in memory for as long as the
    caller looks at the error.

    Parameters
    ----------
    error : MemoryError
        Caught; its frames are cleared.
    X : array-like of shape (n_samples, n_features)
        The rows of the fit.

    Returns
    -------
    MemoryError
        To be raised from `error`.
    """
    traceback.clear_frames(error.__traceback__)
    shape: tuple[int, ...] = np.shape(X) if hasattr(X, "shape") else (len(X),)
    rows = f"{shape[0]:,} rows" + (f" of {shape[1]:,} columns" if len(shape) > 1 else "")
    need = shape[0] * (_BYTES_A_ROW + _BYTES_A_VALUE * (shape[1] if len(shape) > 1 else 1))
    reason = str(error).strip() or "an allocation failed"
    return MemoryError(
        f"not enough memory to fit {rows} ({reason}). A fit takes about {_in_units(need)} beyond X. "
        "To need less: give equal rows once, with sample_weight; leave out columns; stop early with "
        "max_centers; or fit a sample of the rows and label the others with predict. The estimator "
        "is as it was before."
    )


def _in_units(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000.0:
            return f"{size:.3g} {unit}"
        size /= 1000.0
    return f"{size:.3g} TB"
