"""Time of adding or removing a few of many rows, against fitting anew."""

from inputs import Rows, scale_size
from speed import compare, fit_holdfast
from table import Row
from tasks import Fit, Group, Results, Settings, Task

MILLION = 1e6
OPTIONS = {
    "few": {"n_clusters": 100, "max_centers": 100},
    "whole": {"n_clusters": 8, "epsilon": 1.0},
    "euclidean": {"n_clusters": 100, "method": "medoids", "max_centers": 100},
}
CHANGES = {"add": "added", "remove": "removed"}
UNASKED = {"few": "tree", "euclidean": "Euclidean"}
ASKED = {"few": "cut(100) of 100 centers", "whole": "cut(100) of the whole hierarchy"}
LATER = {False: "first", True: "later"}  # the first change after the fit, or one after others
UNASKED_LIMIT = 0.05


def _million(settings: Settings) -> Rows:
    return Rows(scale_size(MILLION, settings.scale))


def _update(rows: Rows, name: str, change: str, later: bool, ask: bool) -> Fit:
    options = {**OPTIONS[name], "change": change, "later": later, "ask": ask}
    return Fit("update", rows, tuple(sorted(options.items())))


def _list_updates(rows: Rows) -> list[tuple[str, Fit, str, float | None]]:
    """What is done, its task, the fit that it stands beside, and the limit on their ratio."""
    listed: list[tuple[str, Fit, str, float | None]] = []
    for change, done in CHANGES.items():
        title = f"{rows.title}: 1,000 rows {done}"
        for name, cost in UNASKED.items():
            task = _update(rows, name, change, later=False, ask=False)
            what = f"{title} {LATER[False]}, nothing asked, {cost}"
            listed.append((what, task, name, UNASKED_LIMIT))
        for name, asked in ASKED.items():
            for later, when in LATER.items():
                task = _update(rows, name, change, later, ask=True)
                listed.append((f"{title} {when}, {asked}", task, name, None))
    return listed


def plan(settings: Settings) -> list[Task]:
    rows = _million(settings)
    fits = [fit_holdfast(rows, **options) for options in OPTIONS.values()]
    return [*fits, *(task for _, task, _, _ in _list_updates(rows))]


def list_rows(settings: Settings, results: Results) -> list[Row]:
    rows = _million(settings)
    return [
        compare(what, results, task, fit_holdfast(rows, **OPTIONS[name]), limit=limit)
        for what, task, name, limit in _list_updates(rows)
    ]


GROUP = Group("updates", "adding and removing rows, against fitting anew", plan, list_rows)
