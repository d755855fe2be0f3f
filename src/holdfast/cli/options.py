"""What users can write: groups of options that commands share, and their texts as values."""

import csv
import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from holdfast.cli.console import Console, InputError
from holdfast.tables.text import TextFormat
from holdfast.tables.write import TABLE_ENDINGS, Outputs, check_outputs

if TYPE_CHECKING:
    from holdfast.tables.columns import ColumnChoice
    from holdfast.tables.preparation import Missing

COLUMNS = "Columns and rows"
READING = "Reading text files"
OUTPUT = "Output"
_MOST_COUNTS = 10_000


def declare(names: str, help: str, panel: str | None = None, **more: Any) -> Any:
    """Declare an option for Typer: its names and what stands for its value, as in the help."""
    words = names.split()
    flags = [word for word in words if word.startswith("-")]
    value = words[-1] if len(words) > len(flags) else None
    return typer.Option(*flags, metavar=value, help=help, rich_help_panel=panel, **more)


def option(
    names: str, help: str, default: Any = None, panel: str | None = None, **more: Any
) -> Any:
    """Declare an option with its default, of a command or of a group of options."""
    return field(default=default, metadata={"option": declare(names, help, panel, **more)})


CLUSTERS = ("--clusters -k K,K,...", "Numbers of clusters, such as 8 or 4,8,16 or 2-6.")
DELETE = ("--delete N,N%,...", "How many rows to remove: counts or fractions.")
METHOD = (
    "--method",
    (
        "How clusters are split: means (lowest cost), medoids (between two rows, with a proven bound "
        "on movement) or tree (in near-linear time, with the proofs of the paper)."
    ),
)
METRIC = ("--metric", "Distance: euclidean, cosine (means and medoids) or manhattan (medoids).")
EPSILON = (
    "--epsilon",
    (
        "How random the choice of centers is; 0 always takes the best. auto is 0.001 for means, 0.05 "
        "for medoids and 1 for tree."
    ),
)
SEED = ("--seed", "Random seed. No seed is better than another.")
ID = "Column that identifies rows; by default that of the fit."

DataFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, Parquet, Arrow/Feather or .npy file; - is standard input.",
        show_default=False,
    ),
]
ModelFile = Annotated[
    str, typer.Argument(metavar="MODEL", help="Model file from fit --model.", show_default=False)
]
Clusters = Annotated[str, declare(*CLUSTERS)]
MethodOption = Annotated[str, declare(*METHOD)]
Epsilon = Annotated[str, declare(*EPSILON)]
Seed = Annotated[int, declare(*SEED)]
Jobs = Annotated[
    int,
    declare(
        "--jobs -j", "Number of processes; -1 uses all cores. The results do not depend on it."
    ),
]
Force = Annotated[bool, declare("--force -f", "Replace existing files.", OUTPUT)]
Chunked = Annotated[
    bool, declare("--chunked", "Read the file in parts: for files larger than memory.", READING)
]
Append = Annotated[
    bool,
    declare(
        "--append", "Write all columns of the table as they are, with the labels added.", OUTPUT
    ),
]
Weights = Annotated[
    str | None, declare("--weights COLUMN", "Column with the weight of each row.", COLUMNS)
]
DemoData = Annotated[
    str | None,
    declare(
        "--data FILE", "Only write the Wine data to this file, which the examples in the help use."
    ),
]
Full = Annotated[bool, declare("--full", "Measure on all rows instead of a sample of 1,000.")]


@dataclass(frozen=True)
class MeasureOptions:
    """How carefully stability is measured."""

    trials: int = option("--trials", "Perturbed tables for each figure.", 30, min=1)
    repeats: int = option("--repeats", "Seeds for each random method.", 5, min=1)
    seed: Seed = 0
    jobs: Jobs = -1


