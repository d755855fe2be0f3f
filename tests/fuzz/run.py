"""Run the fuzz targets for a time: `make fuzz ARGS="--minutes 5"`.

Each target gets new inputs, in batches of one seed each, until its time is over. Whatever fails is
made small by Hypothesis and written to fuzz-failures/, with the seed that finds it again; then it
belongs into test_regressions.py. With --bounds-check, kernels check every index.
"""

import argparse
import os
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzz.target import Target

BATCH = 500
FAILURES = Path("fuzz-failures")
HEADING = """# Fuzzing

Written by `make fuzz ARGS="--minutes {minutes:g} --record docs/fuzzing.md"`, which runs each target for
{minutes:g} minutes on new inputs. `make test` runs each of them on 2,000 fixed ones. A failure becomes
a test in `tests/fuzz/test_regressions.py`.

| target | property | executions | minutes | failures |
| --- | --- | ---: | ---: | ---: |
"""


@dataclass(frozen=True)
class Outcome:
    """What one target did."""

    name: str
    property: str
    executions: int
    minutes: float
    failures: int


def run_target(target: "Target", minutes: float, first_seed: int) -> Outcome:
    """Run batches until the time is over; one failing input a batch at most."""
    start, before = time.monotonic(), target.executions
    seed, failures = first_seed, 0
    while time.monotonic() - start < 60.0 * minutes:
        try:
            target.run(BATCH, seed)
        except Exception:  # noqa: BLE001 - all of them are findings
            failures += 1
            save_failure(target.name, seed, traceback.format_exc())
        seed += 1
    spent = (time.monotonic() - start) / 60.0
    return Outcome(target.name, target.property, target.executions - before, spent, failures)


def save_failure(name: str, seed: int, text: str) -> None:
    FAILURES.mkdir(exist_ok=True)
    path = FAILURES / f"{name}-{seed}.txt"
    path.write_text(f"target {name}, seed {seed}, batches of {BATCH}\n\n{text}")
    print(f"{name}: FAILED, see {path}", flush=True)


def record(path: Path, outcomes: Sequence[Outcome], minutes: float) -> None:
    lines = [
        f"| `{o.name}` | {o.property} | {o.executions:,} | {o.minutes:.1f} | {o.failures} |\n"
        for o in outcomes
    ]
    total = (
        f"| all | | {sum(o.executions for o in outcomes):,} "
        f"| {sum(o.minutes for o in outcomes):.1f} | {sum(o.failures for o in outcomes)} |\n"
    )
    path.write_text(HEADING.format(minutes=minutes) + "".join(lines) + total)


def check_bounds() -> None:
    """Start again with kernels that check their indices, in a cache of their own."""
    folder = str(Path(".hypothesis", "bounds-checked").absolute())
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": folder}
    if not checked.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **checked})


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the fuzz targets for a time.")
    parser.add_argument("--minutes", type=float, default=1.0, help="for each target (default 1)")
    parser.add_argument("--target", action="append", help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=None, help="of the first batch (default: time)")
    parser.add_argument("--bounds-check", action="store_true", help="kernels check every index")
    parser.add_argument("--record", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    if options.bounds_check:
        check_bounds()
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from fuzz.targets import TARGETS

    warnings.simplefilter("error")
    first_seed = int(time.time()) if options.seed is None else options.seed
    outcomes = []
    for name in options.target or TARGETS:
        outcome = run_target(TARGETS[name], options.minutes, first_seed)
        print(
            f"{name}: {outcome.executions} executions in {outcome.minutes:.1f} minutes, "
            f"{outcome.failures} failures",
            flush=True,
        )
        outcomes.append(outcome)
    if options.record:
        record(options.record, outcomes, options.minutes)
    return 1 if any(outcome.failures for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
