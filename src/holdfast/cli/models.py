"""Model files, with errors for people."""

from typing import TYPE_CHECKING

from holdfast.cli.parse import name_cost
from holdfast.cli.problems import InputProblem, OutputProblem
from holdfast.cli.tables import describe_reason

if TYPE_CHECKING:
    from holdfast.cli.dataset import Dataset
    from holdfast.estimator import HierarchicalKMedian
    from holdfast.model_file import FittedModel

__all__ = ["check_cuts", "keep_model", "load_model"]


def load_model(path: str) -> "FittedModel":
    """Read a model that ``fit --model`` wrote."""
    import os

    from holdfast.loading import load
    from holdfast.model_file import FittedModel

    if path == "-":
        raise InputProblem("a model is read from a file, not from standard input.")
    if os.path.isdir(path):
        raise InputProblem(f"{path} is a folder; expected a model file.")
    try:
        found = load(path)
    except FileNotFoundError:
        raise InputProblem(f"there is no file {path}.") from None
    except OSError as error:
        raise InputProblem(f"{path} cannot be read: {describe_reason(error)}.") from None
    except ValueError as error:
        raise InputProblem(str(error)) from None
    if not isinstance(found, FittedModel):
        raise InputProblem(
            f"{path} holds a {type(found).__name__}, not a model that fit --model wrote."
        )
    return found


def keep_model(
    path: str,
    estimator: "HierarchicalKMedian",
    dataset: "Dataset",
    ks: tuple[int, ...],
    with_rows: bool,
) -> None:
    """Write a fit to a model file."""
    import os

    from holdfast.model_file import FittedModel, collect_rows, save_model

    model = FittedModel(
        hierarchy=estimator.hierarchy_,
        preparation=dataset.preparation,
        parameters={
            "cost": name_cost(estimator),
            "epsilon": estimator.epsilon_,
            "max_centers": estimator.max_centers,
            "seed": int(estimator.seed_),
        },
        n_clusters=ks,
        id_name=dataset.id_name,
        ids=None if dataset.ids is None else dataset.ids.to_numpy(),
        used=dataset.used,
        stored=collect_rows(dataset.rows, dataset.weight) if with_rows else None,
    )
    try:
        save_model(os.path.realpath(path), model)
    except OSError as error:
        raise OutputProblem(f"{path} cannot be written: {describe_reason(error)}.") from error


def check_cuts(model: "FittedModel", ks: tuple[int, ...], path: str) -> None:
    """Refuse numbers of clusters that the model does not reach."""
    most = model.hierarchy.n_centers
    if max(ks) > most:
        raise InputProblem(
            f"{path} goes to {most:,} clusters; --clusters asks for {max(ks):,}. Fit again with a "
            "larger --max-centers, or ask for fewer."
        )
