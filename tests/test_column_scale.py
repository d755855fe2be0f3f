"""Random numbers of scaled rows are those of the values before the division."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from holdfast import (
    HierarchicalKMedian,
    TablePreparer,
    average_sensitivity,
    fit_chunks,
    load,
    membership,
)
from holdfast.centers.keyed_table import key_undivided
from holdfast.storage.archive import DamagedFile
from holdfast.storage.model import write_model
from holdfast_paper.draws import normal

VALUES = normal(np.random.default_rng(5), (240, 3)) * [1.0, 40.0, 0.02] + [3.0, -700.0, 0.5]
SCALE = np.array([1.1, 37.0, 0.023])
NEAR = SCALE * [1.0 + 1e-6, 1.0 - 2e-6, 1.0 + 3e-6]
METHODS = [("means", "euclidean"), ("means", "cosine"), ("medoids", "euclidean")]
METHODS += [("medoids", "manhattan"), ("medoids", "cosine")]


def build(method="means", metric="euclidean", scale=SCALE, **options):
    return HierarchicalKMedian(7, method=method, metric=metric, column_scale=scale, **options)


def fitted(method="means", metric="euclidean", scale=SCALE, values=VALUES):
    return build(method, metric, scale).fit(values / scale)


@pytest.mark.parametrize(("method", "metric"), METHODS)
def test_a_scale_that_changes_a_little_changes_nothing(method, metric):
    before, after = fitted(method, metric), fitted(method, metric, NEAR)
    np.testing.assert_array_equal(before.hierarchy_.cut(40), after.hierarchy_.cut(40))
    np.testing.assert_array_equal(before.center_indices_, after.center_indices_)
    spherical = metric == "cosine"
    keys = [key_undivided(VALUES / scale, scale, spherical, 0) for scale in (SCALE, NEAR)]
    assert (keys[0] == keys[1]).mean() > 0.99  # a product may be rounded to the other side
    assert np.unique(keys[0]).size == VALUES.shape[0]
    if not spherical:  # few choices are close there
        plain = [build(method, metric, None).fit(VALUES / scale) for scale in (SCALE, NEAR)]
        assert (plain[0].hierarchy_.cut(40) != plain[1].hierarchy_.cut(40)).any()


@pytest.mark.parametrize(("method", "metric"), METHODS)
def test_neither_order_nor_repeats_change_a_result(method, metric):
    rows = VALUES / SCALE
    weight = np.arange(240) % 3
    repeated = np.repeat(np.arange(240), weight)
    whole = build(method, metric).fit(rows, sample_weight=weight)
    again = build(method, metric).fit(rows[repeated])
    np.testing.assert_array_equal(whole.labels_[repeated], again.labels_)
    order = np.random.RandomState(0).permutation(240)
    moved = build(method, metric).fit(rows[order], sample_weight=weight[order])
    np.testing.assert_array_equal(whole.labels_[order], moved.labels_)
    np.testing.assert_array_equal(whole.labels_, whole.predict(rows))


@pytest.mark.parametrize("method", ["means", "medoids"])
def test_updates_chunks_and_files_keep_the_scales(method, tmp_path):
    rows = VALUES / SCALE
    whole = fitted(method)
    by_row = whole.predict(rows)
    parts = build(method).partial_fit(rows[:100])
    parts.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.column_scale_ == parts.column_scale_ == tuple(SCALE)
    chunked = fit_chunks(build(method), [rows[:50], rows[50:]])
    added = loaded.partial_fit(rows)
    for model in (parts.partial_fit(rows[100:]), chunked, added.forget(rows[:100])):
        assert model.column_scale_ == tuple(SCALE)
        np.testing.assert_array_equal(model.predict(rows), by_row)
    whole.set_params(column_scale=None)  # what rows came with is kept
    np.testing.assert_array_equal(
        whole.partial_fit(rows[:1]).forget(rows[:1]).predict(rows), by_row
    )


def test_rows_that_differ_in_their_last_bits_stay_apart():
    """They share the rounded values that are hashed; order must not decide between them."""
    values = np.repeat(VALUES[:60], 2, axis=0)
    values[1::2, 0] *= 1.0 + 2.0**-48
    for method, metric in METHODS:
        model = build(method, metric, max_centers="all").fit(values / SCALE)
        back = build(method, metric, max_centers="all").fit(values[::-1] / SCALE)
        for k in (7, 60, 100):
            np.testing.assert_array_equal(model.hierarchy_.cut(k)[::-1], back.hierarchy_.cut(k))


def test_a_pipeline_hands_the_scales_on():
    table = pd.DataFrame(VALUES, columns=list("abc"))
    pipeline = make_pipeline(TablePreparer(), HierarchicalKMedian(7)).fit(table)
    preparer, model = pipeline[0], pipeline[-1]
    scale = preparer.preparation_.scale
    assert model.column_scale_ == scale is not None
    rows = preparer.transform(table)
    labels = build(scale=scale).fit(np.array(rows)).labels_
    np.testing.assert_array_equal(model.labels_, labels)
    assert rows[5:9].column_scale == pickle.loads(pickle.dumps(rows)).column_scale == scale
    assert rows[:, 1:].column_scale is None
    assert HierarchicalKMedian(7).fit(np.array(rows)).column_scale_ is None
    again = HierarchicalKMedian(7).fit(rows).fit(np.array(rows))
    assert again.column_scale_ is None
    framed = make_pipeline(TablePreparer(), HierarchicalKMedian(7)).set_output(transform="pandas")
    for fit in (framed.fit(table), make_pipeline(framed[0], HierarchicalKMedian(7)).fit(table)):
        assert fit[-1].column_scale_ == scale
        np.testing.assert_array_equal(fit[-1].labels_, labels)


def test_membership_and_following_keep_the_scales():
    noisy = HierarchicalKMedian(4, epsilon=10)  # so that keys decide over many draws
    pipeline = make_pipeline(TablePreparer(), noisy).fit(VALUES)
    model, rows = pipeline[-1], np.array(pipeline[0].transform(VALUES))
    explicit = clone(noisy).set_params(column_scale=model.column_scale_).fit(rows)
    np.testing.assert_array_equal(membership(model, trials=3), membership(explicit, trials=3))
    plain = clone(noisy).fit(rows)
    assert (membership(plain, trials=3) != membership(model, trials=3)).any()
    followed = model.follow(rows[10:])
    assert followed.column_scale_ == model.column_scale_ == followed._recipe.column_scale


def test_measuring_prepared_rows_keeps_their_scales():
    rows = TablePreparer().fit_transform(VALUES)
    options = {"n_clusters": 30, "delete": 0.05, "trials": 3, "repeats": 1, "keep_labels": True}
    explicit = HierarchicalKMedian(7, column_scale=rows.column_scale)
    found = average_sensitivity(HierarchicalKMedian(7), rows, **options).labels
    same = average_sensitivity(explicit, np.array(rows), **options).labels
    np.testing.assert_array_equal(found, same)
    plain = average_sensitivity(HierarchicalKMedian(7), np.array(rows), **options).labels
    assert (found != plain).any()


@pytest.mark.parametrize("scale", [[1.0, 2.0], [1.0, 0.0, 1.0], [1.0, np.nan, 1.0], "core", -1.0])
def test_scales_that_are_none_are_refused(scale):
    with pytest.raises(
        ValueError, match="column_scale must be a positive number for each of the 3"
    ):
        build(scale=scale).fit(VALUES)


def test_scales_need_dense_features():
    with pytest.raises(ValueError, match="X is sparse"):
        build().fit(csr_array(VALUES))
    with pytest.raises(ValueError, match='metric is "precomputed"'):
        build("medoids", "precomputed", np.ones(3)).fit(np.ones((3, 3)) - np.eye(3))


def tables_with_ids():
    names = [f"n{i:03}" for i in range(240)]
    frame = pd.DataFrame(VALUES, columns=list("abc"))
    named = frame.assign(who=names)
    arrow = pa.Table.from_pandas(named)
    return {
        "index": (frame.set_axis(names), None),
        "pandas": (named, "who"),
        "pyarrow": (arrow, "who"),
        "polars": (pl.from_arrow(arrow), "who"),
    }, names


@pytest.mark.parametrize("kind", ["index", "pandas", "pyarrow", "polars"])
@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_a_pipeline_hands_ids_on(kind, output):
    tables, names = tables_with_ids()
    table, column = tables[kind]
    pipeline = make_pipeline(TablePreparer(id=column), HierarchicalKMedian(7))
    model = pipeline.set_output(transform=output).fit(table)[-1]
    plain = HierarchicalKMedian(7, column_scale=pipeline[0].preparation_.scale)
    plain.fit(np.array(pipeline[0].transform(table)))
    labels = model.label_frame(7)
    assert labels.index.tolist() == names
    np.testing.assert_array_equal(labels["cluster_7"], plain.labels_)
    assert model.n_features_in_ == 3


def test_parts_of_prepared_rows_have_no_ids_of_others():
    tables, names = tables_with_ids()
    rows = TablePreparer(id="who").fit_transform(tables["pandas"][0])
    assert rows.ids.tolist() == pickle.loads(pickle.dumps(rows)).ids.tolist() == names
    assert HierarchicalKMedian(2).fit(rows[::-1]).ids_ is None
    twice = tables["pandas"][0].assign(who="same")
    with pytest.raises(ValueError, match="who of X cannot be `id`: rows 0 and 1"):
        TablePreparer(id="who").fit_transform(twice)
    frame = (
        TablePreparer(id="who").set_output(transform="polars").fit_transform(tables["polars"][0])
    )
    assert HierarchicalKMedian(2).fit(frame).ids_.tolist() == names
    assert HierarchicalKMedian(2).fit(frame.reverse()).ids_ is None
    new = tables["pandas"][0].drop(columns="who")
    assert TablePreparer(id="who").fit(tables["pandas"][0]).transform(new).ids is None


def test_a_saved_pipeline_takes_tables(tmp_path):
    table, who = tables_with_ids()[0]["pandas"]
    table = table.assign(town=np.where(VALUES[:, 0] > 3.0, "Ulm", "Bern"))
    pipeline = make_pipeline(TablePreparer(id=who), HierarchicalKMedian(5)).fit(table)
    preparer, model = pipeline[0], pipeline[-1]
    model.save(tmp_path / "model", preparer=preparer)
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(table), pipeline.predict(table))
    assert loaded.explain().to_frame().equals(model.explain(preparer=preparer).to_frame())
    assert loaded.label_frame().equals(model.label_frame())
    gone = loaded.forget(ids=["n003"])
    fresh = make_pipeline(preparer, HierarchicalKMedian(5, column_scale=model.column_scale_))
    rows = np.delete(np.array(preparer.transform(table)), 3, axis=0)
    np.testing.assert_array_equal(gone.labels_, fresh[-1].fit(rows).labels_)
    with pytest.raises(ValueError, match="preparer must be what prepared the rows of the fit, 3"):
        HierarchicalKMedian(2).fit(VALUES).save(tmp_path / "other", preparer=preparer)


@pytest.mark.parametrize("scale", [[1.0], [1.0, 2.0, 0.0], [1.0, 2.0, "x"], 3.0])
def test_a_file_with_other_scales_is_refused(scale, tmp_path):
    record = fitted()._to_record(include_rows=True)
    wrong = {**record.parameters, "column_scale": scale}
    write_model(tmp_path / "model", replace(record, parameters=wrong))
    with pytest.raises(DamagedFile, match="column_scale is not a positive number for each column"):
        load(tmp_path / "model")
