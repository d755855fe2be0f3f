"""Record what small benchmarks print: pages of the site include the files that this writes.

    python benchmarks/record.py                   # all of them, some minutes each
    python benchmarks/record.py prepare sparse    # some; HOLDFAST_DATA has the paper's data

Each file in benchmarks/recorded names its command, its commit and its machine.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from machine import describe_commit, describe_machine, measure_load

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "benchmarks" / "recorded"
# Tests that print what they measure.
LAWS = ("lower_bounds", "well_clusterable", "eq2", "theorem", "lemmas", "cost_bounds")
COMMANDS = {
    "cluster_model": "benchmarks/cluster_model.py",
    "demo": "-m holdfast.cli.demo",
    "gaps": "benchmarks/gaps.py",
    "groups": "benchmarks/frontier/choose.py groups 8 OFF_MEAN=1000.0 '' cosine",
    "hindsight": "benchmarks/drift/hindsight.py",
    "interrupts": "benchmarks/interrupts.py --points 16",
    "laws": "-m pytest -q -s " + " ".join(f"tests/laws/test_{law}.py" for law in LAWS),
    "members": "benchmarks/frontier/choose.py settings 4 PAIR_VALUES=0 ''",
    "membership": "benchmarks/membership.py",
    "planes": "benchmarks/frontier/choose.py planes 1",
    "prepare": "benchmarks/prepare.py",
    "scales": "benchmarks/scales.py",
    "scales_medoids": "benchmarks/scales.py --method medoids --trials 6 --rules 'core, keyed;core, 4 steps'",
    "scales_rare": "benchmarks/scales.py --rare judging",
    "scales_tree": "benchmarks/scales.py --method tree --trials 6 --rules 'core, 4 steps;core'",
    "sparse_rows": "benchmarks/sparse_rows.py",
    "stages": "benchmarks/stages.py",
}
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def record(name: str) -> None:
    """Run one command in the repository; write what it printed."""
    command = COMMANDS[name]
    call = [sys.executable, *shlex.split(command)]
    machine, load = describe_machine(), measure_load()
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(
        call, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    told = [describe_commit() or "unknown commit", f"{datetime.now(UTC):%Y-%m-%d}"]
    told += [f"{machine['cores']} cores of {machine['CPU']}"]
    told += [] if load is None else [f"load {load:.1f} before the run"]
    text = _ESCAPES.sub("", done.stdout).replace(f"{ROOT}{os.sep}", "")
    text = re.sub(
        r"^\.+", "", text.partition("\n=====")[0], flags=re.MULTILINE
    ).strip()  # of pytest
    if "\n|" not in text:  # not a table: lines as they were printed
        text = f"```text\n{text}\n```"
    heading = f"Recorded from `python {command}` ({', '.join(told)}):"
    (RECORDED / f"{name}.md").write_text(f"{heading}\n\n{text}\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", choices=(*COMMANDS, []), default=list(COMMANDS))
    for name in parser.parse_args().name:
        print(f"recording {name}", flush=True)
        record(name)


if __name__ == "__main__":
    main()
