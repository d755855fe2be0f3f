"""Saved models that every later version must load, as saved.py has it for hierarchies.

``python tests/golden/saved_models.py`` writes those of `MODELS` that are not there yet.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from golden.recipe import Case, crc, groups, integers
from golden.saved import answers_of, fit

from holdfast.model_file import FittedModel, collect_rows, save_model
from holdfast.tables.preparation import Preparation

FOLDER = Path(__file__).with_name("models")
ANSWERS = FOLDER / "answers.json"


@dataclass(frozen=True)
class ModelCase:
    """What is fitted, and what the model says besides the hierarchy."""

    case: Case
    preparation: Preparation
    parameters: dict[str, Any]
    ids: str
    with_rows: bool


MODELS = {
    "model-tree-1": ModelCase(
        Case(integers(51, 30, 2, 6)),
        Preparation(("a", "ß"), scale=(0.5, 4.0)),
        {"method": "tree", "epsilon": math.inf, "max_centers": None, "seed": 2**64 - 1},
        "texts",
        True,
    ),
    "model-euclidean-1": ModelCase(
        Case(groups(52, 30, 2), None, {"method": "medoids", "max_centers": 9}),
        Preparation(("x", "y"), missing="median", fill=(0.25, -1.5)),
        {"method": "medoids", "epsilon": 0.05, "max_centers": 9, "seed": 0},
        "integers",
        False,
    ),
}


def build_model(given: ModelCase) -> FittedModel:
    """Make the model that is saved: of 35 rows, five were left out."""
    used = np.arange(35) % 7 != 6
    ids = np.arange(35) * 10 if given.ids == "integers" else np.array([f"é{i}" for i in range(35)])
    return FittedModel(
        hierarchy=fit(given.case),
        preparation=given.preparation,
        parameters=given.parameters,
        n_clusters=(2, 5),
        id_name="id",
        ids=ids,
        used=used,
        stored=collect_rows(given.case.rows, None) if given.with_rows else None,
    )


def answers_of_model(model: FittedModel, given: ModelCase) -> dict[str, Any]:
    """Everything that a model can be asked for."""
    stored = model.stored
    return {
        **answers_of(model.hierarchy, given.case),
        "preparation": model.preparation.to_json(),
        "parameters": {**model.parameters, "epsilon": model.parameters["epsilon"].hex()},
        "n_clusters": list(model.n_clusters),
        "id_name": model.id_name,
        "ids": None if model.ids is None else model.ids.tolist(),
        "used": model.used.tolist(),
        "stored": None if stored is None else [crc(stored.rows, "<f8"), stored.index.tolist()],
    }


def stored_answers() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ANSWERS.read_text())
    return found


def main() -> None:
    answers = stored_answers() if ANSWERS.exists() else {}
    for name, given in MODELS.items():
        path = FOLDER / f"{name}.holdfast"
        if not path.exists():
            model = build_model(given)
            save_model(path, model)
            answers[name] = answers_of_model(model, given)
            print("wrote", path.name)
    ANSWERS.write_text(json.dumps(answers, indent=None, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
