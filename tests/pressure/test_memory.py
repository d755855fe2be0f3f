"""Memory runs out: a fit works or says what to do, the process lives, the estimator is unchanged."""

import gc
import json
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

from holdfast import HierarchicalKMedian
from holdfast.estimator import model as estimator

SCRIPT = Path(__file__).with_name("limited_fit.py")
CASES = {
    "tree": ({"max_centers": 100}, (5, 75, 188, 4000)),
    "euclidean": ({"method": "medoids", "max_candidates": 64, "max_centers": 8}, (5, 100, 4000)),
}
"""Parameters, and megabytes from nothing to plenty, so that allocations fail in several stages."""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("case", CASES)
def test_three_million_rows_fit_or_say_what_to_do(case):
    parameters, margins = CASES[case]
    call = [sys.executable, SCRIPT, "3000000", "3", json.dumps(parameters), *map(str, margins)]
    run = subprocess.run(call, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    outcomes = [json.loads(line) for line in run.stdout.splitlines()]
    assert [outcome["margin"] for outcome in outcomes] == list(margins)
    assert all(outcome["alive"] for outcome in outcomes)
    failed = [outcome for outcome in outcomes if not outcome["fitted"]]
    for outcome in failed:
        assert outcome["unchanged"]
        for part in ("3,000,000 rows of 3 columns", "474 MB", "max_centers", "predict", "columns"):
            assert part in outcome["error"]
    assert not outcomes[0]["fitted"]
    assert outcomes[-1]["fitted"]


class Block:
    """Something large that a fit holds when it fails."""


@pytest.mark.parametrize("rows", [np.ones((5, 2)), [[1.0], [2.0]]], ids=["array", "list"])
def test_error_keeps_nothing_of_the_failed_fit(rows, monkeypatch):
    held, released = [], []

    def run_out(*args, **options):
        block = Block()
        held.append(weakref.ref(block))
        raise MemoryError

    monkeypatch.setattr(estimator, "cluster_and_order", run_out)
    model = HierarchicalKMedian(1, method="tree")

    def fit_and_look() -> None:
        try:
            model.fit(rows)
        except MemoryError:
            gc.collect()
            released.append(held[0]() is None)
            raise

    with pytest.raises(MemoryError, match=rf"{len(rows)} rows.*\(an allocation failed\)"):
        fit_and_look()
    assert released == [True]
    assert len(held) == 1
    assert not hasattr(model, "hierarchy_")
