"""``holdfast diff``: what moved between two models."""

from typing import Annotated

import typer

from holdfast.cli.console import Console
from holdfast.cli.options import TalkOptions
from holdfast.cli.parse import parse_counts

__all__ = ["EXAMPLES", "diff"]

EXAMPLES = ("holdfast diff wine.holdfast new.holdfast --clusters 4",)


def diff(
    before: Annotated[str, typer.Argument(metavar="MODEL_A", help="Model file before.")],
    after: Annotated[str, typer.Argument(metavar="MODEL_B", help="Model file after.")],
    talk: TalkOptions,
    clusters: Annotated[
        str | None,
        typer.Option(
            "--clusters",
            "-k",
            metavar="K,K,...",
            help="Numbers of clusters; those that both fits were made for if not given.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Say what moved between two models, cluster by cluster, in words and as a table.

    Rows are recognised by their values. Clusters are matched one to one by the rows that they have
    in common. Both models must hold their rows and have prepared their columns alike.
    """
    from holdfast.cli.differences import compare_models, show_differences
    from holdfast.cli.models import check_cuts, load_model
    from holdfast.cli.problems import InputProblem

    console = Console("diff", talk)
    asked = None if clusters is None else parse_counts(clusters)
    models = [load_model(path) for path in (before, after)]
    ks = asked or tuple(k for k in models[0].n_clusters if k in models[1].n_clusters)
    if not ks:
        raise InputProblem(
            "the models were made for different numbers of clusters; give --clusters."
        )
    for model, path in zip(models, (before, after), strict=True):
        check_cuts(model, ks, path)
    with console.bar("comparing") as bar:
        differences = compare_models(models[0], models[1], ks, bar.update)
    show_differences(console, {}, differences)
