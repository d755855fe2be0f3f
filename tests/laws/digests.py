"""Fingerprints of fits, compared between processes: ``python tests/laws/digests.py`` prints them.

Equal digests mean equal bits of centers, costs, parents and finest labels.
"""

import hashlib
import json
import sys
from pathlib import Path

if __name__ == "__main__":  # the folder that pytest puts on the path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from follow.series import releases
from golden.recipe import CASES, result_of
from laws.configurations import CONFIGURATIONS
from laws.inputs import INPUTS, Input

from holdfast import HierarchicalKMedian, Hierarchy
from holdfast_paper.draws import normal

# A process without the compiler takes seconds only.
SMALL = (
    "one row",
    "all equal",
    "blobs",
    "grid with ties",
    "repeated",
    "geometric",
    "heavy tail",
    "tiny",
    "forty columns",
    "weighted",
    "repeated, zero weights",
    "fractional weights",
)


def digest(hierarchy: Hierarchy) -> str:
    """Hash of everything that a hierarchy is made of."""
    found = hashlib.sha256()
    for array in (
        hierarchy.center_indices,
        hierarchy.costs,
        hierarchy.parent,
        hierarchy.cut(hierarchy.n_centers),
    ):
        found.update(array.dtype.str.encode() + array.tobytes())
    return found.hexdigest()


def large_input() -> Input:
    """Rows enough for every branch of the kernels: groups, a heavy tail, repeats, ties, weights."""
    rng = np.random.RandomState(3)
    n = 20_000
    rows = normal(rng, (n, 3)) + 20.0 * rng.randint(0, 6, size=(n, 1))
    rows[: n // 10] /= rng.random_sample((n // 10, 1))
    rows[n // 10 : n // 2] = np.round(rows[n // 10 : n // 2])
    return Input("large", rows, rng.randint(0, 4, size=n) / 3.0)


def followed_digests(*, large: bool) -> dict[str, str]:
    """Digest of chains of models: rows leave, come and change; by id and by content."""
    found = {}
    for name, options in {"price": {"price": 0.1}, "budget": {"budget": 0.05, "price": 0.05},
                          "tolerance": {"tolerance": 0.01, "price": 1.0}}.items():  # fmt: skip
        for size in (90, *([900] if large else [])):
            data = releases(size, count=3, n=size, changing=0.5)
            for by_id in (True, False):
                model = HierarchicalKMedian(4, max_centers=8).fit(
                    data[0][1], ids=data[0][0] if by_id else None
                )
                model, text = model.polish((2, 4, 8)), ""
                for ids, rows in data[1:]:
                    model = model.follow(rows, ids=ids if by_id else None, **options)
                    names = [model.hierarchy_.names(k).tobytes() for k in (2, 4, 8)]
                    parts = (*names, model.moves_.tobytes(), model.follow_.cost.tobytes())
                    text += digest(model.hierarchy_) + hashlib.sha256(b"".join(parts)).hexdigest()
                found[f"follow, {name}, {size} rows, {'ids' if by_id else 'content'}"] = text
    return found


def digests(*, large: bool) -> dict[str, str]:
    """Digest of each input in each configuration, labels of new rows included; and golden cases."""
    inputs = [data for data in INPUTS if data.name in SMALL]
    assert len(inputs) == len(SMALL)
    if large:
        inputs.append(large_input())
    found = followed_digests(large=large)
    for data in inputs:
        for configuration in CONFIGURATIONS:
            few = data.name == "large" and not configuration.is_tree  # of rows, not of cells
            more = {"max_centers": 40} if few else {}
            model = configuration.estimator(**more).fit(data.rows, sample_weight=data.weight)
            hierarchy = model.hierarchy_
            between = (data.rows + data.rows[::-1]) / 2.0
            labels = hierarchy.predict(between, hierarchy.n_centers)
            name = f"{data.name}, {configuration.name}"
            found[name] = digest(hierarchy) + hashlib.sha256(labels.tobytes()).hexdigest()
    for name, case in CASES.items():
        if not large and len(case.rows) > 60:
            continue
        text = json.dumps(result_of(case), sort_keys=True)
        found[f"golden, {name}"] = hashlib.sha256(text.encode()).hexdigest()
    return found


if __name__ == "__main__":
    json.dump(digests(large="--large" in sys.argv), sys.stdout)
