"""Targets: estimator fit, on rows of every kind that can be thought of."""

import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from fuzz.invariants import check_hierarchy, check_labels, some_ks
from fuzz.target import Target
from hypothesis import strategies as st
from models import build_model
from numpy.typing import NDArray

from holdfast.rows.sketch import Sketch, count_rows
from holdfast_paper.draws import heavy_tail, normal, scales

Draw = Callable[[np.random.RandomState, int, int], NDArray[np.float64]]
LARGEST = np.finfo(np.float64).max
SPECIAL = [0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1e-300, 1.0, -1.0, 1 / 3, 1e9, 1e16, 1e300, -1e300]


def any_bits(random: np.random.RandomState, n: int, d: int) -> NDArray[np.float64]:
    """Doubles of all exponents, small enough that sums do not overflow."""
    bits = random.randint(0, 1 << 32, size=(2, n, d)).astype(np.uint64)
    rows = ((bits[0] << np.uint64(32)) | bits[1]).view(np.float64)
    return np.where(np.abs(rows) < 1e290, rows, 0.0)


def deep(random: np.random.RandomState, n: int, d: int) -> NDArray[np.float64]:
    """Each row parts from the last one a bit, or a dimension, later: the deepest trie there is."""
    place = np.arange(n)
    rows = np.zeros((n, d))
    rows[place, place % d] = np.ldexp(1.0, -(place // d))
    return rows if random.randint(2) else np.cumsum(rows, axis=0)


def far_away(random: np.random.RandomState, n: int, d: int) -> NDArray[np.float64]:
    return normal(random, (n, d)) + scales(random, 0, 996)


def equal_columns(random: np.random.RandomState, n: int, d: int) -> NDArray[np.float64]:
    rows = normal(random, (n, d))
    rows[:, random.random_sample(d) < 0.6] = SPECIAL[random.randint(len(SPECIAL))]
    return rows


def repeats(random: np.random.RandomState, n: int, d: int) -> NDArray[np.float64]:
    return normal(random, (n, d))[random.randint(0, max(n // 3, 1), size=n)]


KINDS: dict[str, Draw] = {
    "normal": lambda random, n, d: normal(random, (n, d)),
    "integers": lambda random, n, d: random.randint(-3, 4, size=(n, d)).astype(np.float64),
    "binary": lambda random, n, d: random.randint(0, 2, size=(n, d)).astype(np.float64),
    "special": lambda random, n, d: random.choice(SPECIAL, size=(n, d)),
    "subnormal": lambda random, n, d: random.randint(-9, 10, size=(n, d)) * 5e-324,
    "all equal": lambda random, n, d: np.full((n, d), random.choice(SPECIAL)),
    "heavy tail": lambda random, n, d: heavy_tail(random, (n, d)),
    "scales": lambda random, n, d: np.ldexp(normal(random, (n, d)), -133 * np.arange(d)),
    "steps": lambda random, n, d: np.ldexp(1.0, -random.randint(0, 80, size=(n, d))),
    "largest": lambda random, n, d: random.choice([LARGEST, -LARGEST, 0.0, 1.0], size=(n, d)),
    "any bits": any_bits,
    "deep": deep,
    "far away": far_away,
    "equal columns": equal_columns,
    "repeats": repeats,
}


@dataclass(frozen=True)
class FitCase:
    """Everything that decides about a fit, in numbers that Hypothesis can make small."""

    kind: str
    n: int
    d: int
    seed: int
    weights: str
    dtype: str
    pick: int
    parameters: tuple[tuple[str, Any], ...]

    @property
    def rows(self) -> NDArray[Any]:
        rows = KINDS[self.kind](np.random.RandomState(self.seed), self.n, self.d)
        if self.dtype == "float64":
            return rows
        with np.errstate(over="ignore"):
            small = rows.astype(np.float32)
        small[~np.isfinite(small)] = 0.0
        return small if self.dtype == "float32" else np.clip(small, -99, 99).astype(self.dtype)

    @property
    def weight(self) -> NDArray[np.float64] | None:
        random = np.random.RandomState(self.seed + 1)
        if self.weights == "none":
            return None
        weight: NDArray[np.float64] = {
            "ones": lambda: np.ones(self.n),
            "integers": lambda: random.randint(1, 5, size=self.n).astype(np.float64),
            "zeros": lambda: random.randint(0, 3, size=self.n).astype(np.float64),
            "fractions": lambda: random.random_sample(self.n),
            "wide": lambda: scales(random, -40, 40, self.n),
            "tiny": lambda: np.full(self.n, 5e-324),
        }[self.weights]()
        weight[self.pick % self.n] += weight.max() == 0.0
        return weight


def fit_cases(max_rows: int, **parameters: st.SearchStrategy[Any]) -> st.SearchStrategy[FitCase]:
    drawn = st.tuples(*(st.tuples(st.just(name), s) for name, s in parameters.items()))
    return st.builds(
        FitCase,
        kind=st.sampled_from(list(KINDS)),
        n=st.integers(1, max_rows),
        d=st.sampled_from([1, 2, 3, 5, 20]),
        seed=st.integers(0, 2**31),
        weights=st.sampled_from(
            ["none", "none", "ones", "integers", "zeros", "fractions", "wide", "tiny"]
        ),
        dtype=st.sampled_from(["float64", "float64", "float64", "float32", "int8", "int64"]),
        pick=st.integers(0, 100),
        parameters=drawn,
    )


def fit(case: FitCase, order: NDArray[np.intp] | slice, dtype: Any = None) -> Any:
    """Fit; also whether rows were merged with a warning. None where the cost overflows."""
    rows, weight = case.rows[order], case.weight
    model = build_model(1, **dict(case.parameters))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(
                rows.astype(dtype or rows.dtype), None, None if weight is None else weight[order]
            )
        except ValueError as error:
            if not is_documented(error, case) or hasattr(model, "hierarchy_"):
                raise
            return None, False
    for warning in caught:
        assert re.search(
            "differ from another row by less than .* can resolve", str(warning.message)
        )
    return model, bool(caught)


def is_documented(error: ValueError, case: FitCase) -> bool:
    """Errors of a fit that has right parameters and finite rows."""
    rows, weight = case.rows.astype(np.float64), case.weight
    if "metric must be one of" in str(error):
        return dict(case.parameters)["metric"] != "euclidean"
    if "all zeros" in str(error):
        return not rows.any(axis=1).all()
    total = float(case.n) if weight is None else float(weight.sum())
    far = float(np.abs(rows).max()) > 1e290 / max(total, 1.0)
    return far and "overflow" in str(error)


def check_fit(case: FitCase) -> None:
    """Rows in any order and dtype give a valid hierarchy or an error that says why not."""
    model, merged = fit(case, slice(None))
    if case.pick % 2:
        check_reordered(case, model, merged)
    if model is None:
        return
    rows, weight = case.rows.astype(np.float64), case.weight
    present = np.ones(case.n, dtype=bool) if weight is None else weight > 0.0
    hierarchy = model.hierarchy_
    ks = some_ks(hierarchy.n_centers, case.pick)
    check_hierarchy(hierarchy, ks)
    assert present[hierarchy.center_indices].all()
    assert hierarchy.n_centers <= np.count_nonzero(present)
    check_search(model, rows, weight)
    if merged:
        return
    distinct = len(np.unique(rows[present], axis=0))
    settings = model._settings_for(rows, weight)
    if settings.method == "tree" or settings.max_candidates >= distinct:
        assert hierarchy.n_centers == min(np.count_nonzero(present), settings.max_centers)
    if settings.metric == "cosine" or (settings.method != "tree" and has_lost_distances(rows)):
        distinct = 1
    k = min(distinct, 1 + case.pick % hierarchy.n_centers)
    assert np.array_equal(check_labels(hierarchy, rows, k), hierarchy.cut(k))
    check_labels(hierarchy, np.concatenate((rows * 0.5, -rows)), hierarchy.n_centers)


def check_search(model: Any, rows: NDArray[np.float64], weight: NDArray[np.float64] | None) -> None:
    """Rows of the fit are found as often as they are there, others not at all."""
    if weight is not None and (np.mod(weight, 1.0).any() or weight.sum() > 2.0**53):
        return
    asked = np.concatenate((rows, -rows, rows * 0.5, np.roll(rows, 1, axis=1)))
    asked = Sketch.from_rows(asked).rows
    fingerprint, found = count_rows(*model._held.given, asked)
    assert fingerprint == model._held.fingerprint
    assert np.array_equal(found, Sketch.from_rows(rows, weight).count(asked))


def check_reordered(case: FitCase, model: Any, merged: bool) -> None:
    """The same rows in another order, as doubles, give the same costs and the same clusters."""
    order = np.random.RandomState(case.seed + 2).permutation(case.n)
    again, merged_again = fit(case, order, np.float64)
    assert (model is None, merged) == (again is None, merged_again)
    if model is None or merged:
        return
    present = case.rows if case.weight is None else case.rows[case.weight > 0.0]
    k = min(len(np.unique(present, axis=0)), model.hierarchy_.n_centers)
    assert model.hierarchy_.costs.tobytes() == again.hierarchy_.costs.tobytes()
    if dict(case.parameters).get("metric") != "cosine":
        assert np.array_equal(again.hierarchy_.cut(k), model.hierarchy_.cut(k)[order])


def has_lost_distances(rows: NDArray[np.float64]) -> bool:
    """Whether some distance is too small for its square to be a double, at the scale of the rows."""
    scaled = np.ldexp(rows, -math.frexp(float(np.abs(rows).max()))[1])
    difference = np.abs(scaled[:, None] - scaled).max(axis=2)
    return bool(((difference > 0.0) & (difference < 1e-150)).any())


def check_euclidean_fit(case: FitCase) -> None:
    """The same for method="medoids" and method="means", with all their metrics."""
    check_fit(case)


EPSILONS = st.sampled_from([0.0, 0.05, 1.0, 10.0, math.inf])
MAX_CENTERS = st.sampled_from([None, "all", 1, 3, 10])
TREE = Target(
    check_fit,
    fit_cases(
        16,
        epsilon=EPSILONS,
        max_centers=MAX_CENTERS,
        random_shift=st.booleans(),
        random_state=st.integers(0, 2**64 - 1),
    ),
)
EUCLIDEAN = Target(
    check_euclidean_fit,
    fit_cases(
        7,
        method=st.sampled_from(["medoids", "medoids", "means"]),
        metric=st.sampled_from(["euclidean", "euclidean", "manhattan", "cosine"]),
        epsilon=EPSILONS,
        max_centers=MAX_CENTERS,
        max_candidates=st.sampled_from([4096, 4096, 5]),
        random_state=st.integers(0, 2**64 - 1),
    ),
)
