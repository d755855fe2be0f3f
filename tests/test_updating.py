"""Rows come and go: the model equals a fit on what is left, bit for bit."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import build_model
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from holdfast import HierarchicalKMedian, load, pipeline

RNG = np.random.RandomState(3)
ROWS = RNG.standard_normal((60, 2)).round(1) + 5.0 * (np.arange(60) % 3)[:, None]

CONFIGURATIONS = {
    "tree": {},
    "greedy": {"epsilon": 0},
    "uniform": {"epsilon": float("inf")},
    "cold": {"epsilon": 0.1, "random_state": 9},
    "few centers": {"max_centers": 4},
    "deterministic": {"random_shift": False},
    "boxed": {"random_shift": False, "root_box": ([-100.0, -100.0], 200.0)},
    "euclidean": {"method": "medoids"},
    "euclidean greedy": {"method": "medoids", "epsilon": 0},
    "manhattan": {"method": "medoids", "metric": "manhattan", "max_centers": "all"},
    "cosine": {"method": "medoids", "metric": "cosine"},
    "refined": {"method": "means"},
    "few candidates": {"method": "medoids", "max_candidates": 7, "max_centers": 5},
}
over_configurations = pytest.mark.parametrize("name", CONFIGURATIONS)
pytestmark = pytest.mark.filterwarnings("ignore:.*outside all cells")


def check_same(found: HierarchicalKMedian, expected: HierarchicalKMedian) -> None:
    """Everything that a user sees is the same to the last bit."""
    for name in ("center_indices", "costs", "parent", "finest"):
        a, b = getattr(found.hierarchy_, name), getattr(expected.hierarchy_, name)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    for name in ("labels_", "center_indices_", "cluster_centers_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert (found.seed_, found.epsilon_) == (expected.seed_, expected.epsilon_)
    new = np.random.RandomState(0).uniform(-9.0, 16.0, size=(50, found.n_features_in_))
    np.testing.assert_array_equal(found.predict(new), expected.predict(new))
    np.testing.assert_array_equal(found.transform(new), expected.transform(new))


def check_equals_fit(model: HierarchicalKMedian, left: np.ndarray) -> None:
    """Equal to a fit on the distinct rows, and, where it speaks of them, on the repeated ones."""
    distinct, counts = np.unique(left + 0.0, axis=0, return_counts=True)
    np.testing.assert_array_equal(model.rows_, distinct)
    np.testing.assert_array_equal(model.row_weights_, counts)
    check_same(model, clone(model).fit(distinct, sample_weight=counts))
    if model.metric == "cosine":
        return  # rows of one direction are one location, and the first row given stands for it
    repeated = clone(model).fit(left).hierarchy_
    found = model.hierarchy_
    n = found.n_centers
    np.testing.assert_array_equal(found.costs, repeated.costs[:n])
    np.testing.assert_array_equal(found.parent, repeated.parent[:n])
    np.testing.assert_array_equal(distinct[found.center_indices], left[repeated.center_indices[:n]])
    where = np.unique(left + 0.0, axis=0, return_inverse=True)[1].reshape(-1)
    np.testing.assert_array_equal(found.cut(n)[where], repeated.cut(n))


# Laws


@over_configurations
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_any_sequence_of_updates_equals_a_fit_on_what_is_left(name, data):
    """Thirteen configurations of 30 random sequences each, asked in between or not."""
    model = build_model(2, **CONFIGURATIONS[name])
    left: list[int] = []
    if data.draw(st.booleans(), label="fit first"):
        left = data.draw(st.lists(st.integers(0, 59), min_size=8, max_size=60), label="fit")
        left += [0, 1, 2]
        model.fit(ROWS[left])
    for _ in range(data.draw(st.integers(1, 5), label="updates")):
        if left and data.draw(st.booleans(), label="forget"):
            places = st.sampled_from(range(len(left)))
            gone = data.draw(st.lists(places, unique=True, min_size=1), label="gone")
            model.forget(ROWS[[left[i] for i in gone]])
            left = [row for i, row in enumerate(left) if i not in gone]
        else:
            new = data.draw(st.lists(st.integers(0, 59), min_size=1, max_size=40), label="new")
            model.partial_fit(ROWS[new])
            left += new
        if len(np.unique(ROWS[left], axis=0)) >= 2 and data.draw(st.booleans(), label="ask"):
            model.predict(ROWS)
    if len(np.unique(ROWS[left], axis=0)) >= 2:
        check_equals_fit(model, ROWS[left])


# The first clusters after an update


def update_in_part(monkeypatch, first: int = 5) -> tuple[HierarchicalKMedian, list[int]]:
    """A model after an update, and the sizes of the hierarchies that were computed for it."""
    computed: list[int] = []
    cluster = pipeline.cluster_and_order

    def note(X, weight, settings, *rest, **given):
        computed.append(settings.max_centers)
        return cluster(X, weight, settings, *rest, **given)

    model = HierarchicalKMedian(3, method="tree").fit(ROWS[:50])
    monkeypatch.setattr(pipeline, "FIRST", first)
    monkeypatch.setattr(pipeline, "cluster_and_order", note)
    return model.partial_fit(ROWS[50:]), computed


@pytest.mark.parametrize("epsilon", [0.1, 1.0, float("inf")])
@pytest.mark.parametrize("first", [2, 5, 30])
def test_first_clusters_are_those_of_the_whole_hierarchy(monkeypatch, epsilon, first):
    model = HierarchicalKMedian(2, method="tree", epsilon=epsilon).partial_fit(ROWS)
    whole = clone(model).fit(np.unique(ROWS, axis=0), *counted(ROWS)).hierarchy_
    monkeypatch.setattr(pipeline, "FIRST", first)
    part = model.hierarchy_.down_to(first)
    assert part is not model.hierarchy_
    assert (part.n_centers, model.hierarchy_.n_centers) == (first, whole.n_centers)
    new = np.random.RandomState(1).uniform(-9.0, 16.0, size=(80, 2))
    for k in range(1, first + 1):
        np.testing.assert_array_equal(model.hierarchy_.cut(k), whole.cut(k))
        np.testing.assert_array_equal(model.hierarchy_.sizes(k), whole.sizes(k))
        np.testing.assert_array_equal(model.hierarchy_.predict(new, k), whole.predict(new, k))
        for name in ("center_indices", "costs", "parent", "finest"):
            found, expected = (
                getattr(model.hierarchy_.first(k), name),
                getattr(whole.first(k), name),
            )
            np.testing.assert_array_equal(found, expected)
    check_same(model, clone(model).fit(np.unique(ROWS, axis=0), *counted(ROWS)))


def counted(rows: np.ndarray) -> list[None | np.ndarray]:
    """`y` and the weights of the distinct rows, as arguments of fit."""
    return [None, np.unique(rows, axis=0, return_counts=True)[1]]


def test_few_clusters_after_an_update_are_computed_alone(monkeypatch):
    model, computed = update_in_part(monkeypatch)
    labels = model.labels_
    assert (model.hierarchy_.cut(5).max(), labels.max()) == (4, 2)
    assert model.predict(ROWS).shape == (60,)
    assert model.cluster_centers_.shape == (3, 2)
    assert model.hierarchy_.n_rows == labels.size
    assert repr(model.hierarchy_).startswith("Hierarchy(n_rows=")
    with pytest.raises(ValueError, match="n_clusters must be from 1 to"):
        model.hierarchy_.cut(1000)
    with pytest.raises(AttributeError, match="no attribute 'size'"):
        _ = model.hierarchy_.size
    assert computed == [5]
    assert model.hierarchy_.cut(6).max() == 5
    assert model.hierarchy_.costs.size == model.hierarchy_.center_indices.size == labels.size
    assert computed == [5, pipeline_limit(model)]


def pipeline_limit(model: HierarchicalKMedian) -> int:
    return model._settings_for(model.rows_).max_centers


def test_a_hierarchy_in_part_is_pickled_whole(monkeypatch):
    model, computed = update_in_part(monkeypatch)
    assert model.hierarchy_.cut(2).max() == 1
    copy = pickle.loads(pickle.dumps(model))
    assert len(computed) == 2
    check_same(copy, model)
    assert len(computed) == 2


def test_threads_share_one_completion(monkeypatch):
    model, computed = update_in_part(monkeypatch)
    hierarchy = model.hierarchy_
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda k: hierarchy.cut(1 + k % 40), range(80)))
    assert len(computed) == 2
    for k, labels in enumerate(found):
        np.testing.assert_array_equal(labels, hierarchy.cut(1 + k % 40))


@over_configurations
def test_adding_at_once_in_parts_and_with_weights_is_the_same(name):
    parameters = CONFIGURATIONS[name]
    whole = build_model(3, **parameters).partial_fit(ROWS)
    parts = build_model(3, **parameters)
    for part in np.array_split(np.random.RandomState(1).permutation(60), 7):
        parts.partial_fit(ROWS[part])
    distinct, counts = np.unique(ROWS, axis=0, return_counts=True)
    weighted = build_model(3, **parameters).partial_fit(distinct, sample_weight=counts)
    check_same(parts, whole)
    check_same(weighted, whole)
    check_equals_fit(whole, ROWS)


@over_configurations
def test_forgetting_what_was_added_restores_the_model(name):
    model = build_model(3, **CONFIGURATIONS[name]).partial_fit(ROWS)
    copy = pickle.loads(pickle.dumps(model))
    new = np.random.RandomState(5).uniform(-50.0, 50.0, size=(9, 2))
    model.partial_fit(new, sample_weight=np.arange(9)).forget(new, sample_weight=np.arange(9))
    check_same(model, copy)


def test_large_model_equals_a_fit():
    rows = np.random.RandomState(0).standard_normal((20_000, 3))
    model = HierarchicalKMedian(5, method="tree").fit(rows[:19_000])
    model.partial_fit(rows[18_000:]).forget(rows[18_000:19_000])
    left = np.unique(rows, axis=0)
    check_same(model, HierarchicalKMedian(5, method="tree").fit(left))


def test_labels_speak_of_rows():
    model = HierarchicalKMedian(4, method="tree").fit(ROWS)
    np.testing.assert_array_equal(model.rows_, ROWS)
    np.testing.assert_array_equal(model.row_weights_, np.ones(60))
    again = HierarchicalKMedian(4, method="tree").fit(model.rows_, sample_weight=model.row_weights_)
    check_same(again, model)
    model.partial_fit([[100.0, 100.0]])
    assert model.labels_.shape == (len(model.rows_),)
    assert (np.diff(model.rows_[:, 0]) >= 0).all()
    np.testing.assert_array_equal(model.predict(model.rows_), model.labels_)
    np.testing.assert_array_equal(model.rows_[model.center_indices_], model.cluster_centers_)
    assert model.rows_[-1].tolist() == [100.0, 100.0]


def test_weights_of_a_fit_count_on():
    weight = np.arange(60) % 4
    model = (
        HierarchicalKMedian(3, method="tree")
        .fit(ROWS, sample_weight=weight)
        .forget(ROWS, weight // 2)
    )
    check_equals_fit(model, np.repeat(ROWS, weight - weight // 2, axis=0))


def test_seed_stays_and_parameters_count_as_they_are_at_the_update():
    generator = np.random.RandomState(0)
    model = HierarchicalKMedian(3, method="tree", random_state=generator).partial_fit(ROWS[:30])
    seed = model.seed_
    model.partial_fit(ROWS[30:])
    assert model.seed_ == seed
    model.set_params(n_clusters=9, epsilon=0)
    assert model.labels_.max() == 2
    assert model.epsilon_ == 1.0
    expected = HierarchicalKMedian(9, method="tree", epsilon=0, random_state=seed).fit(
        np.unique(ROWS, axis=0)
    )
    model.partial_fit(ROWS[:1]).forget(ROWS[:1])
    distinct, counts = np.unique(ROWS, axis=0, return_counts=True)
    expected.fit(distinct, sample_weight=counts)
    check_same(model, expected)
    other = HierarchicalKMedian(3, method="tree", random_state=generator).partial_fit(ROWS)
    assert other.seed_ != seed


# Laziness


def test_nothing_is_clustered_until_it_is_asked_for(monkeypatch):
    fits = []
    from holdfast.estimator import updates

    original = updates.cluster_first
    monkeypatch.setattr(updates, "cluster_first", lambda *a: fits.append(1) or original(*a))
    model = HierarchicalKMedian(3, method="tree").fit(ROWS)
    for row in ROWS[:10]:
        model.forget([row]).partial_fit([row + 1.0])
    assert fits == []
    assert model.n_features_in_ == 2
    model.predict(ROWS)
    assert (model.labels_.size, model.cluster_centers_.shape) == (len(model.rows_), (3, 2))
    assert fits == [1]


def test_threads_update_one_model_and_lose_nothing():
    """Adding, removing, reading and predicting at once: every update counts, no result is stale."""
    model = HierarchicalKMedian(3, method="tree").fit(ROWS)
    added = [np.full((1, 2), 20.0 + i) for i in range(24)]
    together = threading.Barrier(4)

    def change(number: int) -> None:
        together.wait(60)
        for i in range(number, 24, 4):
            model.partial_fit(added[i])
            model.predict(added[i], unknown=-1)
            model.forget(ROWS[i : i + 1])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(change, range(4)))
    check_equals_fit(model, np.concatenate([ROWS[24:], *added]))


def test_a_result_that_is_computed_during_an_update_is_not_kept(monkeypatch):
    """A thread computes labels from the old rows while another adds rows."""
    from holdfast.estimator import updates

    model = HierarchicalKMedian(2).partial_fit(ROWS)
    cluster, started, adding = updates.cluster_first, threading.Event(), threading.Event()

    def cluster_slowly(*arguments):
        started.set()
        adding.wait(60)
        return cluster(*arguments)

    monkeypatch.setattr(updates, "cluster_first", cluster_slowly)
    with ThreadPoolExecutor(2) as pool:
        old = pool.submit(lambda: model.labels_)
        started.wait(60)
        update = pool.submit(model.partial_fit, [[9.0, 9.0]])
        wait([update], timeout=0.2)  # time to overtake the computation, if nothing stops it
        adding.set()
        assert old.result().size == np.unique(ROWS, axis=0).shape[0]
    check_equals_fit(model, np.concatenate([ROWS, [[9.0, 9.0]]]))


def test_fit_starts_anew():
    model = HierarchicalKMedian(3, method="tree").partial_fit(ROWS).fit(ROWS[:20])
    check_same(model, HierarchicalKMedian(3, method="tree").fit(ROWS[:20]))
    model.partial_fit(ROWS[:1])
    check_equals_fit(model, ROWS[[*range(20), 0]])


@pytest.mark.parametrize("asked", [False, True])
def test_updated_models_can_be_pickled_and_cloned(asked):
    model = HierarchicalKMedian(3, method="tree").fit(ROWS).forget(ROWS[:7])
    if asked:
        model.predict(ROWS)
    copy = pickle.loads(pickle.dumps(model))
    check_equals_fit(copy, ROWS[7:])
    copy.partial_fit(ROWS[:7])
    check_equals_fit(copy, ROWS)
    check_equals_fit(model, ROWS[7:])
    fresh = clone(model)
    for name in ("labels_", "hierarchy_", "rows_", "cluster_centers_", "row_weights_"):
        assert not hasattr(fresh, name)


# What is wrong is named, and changes nothing


def check_untouched(model: HierarchicalKMedian, call, error: type[Exception], message: str) -> None:
    before = dict(vars(model))
    with pytest.raises(error, match=message):
        call()
    assert vars(model) == before
    assert all(vars(model)[name] is before[name] for name in before)


BAD_UPDATES = {
    "NaN": ([[np.nan, 1.0]], None, "NaN"),
    "other columns": ([[1.0, 2.0, 3.0]], None, "3 features.*expecting 2"),
    "no rows": (np.empty((0, 2)), None, "minimum of 1"),
    "fractional weight": ([[1.0, 2.0]], [0.5], "integers.*0.5 at row 0.*use fit"),
    "negative weight": ([[1.0, 2.0]], [-1.0], "from 0"),
    "too many weights": ([[1.0, 2.0]], [1.0, 1.0], r"shape \(1,\)"),
}


@pytest.mark.parametrize("method", ["partial_fit", "forget"])
@pytest.mark.parametrize("case", BAD_UPDATES)
@pytest.mark.parametrize("asked", [False, True])
def test_bad_update_changes_nothing(method, case, asked):
    rows, weight, message = BAD_UPDATES[case]
    model = HierarchicalKMedian(3, method="tree").fit(ROWS).forget(ROWS[:5])
    if asked:
        model.predict(ROWS)
    call = getattr(model, method)
    check_untouched(model, lambda: call(rows, sample_weight=weight), ValueError, message)


def test_rows_that_are_not_there_are_named():
    model = HierarchicalKMedian(3, method="tree").fit(ROWS)
    rows = [ROWS[0].tolist(), [77.0, -1.0]]
    check_untouched(model, lambda: model.forget(rows), ValueError, r"\[77.0, -1.0\].*0 present")
    twice = np.flatnonzero((ROWS == ROWS[0]).all(axis=1)).size + 1
    check_untouched(
        model, lambda: model.forget(ROWS[[0] * twice]), ValueError, f"{twice} to remove"
    )


@pytest.mark.parametrize(
    ("parameters", "rows", "message"),
    [
        ({"n_clusters": 0}, [[0.0, 1.0]], "n_clusters"),
        ({"epsilon": -1}, [[0.0, 1.0]], "epsilon"),
        ({"method": "best"}, [[0.0, 1.0]], "method"),
        ({"max_centers": 1, "n_clusters": 2}, [[0.0, 1.0]], "max_centers"),
        ({"method": "medoids", "metric": "cosine"}, [[0.0, 0.0]], "cosine"),
    ],
)
def test_parameters_are_checked_at_the_update(parameters, rows, message):
    model = HierarchicalKMedian(3, method="tree").fit(ROWS)
    model.set_params(**parameters)
    check_untouched(model, lambda: model.partial_fit(rows), ValueError, message)


def test_fractional_weights_of_a_fit_cannot_be_updated():
    model = HierarchicalKMedian(3, method="tree").fit(ROWS, sample_weight=np.linspace(0.1, 2.0, 60))
    for call in (model.partial_fit, model.forget):
        check_untouched(model, lambda call=call: call(ROWS[:1]), ValueError, "must be integers")


def test_model_without_rows_says_so():
    with pytest.raises(NotFittedError, match="no rows to forget"):
        HierarchicalKMedian(method="tree").forget(ROWS)
    model = HierarchicalKMedian(3, method="tree").fit(ROWS).forget(ROWS)
    with pytest.raises(NotFittedError, match="All rows were removed"):
        model.predict(ROWS)
    check_equals_fit(model.partial_fit(ROWS[:9]), ROWS[:9])
    few = HierarchicalKMedian(3, method="tree").partial_fit(ROWS[:2])
    with pytest.raises(ValueError, match="n_clusters must be at most"):
        _ = few.labels_
    few.partial_fit(ROWS[2:])
    check_equals_fit(few, ROWS)
    stored = HierarchicalKMedian(3, method="tree").fit(ROWS)
    del stored._held  # as a file without rows leaves it
    check_untouched(stored, lambda: stored.partial_fit(ROWS), ValueError, "saved without its rows")


def test_names_of_columns_are_kept_and_checked():
    frame = pd.DataFrame(ROWS, columns=["a", "b"])
    model = HierarchicalKMedian(3, method="tree").partial_fit(frame)
    assert list(model.feature_names_in_) == ["a", "b"]
    check_untouched(
        model, lambda: model.partial_fit(frame[["b", "a"]]), ValueError, "feature names"
    )
    distinct = np.unique(ROWS[10:], axis=0, return_counts=True)
    expected = HierarchicalKMedian(3, method="tree").fit(distinct[0], sample_weight=distinct[1])
    np.testing.assert_array_equal(model.forget(frame[:10]).labels_, expected.labels_)


# With ids


NAMES = np.array([f"row {i}" for i in range(60)], dtype=object)


def check_named(model: HierarchicalKMedian, ids: np.ndarray) -> None:
    """Equal to a fit on the remaining rows, with their ids."""
    place = {name: i for i, name in enumerate(NAMES)}
    left = ROWS[[place[name] for name in ids]]
    np.testing.assert_array_equal(model.ids_, ids)
    np.testing.assert_array_equal(model.rows_, left)
    check_same(model, clone(model).fit(left, ids=ids))


@pytest.mark.parametrize("name", ["tree", "euclidean", "refined"])
def test_ids_survive_updates(name, tmp_path):
    model = build_model(3, **CONFIGURATIONS[name]).fit(ROWS[:40], ids=NAMES[:40])
    model.partial_fit(ROWS[40:50], ids=NAMES[40:50])
    check_named(model, NAMES[:50])
    model.forget(ids=NAMES[5:20])
    left = np.concatenate((NAMES[:5], NAMES[20:50]))
    check_named(model, left)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    check_named(loaded, left)
    loaded.partial_fit(pd.DataFrame(ROWS[50:], index=NAMES[50:]))
    check_named(loaded, np.concatenate((left, NAMES[50:])))
    loaded.forget(pd.DataFrame(ROWS[50:] + 9.0, index=NAMES[50:]))  # known by the index alone
    check_named(loaded, left)


def test_ids_survive_updates_and_following():
    model = HierarchicalKMedian(3, max_centers=6).fit(ROWS[:40], ids=NAMES[:40])
    model = model.follow(ROWS[:50], ids=NAMES[:50]).forget(ids=NAMES[:5])
    assert model.hierarchy_.naming.levels == (3,)
    after = model.follow(ROWS[10:], ids=NAMES[10:])
    assert (after.follow_.n_survivors, after.follow_.n_new, after.follow_.n_left) == (40, 10, 5)
    assert set(after.moves_["id"].tolist()) <= set(NAMES[10:50].tolist())


def test_rows_that_were_never_fitted_begin_with_ids():
    model = HierarchicalKMedian(3, random_state=4).partial_fit(ROWS[:30], ids=np.arange(30))
    model.partial_fit(ROWS[30:], ids=np.arange(30, 60))
    assert model.ids_.tolist() == list(range(60))
    check_same(model, HierarchicalKMedian(3, random_state=4).fit(ROWS))


def test_weights_of_rows_with_ids():
    model = HierarchicalKMedian(3).fit(ROWS[:40], ids=NAMES[:40])
    model.partial_fit(ROWS[40:], sample_weight=np.full(20, 0.5), ids=NAMES[40:])
    model.forget(ids=NAMES[:10])
    weight = np.repeat([1.0, 0.5], [30, 20])
    np.testing.assert_array_equal(model.row_weights_, weight)
    check_same(model, HierarchicalKMedian(3).fit(ROWS[10:], sample_weight=weight))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.partial_fit(ROWS[:2], ids=["x", "x"]), "ids must be unique; got 'x' 2 times"),
        (lambda m: m.partial_fit(ROWS[:2], ids=["x", "row 3"]), "got 'row 3', which is"),
        (lambda m: m.partial_fit(ROWS[:2]), "This model has ids, so X needs ids too; got none"),
        (lambda m: m.partial_fit(ROWS[:2], ids=[1, 2]), "ids must be strings like those of the"),
        (lambda m: m.partial_fit(ROWS[:2], ids=["x"]), r"one id per row, shape \(2,\); got \(1,\)"),
        (lambda m: m.partial_fit(ROWS[:2], ids=["x", None]), "none missing; got NoneType and str"),
        (lambda m: m.forget(ids=["row 3", "x"]), "got 'x', which is not"),
        (lambda m: m.forget(ids=["row 3", "row 3"]), "ids must be unique; got 'row 3' 2 times"),
        (lambda m: m.forget(ROWS[:2]), "This model has ids, so X needs ids too; got none"),
        (lambda m: m.forget(), "forget needs the rows to remove"),
        (lambda m: m.forget(ids="row 3"), r"ids must have one id per row, shape .*; got \(\)"),
        (lambda m: m.forget(ids=set(NAMES)), r"ids must have one id per row, shape .*; got \(\)"),
        (lambda m: m.forget(ids=["row 3"], sample_weight=[1]), "removed as a whole"),
    ],
)
def test_bad_ids_change_nothing(change, message):
    model = HierarchicalKMedian(3).fit(ROWS[:40], ids=NAMES[:40])
    with pytest.raises(ValueError, match=message):
        change(model)
    check_named(model, NAMES[:40])


def test_rows_with_ids_that_were_changed_in_place_are_found_out():
    rows = ROWS[:40].copy()
    model = HierarchicalKMedian(3).fit(rows, ids=NAMES[:40])
    rows[0] += 1.0
    with pytest.raises(ValueError, match="X was changed in place after fit"):
        model.forget(ids=NAMES[:1])


def test_a_model_without_ids_takes_none():
    model = HierarchicalKMedian(3).fit(ROWS[:40])
    for change in (model.partial_fit, model.forget):
        with pytest.raises(ValueError, match="This model has no ids"):
            change(ROWS[:2], ids=NAMES[:2])


def test_all_rows_can_be_removed_by_their_ids():
    model = HierarchicalKMedian(3).fit(ROWS[:4], ids=NAMES[:4]).forget(ids=NAMES[:4])
    with pytest.raises(NotFittedError, match="All rows were removed"):
        _ = model.labels_
    assert model.partial_fit(ROWS[:5], ids=NAMES[:5]).labels_.size == 5
