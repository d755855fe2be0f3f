"""Time of adding a few rows to many, against fitting anew."""

from inputs import Rows, scale_size
from speed import compare, fit_holdfast
from table import Row
from tasks import Fit, Group, Results, Settings, Task

MILLION = 1e6
OPTIONS = {
    "few": {"n_clusters": 100, "max_centers": 100},
    "whole": {"n_clusters": 8, "epsilon": 1.0},
}


def _million(settings: Settings) -> Rows:
    return Rows(scale_size(MILLION, settings.scale))


def _update(rows: Rows, name: str, ask: bool) -> Fit:
    options = tuple(sorted({**OPTIONS[name], "ask": ask}.items()))
    return Fit("update", rows, options)


def plan(settings: Settings) -> list[Task]:
    rows = _million(settings)
    fits = [fit_holdfast(rows, **options) for options in OPTIONS.values()]
    updates = [_update(rows, name, ask=True) for name in OPTIONS]
    return [*fits, *updates, _update(rows, "few", ask=False)]


def list_rows(settings: Settings, results: Results) -> list[Row]:
    rows = _million(settings)
    few, whole = (fit_holdfast(rows, **options) for options in OPTIONS.values())
    added = f"{rows.title}: 1,000 rows added"
    return [
        compare(
            f"{added}, nothing asked", results, _update(rows, "few", ask=False), few, limit=0.1
        ),
        compare(f"{added}, cut(100) of 100 centers", results, _update(rows, "few", ask=True), few),
        compare(
            f"{added}, cut(100) of the whole hierarchy",
            results,
            _update(rows, "whole", ask=True),
            whole,
        ),
    ]


GROUP = Group("updates", "adding rows, against fitting anew", plan, list_rows)
