"""Time until the first result of a fresh process, interpreter and imports included."""

import compileall
import importlib.util
import shutil
import stat
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from report import Row
from tasks import (
    Group,
    MeasurementError,
    Numbers,
    Results,
    Settings,
    Task,
    check_ending,
    run_python,
    start_python,
)

BARE = "import sklearn, numba"
PACKAGE = "import holdfast"
ESTIMATOR = "from holdfast import HierarchicalKMedian"
FIRST_FIT = """
import numpy as np
from holdfast import HierarchicalKMedian
X = np.random.default_rng(0).standard_normal((1000, 3))
assert HierarchicalKMedian(8, method="{method}").fit(X).labels_.size == 1000
"""
# Seconds beyond the bare imports, with an empty and with a warm cache: what is wanted, and the aim.
COLD = {"means": (5.0, 3.0), "tree": (8.0, 5.0)}
WARM = (0.2, 0.1)
WARM_STARTS = 2
# Root may write everywhere, but not without this privilege (util-linux).
OBEY = ("setpriv", "--bounding-set=-dac_override")


def time_start(code: str, through: Sequence[str] = (), **environment: str | None) -> Numbers:
    """Seconds until a fresh interpreter has run `code`, and until its process has ended.

    Python keeps its bytecode, as it does after an installation, whatever this process was told.
    """
    environment = {"PYTHONDONTWRITEBYTECODE": None, **environment}
    start = time.perf_counter()
    code = f"{code}\nprint('done', flush=True)"
    with start_python(["-c", code], through, **environment) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seconds = time.perf_counter() - start
        _, errors = process.communicate()
        check_ending(process, errors)
    return {"seconds": seconds, "ended": time.perf_counter() - start}


@dataclass(frozen=True)
class Import:
    """An import statement in a fresh interpreter."""

    statement: str

    @property
    def title(self) -> str:
        return self.statement

    @property
    def packages(self) -> tuple[str, ...]:
        return ("holdfast",)

    def run(self) -> Numbers:
        return time_start(self.statement)


@dataclass(frozen=True)
class FirstFit:
    """The first fit with an empty cache of numba, then with what that fit left there.

    With `read_only`, from a copy of the package to which nothing can be written: numba then keeps
    its cache in the user's cache folder, which is empty at first.
    """

    read_only: bool = False
    method: str = "means"

    @property
    def title(self) -> str:
        where = "package folder read-only" if self.read_only else "empty cache"
        return f"first fit in a fresh process, {self.method}, {where}, then warm"

    @property
    def packages(self) -> tuple[str, ...]:
        return ("holdfast",)

    def run(self) -> Numbers:
        with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
            cache, site = Path(folder, "cache"), Path(folder, "site")
            cache.mkdir()
            if not self.read_only:
                return _time_fits(cache, self.method, (), NUMBA_CACHE_DIR=str(cache))
            copy_package(site)
            through, blocked = forbid_writing(site)
            try:
                numbers = _time_fits(
                    cache,
                    self.method,
                    through,
                    NUMBA_CACHE_DIR=None,
                    XDG_CACHE_HOME=str(cache),
                    PYTHONPATH=str(site),
                )
            finally:
                _allow_writing(site)
            return {**numbers, "blocked": blocked}


def _time_fits(
    cache: Path, method: str, through: Sequence[str], **environment: str | None
) -> Numbers:
    code = FIRST_FIT.format(method=method)
    cold = time_start(code, through, **environment)
    files = _list_files(cache)
    warm = [time_start(code, through, **environment) for _ in range(WARM_STARTS)]
    return {
        "cold": cold["seconds"],
        "warm": min(numbers["seconds"] for numbers in warm),
        "ended": min(numbers["ended"] for numbers in warm),
        "files": len(files),
        "added": len(_list_files(cache) - files),
    }


