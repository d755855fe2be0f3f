"""Target: cuts, linkage, labels and files of random valid hierarchies."""

from dataclasses import dataclass

import numpy as np
from fuzz.invariants import check_hierarchy, check_labels, some_ks
from fuzz.target import Target
from hypothesis import strategies as st

from holdfast import Hierarchy
from holdfast.storage.hierarchy import hierarchy_from_arrays
from holdfast_paper.draws import normal, scales, uniform


@dataclass(frozen=True)
class Shape:
    """The sizes of a random hierarchy, the law of its parents and costs, and a seed for the rest."""

    n_centers: int
    n_more: int
    d: int
    parents: str
    costs: str
    locator: str
    seed: int


def parents_of(shape: Shape, random: np.random.RandomState) -> np.ndarray:
    """Chains, stars and what lies between."""
    t = np.arange(1, shape.n_centers)
    chosen = {
        "chain": t - 1,
        "star": np.zeros(t.size, dtype=np.int64),
        "any": (random.random_sample(t.size) * t).astype(np.int64),
        "late": np.maximum(t - 1 - random.randint(0, 3, size=t.size), 0),
    }[shape.parents]
    return np.concatenate(([-1], chosen)).astype(np.int32)


def build(shape: Shape) -> Hierarchy:
    random = np.random.RandomState(shape.seed)
    n, n_rows = shape.n_centers, shape.n_centers + shape.n_more
    parent = parents_of(shape, random)
    rows = random.permutation(n_rows)
    finest = np.empty(n_rows, dtype=np.int32)
    finest[rows[:n]] = np.arange(n)
    finest[rows[n:]] = random.randint(0, n, size=shape.n_more)
    costs = {
        "distinct": np.arange(n, 0, -1) * 0.5,
        "ties": np.sort(random.randint(0, 3, size=n))[::-1].astype(np.float64),
        "zero": np.zeros(n),
        "wide": np.sort(scales(random, -996, 996, n))[::-1],
    }[shape.costs]
    arrays = {
        "center_indices": rows[:n].astype(np.int64),
        "costs": np.ascontiguousarray(costs),
        "parent": parent,
        "finest": finest,
    }
    if shape.locator == "splits":
        arrays["splits.centers"] = uniform(random, -1, 1, (n, shape.d))
        metric = ["euclidean", "manhattan", "cosine"][shape.seed % 3]
        metadata = {"locator": "splits", "metric": metric, "exponent": shape.seed % 80 - 40}
        return hierarchy_from_arrays(metadata, arrays)
    arrays |= {
        "cells.coordinates": np.sort(random.randint(0, 2**62, size=(n, 1)), axis=0)
        .astype(np.uint64)
        .repeat(shape.d, axis=1),
        "cells.order": random.permutation(n).astype(np.int32),
        "cells.cell": cells_of(parent),
        "grid.anchor": np.zeros(shape.d, dtype=np.uint64),
        "grid.lowest": np.zeros(shape.d),
        "grid.origin": np.zeros(shape.d),
        "grid.shift": random.randint(0, 2**63, size=(40, shape.d), dtype=np.int64).astype(
            np.uint64
        ),
    }
    metadata = {"locator": "cells", "scale": 1.0, "root_exponent": shape.seed % 2100 - 1074}
    return hierarchy_from_arrays(metadata, arrays)


def cells_of(parent: np.ndarray) -> np.ndarray:
    """Each cell one bit smaller than the cell it lies in."""
    cell = np.full(parent.size, 64, dtype=np.uint8)
    for t in range(1, parent.size):
        cell[t] = cell[parent[t]] - 1
    return cell


def check_hierarchy_answers(shape: Shape) -> None:
    """Cuts equal those of a naive climb, SciPy finds them in the linkage, and all labels exist."""
    hierarchy = build(shape)
    ks = some_ks(hierarchy.n_centers, shape.seed)
    check_hierarchy(hierarchy, ks)
    random = np.random.RandomState(shape.seed + 1)
    rows = normal(random, (3, shape.d)) * scales(random, -996, 996, (3, 1))
    check_labels(hierarchy, rows, hierarchy.n_centers)


HIERARCHIES = Target(
    check_hierarchy_answers,
    st.builds(
        Shape,
        n_centers=st.integers(1, 40),
        n_more=st.integers(0, 20),
        d=st.sampled_from([1, 2, 7]),
        parents=st.sampled_from(["chain", "star", "any", "late"]),
        costs=st.sampled_from(["distinct", "ties", "zero", "wide"]),
        locator=st.sampled_from(["splits", "cells"]),
        seed=st.integers(0, 2**31),
    ),
)
