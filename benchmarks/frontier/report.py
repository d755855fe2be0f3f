"""The table of all figures -> frontier.md, frontier.csv, the pictures and docs/frontier.md."""

from collections.abc import Sequence
from pathlib import Path

from data import ALL_COLUMNS, DATA, LARGE, LARGE_KS, PAPER, RAW, SYNTHETIC, Data
from estimates import Figure, fill_marks, markdown_table, write_text
from methods import METHODS
from summary import COST, FIVE, MOVED, ONE, Table, format_table

JUDGED_KS = (4, 8)
FEW_KS, MANY_KS = LARGE_KS[:2], LARGE_KS[2:]
GROUPS = {
    PAPER: "the paper's data sets, prepared as in the paper",
    ALL_COLUMNS: "the same, standardized with all columns",
    RAW: "the same, raw",
    SYNTHETIC: "synthetic data",
}
TITLES = {COST: "cost", ONE: "excess, 1 row", FIVE: "excess, 5%"}
# Figure -> (wanted, aim): means of ratios to Ward over the paper's data sets, k = 4 and 8.
WANTED = {
    "means": {COST: (0.975, 0.97), ONE: (0.14, 0.08), FIVE: (0.27, 0.18)},
    "medoids": {COST: (1.02, None), ONE: (0.2, None), FIVE: (0.5, None)},
}
ONE_ROW_WANTED = 0.15  # of means on standardized tables with all columns
MARKS = ("<!-- written by make frontier -->", "<!-- end -->")
_TITLE = {method.name: method.title for method in METHODS}

_HOW = """\
Each figure is divided by that of Ward linkage on the same data. *Cost*: sum over clusters of the
distances to the cluster's best medoid. *Excess*: rows that moved beyond those removed, when one row
is removed and when 5% are. ± is one standard error of the mean, over seeds (40, each with removals
of its own) or, for methods without seeds, over removals; for linkages every row is removed once
where there are fewer than 700. *Averages* are means of such ratios over data sets and k = 4 and 8;
*pooled* is the ratio of the total excess, each data set counted as a fraction of its rows, so that no
data set on which Ward hardly moves decides it. Data that a method was chosen on are in no average."""

_HOW_LARGE = """\
Large data, k = 8, 32, 128 and 256. *Cost*: sum of the distances to the cluster's mean, divided by that
of bisecting k-means. *Movement*: rows that moved when 5% are removed, divided by the rows removed: 1 is
the floor. Means over eight seeds, each with a removal of its own. Density-based methods cannot be asked
for k clusters; they are in the tables with the number nearest to k that they find."""

_HOW_EACH = """\
Means over k = 4 and 8: cost / excess at 1 row / excess at 5%, each divided by Ward's; a dash where
Ward's excess is 0 for some k. frontier.csv has every k, and the standard errors."""


def write_report(folder: Path, table: Table) -> list[str]:
    """Write everything that the table allows; return the names of the files."""
    from figure import draw_large, draw_small

    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "frontier.csv", format_table(table))
    write_text(folder / "frontier.md", describe(table))
    names = ["frontier.csv", "frontier.md"]
    if table.select(PAPER):
        draw_small(folder, table)
        names.append("frontier.png")
    if table.select(LARGE):
        draw_large(folder, table)
        names.append("large.png")
    return names


def fill_docs(path: Path, table: Table) -> None:
    """Write the main tables between the marks of docs/frontier.md."""
    fill_marks(path, MARKS, _list_parts(table))


def describe(table: Table) -> str:
    """Return the text of frontier.md."""
    parts = [
        "# Cost against movement",
        f"Written by `make frontier`; do not edit.{_name_missing(table)}",
        _HOW,
        "![Excess movement against cost, one dot per method](frontier.png)",
        *_list_parts(table),
    ]
    if everything := [data for data in table.select() if LARGE not in data.groups]:
        parts += ["## Every small data set", _HOW_EACH, _data_table(table, everything)]
    if large := table.select(LARGE):
        parts += ["## Every large data set", _large_data_table(table, large)]
    return "\n\n".join(parts) + "\n"


