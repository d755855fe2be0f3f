"""Fit under a memory limit that is set after compilation; print what came of it, as JSON lines.

``python limited_fit.py ROWS COLUMNS PARAMETERS MARGIN ...``: PARAMETERS are the estimator's, in JSON;
each MARGIN is how many megabytes the address space may grow beyond what it is before the fit.
"""

import gc
import json
import resource
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from models import build_model

from holdfast import HierarchicalKMedian


def address_space() -> int:
    """Bytes of this process's address space."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def fit_within(margin: int, model: HierarchicalKMedian, rows: np.ndarray) -> dict[str, object]:
    """Fit with so many bytes more than now; the limit is lifted again afterwards."""
    before = dict(model.__dict__)
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + margin, resource.RLIM_INFINITY))
    try:
        model.fit(rows)
        return {"fitted": True, "centers": model.hierarchy_.n_centers}
    except MemoryError as error:
        unchanged = model.__dict__.keys() == before.keys() and all(
            model.__dict__[name] is before[name] for name in before
        )
        return {"fitted": False, "error": str(error), "unchanged": unchanged}
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def main() -> None:
    n_rows, n_columns = int(sys.argv[1]), int(sys.argv[2])
    parameters = json.loads(sys.argv[3])
    rng = np.random.RandomState(0)
    rows = rng.standard_normal((n_rows, n_columns))
    # Every kernel that the large fit calls, in every signature: threads, repeats and all.
    build_model(4, **parameters).fit(rows[:300_000])
    expected = build_model(4, **parameters).fit(rows[:1000]).labels_
    for margin in sys.argv[4:]:
        model = build_model(4, **parameters).fit(rows[:1000])
        gc.collect()
        outcome = fit_within(int(margin) << 20, model, rows)
        again = build_model(4, **parameters).fit(rows[:1000]).labels_
        alive = bool((again == expected).all())
        del model
        print(json.dumps({"margin": int(margin), **outcome, "alive": alive}), flush=True)


if __name__ == "__main__":
    main()
