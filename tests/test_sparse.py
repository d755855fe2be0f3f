"""The estimator with sparse rows: the results of dense ones, and errors that say where and why."""

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from holdfast import HierarchicalKMedian, k_median_cost_to, load, membership
from holdfast.storage.model import model_from_arrays, model_to_arrays
from holdfast_paper.draws import normal

METRICS = ["euclidean", "cosine"]
FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr"]


def make_rows(n: int = 300, d: int = 40, seed: int = 0) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    values = rng.random((n, d)) + np.eye(6, d)[rng.integers(6, size=n)]
    values[rng.random((n, d)) < 0.85] = 0.0
    values[:, 0] += 0.1 * (values.sum(axis=1) == 0.0)
    return sparse.csr_array(values)


ROWS = make_rows()
DENSE = ROWS.toarray()
MODEL = HierarchicalKMedian(6).fit(ROWS)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("metric", METRICS)
def test_results_are_those_of_dense_rows(metric, dtype):
    rows, new = ROWS.astype(dtype), make_rows(seed=1).astype(dtype)
    weight = np.random.default_rng(2).integers(0, 3, 300)
    own, dense = (
        HierarchicalKMedian(6, metric=metric).fit(X, sample_weight=weight)
        for X in (rows, rows.toarray())
    )
    assert sparse.issparse(own.rows_)
    np.testing.assert_array_equal(own.labels_, dense.labels_)
    np.testing.assert_array_equal(own.center_indices_, dense.center_indices_)
    np.testing.assert_array_equal(own.cluster_centers_.toarray(), dense.cluster_centers_)
    np.testing.assert_array_equal(own.predict(rows)[weight > 0], own.labels_[weight > 0])
    np.testing.assert_allclose(own.transform(new), dense.transform(new.toarray()), atol=1e-6)
    assert own.score(new) == pytest.approx(dense.score(new.toarray()))
    assert own.reach_ == pytest.approx(dense.reach_)
    for model in (own, dense):
        for X in (new, new.toarray()):
            np.testing.assert_array_equal(model.predict(X), dense.predict(new.toarray()))
    far = new.toarray() * 4.0 + 1.0
    np.testing.assert_array_equal(own.predict(far, unknown=-1), dense.predict(far, unknown=-1))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_any_format(name, kind):
    rows = kind(ROWS).asformat(name)
    model = HierarchicalKMedian(6).fit(rows)
    np.testing.assert_array_equal(model.labels_, MODEL.labels_)
    np.testing.assert_array_equal(model.predict(rows), MODEL.labels_)


def test_integers_and_wide_indices():
    counts = (ROWS * 10.0).astype(np.int64)
    counts.indices, counts.indptr = counts.indices.astype(np.int64), counts.indptr.astype(np.int64)
    model = HierarchicalKMedian(6).fit(counts)
    dense = HierarchicalKMedian(6).fit(counts.toarray())
    np.testing.assert_array_equal(model.labels_, dense.labels_)


def test_repeated_and_unsorted_entries_are_added_up_in_a_copy():
    data, columns = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 1, 1])
    rows = sparse.csr_matrix((data, columns, np.array([0, 2, 4])), shape=(2, 3))
    model = HierarchicalKMedian(2).fit(rows)
    np.testing.assert_array_equal(model.rows_.toarray(), [[2.0, 0.0, 1.0], [0.0, 7.0, 0.0]])
    np.testing.assert_array_equal(rows.indices, [2, 0, 1, 1])


def test_stored_zeros_do_not_matter():
    rows = ROWS.copy()
    rows.data[::3] = 0.0
    shorter = rows.copy()
    shorter.eliminate_zeros()
    own, other = HierarchicalKMedian(6).fit(rows), HierarchicalKMedian(6).fit(shorter)
    np.testing.assert_array_equal(own.hierarchy_.finest, other.hierarchy_.finest)
    wide = [
        sparse.csr_array(sparse.hstack([X, sparse.csr_array((300, 2000))])) for X in (rows, shorter)
    ]
    own, other = (HierarchicalKMedian(6).fit(X) for X in wide)
    np.testing.assert_array_equal(own.hierarchy_.finest, other.hierarchy_.finest)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("include_rows", [True, False])
