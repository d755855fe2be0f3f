"""What ``holdfast audit`` measures: methods on prepared rows, and any clusterer of a user on data as read."""

import contextlib
import importlib
import importlib.util
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import holdfast
from holdfast._machine import np
from holdfast._machine.work import ProgressOption
from holdfast.cli.console import Console, InputError, input_errors
from holdfast.cli.inputs import RawData, check_counts
from holdfast.cli.options import MeasureOptions, parse_amounts
from holdfast.clusterers import METHODS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from holdfast.cli.audit import AuditOptions
    from holdfast.stability import SensitivityResult

_MOST_QUADRATIC = 30_000  # rows: 3.6 GB of distances
_EXPECTED = (
    "expected a clusterer of scikit-learn, a Pipeline, the class of one, or a function (X, k, seed) -> "
    "labels"
)


@dataclass(frozen=True)
class Measured:
    """Rows that are measured, and how each fit prepares them."""

    rows: Any  # prepared as a whole, distances, or sparse
    n_rows: int  # of the table
    preparation: dict[str, Any] | None = None
    # Turns the clusterer of a method into one that prepares the rows of every fit; None holds the preparation.
    prepare: Callable[[Any, str], Any] | None = None

    @property
    def n_used(self) -> int:
        """Number of rows that are measured."""
        return len(self.rows) if isinstance(self.rows, list) else int(self.rows.shape[0])


def check_quadratic(n_rows: int, names: tuple[str, ...]) -> None:
    """Refuse more distances than memory holds."""
    quadratic = [name for name in names if METHODS[name].quadratic]
    if quadratic and n_rows > _MOST_QUADRATIC:
        raise InputError(
            f"with {' and '.join(quadratic)} linkage, a distance is stored for every pair of the "
            f"{n_rows:,} rows. Leave that out of --methods, or add --sample 5000."
        )


def measure_method(
    name: str, found: Measured, asked: "AuditOptions", how: MeasureOptions, progress: ProgressOption
) -> list[dict[str, Any]]:
    """Measure one method: a record for each number of removed rows and of clusters."""
    from holdfast.stability import cost_by_seed

    method = METHODS[name]
    clusterer: Any = ((asked.by_distance and method.by_distance) or method.build)()
    ways = {name: (clusterer, found.rows)}
    if found.prepare is not None:
        ways[name] = (found.prepare(clusterer, name), np.arange(found.rows.shape[0])[:, None])
    if asked.by_stage:
        ways[f"{name}, held"] = (clusterer, found.rows)
    with input_errors():
        result, *held = (
            _measure_movement(way, *ways[way], asked.ks, asked, how, progress) for way in ways
        )
    costs = cost_by_seed(clusterer, found.rows, n_clusters=asked.ks, seeds=result.seeds).mean(
        axis=0
    )
    records = _describe_results(name, result)
    for number, record in enumerate(records):
        c, j = divmod(number, len(result.n_clusters))
        record["cost"] = float(costs[j])
        if held:
            record["held"] = float(held[0].mean[c, j])
    return records


def _measure_movement(
    name: str, clusterer: Any, X: Any, ks: tuple[int, ...] | None, asked: "AuditOptions",
    how: MeasureOptions, progress: ProgressOption, **more: Any,
) -> "SensitivityResult":  # fmt: skip
    """Measure any clusterer; end the command if that was interrupted."""
    folder = None if asked.checkpoint is None else Path(asked.checkpoint) / name
    result = holdfast.average_sensitivity(
        clusterer, X, n_clusters=ks, delete=parse_amounts(asked.delete), trials=how.trials,
        repeats=how.repeats, n_jobs=how.jobs, random_state=how.seed,
        progress=progress, checkpoint=folder, **more,
    )  # fmt: skip
    if not result.complete:
        kept = "" if folder is None else " The same command continues from its checkpoint."
        raise KeyboardInterrupt(f"interrupted while measuring {name}.{kept}")
    return result


def relate_costs(
    records: list[dict[str, Any]], rows: "NDArray[np.float64]", by_distance: bool
) -> None:
    """Add costs relative to one cluster and to Ward linkage; None where that is not known."""
    if not records:
        return
    metric: Any = "precomputed" if by_distance else "euclidean"
    one = holdfast.k_median_cost(rows, np.zeros(rows.shape[0]), metric=metric)
    ward = {record["k"]: record["cost"] for record in records if record["method"] == "ward"}
    for record in records:
        reference = ward.get(record["k"], 0.0)
        record["cost_of_one"] = record["cost"] / one if one > 0.0 else None
        record["cost_of_ward"] = record["cost"] / reference if reference > 0.0 else None


def load_clusterer(text: str, console: Console) -> tuple[str, Any]:
    """Run a Python file, or import a module, and return what it calls NAME, and its name."""
    place, colon, name = text.rpartition(":")
    if not colon or not place or not name:
        raise InputError(
            f"--clusterer must be FILE.py:NAME or MODULE:NAME, such as mine.py:pipeline; got {text!r}."
        )
    if place.endswith(".py") and not Path(place).is_file():
        raise InputError(f"--clusterer: there is no file {place}.")
    console.notice(f"--clusterer executes the code of {place}.")
    with _user_code(f"--clusterer: {place} cannot be imported"):
        module = _run_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    try:
        found = attrgetter(name)(module)
    except AttributeError:
        raise InputError(
            f"--clusterer: {place} has no {name!r}. Check the name after the colon."
        ) from None
    if isinstance(found, type):
        with _user_code(f"--clusterer: {name}() of {place} cannot be called"):
            found = found()
    return name, _check_clusterer(found, text)


