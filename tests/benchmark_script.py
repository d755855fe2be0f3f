"""Run a script beside the modules of a benchmark, in a process of its own.

Benchmarks have modules of the same names, so two of them cannot be imported into one process.
"""

import os
import subprocess
import sys
from pathlib import Path


def run_script(folder: Path, script: str, *arguments: str) -> str:
    """Return what the script prints."""
    paths = [str(folder), str(folder.parent), *sys.path]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
