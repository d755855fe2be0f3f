"""Profiles of clusters against pandas, and categories against the indicators they come from."""

import numpy as np
import pandas as pd

from holdfast.hierarchy.explain import (
    Category,
    Fractions,
    Means,
    group_columns,
    label_level,
    rank_levels,
)
from holdfast.hierarchy.rules import Column


def make_values(n=60):
    i = np.arange(n)
    values = np.column_stack([i % 7, (i * i) % 11, i / 3.0]).astype(float)
    values[i % 13 == 0, 1] = np.nan
    return values, (i % 4).astype(np.int32)


def test_means_are_those_of_a_data_frame_also_of_unions():
    values, labels = make_values()
    means, frame = Means(values, labels, 4), pd.DataFrame(values)
    np.testing.assert_allclose(means.mean, frame.mean())
    np.testing.assert_allclose(means.deviation, frame.std(ddof=0))
    for node in ([0], [1, 3], [0, 1, 2, 3]):
        own = frame[np.isin(labels, node)].mean()
        np.testing.assert_allclose(means.of(np.array(node)), own)
        expected = (own - frame.mean()) / frame.std(ddof=0)
        np.testing.assert_allclose(means.differences(np.array(node)), expected, atol=1e-12)


def test_columns_that_differ_most_come_first():
    values, labels = make_values()
    values[:, 1] = labels * 5.0 + np.arange(60) % 2
    assert Means(values, labels, 4).rank_columns()[0] == 1


def test_a_column_of_gaps_has_no_mean_and_no_difference():
    values, labels = make_values()
    values[labels == 2, 0] = np.nan
    means = Means(values, labels, 4)
    assert np.isnan(means.of(np.array([2]))[0])
    assert means.differences(np.array([2]))[0] == 0.0


def test_indicators_of_one_category_belong_together():
    towns = np.array(["Ulm", "Bern", "Genf", "Ulm"])
    known = np.array([1.0, 1.0, 0.0, 1.0])
    values = np.column_stack(
        [np.arange(4.0), towns == "Ulm", towns == "Bern", 1 - known, [1, 0, 0, 1]]
    )
    columns = [
        Column("age"),
        Column("town", category="Ulm"),
        Column("town", category="Bern"),
        Column("debt", category="(missing)"),
        Column("member", category="true"),
    ]
    numbers, categories = group_columns(columns, values)
    assert numbers.tolist() == [0]
    found = {c.name: [c.levels[code] for code in c.codes] for c in categories}
    assert found == {
        "town": ["Ulm", "Bern", "(other)", "Ulm"],
        "debt missing": ["no", "no", "yes", "no"],
        "member": ["true", "false", "false", "true"],
    }


def test_no_level_is_listed_twice():
    columns = [Column("town", category="Ulm"), Column("town", category="(other)")]
    _, (town,) = group_columns(columns, np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
    assert town.levels == ("Ulm", "(other)")
    assert town.codes.tolist() == [0, 1, 1]


def test_fractions_and_how_much_clusters_differ():
    labels = np.array([0, 0, 1, 1], dtype=np.int32)
    apart = Category("town", ("Ulm", "Bern"), np.array([0, 0, 1, 1]))
    alike = Category("town", ("Ulm", "Bern"), np.array([0, 1, 0, 1]))
    counted = Fractions.count(apart, labels, 2)
    assert counted.of(np.array([0])).tolist() == [1.0, 0.0]
    assert counted.of(np.array([0, 1])).tolist() == [0.5, 0.5]
    assert counted.difference == 1.0
    assert Fractions.count(alike, labels, 2).difference == 0.0


def test_rare_levels_together_come_first_only_where_they_are_most_rows():
    levels = ("(other)", "Ulm", "Bern")
    assert rank_levels(levels, [0.4, 0.25, 0.35]) == [2, 1, 0]
    assert rank_levels(levels, [0.6, 0.25, 0.15]) == [0, 1, 2]


def test_levels_are_named_with_their_column():
    assert label_level("engine", "Turbo-fan") == "engine: Turbo-fan"
    assert label_level("speed", "(missing)") == "speed missing"
