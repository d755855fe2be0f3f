"""Eq. 2 of [LHBP25]: the earth mover's distance between two distributions of clusterings.

With m outputs on each side, equally likely, the cheapest transport is a matching of outputs: an
assignment problem, solved exactly. All measures fall with the number of matched rows, so the
matching that maximises its mean minimises each of them.

The estimate from m outputs is biased upward, strongly where outputs rarely repeat: even two sets of
outputs of the *same* distribution are apart. That self-distance is therefore always estimated
beside it, and their difference is the figure to read.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from holdfast.stability.measures import Labels, match_clusters, overlap_table

__all__ = ["mean_matched"]


def mean_matched(before: Sequence[Labels | None], after: Sequence[Labels | None]) -> float:
    """Mean number of matched rows under the best one-to-one assignment of outputs.

    Parameters
    ----------
    before, after : sequence of Labels or None
        Equally many outputs for the same rows; None for one that failed.

    Returns
    -------
    float
        NaN where an output failed: the remaining ones no longer are a fair sample. m^2 matchings
        of clusters and O(m^3) for m outputs a side.
    """
    matched = np.empty((len(before), len(after)))
    for a, labels_before in enumerate(before):
        for b, labels_after in enumerate(after):
            if labels_before is None or labels_after is None:
                return float("nan")
            matched[a, b] = match_clusters(overlap_table(labels_before, labels_after)).matched
    rows, columns = linear_sum_assignment(matched, maximize=True)
    return float(matched[rows, columns].mean())