def _list_files(folder: Path) -> set[tuple[Path, int]]:
    """Files and when they were written, so that a file written again is another one."""
    return {(path, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def copy_package(target: Path) -> None:
    """Copy the package into `target`, with Python's compiled modules but without numba's cache."""
    spec = importlib.util.find_spec("holdfast")
    if spec is None or not spec.submodule_search_locations:
        raise MeasurementError("holdfast is not installed as a package.")
    package = target / "holdfast"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(spec.submodule_search_locations[0], package, ignore=ignore)
    compileall.compile_dir(package, quiet=2)


def forbid_writing(target: Path) -> tuple[Sequence[str], bool]:
    """Take the permission to write to the copied package from the processes that are measured.

    Root may write anyway, unless started through a command that gives up that privilege. Where it
    does not exist, a file stands where each ``__pycache__`` folder would be, so that no cache can be
    written beside the code; it then has no compiled modules either.

    Returns
    -------
    The command to start through, and whether folders had to be blocked by files.
    """
    package = target / "holdfast"
    folders = [path for path in [package, *package.rglob("*")] if path.is_dir()]
    for path in folders:
        path.chmod(0o555)
    for through in ((), OBEY):
        if not _can_write(package, through):
            return through, False
    for path in folders:
        if path.name == "__pycache__":
            path.chmod(0o755)
            shutil.rmtree(path)
            path.touch()
    return (), True


def _can_write(folder: Path, through: Sequence[str]) -> bool:
    """Whether a process started that way can write there, or cannot be started that way."""
    code = f"""
import tempfile
try:
    tempfile.TemporaryFile(dir={str(folder)!r})
except PermissionError:
    print("no")
"""
    try:
        return "no" not in run_python(["-c", code], through)
    except (OSError, MeasurementError):
        return True


def _allow_writing(target: Path) -> None:
    for path in [target, *target.rglob("*")]:
        if path.is_dir():
            path.chmod(path.stat().st_mode | stat.S_IWUSR)


def plan_imports(settings: Settings) -> list[Import]:
    return [Import(PACKAGE), Import(ESTIMATOR), Import(BARE)]


def list_imports(settings: Settings, results: Results) -> list[Row]:
    bare = results.best(Import(BARE))
    return [
        Row(statement, results.best(Import(statement)), bare, BARE, wanted=1.5)
        for statement in (PACKAGE, ESTIMATOR)
    ]


def plan_first(settings: Settings) -> list[Task]:
    return [*(FirstFit(method=method) for method in COLD), Import(BARE)]


def list_first(settings: Settings, results: Results) -> list[Row]:
    bare, listed = results.best(Import(BARE)), []
    for method, (wanted, aim) in COLD.items():
        task = FirstFit(method=method)
        cold, warm = results.best(task, "cold"), results.best(task, "warm")
        what = f"first fit, {method}, beyond the bare imports"
        listed += [
            Row(f"{what}, empty cache", cold.beyond(bare), wanted=wanted, aim=aim),
            Row(f"{what}, warm cache", warm.beyond(bare), wanted=WARM[0], aim=WARM[1]),
            Row(
                f"the whole process of the first fit, {method}, warm cache, its end included",
                results.best(task, "ended"),
                results.best(Import(BARE), "ended"),
                BARE,
            ),
        ]
    return [*listed, Row("the bare imports, for comparison", peer=bare, against=BARE)]


def plan_read_only(settings: Settings) -> list[FirstFit]:
    return [FirstFit(read_only=True)]


def list_read_only(settings: Settings, results: Results) -> list[Row]:
    task = FirstFit(read_only=True)
    files, added = results.best(task, "files"), results.worst(task, "added")
    how = "without permission to write"
    if results.best(task, "blocked"):
        how = (
            "without permission to write and, as the process may write anyway (root), with a file "
            "in the place of each __pycache__ folder"
        )
    note = (
        f"a copy of the package {how}; numba kept {files:.0f} files in the user's cache folder and "
        f"the warm processes wrote {added:.0f} again"
    )
    warm = results.best(task, "warm")
    return [Row("first fit, package folder read-only, warm cache", warm, wanted=1.5, note=note)]


GROUPS = (
    Group("imports", "imports in a fresh process", plan_imports, list_imports),
    Group("first-fit", "the first fit in a fresh process", plan_first, list_first),
    Group("read-only", "the cache of a read-only package", plan_read_only, list_read_only),
)
