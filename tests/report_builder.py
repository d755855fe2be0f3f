"""A small report of rows with names that no page must run."""

import numpy as np

from holdfast import HierarchicalKMedian
from holdfast.report import Report, build_report

EVIL = [
    "<script>alert(1)</script>",
    "</script><script>window.broken = 1</script>",
    "<!--<script>",
    "a & b \u2028 \u2029 \"quoted\" 'too' $data ${policy} <img src=x onerror=alert(1)>",
]


def make_rows(n: int = 90) -> np.ndarray:
    rng = np.random.default_rng(5)
    places = rng.normal(size=(5, 4)) * 4
    return places[np.arange(n) % 5] + rng.normal(size=(n, 4))


def make_ids(n: int) -> list[str]:
    return [f"{EVIL[i % 4]} {i}" for i in range(n)]


def build(X: np.ndarray, **options) -> Report:
    few = {
        "n_clusters": 4, "methods": ["ward", "average"], "trials": 5, "repeats": 2, "n_jobs": 1,
        "estimator": HierarchicalKMedian(method="tree"),  # the fastest
    }  # fmt: skip
    return build_report(X, **{**few, **options})


def build_evil(rows: np.ndarray) -> Report:
    return build(rows, names=EVIL, ids=make_ids(len(rows)), values=rows * 10 + 1000, title=EVIL[1])
