"""Models that the command line saved in format 1: every later version must load them.

The files in models/ are never written again. The answers are those that they gave when they were
written.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from golden.recipe import Case, crc, groups, integers
from golden.saved import answers_of

from holdfast import HierarchicalKMedian

FOLDER = Path(__file__).with_name("models")
ANSWERS = FOLDER / "answers.json"

MODELS = {
    "model-tree-1": Case(integers(51, 30, 2, 6)),
    "model-euclidean-1": Case(groups(52, 30, 2)),
}
_OLD_NAMES = {"tree": "tree", "medoids": "euclidean", "means": "refined"}


def answers_of_model(model: HierarchicalKMedian, case: Case) -> dict[str, Any]:
    """Everything that such a file says, under the names of format 1."""
    table = model.table_
    assert table is not None
    stored = None
    if hasattr(model, "_held"):
        distinct, index = np.unique(model.rows_, axis=0, return_inverse=True)
        stored = [crc(distinct, "<f8"), index.reshape(-1).tolist()]
    return {
        **answers_of(model.hierarchy_, case),
        "preparation": table.preparation.to_json(),
        "parameters": {
            "cost": _OLD_NAMES[model.method],
            "epsilon": model.epsilon_.hex(),
            "max_centers": model.max_centers,
            "seed": model.seed_,
        },
        "n_clusters": list(table.cuts),
        "id_name": table.id_name,
        "ids": None if table.ids is None else table.ids.tolist(),
        "used": table.used.tolist(),
        "stored": stored,
    }


def stored_answers() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ANSWERS.read_text())
    return found
