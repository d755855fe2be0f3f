"""What fuzzing found: each input once failed."""

import warnings

import numpy as np
import pytest
from fuzz.files import FILES, Edit
from fuzz.tables import TABLES
from models import build_model
from scipy.sparse import csr_matrix
from storage.forge import change

from holdfast import HierarchicalKMedian, load
from holdfast.chunks import open_source
from holdfast.storage.archive import DamagedFile
from holdfast.tables.errors import TableError
from holdfast.tables.read import read_table

EUCLIDEAN = {"method": "medoids", "max_centers": "all", "epsilon": 0.0}


def test_costs_do_not_overflow_on_the_way():
    """Weights in units of 2^-53 made costs of 1e300 infinite before they were scaled back."""
    rows, weight = np.array([[-1e300], [0.0]]), np.array([0.4, 0.7])
    costs = build_model(1, **EUCLIDEAN).fit(rows, sample_weight=weight).hierarchy_.costs
    assert costs == pytest.approx([0.4 * 1e300, 0.0])


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_costs_that_do_overflow_are_an_error(metric: str):
    """They were infinite, with a warning of NumPy."""
    rows = np.array([[1.7e308], [-1.7e308], [1.6e308]])
    with pytest.raises(ValueError, match=r"X has values from -1.7e\+308 to 1.7e\+308.*Rescale"):
        build_model(1, metric=metric, **EUCLIDEAN).fit(rows)


@pytest.mark.parametrize("container", [np.array, csr_matrix])
def test_a_model_of_large_values_can_be_saved(container, tmp_path):
    """The squares in its largest distance overflowed, and infinity is not JSON."""
    rows = np.array([[1.0, 0.0], [4.0, 4.0], [90.0, 0.0], [93.0, 4.0]])
    model = HierarchicalKMedian(2).fit(container(1e200 * rows))
    assert model.reach_ == pytest.approx(5e200)
    assert model.score(container(1e200 * rows)) == pytest.approx(-1e201)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(container(1e200 * rows), unknown=-1).min() == 0


def test_rows_that_the_euclidean_cost_cannot_tell_apart_are_counted():
    """They were merged without a word, and `predict` gave them another cluster than `cut`."""
    rows = np.array([[-1e300], [1e-300], [0.0]])
    with pytest.warns(UserWarning, match="^1 row of X.*float64 can resolve") as caught:
        build_model(1, **EUCLIDEAN).fit(rows)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build_model(1, metric="cosine", **EUCLIDEAN).fit([[1.0, 1.0], [2.0, 2.0]])


def test_labels_of_rows_beyond_all_doubles():
    """Scaling them overflowed, with a warning of NumPy; all centers are equally far from them."""
    hierarchy = build_model(1, **EUCLIDEAN).fit(np.array([[1e-9], [2e-9]])).hierarchy_
    assert hierarchy.predict(np.array([[1e308], [-1e308], [2e-9]]), 2).tolist()[:2] == [0, 0]


def test_finite_values_whose_sum_is_not():
    """scikit-learn's test for infinity adds up to infinity minus infinity, with a warning."""
    largest = np.finfo(np.float64).max
    rows = np.array([[largest, -largest] * 10])
    model = HierarchicalKMedian(1, method="medoids").fit(rows)
    assert model.predict(rows).tolist() == [0]


@pytest.mark.parametrize("where", ["X", "sample_weight"])
def test_integers_beyond_all_doubles(where: str):
    """They were an OverflowError."""
    given = {"X": np.ones((2, 1), dtype=object), "sample_weight": np.ones(2, dtype=object)}
    given[where][0] = 10**400
    with pytest.raises(ValueError, match=where):
        HierarchicalKMedian(1, method="tree").fit(**given)
    with pytest.raises(ValueError, match=where):
        HierarchicalKMedian(1, method="tree").partial_fit(**given)


BROKEN_TABLES = {
    "a NUL in the header of .npy was a TokenError": ("a.npy", Edit("number", 64, 8, 0)),
    "a damaged .gz was a zlib.error": ("a.csv.gz", Edit("flip", 10, 1, 0)),
    "offsets of texts outside of the file were followed": ("a.arrow", Edit("repeat", 237, 240, 0)),
    "gaps without a table of gaps were looked up": ("a.feather", Edit("flip", 496, 1, 0)),
}


@pytest.mark.parametrize("name", BROKEN_TABLES)
def test_broken_tables_are_one_kind_of_error(name: str, tmp_path):
    file, edit = BROKEN_TABLES[name]
    path = tmp_path / file
    path.write_bytes(edit.apply(TABLES[file]))
    with pytest.raises(TableError, match="cannot be read"):
        read_table(str(path))


BROKEN_CHUNKS = {
    "names that are not UTF-8 were a UnicodeDecodeError": ("a.csv", b"\x80,y\n1,2\n"),
    "gaps without a table of gaps were looked up": (
        "a.arrow",
        Edit("flip", 496, 1, 0).apply(TABLES["a.feather"]),
    ),
}


@pytest.mark.parametrize("name", BROKEN_CHUNKS)
def test_broken_chunks_are_an_error_that_names_the_file(name: str, tmp_path):
    file, content = BROKEN_CHUNKS[name]
    (tmp_path / file).write_bytes(content)
    with pytest.raises(
        ValueError, match=f"{file} (cannot be read|is not in the expected encoding)"
    ):
        list(open_source(tmp_path / file))


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [("parameters", "epsilon", 10**400), ("preparation", "scale", [2**70, 1])],
)
def test_a_model_with_integers_beyond_all_doubles(part, name, value, tmp_path):
    """They were an OverflowError and a TypeError."""
    path = change(
        FILES["model-tree-1"],
        tmp_path / "model",
        lambda metadata, _arrays: metadata[part].update({name: value}),
    )
    with pytest.raises(DamagedFile, match=name):
        load(path)
