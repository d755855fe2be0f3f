"""Data larger than memory: time and peak memory of a fit in chunks, and what its cap costs."""

import json
from dataclasses import asdict, dataclass

from growth import fit_exponent
from inputs import scale_size
from table import Row
from tasks import HERE, Group, Numbers, Results, Settings, Task, run_python

SIZES = (5e5, 5e6, 5e7)
CAPPED_ROWS = 5e6
CAPS = (1 << 21, 1 << 18)
GIGABYTE = 1e9


@dataclass(frozen=True)
class ChunkedFit:
    """A Parquet file of n x 3 rows, sketched, clustered and labelled; its labels written."""

    n: int
    once = True  # of fifty million rows, one run says enough

    @property
    def title(self) -> str:
        return f"{self.n:,} x 3 in chunks"

    @property
    def packages(self) -> tuple[str, ...]:
        return ("holdfast", "pyarrow")

    def run(self) -> Numbers:
        numbers: Numbers = json.loads(
            run_python([str(HERE / "measure_chunks.py"), json.dumps(asdict(self))])
        )
        return numbers


@dataclass(frozen=True)
class CapCost(ChunkedFit):
    """The k-median cost of 100 clusters under a cap and without one."""

    max_cells: int = 0

    @property
    def title(self) -> str:
        return f"{self.n:,} x 3 under a cap of {self.max_cells:,}"


def _fits(settings: Settings) -> list[ChunkedFit]:
    return [ChunkedFit(scale_size(n, settings.scale)) for n in SIZES]


def _costs(settings: Settings) -> list[CapCost]:
    n = scale_size(CAPPED_ROWS, settings.scale)
    return [CapCost(n, max(scale_size(cap, settings.scale), 200)) for cap in CAPS]


def plan(settings: Settings) -> list[Task]:
    return [*_fits(settings), *_costs(settings)]


def list_rows(settings: Settings, results: Results) -> list[Row]:
    fits, costs = _fits(settings), _costs(settings)
    seconds = [results.best(fit) for fit in fits]
    largest = fits[-1]
    peak = results.worst(largest, "peak") / GIGABYTE
    cells = f"{results.best(largest, 'cells'):,.0f} cells"
    listed = [Row(fit.title, ours=time) for fit, time in zip(fits, seconds, strict=True)]
    listed += [
        Row(f"{largest.title}: sketch and tree", ours=results.best(largest, "fit")),
        Row(f"{largest.title}: labels", ours=results.best(largest, "label")),
        Row(f"{largest.title}: peak memory", peak, unit="GB", limit=2.0, note=cells),
        Row(
            f"exponent of time in chunks, {fits[0].n:,} to {largest.n:,} rows",
            ours=fit_exponent([fit.n for fit in fits], seconds),
            unit="",
            limit=1.15,
        ),
    ]
    for task in costs:
        moved = f"{results.best(task, 'moved'):.1%} of the rows under another label; 4 seeds"
        listed.append(
            Row(
                f"{task.title}: k-median cost, k = 100",
                results.best(task, "capped"),
                results.best(task, "whole"),
                "uncapped",
                unit="",
                note=f"{results.best(task, 'cells'):,.0f} cells; {moved}",
            )
        )
    return listed


GROUP = Group("chunks", "larger than memory: 100 clusters from Parquet", plan, list_rows)
