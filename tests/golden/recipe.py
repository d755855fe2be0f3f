"""The golden inputs and what comes out of them: nobody's clusters move unnoticed.

Inputs come from a 64-bit counter hash in Python's integers and from correctly rounded operations
on doubles, so they depend on no library. What is expected is in expected.json beside this file.

``python tests/golden/recipe.py`` says which cases differ from it. A change that moves clusters on
purpose, and says so in CHANGELOG.md, writes it anew: ``python tests/golden/recipe.py --write``.
"""

import argparse
import json
import math
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # also as a program
from models import build_model

EXPECTED = Path(__file__).with_name("expected.json")
_WORD = (1 << 64) - 1


class Integers:
    """Integers that are a hash of (seed, how many were drawn before)."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, n: int) -> int:
        """Draw from 0 .. n - 1 (n far below 2^64)."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & _WORD
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
        return (z ^ (z >> 31)) % n

    def table(self, n: int, d: int, draw: Callable[[], float]) -> NDArray[np.float64]:
        """Fill n rows of d values, each from `draw`."""
        return np.array([[draw() for _ in range(d)] for _ in range(n)], dtype=np.float64)

    def bell(self) -> int:
        """Draw from -6000 .. 5994, close to normal with deviation 1000."""
        return sum(self.below(1000) for _ in range(12)) - 6000


@dataclass(frozen=True, eq=False)
class Case:
    """One golden input and the parameters that it is fitted with."""

    rows: NDArray[np.float64]
    weight: NDArray[np.float64] | None = None
    parameters: dict[str, Any] = field(default_factory=dict)


def bells(seed: int, n: int, d: int, divisor: float = 1000.0) -> NDArray[np.float64]:
    """Rows close to normal, each value one division away from an integer."""
    draw = Integers(seed)
    return draw.table(n, d, lambda: draw.bell() / divisor)


def groups(seed: int, n: int, d: int) -> NDArray[np.float64]:
    """Rows close to normal around one of five places."""
    draw = Integers(seed)
    places = draw.table(5, d, lambda: draw.below(40000))
    rows = [[draw.bell() + x for x in places[draw.below(5)]] for _ in range(n)]
    return np.array(rows) / 1000.0


def integers(seed: int, n: int, d: int, stop: int) -> NDArray[np.float64]:
    """Rows of integers from 0 to stop - 1: ties and repeats."""
    draw = Integers(seed)
    return draw.table(n, d, lambda: draw.below(stop))


def weights(seed: int, n: int, stop: int, divisor: float = 1.0) -> NDArray[np.float64]:
    """Weights 0 .. stop - 1 over a divisor, the first one positive."""
    draw = Integers(seed)
    found = np.array([draw.below(stop) / divisor for _ in range(n)])
    found[0] = 1.0 / divisor
    return found


def heavy_tail(seed: int, n: int, d: int) -> NDArray[np.float64]:
    """Signed integers over integers: most near 1, some thousands of times larger."""
    draw = Integers(seed)
    return draw.table(n, d, lambda: (draw.below(2001) - 1000) / (1 + draw.below(1000)))


