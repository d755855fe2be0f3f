"""What users can write, in groups that several commands share."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

__all__ = [
    "Chunked",
    "Clusters",
    "ColumnOptions",
    "DataFile",
    "FitOptions",
    "KeepOptions",
    "MeasureOptions",
    "ModelFile",
    "OutputOptions",
    "ReadOptions",
    "Seed",
    "TalkOptions",
    "Weights",
    "spread_groups",
]

_COLUMNS = "Columns and rows"
_READING = "Reading text files"
_OUTPUT = "Output"

DataFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, Parquet, Arrow/Feather or .npy file; - is standard input.",
        show_default=False,
    ),
]
ModelFile = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="Model file that fit --model wrote.", show_default=False),
]
Clusters = Annotated[
    str,
    typer.Option(
        "--clusters",
        "-k",
        metavar="K,K,...",
        help="Numbers of clusters, such as 8 or 4,8,16 or 2-6.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Another seed, another result of equal quality.")]


Chunked = Annotated[
    bool,
    typer.Option(
        "--chunked",
        help="Read a Parquet, CSV or Arrow file in parts: for files larger than memory.",
        rich_help_panel=_READING,
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="COLUMN",
        help="How often each row counts.",
        rich_help_panel=_COLUMNS,
        show_default=False,
    ),
]


@dataclass(frozen=True)
class MeasureOptions:
    """How carefully stability is measured."""

    trials: Annotated[
        int, typer.Option("--trials", min=1, help="Changed tables for each number.")
    ] = 30
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, help="Seeds of methods that are random.")
    ] = 5
    seed: Seed = 0
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Processes; -1 is all cores. They change no number.")
    ] = -1


@dataclass(frozen=True)
class ReadOptions:
    """How text files are read."""

    separator: Annotated[
        str | None,
        typer.Option(
            "--separator",
            metavar="CHAR",
            help="Between columns: ',' or what the name says (.tsv: tab).",
            rich_help_panel=_READING,
            show_default=False,
        ),
    ] = None
    decimal: Annotated[
        str,
        typer.Option(
            "--decimal", metavar="CHAR", help="Decimal point of numbers.", rich_help_panel=_READING
        ),
    ] = "."
    encoding: Annotated[
        str,
        typer.Option("--encoding", help="Such as latin-1 or utf-16.", rich_help_panel=_READING),
    ] = "utf-8"
    no_header: Annotated[
        bool,
        typer.Option(
            "--no-header",
            help="The first line is a row: columns are column_0, column_1, ...",
            rich_help_panel=_READING,
        ),
    ] = False


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns and rows take part, and how they are prepared."""

    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="A,B,...",
            help="Use these columns only.",
            rich_help_panel=_COLUMNS,
            show_default=False,
        ),
    ] = None
    drop: Annotated[
        str | None,
        typer.Option(
            "--drop",
            metavar="A,B,...",
            help="Use all numeric columns but these.",
            rich_help_panel=_COLUMNS,
            show_default=False,
        ),
    ] = None
    id: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="What names a row; without it rows are numbered from 0.",
            rich_help_panel=_COLUMNS,
            show_default=False,
        ),
    ] = None
    standardize: Annotated[
        bool,
        typer.Option(
            "--standardize/--no-standardize",
            help="Divide columns by their standard deviation, rounded to a power of two.",
            rich_help_panel=_COLUMNS,
        ),
    ] = True
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="A column that is not numeric is an error, not left out.",
            rich_help_panel=_COLUMNS,
        ),
    ] = False
    drop_missing: Annotated[
        bool,
        typer.Option(
            "--drop-missing",
            help="Rows with missing values take no part; their labels stay empty.",
            rich_help_panel=_COLUMNS,
        ),
    ] = False
    impute: Annotated[
        str | None,
        typer.Option(
            "--impute",
            metavar="median",
            help="Fill missing values with the median of their column.",
            rich_help_panel=_COLUMNS,
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True)
class FitOptions:
    """What decides a hierarchy besides the rows."""

    epsilon: Annotated[
        str,
        typer.Option(
            "--epsilon",
            help="How random centers are: 0 is greedy. auto is 1 for the tree cost, 0.05 for "
            "euclidean and 0.01 for refined.",
        ),
    ] = "auto"
    cost: Annotated[
        str,
        typer.Option(
            "--cost", help="tree (fast), euclidean (closer, slower) or refined (closest)."
        ),
    ] = "tree"
    seed: Seed = 0
    max_centers: Annotated[
        str | None,
        typer.Option(
            "--max-centers",
            metavar="N|all",
            help="How many clusters a model can be cut into. Without it: one for each row, or 256 "
            "for the other costs.",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True)
class KeepOptions:
    """What a fit leaves behind besides labels."""

    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="FILE",
            help="Store the fit, for predict, cut and --like.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None
    no_rows: Annotated[
        bool,
        typer.Option(
            "--no-rows", help="Leave the rows out of the model file.", rich_help_panel=_OUTPUT
        ),
    ] = False
    linkage: Annotated[
        str | None,
        typer.Option(
            "--linkage",
            metavar="FILE.npy",
            help="Write the hierarchy as a SciPy linkage matrix.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None
    like: Annotated[
        str | None,
        typer.Option(
            "--like",
            metavar="MODEL",
            help="Prepare the columns exactly as that model did: the steadiest way to fit again.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None


@dataclass(frozen=True)
class OutputOptions:
    """Where the table goes."""

    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Table to write: .csv, .tsv, .parquet, .arrow, .feather or .npy; "
            "- is standard output, as CSV.",
            rich_help_panel=_OUTPUT,
        ),
    ] = "-"
    force: Annotated[
        bool,
        typer.Option(
            "--force", "-f", help="Replace files that are there.", rich_help_panel=_OUTPUT
        ),
    ] = False


@dataclass(frozen=True)
class TalkOptions:
    """How much is said, and in which form."""

    json: Annotated[
        bool,
        typer.Option("--json", help="Print the result as JSON.", rich_help_panel=_OUTPUT),
    ] = False
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            help="No notices and no progress; errors are still shown.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show where an error comes from.", rich_help_panel=_OUTPUT),
    ] = False


def spread_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Turn each parameter of `command` that is a dataclass above into one parameter a field.

    Typer builds its options from the signature; so commands share groups of options without
    repeating them.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters = []
    for parameter in inspect.signature(command).parameters.values():
        group = groups.get(parameter.name)
        if group is None:
            parameters.append(
                parameter.replace(
                    annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY
                )
            )
            continue
        inside = get_type_hints(group, include_extras=True)
        for field in fields(group):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            parameters.append(
                inspect.Parameter(
                    field.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=default,
                    annotation=inside[field.name],
                )
            )

    @functools.wraps(command)
    def call(**values: Any) -> None:
        given: dict[str, Any] = {}
        for name, group in groups.items():
            given[name] = group(**{f.name: values.pop(f.name) for f in fields(group)})
        command(**values, **given)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    return call
