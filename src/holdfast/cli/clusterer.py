"""``holdfast audit --clusterer``: any clusterer of a Python file or module, on the data as read."""

import contextlib
import importlib
import importlib.util
import inspect
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from holdfast._machine.progress import ProgressOption
from holdfast.cli.console import Console, InputError
from holdfast.cli.inputs import read_distances, read_file, read_sparse_file
from holdfast.cli.options import ColumnOptions, MeasureOptions, ReadOptions

if TYPE_CHECKING:
    from holdfast.stability import SensitivityResult

_USABLE = ("columns", "drop", "id")  # of the options about columns
_EXPECTED = (
    "expected a clusterer of scikit-learn, a Pipeline, a class or a function without parameters that "
    "returns one of these, or a function (X, k, seed) -> labels"
)


@dataclass(frozen=True, eq=False)
class RawData:
    """Data as a clusterer of a user gets them.

    Attributes
    ----------
    rows : DataFrame, pyarrow.Table, ndarray, csr_array or list of str
    kind : str
        What they are, in words.
    pairwise : bool
        Whether they are distances between rows.
    """

    rows: Any
    kind: str
    pairwise: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows) if isinstance(self.rows, list) else int(self.rows.shape[0])

    def take(self, numbers: Any) -> "RawData":
        """Keep some rows, of distances also these columns."""
        import numpy as np
        from sklearn.utils import _safe_indexing

        if self.pairwise:
            return RawData(self.rows[np.ix_(numbers, numbers)], self.kind, True)
        return RawData(_safe_indexing(self.rows, numbers), self.kind)


def read_raw(
    path: str,
    read: ReadOptions,
    column: ColumnOptions,
    text: str | None,
    pairwise: bool,
    console: Console,
) -> RawData:
    """Read data without preparing them."""
    default = ColumnOptions()
    for each in fields(ColumnOptions):
        if each.name not in _USABLE and getattr(column, each.name) != getattr(default, each.name):
            name = "no-standardize" if each.name == "standardize" else each.name.replace("_", "-")
            raise InputError(
                f"--{name} prepares the table, but --clusterer gets it as it was read. Leave --{name} "
                "out, and prepare in the clusterer, for example with holdfast.TablePreparer."
            )
    if text is not None and (pairwise or path.lower().endswith(".npz")):
        raise InputError("--text names a column of a table; distances and .npz files have none.")
    if path.lower().endswith(".npz"):
        rows = read_sparse_file(path, column)
        return RawData(rows, f"a sparse matrix of {rows.shape[1]:,} columns")
    if pairwise:
        return RawData(read_distances(path, read, column, console), "distances", True)
    table = read_file(path, read, console, exact=(column.id,))
    return _to_texts(table, text) if text is not None else _to_frame(table, column)


def _to_frame(table: Any, column: ColumnOptions) -> RawData:
    from holdfast.tables.columns import choose_candidates, find_names, take_ids
    from holdfast.tables.encode import to_doubles

    choice = find_names(table, column.choice())
    names = list(choose_candidates(table, choice))
    if table.source.lower().endswith(".npy"):
        import numpy as np

        rows = np.column_stack([to_doubles(table.data.column(name)) for name in names])
        return RawData(rows, f"an array of {len(names):,} columns")
    data, ids = table.data.select(names), take_ids(table, choice.id)
    try:
        import pandas as pd
    except ImportError:
        return RawData(data, f"a pyarrow table of {len(names):,} columns")
    frame = data.to_pandas()
    if ids is not None:
        frame.index = pd.Index(ids.to_pandas(), name=choice.id)
    return RawData(frame, f"a pandas table of {len(names):,} columns")


def _to_texts(table: Any, name: str) -> RawData:
    from holdfast.tables.encode import to_texts
    from holdfast.tables.errors import count, list_names, show_name

    shown = {show_name(column): column for column in table.data.column_names}
    found = shown.get(show_name(name))
    if found is None:
        known = list_names(table.data.column_names)
        raise InputError(f"--text: {table.source} has no column {name!r}; it has {known}.")
    texts = to_texts(table.data.column(found)).to_pylist()
    if None in texts:
        raise InputError(
            f"--text: column {show_name(found)} of {table.source} has "
            f"{count(texts.count(None), 'missing value')}, the first in row {texts.index(None):,} "
            "(from 0). Fill them."
        )
    return RawData(texts, f"the texts of column {show_name(found)}")


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
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise InputError(
                f"--clusterer: {place} has no {name!r}. Check the name after the colon."
            )
        found = getattr(found, part)
    if _is_factory(found):
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
    _send_by_value(module)
    return module


def _send_by_value(module: ModuleType) -> None:
    """Send what a module defines to worker processes, which cannot find it by its name."""
    for pickler in ("joblib.externals.cloudpickle", "cloudpickle"):  # joblib has one or uses one
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(pickler).register_pickle_by_value(module)


def _is_factory(found: Any) -> bool:
    """Whether `found` is a class, or a function that needs no arguments."""
    if isinstance(found, type):
        return True
    if not callable(found) or hasattr(found, "fit"):
        return False
    try:
        inspect.signature(found).bind()
    except (TypeError, ValueError):
        return False
    return True


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


def chooses_clusters(clusterer: Any) -> bool | None:
    """Whether a clusterer chooses the number of clusters itself; None if only it can know."""
    from holdfast.clusterers.adapt import EstimatorClusterer, FunctionClusterer, as_clusterer

    adapted = as_clusterer(clusterer)
    if isinstance(adapted, FunctionClusterer):
        return None
    return isinstance(adapted, EstimatorClusterer) and not adapted.count_parameters


def measure_clusterer(
    clusterer: Any,
    data: RawData,
    ks: tuple[int, ...] | None,
    how: MeasureOptions,
    options: dict[str, Any],
    progress: ProgressOption,
    console: Console,
) -> "SensitivityResult":
    """Measure a clusterer of a user; what it raises is wrong input, what it prints is a notice."""
    from holdfast import average_sensitivity

    if options["by_stage"]:
        from sklearn.pipeline import Pipeline

        if not isinstance(clusterer, Pipeline):
            got = type(clusterer).__name__
            raise InputError(f"--by-stage needs a Pipeline of scikit-learn; --clusterer is {got}.")
    advice = " If it needs a number of clusters, add --clusters." if ks is None else ""
    with _user_code("--clusterer", advice), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = average_sensitivity(
            clusterer, data.rows, ks, trials=how.trials, repeats=how.repeats, n_jobs=how.jobs,
            random_state=how.seed, progress=progress, pairwise=data.pairwise or None, **options,
        )  # fmt: skip
    for text in dict.fromkeys(_in_one_line(str(warning.message)) for warning in told):
        console.notice(text)
    return result


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


def describe_results(name: str, result: "SensitivityResult") -> list[dict[str, Any]]:
    """Return a record for each number of removed rows and of clusters; k is None if it was chosen."""
    import numpy as np

    interval, rand = result.interval(), result.rand
    assert rand is not None
    assert result.information is not None
    assert result.found is not None
    by_cut = {"rand": rand, "information": result.information, "clusters_found": result.found}
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
            **{key: float(np.nanmean(values[c, j])) for key, values in by_cut.items()},
            **{f"held_{stage}": float(held.mean[c, j]) for stage, held in result.stages.items()},
        }
        for c, change in enumerate(result.changes)
        for j, k in enumerate(result.n_clusters)
    ]
