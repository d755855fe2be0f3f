"""Measure in two worker processes until Ctrl-C: ``python interrupted_audit.py FOLDER MARK``.

FOLDER is the checkpoint. Workers make the file MARK when they begin.
"""

import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from holdfast import average_sensitivity
from holdfast.stability import run


def main() -> None:
    folder, mark = sys.argv[1], Path(sys.argv[2])
    run._SECONDS_ALONE = 0.0  # at once to the workers
    run._SECONDS_WORTH_WORKERS = 0.0
    rows = np.random.RandomState(0).standard_normal((60, 2))
    parent = os.getpid()

    def by_sign(X, k, seed):
        if os.getpid() != parent:
            mark.touch()
            time.sleep(0.05)
        return (X[:, 0] > 0.0).astype(int)

    found = {"complete": None}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = average_sensitivity(
                by_sign, rows, n_clusters=2, trials=2000, repeats=1, n_jobs=2, checkpoint=folder
            )
        found["complete"] = result.complete
    except KeyboardInterrupt:
        pass
    end = time.monotonic() + 10.0
    while workers() and time.monotonic() < end:
        time.sleep(0.05)
    print(json.dumps({**found, "workers": workers()}))


def workers() -> list[str]:
    """Command lines of this process's children that compute."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes().replace(b"\\0", b" ").decode()
        except (OSError, IndexError):
            continue
        if int(fields[1]) == os.getpid() and "resource_tracker" not in command:
            found.append(f"{fields[0]} {command}")
    return found


if __name__ == "__main__":
    main()