def _list_parts(table: Table) -> list[str]:
    """The tables that frontier.md and docs/frontier.md share."""
    parts = ["## Data that methods were chosen on", _chosen_table()]
    small = [data for data in table.select() if LARGE not in data.groups]
    if small:
        for group, title in GROUPS.items():
            if chosen := _judging(table, group):
                parts += [f"## {_first_up(title)}: k = 4 and 8", _average_table(table, chosen)]
        judging = [data for data in small if not data.chosen_on]
        parts += ["## All small data that judge: k = 4 and 8", _average_table(table, judging)]
        parts += ["## What is wanted", _judge_small(table)]
    if table.select(LARGE):
        judging = table.select(LARGE, judging=True)
        parts += ["## Large data", _HOW_LARGE, _large_table(table, judging)]
        parts += ["## What is wanted on large data", _judge_large(table, judging)]
    return [*parts, "## Where a peer is better in both cost and movement", _list_better(table)]


def _chosen_table() -> str:
    found: dict[str, list[str]] = {}
    for data in DATA:
        found.setdefault(data.chosen_on, []).append(data.name)
    lines = [[what or "nothing: they judge", "; ".join(names)] for what, names in found.items()]
    lines.sort(key=lambda line: line[0].startswith("nothing"))
    return markdown_table(["chosen on them", "data"], lines, text=2)


def _average_table(table: Table, data: Sequence[Data]) -> str:
    header = ["method", *TITLES.values(), "pooled, 1 row", "pooled, 5%"]
    lines = []
    for name in table.list_methods(data):
        averages = [table.average(data, name, q, JUDGED_KS) for q in TITLES]
        pooled = [f"{table.pooled(data, name, q, JUDGED_KS):.2f}" for q in (ONE, FIVE)]
        lines.append([_mark(name), averages[0].precise, *map(str, averages[1:]), *pooled])
    return markdown_table(header, lines)


def _large_table(table: Table, data: Sequence[Data]) -> str:
    header = ["method", "cost / bisecting", "movement, k = 8, 32", "movement, k = 128, 256"]
    lines = []
    for name in table.list_methods(data):
        moved = [table.average(data, name, MOVED, ks, relative=False) for ks in (FEW_KS, MANY_KS)]
        ratio = table.average(data, name, MOVED, LARGE_KS)
        cost = table.average(data, name, COST, LARGE_KS).precise
        lines.append([_mark(name), cost, *map(str, moved), str(ratio)])
    return markdown_table([*header, "movement / bisecting"], lines)


def _judge_small(table: Table) -> str:
    lines = []
    for method, wanted in WANTED.items():
        for quantity, (limit, aim) in wanted.items():
            seven = table.average(table.select(PAPER), method, quantity, JUDGED_KS)
            rest = table.average(table.select(PAPER, judging=True), method, quantity, JUDGED_KS)
            what = f"{_TITLE[method]}: {TITLES[quantity]}, the paper's seven"
            lines.append([what, seven.precise, rest.precise, *_judge(seven, limit, aim)])
    if data := _judging(table, ALL_COLUMNS):
        value = table.average(data, "means", ONE, JUDGED_KS)
        what = f"{_TITLE['means']}: {TITLES[ONE]}, all columns"
        lines.append([what, "", value.precise, *_judge(value, ONE_ROW_WANTED, None)])
    return markdown_table(
        ["figure", "average", "without data chosen on", "wanted", "aim", "met"], lines
    )


def _judge_large(table: Table, data: Sequence[Data]) -> str:
    costs = {(d.name, k): table.ratio(d, "means", COST, k) for d in data for k in LARGE_KS}
    (name, k), worst = max(costs.items(), key=lambda item: item[1].value)
    few, many = (
        table.average(data, "means", MOVED, ks, relative=False) for ks in (FEW_KS, MANY_KS)
    )
    listed: list[tuple[str, Figure, float, float | None]] = [
        (f"cost / bisecting, highest ({name}, k = {k})", worst, 1.02, None),
        ("cost / bisecting, mean", table.average(data, "means", COST, LARGE_KS), 0.99, 0.98),
        ("movement / floor, mean, k = 8, 32", few, 2.0, 1.3),
        ("movement / floor, mean, k = 128, 256", many, 4.0, 2.5),
        ("movement / bisecting, mean", table.average(data, "means", MOVED, LARGE_KS), 0.45, 0.25),
    ]
    lines = [
        [what, value.precise, *_judge(value, wanted, aim)] for what, value, wanted, aim in listed
    ]
    return markdown_table(["means, large data that judge", "figure", "wanted", "aim", "met"], lines)


