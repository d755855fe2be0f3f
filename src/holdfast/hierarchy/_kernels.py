"""The linkage matrix of SciPy, and the labeled cell or the nearest means of a new row."""

import math

import numpy as np

from holdfast._machine.jit import inner_kernel, kernel
from holdfast.grid._kernels import first_difference, highest_bit, precedes

__all__ = ["distance_from", "find_cells", "merge_rows", "nearest_leaves", "scale_distances"]


@kernel
def merge_rows(finest, center_row, parent, costs):
    """Linkage matrix: rows join the center of their finest cluster, then splits are reversed."""
    n = finest.size
    n_centers = center_row.size
    merges = np.empty((n - 1, 4), np.float64)
    name = np.empty(n_centers, np.int64)
    size = np.ones(n_centers, np.int64)
    for t in range(n_centers):
        name[t] = center_row[t]
    done = 0
    for step in range(n + n_centers - 1):
        if step < n:
            into, height = np.int64(finest[step]), 0.0
            if center_row[into] == step:
                continue
            other, joining = np.int64(step), 1
        else:
            t = n_centers - 1 - (step - n)
            into, height = np.int64(parent[t]), costs[t - 1]
            other, joining = name[t], size[t]
        merges[done, 0] = min(name[into], other)
        merges[done, 1] = max(name[into], other)
        merges[done, 2] = height
        size[into] += joining
        merges[done, 3] = size[into]
        name[into] = n + done
        done += 1
    return merges


@kernel
def find_cells(rows, coordinates, order, cell, parent):
    """Finest labeled cell of each row.

    `coordinates` are the coordinates of the centers in Z-order, `order` their numbers. The center
    with the longest common prefix is a neighbor of the row in that order. The answer is the finest
    cell of this center that contains the row.
    """
    label = np.empty(rows.shape[0], np.int32)
    for i in range(rows.shape[0]):
        row = rows[i]
        low, high = 0, order.size
        while low < high:
            middle = (low + high) // 2
            if precedes(coordinates[middle], row):
                low = middle + 1
            else:
                high = middle
        near = low if low < order.size else low - 1
        differ, _ = first_difference(row, coordinates[near])
        if near > 0:
            other, _ = first_difference(row, coordinates[near - 1])
            if other < differ and other < (other ^ differ):
                near, differ = near - 1, other
        bit = -1 if differ == np.uint64(0) else highest_bit(differ)
        t = order[near]
        while cell[t] <= bit:
            t = parent[t]
        label[i] = t
    return label


@inner_kernel
def distance_from(rows, i, factor, points, c, spherical):
    """Distance from a row to a point, column by column; half its square for the cosine distance."""
    total = 0.0
    for j in range(rows.shape[1]):
        difference = rows[i, j] * factor - points[c, j]
        total += difference * difference
    return 0.5 * total if spherical else math.sqrt(total)


@inner_kernel
def scale_distances(rows, i, factor, columns, scale, spherical, near):
    """Distances from a row to all points, each times its scale; the same bits as one by one.

    `columns` has the points column by column, so that a column is added for all points at once.
    """
    for c in range(near.size):
        near[c] = 0.0
    for j in range(columns.shape[0]):
        value = rows[i, j] * factor
        for c in range(near.size):
            difference = value - columns[j, c]
            near[c] += difference * difference
    if spherical:
        for c in range(near.size):
            near[c] = 0.5 * near[c] * scale[c]
    else:
        for c in range(near.size):
            near[c] = math.sqrt(near[c]) * scale[c]


@kernel
def nearest_leaves(rows, factor, path, columns, scale, label, spherical, out):
    """Label of the leaf with the smallest sum over its path of distance times ``scale[c]``."""
    near = np.empty(columns.shape[1])
    for i in range(rows.shape[0]):
        scale_distances(rows, i, factor, columns, scale, spherical, near)
        least, winner = math.inf, 0
        for q in range(path.shape[0]):
            score = 0.0
            for level in range(path.shape[1]):
                score += near[path[q, level]]
            if score < least:
                least, winner = score, q
        out[i] = label[winner]
