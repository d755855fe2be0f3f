"""One registry of methods, for everything that names them."""

import json
import subprocess
import sys

import numpy as np

from holdfast import HierarchicalKMedian
from holdfast.clusterers import METHODS

ROWS = np.random.RandomState(5).standard_normal((60, 2))


def test_names_and_titles_are_unique_and_in_order():
    assert list(METHODS) == [
        "means", "medoids", "tree", "clnss", "ward", "average", "complete", "single",
        "bisecting_kmeans", "kmeans", "minibatch_kmeans", "birch", "hdbscan",
    ]  # fmt: skip
    assert all(name == method.name for name, method in METHODS.items())
    assert len({method.title for method in METHODS.values()}) == len(METHODS)
    assert [name for name, method in METHODS.items() if method.quadratic] == ["average", "complete"]


def test_methods_of_this_library_are_its_estimator():
    cuts = {}
    for name, parameters in (
        ("means", {"method": "means"}),
        ("medoids", {"method": "medoids"}),
        ("tree", {"method": "tree"}),
        ("clnss", {"method": "tree", "epsilon": 0}),
    ):
        clusterer = METHODS[name].build()
        assert clusterer.name == METHODS[name].title
        expected = HierarchicalKMedian(9, random_state=3, **parameters).fit(ROWS)
        cuts[name] = clusterer.fit(ROWS, 3).cut(9)
        np.testing.assert_array_equal(cuts[name], expected.labels_)
    assert len({labels.tobytes() for labels in cuts.values()}) == 4  # no two alike


def test_names_load_without_any_other_package():
    script = (
        "import json, sys; from holdfast.clusterers import METHODS; assert METHODS['ward'].title; "
        "print(json.dumps(sorted(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    loaded = {name.partition(".")[0] for name in json.loads(run.stdout)}
    assert not loaded & {"numpy", "scipy", "sklearn", "numba"}
