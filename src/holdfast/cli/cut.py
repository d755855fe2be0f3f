"""``holdfast cut``: a model -> labels for any number of clusters, without fitting again."""

from holdfast.cli.console import Console
from holdfast.cli.options import Clusters, ModelFile, OutputOptions, TalkOptions
from holdfast.cli.parse import parse_counts

__all__ = ["EXAMPLES", "cut"]

EXAMPLES = (
    "holdfast cut wine.holdfast --clusters 12 --out twelve.csv",
    "holdfast cut wine.holdfast --clusters 2,3 | head -n 4",
)


def cut(model: ModelFile, clusters: Clusters, output: OutputOptions, talk: TalkOptions) -> None:
    """Cut a fitted hierarchy into any number of clusters, without fitting again."""
    import pyarrow as pa

    from holdfast.cli.labels import build_label_table, describe_cuts, name_centers, show_labels
    from holdfast.cli.models import check_cuts, load_model
    from holdfast.cli.outputs import TABLE_ENDINGS, check_targets, write_table

    console = Console("cut", talk, table_on_stdout=output.out == "-" and not talk.json)
    ks = parse_counts(clusters)
    check_targets({"--out": (output.out, TABLE_ENDINGS)}, force=output.force, inputs=(model,))
    fitted = load_model(model)
    check_cuts(fitted, ks, model)
    hierarchy = fitted.hierarchy
    table = build_label_table(
        None if fitted.ids is None else fitted.id_name,
        None if fitted.ids is None else pa.array(fitted.ids),
        fitted.used,
        {k: hierarchy.cut(k) for k in ks},
        hierarchy.center_indices,
    )
    if output.out != "-":
        write_table(output.out, table)
    cuts = describe_cuts(hierarchy, ks, name_centers(table, fitted.used, hierarchy, max(ks)))
    record = {"n_rows": table.num_rows, "n_used": hierarchy.n_rows, "cuts": cuts}
    show_labels(console, record, table, output.out, {})
