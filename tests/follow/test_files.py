"""Files of followed models: what does not fit together is refused."""

from dataclasses import replace

import numpy as np
import pytest
from follow.series import blobs, releases

import holdfast
from holdfast import HierarchicalKMedian
from holdfast.storage.archive import DamagedFile, read_archive, write_archive
from holdfast.storage.hierarchy import hierarchy_from_arrays, hierarchy_to_arrays


@pytest.fixture(scope="module")
def model():
    (ids, rows), (later, moved) = releases(17, count=2, n=60)
    fitted = HierarchicalKMedian(3, max_centers=6).fit(rows, ids=[f"r{i}" for i in ids])
    return fitted.follow(moved, ids=[f"r{i}" for i in later], levels=(3, 6), budget=0.01)


def change(name, index, value):
    def edit(_metadata, arrays):
        arrays[name] = arrays[name].copy()
        arrays[name][index] = value

    return edit


def shorten(name):
    def edit(_metadata, arrays):
        arrays[name] = arrays[name][:-1]

    return edit


def describe(**fields):
    def edit(metadata, _arrays):
        metadata.update(fields)

    return edit


HIERARCHY = {
    "a mean that is not finite": change("means.points", (0, 0), np.nan),
    "a negative scale": change("means.scale", 0, -1.0),
    "an infinite scale": change("means.scale", 0, np.inf),
    "a path that leads nowhere": change("means.path", (0, 0), 99),
    "a path below zero": change("means.path", (0, 0), -1),
    "a label out of range": change("means.label", 0, 6),
    "a leaf without a label": shorten("means.label"),
    "a mean without a scale": shorten("means.scale"),
    "a cluster without a name": shorten("names"),
    "two clusters of one name": change("names", slice(0, 2), 0),
    "a name that is not given yet": change("names", 0, 10**6),
    "a negative name": change("names", 0, -1),
    "levels that fall": describe(levels=[6, 3]),
    "levels that end early": describe(levels=[3]),
    "levels that are no numbers": describe(levels=["3", 6]),
    "no levels": describe(levels=None),
    "a next name that is no number": describe(next_name="9"),
    "another metric": describe(metric="none"),
}


@pytest.mark.parametrize("name", HIERARCHY)
def test_hierarchies_that_do_not_fit_together(model, name):
    metadata, arrays = hierarchy_to_arrays(model.hierarchy_)
    hierarchy_from_arrays(metadata, arrays)
    HIERARCHY[name](metadata, arrays)
    with pytest.raises(ValueError, match="."):
        hierarchy_from_arrays(metadata, arrays)


MODEL = {
    "ids that repeat": change("ids.texts", slice(None), ord("r")),
    "ids of another kind": describe(ids="numbers"),
    "ids that are not there": describe(ids="integers"),
    "names of rows that left": change("left.names", 0, -1),
    "rows that left without ids": shorten("left.names"),
    "rows that left from nowhere": describe(left={"ids": "texts", "level": 0}),
    "nobody who left": describe(left={"ids": "none", "level": 6}),
    "a change that must pay less than nothing": describe(least=-1.0),
}


@pytest.mark.parametrize("name", MODEL)
def test_models_that_do_not_fit_together(model, name, tmp_path):
    model.save(tmp_path / "model")
    archive = read_archive(tmp_path / "model")
    metadata, arrays = dict(archive.metadata), dict(archive.arrays)
    MODEL[name](metadata, arrays)
    write_archive(tmp_path / "crafted", "model", metadata, arrays)
    with pytest.raises(DamagedFile):
        holdfast.load(tmp_path / "crafted")


def test_a_shortened_hierarchy_can_be_saved(model):
    short = model.hierarchy_.first(4)
    found = hierarchy_from_arrays(*hierarchy_to_arrays(short))
    assert np.array_equal(found.names(4), model.hierarchy_.names(4))
    assert np.array_equal(found.cut(4), model.hierarchy_.cut(4))
    rows = model.rows_
    assert np.array_equal(found.predict(rows, 4), model.hierarchy_.predict(rows, 4))


def test_without_rows_a_model_predicts_but_cannot_be_followed(model, tmp_path):
    model.save(tmp_path / "model", include_rows=False)
    loaded = holdfast.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(model.rows_), model.predict(model.rows_))
    assert loaded.ids_ is None
    with pytest.raises(ValueError, match="saved without its rows"):
        loaded.follow(model.rows_)


def test_a_model_that_nobody_left_is_loaded_again(tmp_path):
    rows, ids = blobs(3), np.array([f"row {i}" for i in range(240)], dtype=object)
    model = HierarchicalKMedian(4, max_centers=8).fit(rows, ids=ids).follow(rows, ids=ids)
    model.save(tmp_path / "model")
    loaded = holdfast.load(tmp_path / "model")
    assert loaded.ids_.tolist() == ids.tolist()
    assert loaded.follow(rows, ids=ids).moves_.size == 0


@pytest.mark.parametrize("repeated", [1, 2])
def test_equal_rows_that_left_are_remembered_once(tmp_path, repeated):
    rows = np.repeat(np.random.default_rng(3).normal(size=(40, 2)), 2, axis=0)
    followed = HierarchicalKMedian(3).fit(rows).follow(rows[2 * repeated :])
    followed.save(tmp_path / "model.holdfast")
    loaded = holdfast.load(tmp_path / "model.holdfast")
    assert loaded._left.ids.size == repeated
    expected, found = followed.follow(rows), loaded.follow(rows)
    np.testing.assert_array_equal(found.labels_, expected.labels_)


def test_early_files_that_list_equal_rows_more_than_once_are_read(tmp_path):
    rows = np.random.default_rng(3).normal(size=(40, 2))
    followed = HierarchicalKMedian(3).fit(rows).follow(rows[2:])
    left = followed._left
    followed._left = replace(left, ids=left.ids.repeat(2), names=left.names.repeat(2))
    followed.save(tmp_path / "model.holdfast")
    returned = holdfast.load(tmp_path / "model.holdfast").follow(rows)
    np.testing.assert_array_equal(returned.labels_, followed.follow(rows).labels_)
    assert returned._left.ids.size == 0