def _cubed(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """By products: NumPy's power rounds differently on different processors."""
    return rows * rows * rows


def _cases() -> dict[str, Case]:
    inf = math.inf
    grid = np.array([[x, y] for x in range(12) for y in range(12)], dtype=np.float64)
    line = np.array([[i * i, -2 * i * i, 7.0] for i in range(40)], dtype=np.float64)
    geometric = np.array([[math.ldexp(1.0, -i)] for i in range(60)])
    far = integers(23, 60, 2, 500) + 2.0**40
    zeros = integers(24, 50, 3, 2) * 0.0
    zeros[::3] = -0.0
    zeros[::5, 1] = 1.0
    unshifted = {"random_shift": False}
    cases = {
        "one row": Case(bells(1, 1, 2)),
        "two rows, greedy": Case(bells(2, 2, 1), None, {"epsilon": 0}),
        "two rows, uniform": Case(bells(2, 2, 1), None, {"epsilon": inf}),
        "all equal": Case(np.full((20, 3), 0.1)),
        "zeros of both signs": Case(zeros),
        "one column": Case(bells(3, 120, 1)),
        "one column, greedy": Case(bells(3, 120, 1), None, {"epsilon": 0}),
        "seven columns": Case(groups(4, 90, 7), None, {"epsilon": 0.05}),
        "forty columns": Case(bells(5, 60, 40)),
        "forty columns, greedy": Case(bells(5, 60, 40), None, {"epsilon": 0}),
        "forty columns, repeats, weights": Case(
            integers(6, 60, 40, 2)[integers(7, 80, 1, 60)[:, 0].astype(int)],
            weights(8, 80, 5),
            {"epsilon": 10},
        ),
        "integer grid, greedy": Case(grid, None, {"epsilon": 0}),
        "integer grid": Case(grid),
        "integer grid, unshifted greedy": Case(grid, None, {"epsilon": 0, **unshifted}),
        "repeats, greedy": Case(integers(9, 100, 2, 6), None, {"epsilon": 0}),
        "repeats": Case(integers(9, 100, 2, 6)),
        "repeats, uniform": Case(integers(9, 100, 2, 6), None, {"epsilon": inf}),
        "integer weights": Case(groups(10, 80, 2), 1.0 + weights(11, 80, 9)),
        "integer weights, greedy": Case(
            groups(10, 80, 2), 1.0 + weights(11, 80, 9), {"epsilon": 0}
        ),
        "fractional weights": Case(groups(12, 80, 3), weights(13, 80, 1000, 997.0) + 1e-9),
        "zero weights": Case(groups(14, 80, 2), weights(15, 80, 3)),
        "zero and fractional weights, repeats": Case(
            integers(16, 90, 2, 7), weights(17, 90, 4, 3.0), {"epsilon": 0.05}
        ),
        "weights from 1e-12 to 1e12": Case(
            bells(18, 40, 2), np.array([float(f"1e{i % 25 - 12}") for i in range(40)])
        ),
        "unshifted": Case(groups(19, 80, 3), None, unshifted),
        "root box": Case(
            integers(20, 60, 2, 1000) / 1000.0,
            None,
            {"epsilon": 0, "root_box": ([-0.25, -0.5], 2.0), **unshifted},
        ),
        "root box of an odd side": Case(
            integers(20, 60, 2, 1000) / 1000.0,
            None,
            {"root_box": ([-0.1, -0.3], 1.7), **unshifted},
        ),
        "max_centers": Case(groups(21, 400, 3), None, {"max_centers": 25}),
        "max_centers, greedy": Case(groups(21, 400, 3), None, {"max_centers": 25, "epsilon": 0}),
        "max_centers beyond the locations": Case(
            integers(22, 50, 1, 12), weights(22, 50, 3), {"max_centers": 20}
        ),
        "far away": Case(far),
        "far away, greedy": Case(-far, None, {"epsilon": 0}),
        "collinear": Case(line),
        "geometric": Case(geometric, None, {"epsilon": 0.05}),
        "geometric, greedy": Case(-geometric, None, {"epsilon": 0}),
        "heavy tail": Case(heavy_tail(25, 150, 2)),
        "heavy tail, greedy": Case(heavy_tail(25, 150, 2), None, {"epsilon": 0}),
        "1e-150": Case(bells(26, 50, 2) * 1e-150),
        "1e150": Case(bells(26, 50, 2) * 1e150),
        "smallest doubles": Case(integers(27, 40, 2, 300) * 5e-324, None, {"epsilon": 0}),
        "seed of 64 bits": Case(groups(28, 60, 2), None, {"random_state": 2**64 - 59}),
        "seed 12345": Case(groups(28, 60, 2), None, {"random_state": 12345}),
    }
    whole = {"method": "medoids", "max_centers": "all"}
    cases["euclidean, groups"] = Case(groups(30, 120, 3), None, whole)
    cases["euclidean, repeats, weights"] = Case(
        integers(16, 90, 2, 7), weights(17, 90, 4, 3.0), whole
    )
    cases["euclidean, few candidates"] = Case(
        groups(31, 400, 3), None, {**whole, "max_candidates": 50, "epsilon": 1}
    )
    cases["euclidean, 1e150, greedy"] = Case(
        bells(26, 50, 2) * 1e150, None, {**whole, "epsilon": 0}
    )
    cases["manhattan"] = Case(groups(30, 120, 3), None, {**whole, "metric": "manhattan"})
    cases["cosine"] = Case(groups(30, 120, 3), None, {**whole, "metric": "cosine"})
    for epsilon in (0, 0.05, 1, 10, 1000, inf):
        cases[f"groups, epsilon {epsilon}"] = Case(groups(29, 400, 3), None, {"epsilon": epsilon})
    return {**cases, **_euclidean_cases(), **_means_cases()}


def _means_cases() -> dict[str, Case]:
    """Splits between means: all branches, more rows than a sample has among them."""
    means = {"method": "means", "max_centers": "all"}
    return {
        "means, groups": Case(groups(30, 120, 3), None, means),
        "means, default": Case(groups(31, 300, 3), None, {"method": "means"}),
        "means, repeats, weights": Case(integers(16, 90, 2, 7), weights(17, 90, 4, 3.0), means),
        "means, more rows than a sample": Case(
            groups(40, 6000, 2), None, {"method": "means", "max_centers": 100}
        ),
        "means, 1e150, greedy": Case(bells(26, 50, 2) * 1e150, None, {**means, "epsilon": 0}),
        "means, forty columns": Case(bells(38, 60, 40), None, means),
        "means, uniform": Case(groups(30, 120, 3), None, {**means, "epsilon": math.inf}),
        "means, cosine": Case(groups(30, 120, 3), None, {**means, "metric": "cosine"}),
        "means, outlier": Case(_cubed(_cubed(heavy_tail(25, 80, 2))), None, means),
    }


def _euclidean_cases() -> dict[str, Case]:
    """Both costs are golden: the same for the Euclidean one."""
    euclidean = {"method": "medoids", "max_centers": "all"}
    rows = groups(30, 160, 4)
    cases = {
        "euclidean, default": Case(groups(31, 300, 3), None, {"method": "medoids"}),
        "euclidean, weights, repeats": Case(
            integers(32, 120, 2, 8), weights(33, 120, 4), euclidean
        ),
        "euclidean, fractional weights": Case(
            groups(34, 90, 3), weights(35, 90, 1000, 997.0) + 1e-9, euclidean
        ),
        "euclidean, few candidates": Case(
            groups(36, 400, 2), None, {**euclidean, "max_candidates": 50}
        ),
        "euclidean, integer grid, greedy": Case(
            integers(37, 80, 2, 12), None, {**euclidean, "epsilon": 0}
        ),
        "euclidean, forty columns": Case(bells(38, 60, 40), None, euclidean),
        "euclidean, 1e-150": Case(bells(39, 50, 2) * 1e-150, None, euclidean),
        "euclidean, 1e150": Case(bells(39, 50, 2) * 1e150, None, euclidean),
    }
    for epsilon in (0, 0.05, 1, math.inf):
        for metric in ("euclidean", "manhattan", "cosine"):
            parameters = {**euclidean, "epsilon": epsilon, "metric": metric}
            cases[f"euclidean, {metric}, epsilon {epsilon}"] = Case(rows, None, parameters)
    return cases


CASES = _cases()


def crc(array: NDArray[Any], dtype: str) -> str:
    """CRC-32 of an array in little-endian C order."""
    return f"{zlib.crc32(np.ascontiguousarray(array, dtype=dtype).tobytes()):08x}"


def some_cuts(n_centers: int) -> list[int]:
    """1, 2, 3, 5, 8, ... and the last."""
    found, a, b = [], 1, 2
    while a < n_centers:
        found.append(a)
        a, b = b, a + b
    return [*found, n_centers]


def result_of(case: Case) -> dict[str, Any]:
    """Everything that a later version must reproduce, exactly."""
    model = build_model(1, **case.parameters)
    hierarchy = model.fit(case.rows, sample_weight=case.weight).hierarchy_
    between = case.rows / 2.0 + np.roll(case.rows, 1, axis=0) / 2.0
    weight = np.ones(len(case.rows)) if case.weight is None else case.weight
    return {
        "input": crc(np.column_stack((case.rows, weight)), "<f8"),
        "center_indices": hierarchy.center_indices.tolist(),
        "parent": hierarchy.parent.tolist(),
        "costs": [cost.hex() for cost in hierarchy.costs.tolist()],
        "cuts": {str(k): crc(hierarchy.cut(k), "<i4") for k in some_cuts(hierarchy.n_centers)},
        "between": crc(hierarchy.predict(between, hierarchy.n_centers), "<i4"),
    }


def expected() -> dict[str, Any]:
    """Read what was written."""
    found: dict[str, Any] = json.loads(EXPECTED.read_text())
    return found


def _write(results: dict[str, dict[str, Any]]) -> None:
    cases = []
    for name, result in results.items():
        lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in result.items()]
        cases.append(f"{json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n}")
    EXPECTED.write_text("{\n" + ",\n".join(cases) + "\n}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the golden cases, or write them anew.")
    parser.add_argument("--write", action="store_true", help="write expected.json anew")
    write = parser.parse_args().write
    before = expected() if EXPECTED.exists() else {}
    results = {name: result_of(case) for name, case in CASES.items()}
    changed = [name for name in {**results, **before} if results.get(name) != before.get(name)]
    for name in changed:
        print("differs:", name)
    print(f"{len(results)} cases, {len(changed)} differ from {EXPECTED.name}")
    if write:
        _write(results)
    return 0 if write or not changed else 1


if __name__ == "__main__":
    sys.exit(main())
