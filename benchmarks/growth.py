"""How time grows with the number of rows."""

from collections.abc import Sequence

import numpy as np
from inputs import Rows, scale_size
from speed import fit_whole
from table import Row
from tasks import Fit, Group, Results, Settings

SIZES = (1e4, 3e4, 1e5, 3e5, 1e6, 3e6)


def fit_exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return p of the law ``seconds = a * sizes**p`` that is closest in least squares of logs."""
    slope, _ = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return float(slope)


def plan(settings: Settings) -> list[Fit]:
    return [fit_whole(Rows(scale_size(n, settings.scale))) for n in SIZES]


def list_rows(settings: Settings, results: Results) -> list[Row]:
    tasks = plan(settings)
    sizes, seconds = [task.rows.n for task in tasks], [results.best(task) for task in tasks]
    steps = [fit_exponent(sizes[i : i + 2], seconds[i : i + 2]) for i in range(len(sizes) - 1)]
    steepest = int(np.argmax(steps))
    where = f"{sizes[steepest]:,} to {sizes[steepest + 1]:,} rows"
    return [
        *(
            Row(f"{task.rows.title}, whole hierarchy", ours=time)
            for task, time in zip(tasks, seconds, strict=True)
        ),
        Row(
            f"exponent of time, {sizes[0]:,} to {sizes[-1]:,} rows",
            ours=fit_exponent(sizes, seconds),
            unit="",
            limit=1.15,
        ),
        Row(f"exponent of the steepest step, {where}", ours=steps[steepest], unit=""),
    ]


GROUP = Group("growth", "time against the number of rows", plan, list_rows)
