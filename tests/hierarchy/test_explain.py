"""Rules say what they claim, and boundaries are where labels change."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from holdfast import HierarchicalKMedian, TablePreparer, load
from holdfast.hierarchy.rules import Column, find_other_rule, find_rules, sample_rows
from holdfast_paper import draws


def table(seed: int = 0, n: int = 400) -> np.ndarray:
    """Income in thousands, age, and noise."""
    rng = np.random.default_rng(seed)
    income = np.floor(20.0 + 100.0 * rng.random(n))
    age = np.floor(18.0 + 60.0 * rng.random(n))
    return np.column_stack((income, age, draws.normal(rng, n)))


def rule_of(X, inside, columns=None, weight=None, conditions=3):
    columns = columns or [Column(f"x{j}") for j in range(X.shape[1])]
    weight = np.ones(X.shape[0]) if weight is None else weight
    return find_rules(X, weight, inside, columns, sample_rows(X, 0)[1], conditions, 1)[0]


def test_a_planted_rule_is_found():
    X = table(n=2000)
    inside = (X[:, 0] > 62.0) & (X[:, 1] <= 40.0)
    rule = rule_of(X, inside, [Column("income"), Column("age"), Column("noise")])
    assert [condition.column.name for condition in rule.conditions] == ["income", "age"]
    assert (rule.precision, rule.coverage, rule.others) == (1.0, 1.0, 0.0)
    assert np.array_equal(rule.holds(X), inside)
    assert str(rule) == "income > 62 and age <= 40"
    assert rule.stability > 0.9


def test_a_cluster_of_two_parts_gets_two_rules():
    X = table(n=2000)
    first, second = X[:, 0] > 100.0, (X[:, 0] <= 40.0) & (X[:, 1] > 60.0)
    columns = [Column("income"), Column("age"), Column("noise")]
    arguments = (X, np.ones(2000), first | second, columns, sample_rows(X, 0)[1], 3)
    rules = find_rules(*arguments)
    assert [str(rule) for rule in rules] == ["income > 100", "income <= 40 and age > 60"]
    parts = [first.sum(), second.sum()]
    assert [rule.coverage for rule in rules] == pytest.approx(np.divide(parts, sum(parts)))
    assert [rule.precision for rule in rules] == [1.0, 1.0]
    assert min(rule.stability for rule in rules) > 0.8
    assert find_rules(*arguments, max_rules=1) == rules[:1]
    assert len(find_rules(*arguments[:2], first, *arguments[3:])) == 1  # nothing is left


def test_another_rule_uses_other_columns():
    X = table(n=1000)
    X = np.column_stack((X, X[:, 0] + X[:, 2], X[:, 1]))  # nearly the income; the age again
    columns = [Column(name) for name in ("income", "age", "noise", "pay", "years")]
    weight, inside = np.ones(1000), (X[:, 0] > 62.0) & (X[:, 1] <= 40.0)
    rule = rule_of(X, inside, columns)
    other = find_other_rule(X, weight, inside, columns, rule, 3)
    assert [c.column.name for c in rule.conditions] == ["income", "age"]
    assert [c.column.name for c in other.conditions] == ["pay", "years"]
    met = other.holds(X)
    assert other.coverage == met[inside].mean()
    assert other.others == met[~inside].mean()
    assert 0.9 < other.contrast < 1.0
    # Without the years, the pay alone says too little: the age is needed again.
    left = X[:, :4]
    other = find_other_rule(left, weight, inside, columns[:4], rule, 3)
    assert [c.column.name for c in other.conditions] == ["age", "pay"]
    assert (
        find_other_rule(X[:, :3], weight, inside, columns[:3], rule, 3) is None
    )  # only noise is left
    assert find_other_rule(X[:, :2], weight, inside, columns[:2], rule, 3) is None


def test_an_interval_is_one_condition():
    X = table()
    rule = rule_of(X, (X[:, 1] > 30.0) & (X[:, 1] <= 50.0))
    assert str(rule) == "30 < x1 <= 50"


def test_units_of_the_table_and_categories():
    X = table()
    scaled = X / [4.0, 1.0, 1.0]
    rule = rule_of(scaled, X[:, 0] > 62.0, [Column("income", 4.0), Column("b"), Column("c")])
    assert str(rule) == "income > 62"
    region = (X[:, 1] > 50.0) * 0.7
    indicator = np.column_stack((region, X[:, 2]))
    columns = [Column("region", category="north"), Column("c")]
    assert str(rule_of(indicator, region > 0.0, columns)) == "region = north"
    assert str(rule_of(indicator, region == 0.0, columns)) == "region != north"


def test_dates_are_as_round_as_they_can_be():
    day = 86_400.0
    column = [Column("joined", scale=4.0 * day, date=True)]
    days = np.arange(19_000.0, 19_100.0)
    rule = rule_of(days[:, None] / 4.0 + 0.01, days >= 19_050, column)
    assert str(rule) == "joined > 2022-02-27"
    hours = np.arange(100.0)
    column = [Column("seen", scale=3_600.0, date=True)]
    assert str(rule_of(hours[:, None] + 0.5, hours >= 50, column)) == "seen > 1970-01-03 02:00"


def test_rules_of_a_mixed_table_speak_its_words(tmp_path):
    from holdfast.cli.app import run_program

    X = table(n=300)
    kind = np.where(X[:, 1] > 48.0, "north", "south")
    lines = [
        f"{i},{row[0]},{k},{'yes' if row[0] > 70 else 'no'}"
        for i, (row, k) in enumerate(zip(X, kind, strict=True))
    ]
    (tmp_path / "t.csv").write_text("id,income,region,rich\n" + "\n".join(lines) + "\n")
    model = tmp_path / "m.holdfast"
    arguments = [
        "fit",
        str(tmp_path / "t.csv"),
        "--id",
        "id",
        "-k",
        "2",
        "--model",
        str(model),
        "-q",
    ]
    assert run_program([*arguments, "-o", str(tmp_path / "l.csv")]) == 0
    rules = repr(load(model).explain(4))
    assert "region = " in rules or "region != " in rules
    assert "income >" in rules or "income <=" in rules or "rich" in rules


def test_a_rule_is_at_least_as_good_as_any_single_condition():
    rng = np.random.default_rng(3)
    X = rng.integers(6, size=(40, 3)).astype(float)
    inside = (X[:, 0] + X[:, 1] > 6.0) ^ (rng.random(40) < 0.1)
    best = max(
        2.0 * (side & inside).sum() / (side.sum() + inside.sum())
        for j in range(3)
        for value in range(5)
        for side in (X[:, j] > value, X[:, j] <= value)
    )
    rule = rule_of(X, inside, conditions=1)
    f = 2.0 * rule.precision * rule.coverage / (rule.precision + rule.coverage)
    assert f >= best - 1e-12


def test_weights_are_repeats():
    X = table(n=120)
    inside = X[:, 0] + X[:, 1] > 120.0
    times = np.random.default_rng(0).integers(1, 4, size=120)
    weighted = rule_of(X, inside, weight=times.astype(float))
    repeated = rule_of(np.repeat(X, times, axis=0), np.repeat(inside, times))
    assert str(weighted) == str(repeated)
    assert weighted.precision == pytest.approx(repeated.precision, rel=1e-12)
    assert weighted.stability == pytest.approx(repeated.stability, rel=1e-12)


def test_rules_do_not_depend_on_the_order_of_rows():
    X = table()
    model = HierarchicalKMedian(4).fit(X)
    order = np.random.default_rng(1).permutation(X.shape[0])
    assert repr(model.explain()) == repr(HierarchicalKMedian(4).fit(X[order]).explain())


def test_figures_are_those_of_the_rows():
    X = table()
    model = HierarchicalKMedian(5).fit(X)
    explanation = model.explain()
    for t, rule in ((t, rule) for t, rules in enumerate(explanation.rules) for rule in rules):
        followed, inside = rule.holds(X), model.labels_ == t
        assert rule.coverage == pytest.approx((followed & inside).sum() / inside.sum())
        assert rule.precision == pytest.approx((followed & inside).sum() / followed.sum())
        assert rule.others == pytest.approx((followed & ~inside).sum() / (~inside).sum())
    frame = explanation.to_frame()
    assert list(frame["cluster"][frame["number"] == 1]) == [0, 1, 2, 3, 4, 1, 2, 3, 4]
    assert len(frame) == sum(map(len, explanation.rules)) + 4
    assert len(model.explain(max_rules=1).to_frame()) == 9
    assert "of cluster 4" in repr(explanation)
    assert "<table>" in explanation._repr_html_()


@pytest.mark.parametrize("method", ["means", "medoids"])
def test_labels_change_at_the_nearest_boundary_and_not_before(method: str):
    X = draws.normal(np.random.default_rng(5), (200, 2))
    model = HierarchicalKMedian(6, method=method).fit(X)
    angles = np.arange(0.0, 6.284, 0.01)
    circle = np.column_stack((np.cos(angles), np.sin(angles)))
    for row in X[:10]:
        found = model.explain_row(row)
        reach = found.nearest.distance
        assert set(model.predict(row + 0.999 * reach * circle)) == {found.cluster}
        assert found.nearest.neighbor in set(model.predict(row + 1.001 * reach * circle))
        assert sum(found.nearest.parts) == pytest.approx(reach)  # both columns are listed


def test_every_split_on_the_way_is_listed():
    X = table()
    model = HierarchicalKMedian(8).fit(X)
    parent = model.hierarchy_.parent
    for i in range(20):
        found = model.explain_row(X[i])
        path = [int(model.labels_[i])]
        while parent[path[-1]] >= 0:
            path.append(int(parent[path[-1]]))
        assert [b.split for b in found.boundaries if b.moved] == path[-2::-1]
        assert all(b.neighbor != found.cluster for b in found.boundaries)


def test_what_cannot_be_explained_is_refused():
    X = table(n=50)
    with pytest.raises(ValueError, match="not planes"):
        HierarchicalKMedian(3, method="tree").fit(X).explain_row(X[0])
    with pytest.raises(ValueError, match="Manhattan"):
        HierarchicalKMedian(3, method="medoids", metric="manhattan").fit(X).explain_row(X[0])
    with pytest.raises(ValueError, match="one row; got 2 rows"):
        HierarchicalKMedian(3).fit(X).explain_row(X[:2])
    with pytest.raises(ValueError, match="max_conditions"):
        HierarchicalKMedian(3).fit(X).explain(max_conditions=0)


def test_one_cluster_has_no_rule():
    model = HierarchicalKMedian(1).fit(table(n=30))
    assert "100% of cluster 0" in repr(model.explain())
    assert model.explain_row(table(n=30)[0]).nearest is None


def test_rules_and_boundaries_of_a_pipeline_are_in_the_units_of_its_table():
    X = table(n=300)
    frame = pd.DataFrame({"income": 1000.0 * X[:, 0], "north": np.where(X[:, 1] > 48.0, "y", "n")})
    pipeline = make_pipeline(TablePreparer(), HierarchicalKMedian(4)).fit(frame)
    model = pipeline[-1]
    rules = model.explain(preparer=pipeline[0]).rules
    assert any("income" in str(rule) for found in rules for rule in found)
    for found in rules:
        for condition in found[0].conditions:
            for end in filter(None, (condition.low_text, condition.high_text)):
                assert condition.column.category or 10_000 < float(end) < 130_000
    named = {
        name for b in model.explain_row(0, preparer=pipeline[0]).boundaries for name in b.columns
    }
    assert named <= {"income", "north"}
    with pytest.raises(ValueError, match="preparer must be what prepared the rows .* prepares 1"):
        model.explain(preparer=TablePreparer().fit(frame[["income"]]))


def test_labels_stand_beside_ids():
    X = table(n=60)
    frame = pd.DataFrame(X, index=[f"{i:06d}" for i in range(60)])
    model = HierarchicalKMedian(3).fit(frame)
    labels = model.label_frame([3, 5])
    assert list(labels.index) == list(frame.index)
    assert list(labels.columns) == ["cluster_3", "cluster_5"]
    np.testing.assert_array_equal(labels["cluster_5"], model.hierarchy_.cut(5))
    counted = HierarchicalKMedian(3).fit(X).label_frame()
    assert list(counted.index) == list(range(60))
    prepared = make_pipeline(TablePreparer(), HierarchicalKMedian(3)).set_output(transform="pandas")
    assert list(prepared.fit(frame.add_prefix("c"))[-1].label_frame().index) == list(frame.index)
