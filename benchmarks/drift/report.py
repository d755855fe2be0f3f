"""The table of all figures -> drift.md, drift.csv, drift.png and docs/drift.md."""

from collections.abc import Sequence
from pathlib import Path

from estimates import Figure, fill_marks, markdown_table, write_text
from methods import BUDGETED, METHODS, REFERENCE
from planted import CHANGES, JUDGED_K
from series import KS, NOISY, SERIES, SLOW, SYNTHETIC, WINDOWS, Series
from summary import (
    BACK,
    BUDGET_KEPT,
    COST,
    COST_WORST,
    DELAY,
    EVENT,
    GUARD_KEPT,
    HELD,
    MOVED,
    REMOVED,
    SAME,
    TOTAL,
    WITHIN,
    WORST,
    Table,
    format_table,
)
from verdicts import judge

MARKS = ("<!-- written by make drift -->", "<!-- end -->")
GROUPS = {
    WINDOWS: "Windows: rows come and go, values are fixed",
    SLOW: "Slow panels: rows stay, values change a little",
    NOISY: "Noisy panels: rows stay, values change much",
}
_METHOD = {method.name: method for method in METHODS}

_HOW = """\
*Moved*: percent of the rows in two neighboring releases whose cluster has another name in the second,
per step; *worst*: the largest of all steps. *Total*: percent of the rows whose last name is not their
first one. *Back*: percent of the moves that a row takes back within five releases. *Cost*: sum of the
distances to the cluster's mean, divided by that of holdfast means fitted again on the same release;
*highest*: the largest of all releases. *5% removed*: percent of the other rows that move when 5% of the
rows of a release are removed at random and nothing else changes. ± is one standard error over the steps
of a series; averages are over series and k = 4, 8, 16. Series that a parameter was chosen on are in no
average."""

_HOW_MADE = """\
Means over k = 4, 8 and 16 and over the trials. When nothing but noise changes, nothing should move; the
group that wanders takes its rows with it, so nothing should move either."""

_HOW_CHANGES = """\
Percent of the trials in which the clusters are those of the groups after the change, at k = 8, in the
release that has the change or in the next one; in brackets, with the right event (split, new, ended).
*Delay*: mean number of releases until then, over the trials in which it happens at all."""


def write_report(folder: Path, table: Table) -> list[str]:
    """Write everything; return the names of the files."""
    from figure import draw

    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "drift.csv", format_table(table))
    write_text(folder / "drift.md", describe(table))
    draw(folder, table)
    return ["drift.csv", "drift.md", "drift.png"]


def fill_docs(path: Path, table: Table) -> None:
    """Write the main tables between the marks of docs/drift.md."""
    fill_marks(path, MARKS, _list_parts(table))


def describe(table: Table) -> str:
    """Return the text of drift.md."""
    parts = [
        "# Clusters from release to release",
        f"Written by `make drift`; do not edit.{_name_missing(table)}",
        "![Movement against cost, one dot per method](drift.png)",
        *_list_parts(table),
        "## Every series",
        "Moved per step at k = 4, 8, 16; total; cost at k = 4, 8, 16.",
        _every_table(table),
    ]
    return "\n\n".join(parts) + "\n"


def _list_parts(table: Table) -> list[str]:
    """The tables that drift.md and docs/drift.md share."""
    parts = ["## What is wanted", judge(table), "## The series", _series_table(table), _HOW]
    for group, title in GROUPS.items():
        if series := table.select(group):
            parts += [f"## {title}", _average_table(table, series)]
    if synthetic := table.select(SYNTHETIC):
        parts += [
            "## Synthetic series without a change to follow",
            _HOW_MADE,
            _still_table(table, synthetic),
        ]
        parts += ["## Synthetic changes", _HOW_CHANGES, _change_table(table, synthetic)]
    parts += ["## Promises of following", _promise_table(table)]
    return [*parts, "## Where a peer both costs less and moves less", _better_table(table)]


def _series_table(table: Table) -> str:
    header = ["series", "kind", "rows", "releases", "rows each", "columns", "used for"]
    lines = []
    for one in SERIES:
        if not table.has(one, REFERENCE):
            continue
        releases, rows, columns = table.entries[one.name, REFERENCE, KS[0]].shape
        use = f"choosing {one.chosen_on}" if one.chosen_on else "judging"
        kind = one.group.removesuffix("s") if one.group != WINDOWS else one.group
        lines.append([one.name, kind, one.what, f"{releases}", f"{rows:,}", f"{columns}", use])
    return markdown_table(header, lines, text=3)


def _average_table(table: Table, series: Sequence[Series]) -> str:
    header = ["method", *(f"moved, k = {k}" for k in KS), "worst", "total", "back"]
    header += ["cost", "highest", "5% removed"]
    lines = []
    for name in table.list_methods(series):
        moved = [_percent(table.average(series, name, MOVED, [k])) for k in KS]
        back = table.average(series, name, BACK)
        lines.append(
            [
                _mark(name),
                *moved,
                _short(100.0 * table.extreme(series, name, WORST)),
                _short(100.0 * table.average(series, name, TOTAL).value),
                _short(100.0 * back.value) if back.known else "-",
                table.average(series, name, COST).precise,
                f"{table.extreme(series, name, COST_WORST):.2f}",
                _percent(table.average(series, name, REMOVED)),
            ]
        )
    return markdown_table(header, lines)


