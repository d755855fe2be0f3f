"""Cells -> frontier.md, frontier.csv and frontier.png."""

import csv
import io
import itertools
from pathlib import Path

import numpy as np
from data import DATA, MADE, PAPER, RAW, Data
from methods import KS, METHODS, OURS
from sources import DATA_NAMES, FROZEN, VARIANTS
from summary import (
    QUANTITIES,
    Cells,
    Figure,
    average_ratio,
    find_better,
    mean_of,
    pooled_ratio,
    ratio_to_ward,
)

from holdfast._machine.files import write_whole

JUDGED_KS = (4, 8)
TARGETS = {"cost": 1.02, "one": 0.2, "five": 0.5}
TITLES = {"cost": "cost", "one": "excess, 1 row", "five": "excess, 5%"}
GROUPS = {
    PAPER: "the paper's seven data sets, prepared as in the paper",
    RAW: "the same seven, raw",
    MADE: "made-up data",
}
MARKS = ("<!-- written by make frontier -->", "<!-- end -->")
NAMES = [method.name for method in METHODS]
PEERS = [method.name for method in METHODS if method.family not in OURS]
JUDGED = [name for name in NAMES if name in ("euclidean (eps 0.05)", "refined (eps 0.01)")]

_HOW = """\
Each figure is divided by Ward's on the same data. *cost*: sum over clusters of the distances to the
cluster's best medoid. *excess*: rows that moved beyond those deleted, when one row goes and when 5%
go. Plus and minus one standard error, of the mean over seeds (40, each with deletions of its own)
or, for methods without seeds, over deletions; for linkages every row is deleted once where there
are fewer than 700. *Averages* are means of such ratios over data sets and k = {ks}; *pooled* is the
ratio of total excess, each data set counted in shares of its rows, so that no data set with a tiny
excess of Ward's decides it."""


_HOW_EACH = """\
Means over k = {ks}: cost / excess at 1 row / excess at 5%, each divided by Ward's; a dash where Ward's
excess is 0 for some k. frontier.csv has every k, and the standard errors."""


def complete_data(cells: Cells) -> list[Data]:
    """Data sets with a cell for every method."""
    return [data for data in DATA if all((data.name, name) in cells for name in NAMES)]


def group_data(cells: Cells, group: str) -> list[str]:
    return [data.name for data in complete_data(cells) if data.group == group]


def judging_data(cells: Cells) -> list[str]:
    """Data that the refined splits were not developed on."""
    return [data.name for data in complete_data(cells) if not data.tuned]


def write_report(folder: Path, cells: Cells) -> None:
    from figure import draw_frontier

    folder.mkdir(parents=True, exist_ok=True)
    text = describe(cells).encode()
    write_whole(folder / "frontier.md", lambda file: file.write(text))
    table = list_numbers(cells).encode()
    write_whole(folder / "frontier.csv", lambda file: file.write(table))
    draw_frontier(folder / "frontier.png", cells)


def fill_docs(path: Path, cells: Cells) -> None:
    """Write the main tables between the marks of docs/frontier.md."""
    text = path.read_text()
    start, end = text.index(MARKS[0]) + len(MARKS[0]), text.index(MARKS[1])
    parts = [
        "### The paper's data sets, means over k = 4 and 8, divided by Ward's",
        _average_table(cells, group_data(cells, PAPER), JUDGED_KS),
        "### All data that nothing was tuned on",
        _average_table(cells, judging_data(cells), JUDGED_KS),
        "### Targets",
        _judge_targets(cells),
        "### Where a peer is better in both cost and movement",
        _list_better(cells, [data.name for data in complete_data(cells)]),
        "### Where the movement comes from",
        _describe_sources(cells),
    ]
    if missing := _name_missing(cells).strip():
        parts.insert(0, missing)
    filled = text[:start] + "\n\n" + "\n\n".join(parts) + "\n\n" + text[end:]
    write_whole(path, lambda file: file.write(filled.encode()))


def describe(cells: Cells) -> str:
    """Return the text of frontier.md."""
    parts = [
        "# Cost against movement",
        "Written by `make frontier`; do not edit." + _name_missing(cells),
        _HOW.format(ks=" and ".join(map(str, JUDGED_KS))),
        "![Excess movement against cost, one dot a method](frontier.png)",
    ]
    everything = [data.name for data in complete_data(cells)]
    sets = {**{title: group_data(cells, group) for group, title in GROUPS.items()}}
    sets["all data that nothing was tuned on"] = judging_data(cells)
    for title, names in sets.items():
        if not names:
            continue  # named above as not measured
        parts += [f"## Average over {title}", _average_table(cells, names, JUDGED_KS)]
    parts += [
        "## At k = 16, the paper's data sets",
        _average_table(cells, group_data(cells, PAPER), (16,)),
        "## Targets",
        _judge_targets(cells),
        "## Where a peer is better in both cost and movement",
        _list_better(cells, everything),
        "## Where the movement comes from",
        _describe_sources(cells),
        "## Every data set",
        _HOW_EACH.format(ks=" and ".join(map(str, JUDGED_KS))),
        _data_table(cells, everything),
    ]
    return "\n\n".join(parts) + "\n"


def _name_missing(cells: Cells) -> str:
    present = {data.name for data in complete_data(cells)}
    missing = [data.name for data in DATA if data.name not in present]
    return f" **Not measured in this run: {'; '.join(missing)}.**" if missing else ""


def _format(figure: Figure) -> str:
    return f"{figure.value:.2f} ± {figure.error:.2f}" if figure.known else "-"


def _table(header: list[str], lines: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, rule, *lines])