@dataclass(frozen=True)
class ReportMeasureOptions(MeasureOptions):
    """How carefully stability is measured for a page: `build_report` has the same defaults."""

    trials: int = option("--trials", "Perturbed tables for each figure.", 15, min=2)
    repeats: int = option("--repeats", "Seeds for each random method.", 4, min=1)
    full: Full = False

    @property
    def measuring(self) -> dict[str, Any]:
        """The same for `build_report`."""
        how = {"trials": self.trials, "repeats": self.repeats, "full": self.full}
        return {**how, "n_jobs": self.jobs, "random_state": self.seed}


@dataclass(frozen=True)
class ReadOptions:
    """How text files are read."""

    panel = READING
    separator: str | None = option(
        "--separator CHAR",
        "Character between columns. By default it is found in the first line; a tab for .tsv files.",
    )
    decimal: str | None = option(
        "--decimal CHAR",
        "Decimal mark. By default a point, or a comma if the first lines show one.",
    )
    encoding: str = option("--encoding", "Such as latin-1 or utf-16.", "utf-8")
    no_header: bool = option(
        "--no-header", "The first line is a row. Columns are named column_0, column_1, ...", False
    )

    @property
    def text(self) -> "TextFormat":
        """The same for `holdfast.tables`."""
        return TextFormat(self.separator, self.decimal, self.encoding, not self.no_header)


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns and rows take part, and how they are prepared."""

    panel = COLUMNS
    columns: str | None = option("--columns A,B,...", "Use only these columns.")
    drop: str | None = option("--ignore --drop A,B,...", "Use all usable columns except these.")
    categories: str | None = option(
        "--categories A,B,...", "Treat these columns as categories, even if they hold numbers."
    )
    dates: str | None = option(
        "--dates A,B,...", "Treat these columns as dates or times, such as 2024-05-31 14:30."
    )
    cycles: str | None = option(
        "--cycles hour,weekday",
        "Add the hour, the weekday or both of each date as points on a circle.",
    )
    transform: str | None = option(
        "--transform log:A,B,...", "Take log(1 + x) of these columns: for numbers with heavy tails."
    )
    id: str | None = option(
        "--id COLUMN", "Column that identifies rows; otherwise rows are numbered from 0."
    )
    standardize: bool = option(
        "--standardize/--no-standardize",
        "Divide numbers by their deviation, in which extreme values count less.",
        True,
    )
    strict: bool = option(
        "--strict", "Fail on columns that are not numeric and on missing values.", False
    )
    drop_missing: bool = option(
        "--drop-missing", "Leave out rows with missing values; their labels stay empty.", False
    )
    impute: str | None = option(
        "--impute median",
        "Fill missing values with the median of their column, and do not mark them.",
    )

    def changed(self, but: tuple[str, ...]) -> list[str]:
        """List the options that were given, but for some."""
        given = [f.name for f in fields(self) if getattr(self, f.name) != f.default]
        shown = {"standardize": "no-standardize"}
        return [f"--{shown.get(n, n).replace('_', '-')}" for n in given if n not in but]

    def choice(self, weights: str | None = None) -> "ColumnChoice":
        """Return the same for `holdfast.tables`."""
        from holdfast.tables.columns import ColumnChoice

        cycles = parse_names("--cycles", self.cycles)
        if not set(cycles) <= {"hour", "weekday"}:
            raise InputError(f"--cycles must be hour, weekday or both; got {self.cycles!r}.")
        if self.transform is not None and not self.transform.startswith("log:"):
            raise InputError(f"--transform must be log:A,B,...; got {self.transform!r}.")
        logs = None if self.transform is None else self.transform.removeprefix("log:")
        return ColumnChoice(
            columns=parse_names("--columns", self.columns),
            drop=parse_names("--ignore", self.drop),
            id=self.id,
            weights=weights,
            strict=self.strict,
            categories=parse_names("--categories", self.categories),
            dates=parse_names("--dates", self.dates),
            logs=parse_names("--transform", logs),
            cycles=cycles,
        )

    def scale(self, method: str = "means") -> str | None:
        """Say what numbers are divided by; the grid of the tree needs scales that mostly stay."""
        if not self.standardize:
            return None
        return "steps" if method in ("tree", "clnss") else "core"

    @property
    def missing(self) -> "Missing":
        """What happens to missing values."""
        if self.impute not in (None, "median"):
            raise InputError(f"--impute must be median; got {self.impute!r}.")
        if self.impute and self.drop_missing:
            raise InputError("give --drop-missing or --impute median, not both.")
        if self.impute:
            return "median"
        return "drop" if self.drop_missing else "error" if self.strict else "indicate"


@dataclass(frozen=True)
class OutputOptions:
    """Where the table goes."""

    panel = OUTPUT
    out: str = option(
        "--out -o FILE",
        "Table to write: .csv, .tsv, .parquet, .arrow, .feather or .npy; - is CSV on "
        "standard output.",
        "-",
    )
    force: Force = False

    def open(
        self, command: str, display: "DisplayOptions", inputs: tuple[str, ...], **others: Any
    ) -> Console:
        """Refuse files that could not be written; return what the command prints to."""
        outputs: Outputs = {"--out": (self.out, TABLE_ENDINGS)}
        outputs |= {f"--{option}": output for option, output in others.items()}
        check_outputs(outputs, force=self.force, inputs=inputs)
        return Console(command, display, table_on_stdout=self.out == "-" and not display.json)


@dataclass(frozen=True)
class DisplayOptions:
    """How much is printed, and in which form."""

    panel = OUTPUT
    json: bool = option("--json", "Print the result as JSON.", False)
    quiet: bool = option("--quiet -q", "Print errors only: no notices, no progress.", False)
    debug: bool = option("--debug", "Show the traceback of an error.", False)


def parse_counts(text: str, option: str = "--clusters") -> tuple[int, ...]:
    """Read ``8``, ``4,8,16`` or ``2-6``: ascending, each once."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            low = int(first)
            high = int(last) if dash else low
        except ValueError:
            low = high = 0
        if low < 1 or high < low or high - low >= _MOST_COUNTS:
            raise InputError(
                f"{option} must be positive numbers such as 8, 4,8,16 or 2-6; got {text!r}."
            )
        found.update(range(low, high + 1))
    return tuple(sorted(found))