def _still_table(table: Table, synthetic: Sequence[Series]) -> str:
    still = [one for one in synthetic if one.name not in CHANGES]
    header = ["method"]
    for one in still:
        header += [f"{one.name}: moved", "worst", "cost"]
    lines = []
    for name in table.list_methods(still):
        line = [_mark(name)]
        for one in still:
            line += [
                _percent(table.average([one], name, MOVED)),
                _short(100.0 * table.extreme([one], name, WORST)),
                f"{table.average([one], name, COST).value:.3f}",
            ]
        lines.append(line)
    return markdown_table(header, lines)


def _change_table(table: Table, synthetic: Sequence[Series]) -> str:
    changes = [one for one in synthetic if one.name in CHANGES]
    header = ["method"]
    for one in changes:
        header += [one.name, "delay", "moved, k = 8"]
    lines = []
    for name in table.list_methods(changes):
        line = [_mark(name)]
        for one in changes:
            entry = table.entries[one.name, name, JUDGED_K]
            event = f" ({100.0 * entry[EVENT].value:.0f})" if entry[EVENT].known else ""
            delay = f"{entry[DELAY].value:.1f}" if entry[DELAY].known else "-"
            line += [f"{100.0 * entry[WITHIN].value:.0f}{event}", delay, _percent(entry[MOVED])]
        lines.append(line)
    return markdown_table(header, lines)


def _promise_table(table: Table) -> str:
    header = [
        "method",
        "series",
        "budget kept",
        "cost within 5%",
        "rows held",
        "moved, same rows again",
    ]
    lines = []
    for name in (method.name for method in METHODS if method.follows):
        everything = table.list_series(name)
        if not everything:
            continue
        kept, cheap, held = (
            100.0 * table.average(everything, name, quantity, KS[:1]).value
            for quantity in (BUDGET_KEPT, GUARD_KEPT, HELD)
        )
        same = 100.0 * table.extreme(everything, name, SAME)
        lines.append(
            [
                _mark(name),
                f"{len(everything)}",
                f"{_whole(kept)}%" if name == BUDGETED else "",
                f"{_whole(cheap)}%",
                f"{held:.1f}%",
                f"{_short(same)}%",
            ]
        )
    how = (
        "All series that were measured, also those for choosing. *Budget kept* and *cost within 5%* (of a new fit): percent "
        "of the releases, at every k; *rows held*: rows to which `predict` without ids gives another label; "
        "the last column is the largest over series, releases and k."
    )
    return f"{how}\n\n{markdown_table(header, lines)}"


def _better_table(table: Table) -> str:
    how = (
        "By the averages over series and k = 4, 8, 16; in brackets, the largest step. Differences may be "
        "smaller than their standard errors. Clusters of the peers are not nested."
    )
    lines = []
    for group in GROUPS:
        series = table.select(group)
        names = table.list_methods(series)
        at = {
            name: (
                table.average(series, name, COST).value,
                table.average(series, name, MOVED).value,
            )
            for name in names
        }
        for name in (name for name in names if _METHOD[name].follows):
            better = [
                f"{_METHOD[peer].title} ({_short(100.0 * table.extreme(series, peer, WORST))}%)"
                for peer in names
                if not _METHOD[peer].follows
                and all(a < b for a, b in zip(at[peer], at[name], strict=True))
            ]
            worst = _short(100.0 * table.extreme(series, name, WORST))
            lines.append([group, f"{_mark(name)} ({worst}%)", "; ".join(better) or "none"])
    return f"{how}\n\n{markdown_table(['series', 'method', 'better peers'], lines, text=3)}"


def _every_table(table: Table) -> str:
    lines = []
    for one in SERIES:
        for name in table.list_methods([one]):
            entries = [table.entries[one.name, name, k] for k in KS]
            moved = ", ".join(_short(100.0 * entry[MOVED].value) for entry in entries)
            total = ", ".join(_short(100.0 * entry[TOTAL].value) for entry in entries)
            cost = ", ".join(f"{entry[COST].value:.3f}" for entry in entries)
            lines.append([one.name, _mark(name), moved, total, cost])
    return markdown_table(["series", "method", "moved, %", "total, %", "cost"], lines, text=2)


def _percent(figure: Figure) -> str:
    if not figure.known:
        return "-"
    return f"{_short(100.0 * figure.value)} ± {_short(100.0 * figure.error)}"


def _short(number: float) -> str:
    """Two digits that count; 0 only for 0."""
    if number >= 10.0:
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 1.0 else f"{number:.2g}"


def _whole(percent: float) -> str:
    """100 only if it is all."""
    return "100" if percent == 100.0 else f"{min(percent, 99.9):.1f}"


def _mark(name: str) -> str:
    title = _METHOD[name].title
    return f"**{title}**" if _METHOD[name].follows else title


def _name_missing(table: Table) -> str:
    missing = [one.name for one in SERIES if not table.has(one, REFERENCE)]
    measured = [one for one in SERIES if one.name not in missing]
    whole = table.list_methods(measured)
    partly = [m.title for m in METHODS if m.name not in whole]
    told = f" **Not measured: {'; '.join(missing)}.**" if missing else ""
    return told + (f" **Not measured on every series: {'; '.join(partly)}.**" if partly else "")
