"""Fit again and again until Ctrl-C, then tell what is left: ``python interrupted_fit.py KIND MARK``.

The file MARK is made when the fits begin.
"""

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from models import build_model

PARAMETERS: dict[str, dict[str, Any]] = {
    "tree": {},
    "greedy": {"epsilon": 0.0},
    "euclidean": {"method": "medoids"},
}


def main() -> None:
    parameters, mark = PARAMETERS[sys.argv[1]], Path(sys.argv[2])
    rows = np.random.RandomState(0).standard_normal((1_000_000, 3))
    model = build_model(4, **parameters)
    unfitted = vars(model).keys() | set()
    fitted = vars(model.fit(rows[:300_000])).keys() | set()
    threads, interrupted = threading.active_count(), False
    try:
        mark.touch()
        while True:
            model = build_model(4, **parameters)
            model.fit(rows)
    except KeyboardInterrupt:
        interrupted = True
    end = time.monotonic() + 20.0  # a thread ends with the part that it is at
    while threading.active_count() > threads and time.monotonic() < end:
        time.sleep(0.01)
    found = {
        "interrupted": interrupted,
        # The signal may come when a fit is just complete.
        "whole": vars(model).keys() in (unfitted, fitted),
        "threads": threading.active_count() - threads,
    }
    again = build_model(4, **parameters).fit(rows[:1000]).labels_
    found["works"] = bool((model.fit(rows[:1000]).labels_ == again).all())
    print(json.dumps(found))


if __name__ == "__main__":
    main()
