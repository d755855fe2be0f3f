"""One registry of methods, for everything that names them."""

import json
import subprocess
import sys

import numpy as np
import pytest
from models import build_model

from holdfast.clusterers import METHODS

rng = np.random.RandomState(5)
ROWS = rng.standard_normal((40, 2)) + 5.0 * rng.randint(0, 3, size=(40, 1))


def test_names_and_titles_are_unique_and_in_order():
    assert list(METHODS) == [
        "means", "medoids", "tree", "clnss", "ward", "average", "complete", "single",
        "bisecting_kmeans", "kmeans", "minibatch_kmeans", "birch", "hdbscan",
    ]  # fmt: skip
    assert all(name == method.name for name, method in METHODS.items())
    assert len({method.title for method in METHODS.values()}) == len(METHODS)
    assert [name for name, method in METHODS.items() if method.quadratic] == ["average", "complete"]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("means", {"method": "means"}),
        ("medoids", {"method": "medoids"}),
        ("tree", {"method": "tree"}),
        ("clnss", {"method": "tree", "epsilon": 0}),
    ],
)
def test_methods_of_this_library_are_its_estimator(name, parameters):
    clusterer = METHODS[name].build()
    assert clusterer.name == METHODS[name].title
    expected = build_model(4, random_state=3, **parameters).fit(ROWS)
    np.testing.assert_array_equal(clusterer.fit(ROWS, 3).cut(4), expected.labels_)


def test_names_load_without_any_other_package():
    script = (
        "import json, sys; from holdfast.clusterers import METHODS; assert METHODS['ward'].title; "
        "print(json.dumps(sorted(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    loaded = {name.partition(".")[0] for name in json.loads(run.stdout)}
    assert not loaded & {"numpy", "scipy", "sklearn", "numba"}
