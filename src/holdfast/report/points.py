"""Rows as points: a sample of them, on two principal axes and on the columns shown."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from holdfast.hierarchy import Hierarchy
from holdfast.report.inputs import Inputs
from holdfast.report.numbers import list_numbers, round_number
from holdfast.report.sampling import keyed_sample

__all__ = ["MOST_POINTS", "list_points"]

MOST_POINTS = 3000


def list_points(
    inputs: Inputs,
    hierarchy: Hierarchy,
    columns: NDArray[np.int64],
    wanted: NDArray[np.int64],
) -> dict[str, Any]:
    """Points of the scatter plot.

    Parameters
    ----------
    inputs : Inputs
    hierarchy : Hierarchy
    columns : ndarray of shape (c,), dtype int64
        Columns to give values of.
    wanted : ndarray of int64
        Rows that must be there: centers, and rows that a table names.

    Returns
    -------
    dict
        See docs/report.md.
    """
    sample = keyed_sample(inputs.rows, MOST_POINTS, inputs.seed, "report: points")
    shown = np.union1d(sample, wanted)
    axes, explained = _principal_axes(inputs.rows, shown)
    return {
        "n_rows": inputs.rows.shape[0],
        "rows": shown.tolist(),
        "ids": None if inputs.ids is None else [inputs.ids[row] for row in shown],
        "labels": hierarchy.cut(inputs.max_k)[shown].tolist(),
        "axes": [list_numbers(axis, 4) for axis in axes.T],
        "explained": [round_number(share, 3) for share in explained],
        "values": [list_numbers(inputs.values[shown, j]) for j in columns],
    }


def _principal_axes(
    rows: NDArray[np.float64], shown: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coordinates on the first two principal axes, and their shares of the variance."""
    varies = bool((rows != rows[0]).any())
    if rows.shape[1] == 1 or not varies:
        flat = np.zeros(shown.size)
        return np.column_stack((rows[shown, 0], flat)), np.array([float(varies), 0.0])
    pca = PCA(n_components=2, random_state=0).fit(rows)
    return pca.transform(rows[shown]), pca.explained_variance_ratio_
