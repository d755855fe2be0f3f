"""How time and memory grow: the tree against the number of rows, and the paper's own counting."""

from collections.abc import Sequence

import numpy as np
from inputs import Rows, scale_size
from report import Measured, Row, format_figure
from speed import MILLION, compare, fit_hundred, fit_tree
from tasks import Fit, Group, Results, Settings, Task

SIZES = (1e4, 3e4, 1e5, 3e5, 1e6, 3e6)
NAIVE_SIZES = (100, 200, 400, 800)


def fit_exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return p of the law ``seconds = a * sizes**p`` that is closest in least squares of logs."""
    slope, _ = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return float(slope)


def measure_exponent(tasks: Sequence[Fit], sizes: Sequence[float], results: Results) -> Measured:
    """Exponent of the best times, and of the times of each repeat."""
    seconds = [results.best(task) for task in tasks]
    repeats = zip(*(results.each(task) for task in tasks), strict=True)
    return Measured.over(
        fit_exponent(sizes, seconds), [fit_exponent(sizes, repeat) for repeat in repeats]
    )


def plan_growth(settings: Settings) -> list[Fit]:
    return [fit_tree(Rows(scale_size(n, settings.scale))) for n in SIZES]


def list_growth(settings: Settings, results: Results) -> list[Row]:
    tasks = plan_growth(settings)
    sizes, seconds = [task.rows.n for task in tasks], [results.best(task) for task in tasks]
    steps = [fit_exponent(sizes[i : i + 2], seconds[i : i + 2]) for i in range(len(sizes) - 1)]
    steepest = int(np.argmax(steps))
    where = f"{sizes[steepest]:,} to {sizes[steepest + 1]:,} rows"
    exponent = measure_exponent(tasks, sizes, results)
    return [
        *(
            Row(f"{task.rows.title}, whole hierarchy", time)
            for task, time in zip(tasks, seconds, strict=True)
        ),
        Row(
            f"exponent of time, {sizes[0]:,} to {sizes[-1]:,} rows",
            exponent,
            unit="",
            wanted=1.05,
            aim=1.03,
        ),
        Row(f"exponent of the steepest step, {where}", steps[steepest], unit=""),
    ]


def plan_memory(settings: Settings) -> list[Fit]:
    rows = Rows(scale_size(MILLION, settings.scale))
    return [fit_tree(rows, quantity="memory"), fit_hundred(rows, quantity="memory")]


def list_memory(settings: Settings, results: Results) -> list[Row]:
    whole, hundred = plan_memory(settings)
    return [
        *measure_memory(whole, results, "whole hierarchy", wanted=160.0, aim=120.0),
        *measure_memory(hundred, results, "tree, 100 centers", wanted=110.0, aim=80.0),
    ]


def measure_memory(
    task: Fit, results: Results, what: str, wanted: float, aim: float | None = None
) -> list[Row]:
    """Bytes a row beyond the input: at the peak, and after the fit."""
    how = "growth of the resident set, the kernel's peak reset before the fit"
    if results.best(task, "reset") == 0:
        how = "growth of the peak resident set of the process (it cannot be reset here)"
    # The largest of all repeats: no luck of the allocator may hide a peak.
    peak = results.worst(task, "peak").per(task.rows.n)
    title = f"{task.rows.title}, {what}: memory beyond the input"
    rows = [Row(title, peak, unit="B/row", wanted=wanted, aim=aim, note=how)]
    if results.has(task, "kept"):
        kept = results.worst(task, "kept").per(task.rows.n)
        freed = results.worst(task, "freed") / task.rows.n
        rows.append(
            Row(
                f"{task.rows.title}, {what}: kept after the fit",
                kept,
                unit="B/row",
                note=f"{freed:.0f} B/row more are free, but the allocator keeps them for later use",
            )
        )
    return rows


def _count_naively(settings: Settings) -> list[Fit]:
    # Time grows with the cube of n, so sizes shrink with the cube root of the scale.
    sizes = [scale_size(n, settings.scale ** (1 / 3)) for n in NAIVE_SIZES]
    return [Fit("naive", Rows(n)) for n in sizes]


def plan_naive(settings: Settings) -> list[Task]:
    naive = _count_naively(settings)
    pairs = [task for peer in naive for task in (fit_tree(peer.rows), peer)]
    return [*pairs, fit_tree(Rows(scale_size(MILLION, settings.scale)))]


def list_naive(settings: Settings, results: Results) -> list[Row]:
    naive = _count_naively(settings)
    rows = [
        compare(f"{task.rows.title}, whole hierarchy", results, fit_tree(task.rows), task)
        for task in naive
    ]
    sizes, seconds = [task.rows.n for task in naive], [results.best(task) for task in naive]
    exponent = fit_exponent(sizes, seconds)
    full = fit_tree(Rows(scale_size(MILLION, settings.scale)))
    extrapolated = seconds[-1] * (full.rows.n / sizes[-1]) ** 3
    fitted = seconds[-1] * (full.rows.n / sizes[-1]) ** exponent
    note = (
        f"by n^3 from n = {sizes[-1]}; by the fitted exponent, which the fixed costs of NumPy's "
        f"calls lower, {format_figure(fitted, 's')}; its distances fill "
        f"{8 * full.rows.n**2 / 2**30:,.3g} GiB"
    )
    return [
        *rows,
        Row("exponent of naive counting", peer=exponent, against="naive counting", unit=""),
        Row(
            f"{full.rows.title}, whole hierarchy",
            results.best(full),
            extrapolated,
            "naive, extrapolated",
            note=note,
        ),
    ]


GROUPS = (
    Group("growth", "time of the tree against the number of rows", plan_growth, list_growth),
    Group("memory", "memory of the tree beyond the input", plan_memory, list_memory),
    Group("naive", "the paper's O(n^3) counting", plan_naive, list_naive),
)
