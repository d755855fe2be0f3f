"""Kernels compile once: no input makes a user wait for the compiler a second time."""

import json
import subprocess
import sys

import pytest

SIGNATURES = """
import gc, json, sys
import numpy as np
from numba.core.dispatcher import Dispatcher
from holdfast import HierarchicalKMedian

rng = np.random.RandomState(0)
rows = rng.standard_normal((90, 2))
frozen = rows.copy()
frozen.flags.writeable = False
inputs = {
    "few rows": [rows[:1], rows[:2], rows[:3], np.zeros((5, 1)), rows[:, :1].repeat(3, axis=0)],
    "read-only": [frozen],
    "weights": [rows],
}[sys.argv[1]]
for epsilon in (0.0, 1.0):
    for X in [rows, *inputs]:
        for method, max_centers in (("tree", None), ("tree", 1), ("medoids", None), ("means", None)):
            model = HierarchicalKMedian(
                1, method=method, epsilon=epsilon, max_centers=max_centers
            )
            weight = rng.randint(0, 3, size=len(X)) / 2 + 0.25 if "weights" in sys.argv else None
            model.fit(X, sample_weight=weight).predict(X)
            model.hierarchy_.linkage()
kernels = [
    thing for thing in gc.get_objects()
    if isinstance(thing, Dispatcher) and thing.py_func.__module__.startswith("holdfast")
    # Inner kernels become part of those that call them: they compile only where the cache is empty.
    and not thing.targetoptions.get("no_cpython_wrapper")
]
print(json.dumps({k.py_func.__name__: len(k.signatures) for k in kernels}))
"""


@pytest.mark.parametrize("inputs", ["few rows", "read-only", "weights"])
def test_each_kernel_is_compiled_once(inputs: str):
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", SIGNATURES, inputs],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    signatures = json.loads(run.stdout)
    assert sum(signatures.values()) >= 20
    assert {name: count for name, count in signatures.items() if count > 1} == {}
