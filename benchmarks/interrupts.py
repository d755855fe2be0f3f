"""How long Ctrl-C waits during a fit; docs/guarantees.md includes what this prints.

A timer interrupts fits at moments spread over their whole length. Python sees a signal when the
kernel that is running returns, so what is measured is the rest of that kernel.
"""

import argparse
import signal
import time
from types import FrameType
from typing import Any

import numpy as np
from inputs import Rows, make_rows

FITS: dict[str, dict[str, Any]] = {
    "means": {"method": "means"},
    "medoids": {"method": "medoids"},
    "tree, whole hierarchy": {"method": "tree"},
    "tree, 100 centers": {"method": "tree", "n_clusters": 100, "max_centers": 100},
    "CLNSS, whole hierarchy": {"method": "tree", "epsilon": 0.0},
}
seen: list[str] = []


def interrupt(_: int, frame: FrameType | None) -> None:
    """Note the step that has just ended, and do what Ctrl-C does."""
    while frame is not None and "holdfast" not in frame.f_code.co_filename:
        frame = frame.f_back
    seen.append("?" if frame is None else frame.f_code.co_name)
    raise KeyboardInterrupt


def measure(X: np.ndarray, options: dict[str, Any], points: int) -> tuple[float, float, str]:
    """Seconds of a fit, the longest wait for an interrupt, and the step that it waited for."""
    from holdfast import HierarchicalKMedian

    model = HierarchicalKMedian(**options)
    model.fit(X[:20_000])
    start = time.perf_counter()
    model.fit(X)
    whole = time.perf_counter() - start
    longest, step = 0.0, ""
    for delay in (np.arange(points) + 0.5) / points * whole:
        start = time.perf_counter()
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            model.fit(X)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        except KeyboardInterrupt:
            waited = time.perf_counter() - start - delay
            if waited > longest:
                longest, step = waited, seen[-1]
    return whole, longest, step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--points", type=int, default=20, help="moments in each fit")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, interrupt)
    X = make_rows(Rows(options.rows))
    print(
        f"{options.rows:,} x {X.shape[1]} rows, interrupted at {options.points} moments of each fit.\n"
    )
    print("| fit | seconds | longest wait for Ctrl-C | in |")
    print("| --- | ---: | ---: | --- |")
    for name, parameters in FITS.items():
        whole, longest, step = measure(X, parameters, options.points)
        print(f"| {name} | {whole:.1f} s | {longest:.2f} s | `{step}` |", flush=True)


if __name__ == "__main__":
    main()