def parse_amounts(text: str) -> list[int | float]:
    """Read ``1,1%,5%``: numbers of rows, or fractions of them."""
    amounts: list[int | float] = []
    for part in text.split(","):
        word = part.strip()
        whole = word.isdecimal() and int(word) > 0
        amounts.append(int(word) if whole else _to_number(word))
        if not whole and not 0.0 < amounts[-1] < 1.0:
            raise InputError(
                f"--delete must be numbers of rows or fractions, such as 1,1%,5%; got {part!r}."
            )
    return amounts


def parse_fraction(option: str, text: str) -> float:
    """Read ``5%`` or ``0.05``."""
    fraction = _to_number(text.strip())
    if not 0.0 <= fraction <= 1.0:
        raise InputError(f"{option} must be a fraction such as 5% or 0.05; got {text!r}.")
    return fraction


def parse_epsilon(text: str) -> float | Literal["auto"]:
    """Read a number from 0 to inf, or ``auto``."""
    if text.strip() == "auto":
        return "auto"
    value = _to_number(text) if "%" not in text else math.nan
    if not value >= 0.0:
        raise InputError(f"--epsilon must be a number of at least 0, inf or auto; got {text!r}.")
    return value


def parse_names(option: str, text: str | None) -> tuple[str, ...]:
    """Read names separated by commas; a name with a comma stands in double quotes."""
    if text is None:
        return ()
    try:
        (names,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        names = []
    if not names or "" in names:
        raise InputError(f"{option} must be names separated by commas, such as a,b; got {text!r}.")
    return tuple(dict.fromkeys(names))


def check_seed(seed: int) -> None:
    """Accept 32 bits, as scikit-learn does."""
    if not 0 <= seed < 1 << 32:
        raise InputError(f"--seed must be from 0 to 2^32 - 1; got {seed}.")


def _to_number(word: str) -> float:
    """Read a number or a percentage; NaN if it is neither."""
    try:
        value = float(word.removesuffix("%"))
    except ValueError:
        return math.nan
    return value / 100.0 if word.endswith("%") else value