def test_saved_models(metric, include_rows, tmp_path):
    model = HierarchicalKMedian(6, metric=metric).fit(ROWS, sample_weight=np.arange(300) % 3)
    model.save(tmp_path / "model.holdfast", include_rows=include_rows)
    for again in (load(tmp_path / "model.holdfast"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(ROWS), model.predict(ROWS))
        np.testing.assert_array_equal(again.transform(ROWS), model.transform(ROWS))
        np.testing.assert_array_equal(again.hierarchy_.cut(20), model.hierarchy_.cut(20))
        np.testing.assert_array_equal(
            again.hierarchy_.first(9).predict(ROWS, 9), model.hierarchy_.predict(ROWS, 9)
        )
        assert again.reach_ == model.reach_
    if include_rows:
        again = load(tmp_path / "model.holdfast")
        np.testing.assert_array_equal(again.rows_.toarray(), DENSE)
        np.testing.assert_array_equal(again.labels_, model.labels_)


def changed(name: str, change) -> tuple[dict, dict]:
    """The record of a sparse model with one array changed."""
    metadata, arrays = model_to_arrays(MODEL._to_record(True))
    arrays = {key: array.copy() for key, array in arrays.items()}
    arrays[name] = change(arrays[name])
    return metadata, arrays


def put(place: int, value: float):
    def change(array):
        array[place] = value
        return array

    return change


BAD_ARRAYS = {
    "column too large": ("rows.indices", put(0, 40)),
    "column negative": ("hierarchy.planes.indices", put(0, -1)),
    "columns not in order": ("rows.indices", lambda array: array[::-1].copy()),
    "starts fall": ("rows.indptr", put(5, 0)),
    "starts too far": ("hierarchy.planes.indptr", put(-1, 1 << 40)),
    "first start": ("centers.indptr", put(0, 1)),
    "too few starts": ("rows.indptr", lambda array: array[:-1]),
    "values of another type": ("rows.data", lambda array: array.astype(np.int32)),
    "starts of another type": ("rows.indptr", lambda array: array.astype(np.int32)),
    "two dimensions": ("rows.data", lambda array: array[:, None]),
    "a value is NaN": ("rows.data", put(3, np.nan)),
    "a center is infinite": ("centers.data", put(0, np.inf)),
    "a normal is too long": ("hierarchy.planes.data", put(0, 1.5)),
    "normals of another type": ("hierarchy.planes.data", lambda array: array.astype(np.float32)),
    "an offset is NaN": ("hierarchy.planes.offsets", put(1, np.nan)),
    "too many offsets": ("hierarchy.planes.offsets", lambda array: np.append(array, 0.0)),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_crafted_files_are_refused(case):
    model_from_arrays(*changed("rows.data", lambda array: array))
    with pytest.raises(ValueError, match="sparse|plane|offset|finite|direction"):
        model_from_arrays(*changed(*BAD_ARRAYS[case]))


def test_a_part_of_the_arrays_or_of_the_metadata_is_refused():
    metadata, arrays = model_to_arrays(MODEL._to_record(True))
    for name in (
        "rows.indptr",
        "centers.data",
        "hierarchy.planes.indices",
        "hierarchy.planes.offsets",
    ):
        rest = {key: array for key, array in arrays.items() if key != name}
        with pytest.raises(ValueError, match="some of the arrays|must have an array"):
            model_from_arrays(metadata, rest)
    for width in (0, 1 << 31, 40.0, None):
        hierarchy = metadata["hierarchy"] | {"n_features": width}
        with pytest.raises(ValueError, match="number of columns"):
            model_from_arrays(metadata | {"hierarchy": hierarchy}, arrays)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_named(value):
    rows = ROWS.copy()
    e = int(rows.indptr[7]) + 1
    rows.data[e] = value
    where = f"row 7, column {rows.indices[e]};"
    for fit in (HierarchicalKMedian(6).fit, MODEL.predict, MODEL.transform, MODEL.score):
        with pytest.raises(ValueError, match=where):
            fit(rows)


def test_rows_of_zeros_have_no_direction():
    rows = ROWS.copy()
    rows.data[rows.indptr[4] : rows.indptr[5]] = 0.0
    with pytest.raises(ValueError, match="Row 4 of X is all zeros"):
        HierarchicalKMedian(6, metric="cosine").fit(rows)
    assert HierarchicalKMedian(6).fit(rows).labels_.size == 300


@pytest.mark.parametrize("method", ["medoids", "tree"])
def test_other_methods_name_the_one_that_takes_sparse_rows(method):
    model = HierarchicalKMedian(3, method=method)
    for call in (model.fit, model.partial_fit, model.fit(DENSE).predict):
        with pytest.raises(TypeError, match='X is sparse.*Use method="means"'):
            call(ROWS)


def test_what_needs_dense_rows_says_so():
    dense = HierarchicalKMedian(6).fit(DENSE)
    calls = {
        "partial_fit": [lambda: MODEL.partial_fit(ROWS), lambda: dense.partial_fit(ROWS)],
        "forget": [lambda: MODEL.forget(ROWS[:1]), lambda: dense.forget(ROWS[:1])],
        "follow": [lambda: MODEL.follow(DENSE), lambda: dense.follow(ROWS)],
        "explain": [MODEL.explain],
        "explain_row": [lambda: MODEL.explain_row(3), lambda: dense.explain_row(ROWS[[3]])],
    }
    for name, refused in calls.items():
        for call in refused:
            with pytest.raises(TypeError, match=f"{name} needs dense rows"):
                call()
    # A model with sparse rows takes no dense ones in, either.
    with pytest.raises(TypeError, match="partial_fit needs dense rows"):
        MODEL.partial_fit(DENSE)
    np.testing.assert_array_equal(MODEL.predict(ROWS), MODEL.labels_)


def test_other_bad_input():
    with pytest.raises(ValueError, match="5 features, but"):
        MODEL.predict(ROWS[:, :5])
    with pytest.raises(ValueError, match="fewer than 2\\^31"):
        HierarchicalKMedian(2).fit(sparse.csr_array((4, 1 << 31)))
    with pytest.raises(ValueError, match="40 columns"):
        MODEL.hierarchy_.predict(ROWS[:, :5], 3)


def test_distances_are_those_of_dense_rows():
    rows, centers = make_rows(50, 12, 3), make_rows(7, 12, 4)
    for metric in ("euclidean", "manhattan", "cosine"):
        expected = k_median_cost_to(rows.toarray(), centers.toarray(), metric=metric)
        for X, ends in ((rows, centers), (rows.toarray(), centers), (rows, centers.toarray())):
            assert k_median_cost_to(X, ends, metric=metric) == pytest.approx(expected, rel=1e-12)


def test_membership_of_sparse_rows_is_that_of_dense_rows():
    own, dense = (
        membership(MODEL, trials=3),
        membership(HierarchicalKMedian(6).fit(DENSE), trials=3),
    )
    np.testing.assert_allclose(own, dense, atol=1e-9)


def test_text_end_to_end():
    texts = ["a cat and a dog", "the dog and the cat", "cat, dog, dog", "sums of squares"] * 3
    texts += ["squares and their sums", "a sum of squares"] * 3
    model = make_pipeline(TfidfVectorizer(), HierarchicalKMedian(2, metric="cosine")).fit(texts)
    about_pets = ["dog" in text for text in texts]
    labels = model[-1].labels_
    assert len(set(labels[about_pets])) == len(set(labels[~np.array(about_pets)])) == 1
    assert model.predict(["one dog", "three squares"]).tolist() == [labels[0], labels[3]]


def test_memory_grows_with_the_values_and_not_with_the_columns():
    """As dense rows, these would take 1.6 GB; a single plane of each split 100 MB."""
    n, d, entries = 2000, 100_000, 20
    rng = np.random.default_rng(5)
    columns = rng.integers(0, d, (n, entries)).astype(np.int32)
    columns[:, :5] = 10 * rng.integers(0, 8, n)[:, None] + np.arange(5)
    values = 1.0 + np.abs(normal(rng, n * entries))
    rows = sparse.csr_array(
        (values, columns.ravel(), np.arange(0, n * entries + 1, entries)), (n, d)
    )
    HierarchicalKMedian(8).fit(rows[:50])  # compiles
    tracemalloc.start()
    model = HierarchicalKMedian(8, max_centers=128).fit(rows)
    labels = model.predict(rows)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(labels, model.labels_)
    assert most < 60e6