def _judge(figure: Figure, wanted: float, aim: float | None) -> list[str]:
    verdict = "**MISSED**" if figure.value > wanted else "met"
    if aim is not None and figure.value <= wanted:
        verdict += ", aim too" if figure.value <= aim else ", aim not"
    return [f"{wanted:g}", "" if aim is None else f"{aim:g}", verdict]


def _judging(table: Table, group: str) -> list[Data]:
    """Data of a group that judge; none unless the whole group was measured."""
    whole = len(table.select(group)) == sum(group in data.groups for data in DATA)
    return table.select(group, judging=True) if whole else []


def _list_better(table: Table) -> str:
    lines = []
    sets = {f"average: {title}": _judging(table, group) for group, title in GROUPS.items()}
    small = [data for data in table.select() if LARGE not in data.groups]
    sets["average: all small data that judge"] = [data for data in small if not data.chosen_on]
    sets["average: large data that judge"] = table.select(LARGE, judging=True)
    sets |= {data.name: [data] for data in table.select()}
    for title, data in sets.items():
        if not data:
            continue
        ks = LARGE_KS if LARGE in data[0].groups else JUDGED_KS
        told = []
        for method in ("means", "medoids"):
            if method not in table.list_methods(data):
                told.append("not measured")
                continue
            better = table.find_better(data, method, ks)
            told.append("; ".join(f"{p} ({', '.join(w)})" for p, w in better.items()) or "none")
        lines.append([title, *told])
    how = (
        "Peers with a lower cost and, at the removals in brackets, a lower excess, by means over "
        "k = 4 and 8 (large data: all four k). Differences may be smaller than their standard errors."
    )
    header = ["data", "better than means", "better than medoids"]
    return f"{how}\n\n{markdown_table(header, lines, text=3)}"


def _data_table(table: Table, everything: Sequence[Data]) -> str:
    names = table.list_methods(everything)
    lines = []
    for data in everything:
        line = [data.name]
        for name in names:
            shown = []
            for quantity in TITLES:
                ratios = [table.ratio(data, name, quantity, k) for k in JUDGED_KS]
                known = all(ratio.known for ratio in ratios)
                mean = sum(ratio.value for ratio in ratios) / len(ratios)
                shown.append(f"{mean:.2f}" if known else "-")
            line.append(" / ".join(shown))
        lines.append(line)
    return markdown_table(["data", *map(_mark, names)], lines)


def _large_data_table(table: Table, large: Sequence[Data]) -> str:
    how = "For k = 8, 32, 128, 256: cost / bisecting k-means, then movement / floor."
    lines = []
    for data in large:
        for name in table.list_methods([data]):
            costs = [f"{table.ratio(data, name, COST, k).value:.3f}" for k in LARGE_KS]
            moved = [f"{table.entries[data.name, name, k][MOVED].value:.2f}" for k in LARGE_KS]
            entry = table.entries[data.name, name, LARGE_KS[0]]
            shape = f"{data.name}, {entry.rows:,} x {entry.columns}"
            lines.append([shape, _mark(name), ", ".join(costs), ", ".join(moved)])
    return f"{how}\n\n{markdown_table(['data', 'method', 'cost', 'movement'], lines, text=2)}"


def _mark(name: str) -> str:
    (method,) = (method for method in METHODS if method.name == name)
    return method.title if method.is_peer else f"**{method.title}**"


def _first_up(text: str) -> str:
    return text[0].upper() + text[1:]


def _name_missing(table: Table) -> str:
    present = {data.name for data in table.select()}
    missing = [data.name for data in DATA if data.name not in present]
    return f" **Not measured: {'; '.join(missing)}.**" if missing else ""
