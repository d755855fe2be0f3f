"""Time of updates against fitting again, and of measuring stability against the fits it needs."""

from dataclasses import replace

from inputs import Rows, scale_size
from report import Row
from speed import MILLION, compare, fit_holdfast, fit_tree
from tasks import Fit, Group, Results, Settings, Task

OPTIONS = {
    "few": {"method": "tree", "n_clusters": 100, "max_centers": 100},
    "whole": {"method": "tree", "n_clusters": 8, "epsilon": 1.0},
    "medoids": {"method": "medoids", "n_clusters": 100, "max_centers": 100},
    "means": {"method": "means", "n_clusters": 100, "max_centers": 100},
}
CHANGES = {"add": "added", "remove": "removed"}
UNASKED = {"few": "tree", "medoids": "medoids", "means": "means"}
ASKED = {"few": "cut(100) of 100 centers", "whole": "cut(100) of the whole hierarchy"}
LATER = {False: "first", True: "later"}  # the first change after the fit, or one after others
UNASKED_WANTED = 0.05
ASKED_WANTED, ASKED_AIM = 0.25, 0.05
AUDITED = ("ward", "average", "kmeans")


def _million(settings: Settings) -> Rows:
    return Rows(scale_size(MILLION, settings.scale))


def _update(rows: Rows, name: str, change: str, later: bool, ask: str) -> Fit:
    options = {**OPTIONS[name], "change": change, "later": later, "ask": ask}
    return Fit("update", rows, tuple(sorted(options.items())))


def _name_updates(rows: Rows) -> list[tuple[str, Fit, str, float | None]]:
    """What is done, its task, the fit that it stands beside, and the ratio that is wanted."""
    listed: list[tuple[str, Fit, str, float | None]] = []
    for change, done in CHANGES.items():
        title = f"{rows.title}: 1,000 rows {done}"
        for name, method in UNASKED.items():
            task = _update(rows, name, change, later=False, ask="nothing")
            what = f"{title} {LATER[False]}, nothing asked, {method}"
            listed.append((what, task, name, UNASKED_WANTED))
        for name, asked in ASKED.items():
            for later, when in LATER.items():
                task = _update(rows, name, change, later, ask="cut")
                listed.append((f"{title} {when}, {asked}", task, name, ASKED_WANTED))
        every = _update(rows, "whole", change, later=True, ask="every cut")
        listed.append((f"{title} {LATER[True]}, then every cut", every, "whole", None))
    return listed


def plan_updates(settings: Settings) -> list[Task]:
    rows = _million(settings)
    fits = [fit_holdfast(rows, **options) for options in OPTIONS.values()]
    return [*fits, *(task for _, task, _, _ in _name_updates(rows))]


def list_updates(settings: Settings, results: Results) -> list[Row]:
    rows = _million(settings)
    listed = []
    for what, task, name, wanted in _name_updates(rows):
        again = fit_holdfast(rows, **OPTIONS[name])
        row = replace(compare(what, results, task, again, wanted=wanted), against="fitting again")
        listed.append(replace(row, aim=ASKED_AIM) if wanted == ASKED_WANTED else row)
    return listed


def _fit_deletions(settings: Settings) -> Fit:
    return Fit("deletions", Rows(scale_size(1e5, settings.scale)))


def _fit_audits(settings: Settings) -> list[tuple[Fit, Fit]]:
    rows = Rows(max(scale_size(1_000, settings.scale), 100))
    return [
        (Fit("audit", rows, (("method", method),)), Fit("refits", rows, (("method", method),)))
        for method in AUDITED
    ]


def plan_stability(settings: Settings) -> list[Task]:
    deletions = _fit_deletions(settings)
    audits = [fit for pair in _fit_audits(settings) for fit in pair]
    return [deletions, fit_tree(deletions.rows), *audits]


def list_stability(settings: Settings, results: Results) -> list[Row]:
    deletions = _fit_deletions(settings)
    whole = fit_tree(deletions.rows)
    what = f"{deletions.rows.title}, every row deleted in turn, k = 2, 4, 8, 16"
    row = compare(what, results, deletions, whole, wanted=10.0)
    listed = [replace(row, against="one fit of the tree")]
    for audit, refits in _fit_audits(settings):
        method = dict(audit.options)["method"]
        what = f"{audit.rows.title}, {method}: 40 deletions, k = 16"
        listed.append(compare(what, results, audit, refits, wanted=1.1))
    return listed


GROUPS = (
    Group("updates", "adding and removing rows, against fitting again", plan_updates, list_updates),
    Group("stability", "measuring how much a clustering moves", plan_stability, list_stability),
)
