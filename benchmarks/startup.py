"""Time until the first result in a fresh process, interpreter and imports included."""

import compileall
import importlib.util
import shutil
import stat
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from table import Row
from tasks import Group, MeasurementError, Numbers, Results, Settings, Task, run_python

BARE = "import sklearn, numba"
PACKAGE = "import holdfast"
ESTIMATOR = "from holdfast import HierarchicalKMedian"
FIRST_FIT = """
import numpy as np
from holdfast import HierarchicalKMedian
X = np.random.default_rng(0).standard_normal((1000, 3))
assert HierarchicalKMedian(8).fit(X).labels_.size == 1000
"""
WARM_STARTS = 2


def time_start(code: str, **environment: str | None) -> float:
    """Wall-clock seconds of a fresh interpreter that runs `code`."""
    start = time.perf_counter()
    run_python(["-c", code], **environment)
    return time.perf_counter() - start


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
        return {"seconds": time_start(self.statement)}


@dataclass(frozen=True)
class FirstFit:
    """The first fit with an empty cache of numba, then with what that fit left there.

    With `read_only`, from a copy of the package to which nothing can be written: numba then keeps
    its cache in the user's cache folder, which is empty at first.
    """

    read_only: bool = False

    @property
    def title(self) -> str:
        where = "package folder read-only" if self.read_only else "empty cache"
        return f"first fit in a fresh process, {where}, then warm"

    @property
    def packages(self) -> tuple[str, ...]:
        return ("holdfast",)

    def run(self) -> Numbers:
        with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
            cache = Path(folder, "cache")
            cache.mkdir()
            if not self.read_only:
                return _time_fits(cache, NUMBA_CACHE_DIR=str(cache))
            blocked = copy_read_only(Path(folder, "site"))
            try:
                numbers = _time_fits(
                    cache,
                    NUMBA_CACHE_DIR=None,
                    XDG_CACHE_HOME=str(cache),
                    PYTHONPATH=str(Path(folder, "site")),
                )
            finally:
                _allow_writing(Path(folder, "site"))
            return {**numbers, "blocked": blocked}


def _time_fits(cache: Path, **environment: str | None) -> Numbers:
    cold = time_start(FIRST_FIT, **environment)
    files = _list_files(cache)
    warm = min(time_start(FIRST_FIT, **environment) for _ in range(WARM_STARTS))
    added = len(_list_files(cache) - files)
    return {"cold": cold, "warm": warm, "files": len(files), "added": added}


def _list_files(folder: Path) -> set[tuple[Path, int]]:
    """Files and when they were written, so that a file written anew is another one."""
    return {(path, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def copy_read_only(target: Path) -> bool:
    """Copy the package into `target` without permission to write.

    Returns whether that was not enough, as for root: there, a file stands where each
    ``__pycache__`` folder would be, so that no cache can be written beside the code either.
    """
    spec = importlib.util.find_spec("holdfast")
    if spec is None or not spec.submodule_search_locations:
        raise MeasurementError("holdfast is not installed as a package.")
    package = target / "holdfast"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(spec.submodule_search_locations[0], package, ignore=ignore)
    compileall.compile_dir(package, quiet=2)
    folders = [path for path in [package, *package.rglob("*")] if path.is_dir()]
    for path in folders:
        path.chmod(0o555)
    if not _can_write(package):
        return False
    for path in folders:
        if path.name == "__pycache__":
            path.chmod(0o755)
            shutil.rmtree(path)
            path.touch()
    return True


def _can_write(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _allow_writing(target: Path) -> None:
    for path in [target, *target.rglob("*")]:
        if path.is_dir():
            path.chmod(path.stat().st_mode | stat.S_IWUSR)


def plan_imports(settings: Settings) -> list[Import]:
    return [Import(PACKAGE), Import(ESTIMATOR), Import(BARE)]


def list_imports(settings: Settings, results: Results) -> list[Row]:
    bare = results.best(Import(BARE))
    return [
        Row(statement, results.best(Import(statement)), bare, BARE, limit=1.5)
        for statement in (PACKAGE, ESTIMATOR)
    ]


def plan_first(settings: Settings) -> list[Task]:
    return [FirstFit(), Import(BARE)]


def list_first(settings: Settings, results: Results) -> list[Row]:
    task = FirstFit()
    return [
        Row("first fit, fresh process, empty cache", results.best(task, "cold"), limit=15.0),
        Row("first fit, fresh process, warm cache", results.best(task, "warm"), limit=1.5),
        Row("the bare imports, for comparison", peer=results.best(Import(BARE)), against=BARE),
    ]


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
        f"the warm processes wrote {added:.0f} anew"
    )
    warm = results.best(task, "warm")
    return [Row("first fit, package folder read-only, warm cache", warm, limit=1.5, note=note)]


GROUPS = (
    Group("imports", "imports in a fresh process", plan_imports, list_imports),
    Group("first-fit", "the first fit in a fresh process", plan_first, list_first),
    Group("read-only", "the cache of a read-only package", plan_read_only, list_read_only),
)
