"""Target: what is handed to fit as rows, weights and parameters, right or wrong."""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from fuzz.target import Target
from hypothesis import strategies as st
from scipy import sparse

from holdfast import HierarchicalKMedian

DTYPES = ["float64", "float32", "float16", "int8", "uint64", "bool", "object", ">f8", "complex128"]
DTYPES += ["<U8", "M8[s]"]
BAD = [math.nan, math.inf, -math.inf, None, "far", 1e400, 2**2000, 1j, [1.0]]
PARAMETERS: dict[str, list[Any]] = {
    "n_clusters": [1, 2, 3, 0, -1, 10**9, 2.0, "2", None, True, np.int64(2)],
    "epsilon": [0, 1.0, math.inf, "auto", -1.0, math.nan, "0", None, True, 10**400, 1j],
    "method": ["tree", "medoids", "means", "other", None, ["tree"]],
    "metric": ["euclidean", "manhattan", "cosine", "other", None, {}],
    "max_centers": [None, "all", 1, 3, 0, -5, 2.5, "some", True],
    "verbose": [False, "yes", None],
    "random_state": [0, 2**64 - 1, -1, None, "seed", 1.5, np.random.RandomState(3)],
}


@dataclass(frozen=True)
class InputCase:
    """Rows of some shape, dtype and container, with bad values here and there; parameters."""

    shape: tuple[int, ...]
    dtype: str
    container: str
    bad: tuple[tuple[int, int], ...]
    weight: str
    parameters: tuple[tuple[str, int], ...]

    def rows(self) -> Any:
        random = np.random.RandomState(len(self.bad))
        rows = random.randint(0, 9, size=self.shape).astype(self.dtype)
        for place, which in self.bad:
            value = BAD[which % len(BAD)]
            if rows.size and self.dtype in ("float64", "float32", "object"):
                try:
                    rows.reshape(-1)[place % rows.size] = value
                except (TypeError, ValueError, OverflowError):
                    rows.reshape(-1)[place % rows.size] = math.nan
        if self.container == "list":
            return rows.tolist()
        if self.container == "frame" and rows.ndim == 2:
            return pd.DataFrame(rows)
        if self.container == "sparse" and rows.ndim == 2 and rows.dtype.kind in "fiu":
            return sparse.csr_matrix(rows.astype(np.float64))
        if self.container == "fortran":
            return np.array(rows, order="F")
        if self.container == "strided" and rows.ndim:
            return np.repeat(rows, 2, axis=0)[::-2]
        if self.container == "masked":
            return np.ma.masked_array(rows)
        return rows

    def weights(self) -> Any:
        n = self.shape[0] if self.shape else 1
        return {
            "none": None,
            "ones": np.ones(n),
            "list": [2] * n,
            "short": np.ones(max(n - 1, 0)),
            "negative": -np.ones(n),
            "zeros": np.zeros(n),
            "nan": np.full(n, math.nan),
            "words": ["heavy"] * n,
            "column": np.ones((n, 1)),
            "number": 3.0,
        }[self.weight]


def check_any_input(case: InputCase) -> None:
    """Fit labels every row, or raises ValueError or TypeError and changes nothing."""
    rows, weight = case.rows(), case.weights()
    model = HierarchicalKMedian(
        **{
            "n_clusters": 1,
            **{n: PARAMETERS[n][i % len(PARAMETERS[n])] for n, i in case.parameters},
        }
    )
    before = dict(model.__dict__)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Casting complex values")
        try:
            model.fit(rows, sample_weight=weight)
        except (ValueError, TypeError) as error:
            if len(str(error)) < 10 or model.__dict__ != before:
                raise
            return
    centers = model.cluster_centers_
    if sparse.issparse(rows):
        rows, centers = rows.toarray(), centers.toarray()
    values = np.asarray(rows, dtype=np.float64)
    assert values.ndim == 2
    assert np.isfinite(values).all()
    assert case.weight in ("none", "ones", "list")
    assert model.labels_.shape == (len(values),)
    assert sorted(set(model.labels_.tolist())) == list(range(model.n_clusters))
    assert np.array_equal(centers, values[model.center_indices_])


INPUTS = Target(
    check_any_input,
    st.builds(
        InputCase,
        shape=st.sampled_from(
            [(5, 2), (5, 2), (4, 1), (1, 3), (6, 3), (0, 2), (3, 0), (4,), (), (2, 2, 2), (0,)]
        ),
        dtype=st.sampled_from(["float64", "float64", *DTYPES]),
        container=st.sampled_from(
            ["array", "array", "list", "frame", "sparse", "fortran", "strided", "masked"]
        ),
        bad=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=2).map(tuple),
        weight=st.sampled_from(
            ["none", "none", "none", "ones", "list", "short", "negative", "zeros", "nan"]
            + ["words", "column", "number"]
        ),
        parameters=st.lists(
            st.tuples(st.sampled_from(list(PARAMETERS)), st.integers(0, 10)), max_size=2
        ).map(tuple),
    ),
)
