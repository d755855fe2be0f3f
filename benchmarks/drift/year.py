"""A year of weekly releases: following and keeping them in a lineage, against fitting again.

52 releases of 100,000 x 10 rows; in each, 2% of the rows leave, as many come, 2% change a lot and all
others a little. And the first release after a fit of 1,000,000 x 10 rows, found again by ids as above, or
by their values if all others stay as they are. Times are processor times of all threads, so that other
programs matter little. Writes year.json and year.md. Each part runs in a process of its own.
"""

import argparse
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
WORK = HERE.parent / "work" / "drift"
LEVELS = (4, 8, 16)
N_PLACES, SPREAD = 16, 96
EARLY = 10  # the release after which memory is compared with that at the end
PARTS = ("follow", "fit", "default")
"""Follow and append; fit just the levels and save; fit with the default number of centers and save."""
FIRST, ROUNDS = "first", 3


def make_releases(weeks: int, n: int, d: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Yield ids and rows; only integers and powers of two, the same on every machine."""
    rng = np.random.default_rng(0)
    places = rng.integers(-64, 65, size=(N_PLACES, d)) / 8.0

    def draw(count: int) -> NDArray[Any]:
        noise = rng.integers(-SPREAD, SPREAD + 1, size=(count, d)) / 64.0
        rows: NDArray[Any] = places[rng.integers(0, N_PLACES, size=count)] + noise
        return rows

    ids, rows, following = np.arange(n), draw(n), n
    for _ in range(weeks):
        yield np.array([f"C{i:07d}" for i in ids], dtype=object), rows
        stay = rng.integers(0, 50, size=n) > 0
        rows = rows + rng.integers(-2, 3, size=rows.shape) / 64.0
        changed = np.flatnonzero(rng.integers(0, 50, size=n) == 0)
        rows[changed] = draw(changed.size)
        count = n - int(np.count_nonzero(stay))
        ids = np.concatenate((ids[stay], following + np.arange(count)))
        rows = np.concatenate((rows[stay], draw(count)))
        following += count


def run_part(part: str, weeks: int, n: int, d: int) -> dict[str, Any]:
    """Follow and append, or fit and save; returns seconds, bytes and what moved."""
    from holdfast import HierarchicalKMedian, Lineage

    most = None if part == "default" else LEVELS[-1]

    def fit(rows: NDArray[Any], ids: NDArray[Any]) -> Any:
        return HierarchicalKMedian(LEVELS[-1], max_centers=most).fit(rows, ids=ids)

    warm = fit(np.arange(400.0).reshape(40, 10)[:, :d], np.arange(40))
    warm.follow(warm.rows_ + 1.0, ids=warm.ids_, levels=LEVELS)
    found: dict[str, Any] = {"work": 0.0, "files": 0.0, "memory": [], "moved": []}
    model: Any = None
    with tempfile.TemporaryDirectory() as folder:
        lineage = Lineage(Path(folder) / "year.lineage")
        for week, (ids, rows) in enumerate(make_releases(weeks, n, d)):
            start = time.process_time()
            if model is None or part != "follow":
                model = fit(rows, ids)
            else:
                model = model.follow(rows, ids=ids, levels=LEVELS)
                found["moved"].append(float(model.follow_.moved.max()))
            middle = time.process_time()
            if part != "follow":
                model.save(Path(folder) / f"{week}.holdfast")
            else:
                lineage.append(model, label=f"{week}", levels=LEVELS if week == 0 else None)
            found["work"] += middle - start
            found["files"] += time.process_time() - middle
            if week in (min(EARLY, weeks - 1), weeks - 1):
                gc.collect()
                pages = int(Path("/proc/self/statm").read_text().split()[1])
                found["memory"].append(pages * resource.getpagesize())
        found["bytes"] = sum(p.stat().st_size for p in Path(folder).rglob("*") if p.is_file())
        found["releases"] = len(Lineage(lineage.path)) if part == "follow" else weeks
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return found


def run_first(n: int, d: int) -> dict[str, Any]:
    """Fit, then follow for the first time; the smallest times of a few rounds, by how rows are found."""
    from holdfast import HierarchicalKMedian

    releases = make_releases(2, n, d)
    (ids, rows), (later, today) = next(releases), next(releases)
    numbers = [np.array([int(name[1:]) for name in names]) for names in (ids, later)]
    stay = np.isin(*numbers)
    same = np.concatenate((rows[stay], today[: n - int(np.count_nonzero(stay))]))

    def measure(known: Any, X: NDArray[Any], wanted: Any) -> tuple[float, float]:
        start = time.process_time()
        model = HierarchicalKMedian(LEVELS[-1]).fit(rows, ids=known)
        middle = time.process_time()
        model.follow(X, ids=wanted, levels=LEVELS)
        return middle - start, time.process_time() - middle

    def spell(chosen: NDArray[Any]) -> NDArray[Any]:  # anew: a text remembers its hash
        return np.array([f"C{i:07d}" for i in chosen], dtype=object)

    ways: dict[str, Any] = {
        "texts": lambda: measure(spell(numbers[0]), today, spell(numbers[1])),
        "numbers": lambda: measure(numbers[0], today, numbers[1]),
        "values": lambda: measure(None, same, None),
    }
    found: dict[str, Any] = {"rows": n, "columns": d}
    for _ in range(ROUNDS + 1):  # the first one loads kernels
        for name, way in ways.items():
            found.setdefault(name, []).append(way())
    return found | {name: np.min(found[name][1:], axis=0).tolist() for name in ways}


def _total(part: dict[str, Any]) -> float:
    return float(part["work"] + part["files"])


def describe(found: dict[str, Any]) -> str:
    """Write the table."""
    follow, fit, default = (found[part] for part in PARTS)
    size = f"{found['weeks']} releases of {found['rows']:,} x {found['columns']} rows"
    work = [follow["work"] / other["work"] for other in (fit, default)]
    whole = [_total(follow) / _total(other) for other in (fit, default)]
    early, late = follow["memory"][0], follow["memory"][-1]
    lines = [
        f"# A year of releases\n\n{size}, levels {', '.join(map(str, LEVELS))}. Seconds of processor",
        "time, measured by `make drift` (benchmarks/drift/year.py).\n",
        "| | clustering | files | in all | bytes on disk | largest memory |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    listed = {
        "follow and append": follow,
        f"fit again with {LEVELS[-1]} centers and save": fit,
        "fit again with the default of 256 centers and save": default,
    }
    for name, part in listed.items():
        total = _total(part)
        lines.append(
            f"| {name} | {part['work']:.1f} | {part['files']:.1f} | {total:.1f} | "
            f"{part['bytes'] / 1e6:.0f} MB | {part['peak'] / 1e6:.0f} MB |"
        )
    lines.append(
        f"\nFollowing takes {work[0]:.2f} times as long as fits with {LEVELS[-1]} centers, with the files "
        f"{whole[0]:.2f} times; {work[1]:.2f} times as long as fits with the default, with the files "
        f"{whole[1]:.2f} times. "
        f"Memory: {early / 1e6:.0f} MB after release {min(EARLY, found['weeks'] - 1) + 1}, "
        f"{late / 1e6:.0f} MB at the end. Moved in a release at the finest level that moved most: at "
        f"most {max(follow['moved'], default=0.0):.1%} (2% of the rows change a lot)."
    )
    first = found[FIRST]
    lines.append(
        f"\nThe first `follow` after a fit of {first['rows']:,} x {first['columns']} rows, by how rows are found "
        f"again; seconds of processor time, the least of {ROUNDS}:\n"
    )
    lines += ["| rows found by | fit | follow | follow / fit |", "| --- | --- | --- | --- |"]
    for name in ("texts", "numbers", "values"):
        a, b = first[name]
        what = "their values" if name == "values" else f"ids that are {name}"
        lines.append(f"| {what} | {a:.2f} | {b:.2f} | {b / a:.2f} |")
    return "\n".join(lines) + "\n"


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few and small releases")
    parser.add_argument(
        "--part", choices=(*PARTS, FIRST), help="run one part and print what it found"
    )
    parser.add_argument("--output", type=Path, help="folder of the results")
    options = parser.parse_args(arguments)
    options.weeks, options.rows = (4, 1_000) if options.quick else (52, 100_000)
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = read_arguments(arguments)
    size = (options.weeks, options.rows, 10)
    if options.part is not None:
        first = options.part == FIRST
        print(json.dumps(run_first(10 * size[1], 10) if first else run_part(options.part, *size)))
        return 0
    found: dict[str, Any] = dict(zip(("weeks", "rows", "columns"), size, strict=True))
    for part in (*PARTS, FIRST):
        more = ["--quick"] if options.quick else []
        command = [sys.executable, str(Path(__file__).resolve()), "--part", part, *more]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found[part] = json.loads(done.stdout)
    output = options.output or (WORK if options.quick else HERE)
    output.mkdir(parents=True, exist_ok=True)
    (output / "year.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (output / "year.md").write_text(describe(found), encoding="utf-8")
    print(describe(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
