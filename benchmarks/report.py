"""Results -> results.md, results.json and results.png."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from table import Row, count_limits, format_markdown
from tasks import Group, Results, Settings

_HOW = """\
Each time is the best of {repeats} fresh processes, and in each of two runs or more after a warm-up on
few rows (except where the start itself is measured); memory is the largest. Ours and the peer's take
turns, with `OMP_WAIT_POLICY=passive`. Ours is `HierarchicalKMedian(...).fit(X)`, validation and the labels of
one cut included. Inputs are eight Gaussian groups unless stated. A limit is on the ratio of ours to
theirs where there is a peer, else on our own figure. Peers: `Genie(n_clusters=8)` of genieclust,
`BisectingKMeans(100)` of scikit-learn, `linkage_vector(method="ward")` of fastcluster."""


@dataclass(frozen=True)
class Run:
    """What a run is known by."""

    settings: Settings
    command: str
    date: str
    commit: str
    load: float | None
    machine: dict[str, str]
    versions: dict[str, str]


def write_report(
    folder: Path, run: Run, tables: list[tuple[Group, list[Row]]], results: Results
) -> None:
    """Write the three files into `folder`."""
    from figure import draw_results  # needs matplotlib, which is missed by name before this

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.md").write_text(describe_run(run, tables))
    (folder / "results.json").write_text(list_numbers(run, tables, results))
    draw_results(folder / "results.png", [row for _, rows in tables for row in rows], results)


def describe_run(run: Run, tables: list[tuple[Group, list[Row]]]) -> str:
    """Return the text of results.md."""
    rows = [row for _, listed in tables for row in listed]
    facts = {
        "date": run.date,
        "command": f"`{run.command}`",
        "commit": run.commit or "unknown",
        **run.machine,
        "load before the run": "unknown" if run.load is None else f"{run.load:.2f}",
        "versions": ", ".join(f"{name} {value}" for name, value in run.versions.items()),
    }
    parts = [
        "# Benchmark results",
        f"Written by `make bench`; do not edit. **{summarize(rows, run.settings)}.**",
        "\n".join(f"- {name}: {value}" for name, value in facts.items()),
        _HOW.format(repeats=run.settings.repeats),
        "![Time against the number of rows, and every limit](results.png)",
    ]
    for group, listed in tables:
        parts += [f"## {group.title[0].upper()}{group.title[1:]}", format_markdown(listed)]
    return "\n\n".join(parts) + "\n"


def list_numbers(run: Run, tables: list[tuple[Group, list[Row]]], results: Results) -> str:
    """Return the text of results.json: all rows, and the numbers of every single repeat."""
    content = {
        **asdict(run),
        "rows": [
            {"group": group.name, **asdict(row), "ratio": row.ratio, "met": row.met}
            for group, listed in tables
            for row in listed
        ],
        "measurements": [
            {"task": task.title, "repeats": numbers} for task, numbers in results.repeats.items()
        ],
    }
    return json.dumps(content, indent=1) + "\n"


def summarize(rows: list[Row], settings: Settings) -> str:
    """Return how many limits are met, and whether they say anything at this scale."""
    if settings.scale == 1.0:
        return count_limits(rows)
    return f"{count_limits(rows)} (at scale {settings.scale:g}; the limits are meant for scale 1)"
