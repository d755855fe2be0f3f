"""Saved hierarchies that every later version must load, with the answers they must give.

The files in files/ were written by the version that their description names. They are never
written anew: a new version of the format, or a new kind of hierarchy, adds files of its own.
``python tests/golden/saved.py --write`` writes those of `SAVED` that are not there yet.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from golden.recipe import Case, bells, crc, groups, integers, some_cuts, weights
from models import build_model

from holdfast import Hierarchy
from holdfast.storage.archive import write_archive
from holdfast.storage.hierarchy import hierarchy_to_arrays

FOLDER = Path(__file__).with_name("files")
ANSWERS = FOLDER / "answers.json"

_EUCLIDEAN = {"method": "medoids", "max_centers": "all"}
SAVED = {
    "tree-1": Case(groups(31, 60, 3)),
    "tree-repeats-1": Case(integers(32, 70, 2, 5), None, {"epsilon": 0}),
    "tree-weights-1": Case(groups(33, 60, 2), weights(34, 60, 3)),
    "tree-max-centers-1": Case(groups(35, 90, 2), None, {"max_centers": 12}),
    "tree-root-box-1": Case(
        integers(36, 50, 2, 1000) / 1000.0,
        None,
        {"random_shift": False, "root_box": ([-0.25, -0.5], 2.0)},
    ),
    "tree-forty-columns-1": Case(bells(37, 30, 40)),
    "tree-one-row-1": Case(bells(38, 1, 2)),
    "tree-1e150-1": Case(bells(39, 30, 2) * 1e150),
    "euclidean-1": Case(groups(40, 60, 3), None, _EUCLIDEAN),
    "euclidean-repeats-1": Case(integers(41, 70, 2, 5), None, _EUCLIDEAN),
    "euclidean-weights-1": Case(groups(42, 60, 2), weights(43, 60, 1000, 997.0), _EUCLIDEAN),
    "euclidean-max-centers-1": Case(
        bells(44, 90, 2) * 1e-150, None, {"method": "medoids", "max_centers": 12}
    ),
    "refined-1": Case(groups(48, 60, 3), weights(49, 60, 4), {**_EUCLIDEAN, "method": "means"}),
    "manhattan-1": Case(groups(45, 60, 3), None, {**_EUCLIDEAN, "metric": "manhattan"}),
    "cosine-1": Case(bells(46, 60, 3), weights(47, 60, 4), {**_EUCLIDEAN, "metric": "cosine"}),
}


def fit(case: Case) -> Hierarchy:
    """Fit the hierarchy that is saved."""
    model = build_model(1, **case.parameters)
    return model.fit(case.rows, sample_weight=case.weight).hierarchy_


def answers_of(hierarchy: Hierarchy, case: Case) -> dict[str, Any]:
    """Ask for everything that a hierarchy can be asked for."""
    between = case.rows / 2.0 + np.roll(case.rows, 1, axis=0) / 2.0
    ks = some_cuts(hierarchy.n_centers)
    return {
        "center_indices": hierarchy.center_indices.tolist(),
        "parent": hierarchy.parent.tolist(),
        "costs": [cost.hex() for cost in hierarchy.costs.tolist()],
        "cuts": {str(k): crc(hierarchy.cut(k), "<i4") for k in ks},
        "linkage": crc(hierarchy.linkage(), "<f8"),
        "rows": {str(k): crc(hierarchy.predict(case.rows, k), "<i4") for k in ks},
        "between": {str(k): crc(hierarchy.predict(between, k), "<i4") for k in ks},
        "far": crc(hierarchy.predict(-1e3 * case.rows, ks[-1]), "<i4"),
    }


def stored_answers() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ANSWERS.read_text())
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the saved hierarchies that are missing.")
    parser.add_argument("--write", action="store_true", required=True)
    parser.parse_args()
    answers = stored_answers() if ANSWERS.exists() else {}
    for name, case in SAVED.items():
        path = FOLDER / f"{name}.holdfast"
        if path.exists():
            continue
        hierarchy = fit(case)
        write_archive(path, "hierarchy", *hierarchy_to_arrays(hierarchy))
        answers[name] = answers_of(hierarchy, case)
        print("wrote", path.name)
    lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in sorted(answers.items())]
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