def _average_table(cells: Cells, data: list[str], ks: tuple[int, ...]) -> str:
    header = ["method", *TITLES.values(), "pooled, 1 row", "pooled, 5%"]
    lines = []
    for name in NAMES:
        averages = [average_ratio(cells, data, name, q, ks) for q in QUANTITIES]
        cost = f"{averages[0].value:.3f} ± {averages[0].error:.3f}"
        pooled = [f"{pooled_ratio(cells, data, name, q, ks):.2f}" for q in ("one", "five")]
        lines.append([_mark(name), cost, *map(_format, averages[1:]), *pooled])
    return _table(header, lines)


def _mark(name: str) -> str:
    return name if name in PEERS else f"**{name}**"


def _judge_targets(cells: Cells) -> str:
    """Means over the paper's data sets at k = 4 and 8, as averages and pooled."""
    data = group_data(cells, PAPER)
    lines = []
    for name in JUDGED:
        for quantity, limit in TARGETS.items():
            average = average_ratio(cells, data, name, quantity, JUDGED_KS)
            pooled = pooled_ratio(cells, data, name, quantity, JUDGED_KS)
            verdict = "met" if average.value <= limit else "**MISSED**"
            shown = "" if quantity == "cost" else f"{pooled:.2f}"
            lines.append(
                [name, TITLES[quantity], f"{average.value:.3f} ± {average.error:.3f}", shown]
                + [f"{limit:g}", verdict]
            )
    return _table(["method", "figure", "average", "pooled", "target", "met"], lines)


def _list_better(cells: Cells, everything: list[str]) -> str:
    lines = []
    groups = {f"average: {title}": group_data(cells, group) for group, title in GROUPS.items()}
    groups["average: all data that nothing was tuned on"] = judging_data(cells)
    for title, data in [*groups.items(), *((name, [name]) for name in everything)]:
        if not data:
            continue
        found = [find_better(cells, data, ours, PEERS, JUDGED_KS) for ours in JUDGED]
        told = [
            "; ".join(f"{peer} ({', '.join(where)})" for peer, where in better.items()) or "none"
            for better in found
        ]
        lines.append([title, *told])
    header = ["data", *(f"better than {ours}" for ours in JUDGED)]
    how = (
        "Peers with a lower cost and, at the deletions in brackets, a lower excess, by means over "
        "k = 4 and 8. Differences may be smaller than their standard errors."
    )
    return f"{how}\n\n{_table(header, lines).replace('---:', '---')}"


def _describe_sources(cells: Cells) -> str:
    """Excess that remains when choices of the unperturbed run are repeated."""
    lines = []
    for variant, name in itertools.product(VARIANTS, FROZEN):
        line = [f"{variant}: {name}"]
        for kind in ("one", "five"):
            line += [_format(_share_of_all(cells, variant, name, kind, k)) for k in KS]
        lines.append(line)
    header = [
        "what is not repeated",
        *(f"1 row, k = {k}" for k in KS),
        *(f"5%, k = {k}" for k in KS),
    ]
    how = (
        f"Mean excess in percent of the rows, over {', '.join(DATA_NAMES)}, with the draws of the "
        "library repeated from the fit to all rows. *boundary*: all are, and only the boundary "
        "moves (for plain splits, only where a center itself was deleted). *which cluster*: the "
        "rows that split a cluster are repeated, the order is not. *which center*: the order is "
        "repeated, the rows are not. *all*: nothing is."
    )
    return f"{how}\n\n{_table(header, lines)}"


def _share_of_all(cells: Cells, variant: str, name: str, kind: str, k: int) -> Figure:
    """Mean over data sets of the mean over seeds, in percent of the rows."""
    values, variance = [], 0.0
    for data in DATA_NAMES:
        cell = cells[data, f"sources: {variant}"]
        units = 100.0 * np.asarray(cell["found"][name][kind])[:, KS.index(k)] / cell["n"]
        values.append(units.mean())
        variance += units.var(ddof=1) / units.size if units.size > 1 else 0.0
    return Figure(float(np.mean(values)), float(np.sqrt(variance)) / len(values))


def _data_table(cells: Cells, everything: list[str]) -> str:
    lines = []
    for data in everything:
        line = [data]
        for name in NAMES:
            shown = []
            for quantity in QUANTITIES:
                ratios = [ratio_to_ward(cells, data, name, quantity, k) for k in JUDGED_KS]
                known = all(ratio.known for ratio in ratios)
                mean = sum(ratio.value for ratio in ratios) / len(ratios)
                shown.append(f"{mean:.2f}" if known else "-")
            line.append(" / ".join(shown))
        lines.append(line)
    return _table(["data", *map(_mark, NAMES)], lines)


def list_numbers(cells: Cells) -> str:
    """Return the text of frontier.csv: every data set, method and k."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    columns = [
        f"{quantity}{suffix}"
        for quantity in ("cost", "excess_1_row", "excess_5_percent")
        for suffix in ("", "_se", "_ratio", "_ratio_se")
    ]
    writer.writerow(
        ["data", "group", "tuned", "rows", "columns", "method", "k", "clusters", *columns]
    )
    for data in complete_data(cells):
        for name in NAMES:
            cell = cells[data.name, name]
            for i, k in enumerate(KS):
                numbers = []
                for quantity in QUANTITIES:
                    mean = mean_of(cell, quantity, k)
                    ratio = ratio_to_ward(cells, data.name, name, quantity, k)
                    numbers += [mean.value, mean.error, ratio.value, ratio.error]
                clusters = sum(cell["clusters"][i]) / len(cell["clusters"][i])
                facts = [data.name, data.group, int(data.tuned), cell["n"], cell["d"], name, k]
                writer.writerow([*facts, f"{clusters:g}", *(f"{x:.6g}" for x in numbers)])
    return stream.getvalue()
