"""Saved models: they predict, cut and update as the model that was saved."""

import numpy as np
import pandas as pd
import pytest
from models import build_model

import holdfast
from holdfast import HierarchicalKMedian, fit_chunks
from holdfast.storage.archive import DamagedFile, read_archive

ROWS = np.random.RandomState(4).randint(0, 60, size=(120, 3)) / 4.0
NEW = np.random.RandomState(5).randint(-40, 100, size=(50, 3)) / 4.0
METHODS = {
    "means": {"method": "means"},
    "medoids": {"method": "medoids", "metric": "manhattan", "max_centers": 20},
    "cosine": {"method": "medoids", "metric": "cosine"},
    "tree": {"method": "tree", "epsilon": float("inf"), "max_centers": "all"},
}
over_methods = pytest.mark.parametrize("name", METHODS)


def check_same(found: HierarchicalKMedian, model: HierarchicalKMedian) -> None:
    np.testing.assert_array_equal(found.labels_, model.labels_)
    np.testing.assert_array_equal(found.cluster_centers_, model.cluster_centers_)
    np.testing.assert_array_equal(found.hierarchy_.costs, model.hierarchy_.costs)
    np.testing.assert_array_equal(found.hierarchy_.parent, model.hierarchy_.parent)
    for unknown in (-1, -7):
        np.testing.assert_array_equal(
            found.predict(NEW + 1.0, unknown=unknown), model.predict(NEW + 1.0, unknown=unknown)
        )
    np.testing.assert_array_equal(found.transform(NEW), model.transform(NEW))
    assert (found.epsilon_, found.seed_, found.reach_) == (
        model.epsilon_, model.seed_, model.reach_,
    )  # fmt: skip


@over_methods
def test_saved_model_answers_and_updates_like_the_original(name, tmp_path):
    weight = 1.0 + np.arange(120) % 3
    model = HierarchicalKMedian(5, **METHODS[name], random_state=77)
    model.fit(ROWS + 1.0, sample_weight=weight)
    model.save(tmp_path / "m.holdfast")
    loaded = holdfast.load(tmp_path / "m.holdfast")
    assert loaded.get_params()["method"] == model.method
    check_same(loaded, model)
    for each in (loaded, model):
        each.partial_fit(NEW[:20] + 50.0).forget(ROWS[:9] + 1.0)
    check_same(loaded, model)


@over_methods
def test_model_without_rows_predicts_and_cuts_but_takes_no_updates(name, tmp_path):
    model = HierarchicalKMedian(5, **METHODS[name]).fit(ROWS + 1.0)
    model.save(tmp_path / "m", include_rows=False)
    loaded = holdfast.load(tmp_path / "m")
    check_same(loaded, model)
    with pytest.raises(ValueError, match="without its rows.*include_rows=True"):
        loaded.partial_fit(ROWS)
    with pytest.raises(ValueError, match="without its rows"):
        _ = loaded.rows_
    assert "rows" not in read_archive(tmp_path / "m").arrays
    loaded.save(tmp_path / "again", include_rows=True)
    check_same(holdfast.load(tmp_path / "again"), model)


def test_model_of_cells_goes_on_where_it_was_saved(tmp_path):
    model = fit_chunks(HierarchicalKMedian(4, method="tree"), [ROWS], max_cells=30)
    model.save(tmp_path / "m")
    loaded = holdfast.load(tmp_path / "m")
    check_same(loaded, model)
    check_same(loaded.partial_fit(NEW), model.partial_fit(NEW))


def test_names_of_columns_are_kept(tmp_path):
    model = HierarchicalKMedian(3).fit(pd.DataFrame(ROWS, columns=["a", "b", "ß"]))
    model.save(tmp_path / "m")
    assert holdfast.load(tmp_path / "m").feature_names_in_.tolist() == ["a", "b", "ß"]


def test_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        HierarchicalKMedian().save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_saved_bytes_depend_on_the_content_alone(tmp_path):
    for name in ("a", "b"):
        HierarchicalKMedian(3).fit(ROWS).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_truncated_file_is_one_clear_error(tmp_path):
    HierarchicalKMedian(3).fit(ROWS).save(tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    (tmp_path / "m").write_bytes(content[:-100])
    with pytest.raises(DamagedFile, match="cannot be loaded"):
        holdfast.load(tmp_path / "m")


def test_rows_changed_in_place_are_noticed_before_they_are_used():
    rows = ROWS.copy()
    model = HierarchicalKMedian(3, method="tree").fit(rows)
    rows[5, 1] += 1.0
    with pytest.raises(ValueError, match="changed in place after fit"):
        model.forget(ROWS[:1])
    with pytest.raises(ValueError, match="changed in place after fit"):
        _ = model.partial_fit(ROWS[:1]).labels_


def test_rows_of_32_bits_are_fitted_as_they_are_and_give_what_64_bits_give():
    narrow = ROWS.astype(np.float32) / np.float32(3.0)
    found = HierarchicalKMedian(5).fit(narrow)
    wide = HierarchicalKMedian(5).fit(narrow.astype(np.float64))
    assert np.shares_memory(found.rows_, narrow)
    np.testing.assert_array_equal(found.labels_, wide.labels_)
    np.testing.assert_array_equal(found.hierarchy_.costs, wide.hierarchy_.costs)
    np.testing.assert_array_equal(found.cluster_centers_, wide.cluster_centers_)
    for each in (found, wide):
        each.partial_fit(narrow[:7] + 1).forget(narrow[:3])
    np.testing.assert_array_equal(found.hierarchy_.costs, wide.hierarchy_.costs)
    np.testing.assert_array_equal(found.predict(narrow), wide.predict(narrow))


# predict(unknown=...)


@over_methods
def test_rows_farther_out_than_the_fit_are_unknown(name):
    model = HierarchicalKMedian(5, **METHODS[name]).fit(ROWS + 1.0)
    assert (model.predict(ROWS + 1.0, unknown=-1) == model.labels_).all()
    own = model.transform(NEW + 50.0)[np.arange(50), model.hierarchy_.predict(NEW + 50.0, 5)]
    found = model.predict(NEW + 50.0, unknown=-1)
    assert (found[own > model.reach_] == -1).all()
    if name != "tree":  # where rows can also lie outside all cells
        assert ((found == -1) == (own > model.reach_)).all()
    reach = model.transform(ROWS + 1.0)[np.arange(120), model.labels_].max()
    assert model.reach_ == pytest.approx(reach, rel=1e-12)


def test_row_outside_all_cells_is_warned_of_or_unknown():
    model = HierarchicalKMedian(4, method="tree").fit(ROWS)
    far = np.concatenate((ROWS[:3], np.full((2, 3), 1e9)))
    with pytest.warns(UserWarning, match="2 of 5 rows lie outside all cells") as caught:
        labels = model.predict(far)
    assert caught[0].filename == __file__
    assert labels.tolist() == [*model.labels_[:3], 0, 0]
    assert model.predict(far, unknown=-1).tolist() == [*model.labels_[:3], -1, -1]


def test_reach_follows_updates():
    model = build_model(2).fit([[0.0], [1.0], [10.0]])
    before = model.reach_
    model.partial_fit([[10.5], [14.0]])
    fresh = build_model(2).fit([[0.0], [1.0], [10.0], [10.5], [14.0]])
    assert model.reach_ == fresh.reach_ != before
