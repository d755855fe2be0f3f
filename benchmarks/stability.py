"""Time of measuring stability: against one fit, and against the refits that it consists of."""

from inputs import Rows, scale_size
from speed import compare, fit_whole
from table import Row
from tasks import Fit, Group, Results, Settings, Task

AUDITED = ("ward", "average", "kmeans")


def _fit_deletions(settings: Settings) -> Fit:
    return Fit("deletions", Rows(scale_size(1e5, settings.scale)))


def _fit_audits(settings: Settings) -> list[tuple[Fit, Fit]]:
    rows = Rows(max(scale_size(1_000, settings.scale), 100))
    return [
        (Fit("audit", rows, (("method", method),)), Fit("refits", rows, (("method", method),)))
        for method in AUDITED
    ]


def plan(settings: Settings) -> list[Task]:
    deletions = _fit_deletions(settings)
    audits = [fit for pair in _fit_audits(settings) for fit in pair]
    return [deletions, fit_whole(deletions.rows), *audits]


def list_rows(settings: Settings, results: Results) -> list[Row]:
    deletions = _fit_deletions(settings)
    whole = fit_whole(deletions.rows)
    what = f"{deletions.rows.title}, every row deleted in turn, k = 2, 4, 8, 16"
    listed = [compare(what, results, deletions, whole, limit=10.0)]
    for audit, refits in _fit_audits(settings):
        method = dict(audit.options)["method"]
        what = f"{audit.rows.title}, {method}: 40 deletions, k = 16"
        listed.append(compare(what, results, audit, refits, limit=1.1))
    return listed


GROUP = Group("stability", "measuring how much a clustering moves", plan, list_rows)
