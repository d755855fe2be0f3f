"""The default method, means: its time and memory against BisectingKMeans and Ward linkage.

Fits are compared by the first run of a process, whose compiled code comes from the cache on disk;
notes give the best run. Only the smallest table is compared after a warm-up.
"""

from dataclasses import dataclass

from growth import measure_exponent, measure_memory
from inputs import Rows, scale_size
from report import Row
from speed import compare, fit_holdfast
from tasks import Fit, Group, Results, Settings, Task

GROWTH_CENTERS = 32
SIZES = (1e4, 1e5, 1e6, 1e7)
DIMENSIONS = (4, 16, 64, 256, 1024)
DIMENSION_ROWS = 20_000


@dataclass(frozen=True)
class Case:
    """One line of the table: rows, centers, and the ratio to BisectingKMeans that is wanted."""

    rows: Rows
    centers: int
    wanted: float
    aim: float

    def scale(self, settings: Settings) -> Rows:
        n = max(scale_size(self.rows.n, settings.scale), 2 * self.centers)
        return Rows(n, self.rows.d, self.rows.kind)

    def tasks(self, settings: Settings) -> tuple[Fit, Fit]:
        rows = self.scale(settings)
        peer = Fit("bisecting", rows, (("n_clusters", self.centers),), "first")
        return fit_means(rows, self.centers, "first"), peer


CASES = (
    Case(Rows(1_000_000, 10), 100, 1.0, 0.5),
    Case(Rows(1_000_000, 2), 256, 0.7, 0.3),
    Case(Rows(100_000, 384, "unit"), 64, 1.0, 0.5),
    Case(Rows(10_000, 784), 256, 1.0, 0.5),
)


def fit_means(rows: Rows, centers: int, quantity: str = "seconds") -> Fit:
    return fit_holdfast(rows, "means", quantity, n_clusters=centers, max_centers=centers)


def _pair_small(settings: Settings) -> tuple[Fit, Fit]:
    rows = Rows(max(scale_size(2_000, settings.scale), 64), 10)
    return fit_means(rows, 32), Fit("ward", rows)


def plan_speed(settings: Settings) -> list[Task]:
    pairs = [*(case.tasks(settings) for case in CASES), _pair_small(settings)]
    return [task for pair in pairs for task in pair]


def list_speed(settings: Settings, results: Results) -> list[Row]:
    listed = []
    for case in CASES:
        task, peer = case.tasks(settings)
        first, theirs = results.best(task, "first"), results.best(peer, "first")
        best, their_best = results.best(task), results.best(peer)
        note = (
            f"best run of a process: {best:.3g} s against {their_best:.3g} s, ratio "
            f"{best / their_best:.3g}"
        )
        what = f"{task.rows.title}, {case.centers} centers, first run"
        against = f"{peer.name}({case.centers})"
        listed.append(
            Row(what, first, theirs, against, wanted=case.wanted, aim=case.aim, note=note)
        )
    task, peer = _pair_small(settings)
    what = f"{task.rows.title}, 32 centers, after warm-up"
    return [*listed, compare(what, results, task, peer, wanted=1.0, aim=0.3)]


def _fit_memory(settings: Settings) -> Fit:
    return fit_means(CASES[0].scale(settings), CASES[0].centers, "memory")


def plan_memory(settings: Settings) -> list[Task]:
    return [_fit_memory(settings)]


def list_memory(settings: Settings, results: Results) -> list[Row]:
    task = _fit_memory(settings)
    return measure_memory(task, results, f"{CASES[0].centers} centers", wanted=60.0, aim=30.0)


def _fit_sizes(settings: Settings) -> list[Fit]:
    sizes = [max(scale_size(n, settings.scale), 2 * GROWTH_CENTERS) for n in SIZES]
    return [fit_means(Rows(n), GROWTH_CENTERS) for n in dict.fromkeys(sizes)]


def _fit_dimensions(settings: Settings) -> list[Fit]:
    n = max(scale_size(DIMENSION_ROWS, settings.scale), 2 * GROWTH_CENTERS)
    return [fit_means(Rows(n, d), GROWTH_CENTERS) for d in DIMENSIONS]


def plan_growth(settings: Settings) -> list[Task]:
    return [*_fit_sizes(settings), *_fit_dimensions(settings)]


def list_growth(settings: Settings, results: Results) -> list[Row]:
    listed = []
    for name, tasks in (("n", _fit_sizes(settings)), ("d", _fit_dimensions(settings))):
        seconds = [results.best(task) for task in tasks]
        listed += [
            Row(f"{task.rows.title}, {GROWTH_CENTERS} centers", time)
            for task, time in zip(tasks, seconds, strict=True)
        ]
        sizes = [getattr(task.rows, name) for task in tasks]
        what = f"exponent of time in {name}, {sizes[0]:,} to {sizes[-1]:,}"
        exponent = measure_exponent(tasks, sizes, results)
        listed.append(Row(what, exponent, unit="", wanted=1.05, aim=1.0))
    return listed


GROUPS = (
    Group("means", "means against its peers", plan_speed, list_speed),
    Group("means-memory", "memory of means beyond the input", plan_memory, list_memory),
    Group("means-growth", "time of means against rows and columns", plan_growth, list_growth),
)