def _run_file(path: Path) -> ModuleType:
    """Import a file under a name of its own; modules beside it can be imported, as by ``python``."""
    name = f"holdfast_clusterer_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec.loader.exec_module(module)
    for pickler in ("joblib.externals.cloudpickle", "cloudpickle"):  # joblib has one or uses one
        with contextlib.suppress(
            ModuleNotFoundError
        ):  # worker processes cannot find it by its name
            importlib.import_module(pickler).register_pickle_by_value(module)
    return module


def _check_clusterer(found: Any, text: str) -> Any:
    from holdfast.clusterers.adapt import FunctionClusterer, as_clusterer

    got = type(found).__name__
    try:
        adapted = as_clusterer(found)
        if isinstance(adapted, FunctionClusterer):
            got = f"a function {inspect.signature(found)}"
            inspect.signature(found).bind(None, None, 0)
    except TypeError:
        raise InputError(f"--clusterer {text} is {got}; {_EXPECTED}.") from None
    except ValueError:  # a function without a signature, written in C
        pass
    return found


def measure_clusterer(
    text: str, data: RawData, how: MeasureOptions, asked: "AuditOptions", console: Console
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Measure a clusterer of a user on data as they were read; also say what was measured."""
    from sklearn.pipeline import Pipeline

    name, clusterer = load_clusterer(text, console)
    ks = _choose_counts(clusterer, name, data, asked, console)
    if asked.by_stage and not isinstance(clusterer, Pipeline):
        got = type(clusterer).__name__
        raise InputError(f"--by-stage needs a Pipeline of scikit-learn; --clusterer is {got}.")
    console.notice(f"measuring {name} with all its steps, fitted again each time, on {data.kind}.")
    advice = " If it needs a number of clusters, add --clusters." if ks is None else ""
    with (
        console.progress(f"measuring {name}") as progress,
        _user_code("--clusterer", advice),
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        result = _measure_movement(
            name, clusterer, data.rows, ks, asked, how, progress, by_stage=asked.by_stage,
            pairwise=data.pairwise or None,
        )  # fmt: skip
    for told in dict.fromkeys(_in_one_line(str(warning.message)) for warning in warned):
        console.notice(told)
    return _describe_results(name, result), {"clusterer": text, "data": data.kind}


def _choose_counts(
    clusterer: Any, name: str, data: RawData, asked: "AuditOptions", console: Console
) -> tuple[int, ...] | None:
    """Numbers of clusters; None leaves them to the clusterer, and to a function that may choose."""
    from holdfast.clusterers.adapt import EstimatorClusterer, FunctionClusterer, as_clusterer

    adapted = as_clusterer(clusterer)
    if isinstance(adapted, EstimatorClusterer) and not adapted.count_parameters:
        if asked.clusters is not None:
            console.notice(f"{name} chooses the number of clusters itself; --clusters is not used.")
        return None
    if isinstance(adapted, FunctionClusterer) and asked.clusters is None:
        return None
    check_counts(asked.ks, data.n_rows)
    return asked.ks


@contextlib.contextmanager
def _user_code(what: str, advice: str = "") -> Iterator[None]:
    """Keep what code of a user prints off standard output; its errors are wrong input, in one line."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except (InputError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        told = _in_one_line(str(error))
        kind = "" if isinstance(error, RuntimeError | ValueError) else f"{type(error).__name__}: "
        raise InputError(
            f"{what}: {kind}{told}{'' if told.endswith('.') else '.'}{advice}"
        ) from error


def _in_one_line(text: str) -> str:
    return " ".join(text.split()).replace("`", "'")  # backticks are for options of ours


def _describe_results(name: str, result: "SensitivityResult") -> list[dict[str, Any]]:
    """Return a record for each number of removed rows and of clusters; k is None if it was chosen."""
    from holdfast.stability.measures import mean_present

    interval = result.interval()
    by_cut = {
        "rand": result.rand,
        "information": result.information,
        "clusters_found": result.found,
    }
    measured = {name: values for name, values in by_cut.items() if values is not None}
    return [
        {
            "method": name,
            "k": k or None,
            "delete": change.removeprefix("delete "),
            "mean": float(result.mean[c, j]),
            "standard_error": float(result.standard_error[c, j]),
            "low": float(interval[c, j, 0]),
            "high": float(interval[c, j, 1]),
            "floor": float(result.floor[c]),
            **{key: float(mean_present(values[c, j])) for key, values in measured.items()},
            **{f"held_{stage}": float(held.mean[c, j]) for stage, held in result.stages.items()},
        }
        for c, change in enumerate(result.changes)
        for j, k in enumerate(result.n_clusters)
    ]
