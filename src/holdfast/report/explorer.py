"""Part 2: every cut of the hierarchy, its clusters, and how well each of them is found again."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.hierarchy import Hierarchy
from holdfast.report.inputs import Inputs
from holdfast.report.methods import AtSeed
from holdfast.report.nodes import LEAST_DESCRIBED, describe_nodes
from holdfast.report.numbers import list_numbers
from holdfast.report.points import list_points
from holdfast.stability import Bootstrap, average_sensitivity

__all__ = ["summarise_explorer"]


def summarise_explorer(
    inputs: Inputs,
    hierarchy: Hierarchy,
    columns: NDArray[np.int64],
    named_rows: NDArray[np.int64],
) -> dict[str, Any]:
    """Give what the page derives all cuts from.

    Parameters
    ----------
    inputs : Inputs
    hierarchy : Hierarchy
    columns : ndarray of shape (c,), dtype int64
        Columns to show.
    named_rows : ndarray of int64
        Rows that another part names, so that the scatter plot has them.
    """
    centers = hierarchy.center_indices[: inputs.max_k]
    last = np.bincount(hierarchy.cut(inputs.max_k), minlength=inputs.max_k)
    points = listed = None
    if inputs.show_rows:
        points = list_points(inputs, hierarchy, columns, np.union1d(centers, named_rows))
        listed = [
            {"row": int(row), "values": list_numbers(inputs.values[row, columns])}
            for row in centers
        ]
    return {
        "k": inputs.k,
        "max_k": inputs.max_k,
        "parent": hierarchy.parent[: inputs.max_k].tolist(),
        "sizes": last.tolist(),
        "costs": list_numbers(hierarchy.costs[: inputs.max_k]),
        "distinguishing": describe_nodes(hierarchy, inputs.values, inputs.max_k, inputs.show_rows),
        "least_described": None if inputs.show_rows else LEAST_DESCRIBED,
        "stability": _measure_clusters(inputs),
        "stability_trials": inputs.trials,
        "centers": listed,
        "points": points,
    }


def _measure_clusters(inputs: Inputs) -> list[list[float | int | None]]:
    """How well each cluster of each cut is found again in bootstrap samples; one list for each k.

    As `cluster_stability`, but for all cuts at once, and of the hierarchy on the page.
    """
    ks = range(2, inputs.max_k + 1)
    measured = average_sensitivity(
        AtSeed(inputs.estimator), inputs.rows, n_clusters=ks, perturb=Bootstrap(),
        trials=inputs.trials, measure="moved_fraction", n_jobs=inputs.n_jobs,
        random_state=inputs.seed, progress=inputs.progress,
    )  # fmt: skip
    assert measured.jaccard is not None  # it is refitted, never computed from the tree
    jaccard = measured.jaccard[0, :, 0]
    return [[1], *(list_numbers(jaccard[j, :k], 3) for j, k in enumerate(ks))]
