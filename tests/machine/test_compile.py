"""Kernels compile once: no input makes a user wait for the compiler a second time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast._machine import jit

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


CACHED = """
import sys
sys.path.insert(0, sys.argv[1])
from room import _caller_kernels
print(_caller_kernels.add_one(1), *_caller_kernels.add_one.stats.cache_hits.values())
"""


def test_a_kernel_is_compiled_again_if_one_that_it_calls_changed(tmp_path: Path, monkeypatch):
    """numba alone would load the cached caller, with the old kernel in it."""
    room = tmp_path / "room"
    room.mkdir()
    (room / "__init__.py").touch()
    decorate = f"""
from pathlib import Path
from holdfast._machine import jit
jit.digest_kernels.__wrapped__.__defaults__ = (Path({str(tmp_path)!r}),)
jit.digest_kernels.cache_clear()
"""
    (room / "_caller_kernels.py").write_text(
        decorate
        + "from room._called_kernels import add\n\n@jit.writing_kernel\ndef add_one(x):\n"
        + "    return add(x)\n"
    )
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    found = []
    for added in (1, 1, 2):
        (room / "_called_kernels.py").write_text(
            "from holdfast._machine.jit import writing_kernel\n\n@writing_kernel\ndef add(x):\n"
            f"    return x + {added}\n"
        )
        run = subprocess.run(
            [sys.executable, "-B", "-c", CACHED, str(tmp_path)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        found.append(run.stdout.split())
    assert found == [["2"], ["2", "1"], ["3"]]


LOADED = """
import sys
sys.path.insert(0, sys.argv[1])
import _loaded_kernels as kernels
print(kernels.add_one(1), kernels.count_up(3).sum(), "numba.np.linalg" in sys.modules)
print(*kernels.add_one.stats.cache_hits.values(), *kernels.count_up.stats.cache_hits.values())
if len(sys.argv) > 2:
    print(kernels.add_two(1.0), kernels.add_two(1), "numba.np.linalg" in sys.modules)
"""


def test_loading_kernels_leaves_the_compiler_alone(tmp_path: Path, monkeypatch):
    """Its rules are 70 modules; a kernel that is compiled later still finds them."""
    (tmp_path / "_loaded_kernels.py").write_text(
        "import numpy as np\nfrom holdfast._machine.jit import kernel, writing_kernel\n\n"
        "@writing_kernel\ndef add_one(x):\n    return x + 1\n\n"
        "@kernel\ndef count_up(n):\n    return np.arange(n)\n\n"
        "@writing_kernel\ndef add_two(x):\n    return add_one(add_one(x))\n"
    )
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    found = []
    for later in ([], ["later"]):
        run = subprocess.run(
            [sys.executable, "-c", LOADED, str(tmp_path), *later],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        found.append(run.stdout.split())
    assert found == [["2", "3", "True"], ["2", "3", "False", "1", "1", "3.0", "3", "True"]]


def test_the_digest_covers_all_kernels():
    folder = Path(jit.__file__).parents[1]
    decorators = tuple(f"@{name}" for name in vars(jit) if name.endswith("kernel"))
    for path in folder.rglob("*.py"):
        lines = path.read_text().splitlines()
        if any(line.startswith(decorators) for line in lines):
            assert path in jit.find_kernels(folder)
