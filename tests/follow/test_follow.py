"""Laws of following: names last, budgets hold, levels are nested, order does not matter."""

from copy import deepcopy

import numpy as np
import pytest
from follow.series import blobs, releases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast import HierarchicalKMedian
from holdfast.follow import engine
from holdfast.follow.engine import LADDER
from holdfast.hierarchy import Hierarchy

LEVELS = (2, 4, 8)


def fit(rows, ids=None, **parameters):
    return HierarchicalKMedian(4, max_centers=8, **parameters).fit(rows, ids=ids)


def names_of(model, k):
    """Name of the cluster of each row."""
    return model.hierarchy_.names(k)[model.hierarchy_.cut(k)]


def moved_between(before, after, k):
    """Fraction of the rows in both models whose cluster has another name."""
    _, old, new = np.intersect1d(before.ids_, after.ids_, return_indices=True)
    return np.mean(names_of(before, k)[old] != names_of(after, k)[new])


def same_moves(a, b):
    """Whether two tables of moves are the same; a gain may be NaN."""
    fields = ("id", "level", "from", "to", "reason")
    return all(np.array_equal(a[field], b[field]) for field in fields) and np.array_equal(
        a["gain"], b["gain"], equal_nan=True
    )


def equal(a, b):
    """Whether two followed models are the same, bit for bit."""
    one, two = a.hierarchy_, b.hierarchy_
    return (
        np.array_equal(one.parent, two.parent)
        and np.array_equal(one.finest, two.finest)
        and np.array_equal(one.costs, two.costs)
        and np.array_equal(one.center_indices, two.center_indices)
        and all(np.array_equal(one.names(k), two.names(k)) for k in range(1, one.n_centers + 1))
        and same_moves(a.moves_, b.moves_)
        and np.array_equal(a.events_, b.events_)
    )


@pytest.fixture(scope="module", params=["euclidean", "cosine"])
def chain(request):
    """Four releases, each following the one before."""
    data = releases(3)
    models = [fit(data[0][1], data[0][0], metric=request.param)]
    for ids, rows in data[1:]:
        models.append(models[-1].follow(rows, ids=ids, levels=LEVELS))
    return data, models


@pytest.mark.parametrize("with_ids", [True, False])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_same_rows_change_nothing(with_ids, metric):
    rows = blobs(1)
    ids = np.arange(rows.shape[0]) if with_ids else None
    model = fit(rows, ids, metric=metric)
    for _ in range(2):
        order = np.random.default_rng(0).permutation(rows.shape[0])
        after = model.follow(rows[order], ids=None if ids is None else ids[order], levels=LEVELS)
        assert after.moves_.size == 0
        assert not after.follow_.moved.any()
        for k in range(1, 9):
            assert np.array_equal(after.hierarchy_.cut(k), model.hierarchy_.cut(k)[order])
            assert np.array_equal(after.hierarchy_.names(k), model.hierarchy_.names(k))
        assert np.array_equal(after.cluster_centers_, model.cluster_centers_)
        assert np.array_equal(after.predict(rows), model.predict(rows))
        model, rows = after, rows[order]
        ids = None if ids is None else ids[order]


def test_cuts_are_nested_and_no_cluster_is_empty(chain):
    for model in chain[1][1:]:
        hierarchy = model.hierarchy_
        assert hierarchy.n_centers == 8
        assert (hierarchy.costs[1:] <= hierarchy.costs[:-1]).all()
        for k in range(1, 9):
            labels = hierarchy.cut(k)
            assert np.array_equal(np.unique(labels), np.arange(k))
            assert np.unique(hierarchy.names(k)).size == k
            if k > 1:
                coarse = hierarchy.cut(k - 1)
                assert np.array_equal(coarse[labels < k - 1], labels[labels < k - 1])
                assert np.unique(coarse[labels == k - 1]).size == 1
        assert hierarchy.linkage().shape == (hierarchy.n_rows - 1, 4)


def test_names_are_never_given_again(chain):
    ended: dict[int, set[int]] = {k: set() for k in LEVELS}
    for before, after in zip(chain[1], chain[1][1:], strict=False):
        for k in LEVELS:
            old, new = set(before.hierarchy_.names(k)), set(after.hierarchy_.names(k))
            assert not new & ended[k]
            ended[k] |= old - new
            assert max(new) < after.hierarchy_.naming.next_name


def test_moves_are_the_rows_whose_names_differ(chain):
    for before, after in zip(chain[1], chain[1][1:], strict=False):
        for index, k in enumerate(LEVELS):
            moves = after.moves_[after.moves_["level"] == k]
            _, old, new = np.intersect1d(before.ids_, after.ids_, return_indices=True)
            was, now = names_of(before, k)[old], names_of(after, k)[new]
            expected = {
                (i, a, b) for i, a, b in zip(after.ids_[new], was, now, strict=True) if a != b
            }
            assert {(m["id"], m["from"], m["to"]) for m in moves} == expected
            assert after.follow_.moved[index] == len(expected) / old.size


def test_costs_are_distances_to_means(chain):
    model = chain[1][-1]
    rows = model.rows_
    if model.metric == "cosine":
        rows = rows / np.sqrt((rows**2).sum(axis=1))[:, None]
    for k in range(1, 9):
        cost = 0.0
        for t in range(k):
            members = rows[model.hierarchy_.cut(k) == t]
            mean = members.mean(axis=0)
            if model.metric == "cosine":
                cost += (1.0 - members @ (mean / np.sqrt((mean**2).sum()))).sum()
            else:
                cost += np.sqrt(((members - mean) ** 2).sum(axis=1)).sum()
        if k in LEVELS:
            assert model.hierarchy_.costs[k - 1] <= cost * (1 + 1e-9)
            index = LEVELS.index(k)
            assert model.follow_.cost[index] == pytest.approx(cost)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**6), budget=st.sampled_from([0.0, 0.005, 0.02, 0.1, 1.0]))
def test_a_budget_holds_at_every_level(seed, budget):
    data = releases(seed, count=3, n=120)
    model = fit(data[0][1], data[0][0])
    for ids, rows in data[1:]:
        after = model.follow(rows, ids=ids, levels=LEVELS, budget=budget)
        for k in LEVELS:
            assert moved_between(model, after, k) <= budget
        model = after


def test_order_of_rows_changes_nothing(chain):
    data, models = chain
    (ids, rows), expected = data[2], models[2]
    order = np.random.default_rng(1).permutation(ids.size)
    found = models[1].follow(rows[order], ids=ids[order], levels=LEVELS)
    for k in range(1, 9):
        assert np.array_equal(found.hierarchy_.cut(k), expected.hierarchy_.cut(k)[order])
        assert np.array_equal(found.hierarchy_.names(k), expected.hierarchy_.names(k))
    assert np.array_equal(found.hierarchy_.costs, expected.hierarchy_.costs)
    assert np.array_equal(found.cluster_centers_, expected.cluster_centers_)
    by = ["level", "id"]
    assert same_moves(np.sort(found.moves_, order=by), np.sort(expected.moves_, order=by))


def test_weights_equal_repeated_rows():
    rows, later = blobs(5, 60), blobs(5, 60) + np.repeat([0.0, 0.25], 30)[:, None]
    times = np.arange(60) % 3 + 1
    weighted = HierarchicalKMedian(4, max_centers=8).fit(rows, sample_weight=times)
    weighted = weighted.follow(later, sample_weight=times, levels=LEVELS)
    repeated = fit(np.repeat(rows, times, axis=0))
    repeated = repeated.follow(np.repeat(later, times, axis=0), levels=LEVELS)
    for k in range(1, 9):
        labels = weighted.hierarchy_.cut(k)
        assert np.array_equal(np.repeat(labels, times), repeated.hierarchy_.cut(k))
    assert np.array_equal(weighted.follow_.moved, repeated.follow_.moved)
    assert np.array_equal(weighted.hierarchy_.costs, repeated.hierarchy_.costs)


@pytest.mark.parametrize("texts", [True, False])
def test_saved_and_loaded_models_follow_the_same(tmp_path, texts):
    data = [
        (np.array([f"row {i}" for i in ids]) if texts else ids, rows) for ids, rows in releases(7)
    ]
    model = fit(data[0][1], data[0][0])
    loaded = model
    for ids, rows in data[1:]:
        loaded.save(tmp_path / "model")
        loaded = holdfast.load(tmp_path / "model")
        model = model.follow(rows, ids=ids, levels=LEVELS)
        loaded = loaded.follow(rows, ids=ids, levels=LEVELS)
        assert equal(model, loaded)
        assert np.array_equal(model.ids_, loaded.ids_)
        assert np.array_equal(model.predict(rows), loaded.predict(rows))
        assert np.array_equal(model.held_, loaded.held_)


def test_held_rows_are_marked_and_known_by_their_ids(chain):
    data, models = chain
    for (ids, rows), model in zip(data[1:], models[1:], strict=True):
        assert np.array_equal(model.predict(rows) != model.labels_, model.held_)
        assert np.array_equal(model.predict(rows, ids=ids), model.labels_)


def test_ids_of_another_type_are_refused_by_predict(chain):
    data, models = chain
    with pytest.raises(ValueError, match="ids must be integers like those of the model"):
        models[-1].predict(data[-1][1], ids=data[-1][0].astype(str))


def test_labels_are_of_one_state_if_rows_leave_during_predict(chain, monkeypatch):
    (ids, rows), model = chain[0][-1], deepcopy(chain[1][-1])
    predict, labels = Hierarchy.predict, model.labels_

    def forget_first(*arguments):
        monkeypatch.undo()
        model.forget(ids=ids[:100])
        return predict(*arguments)

    monkeypatch.setattr(Hierarchy, "predict", forget_first)
    assert np.array_equal(model.predict(rows, ids=ids), labels)


def test_equal_rows_do_not_part():
    rows = np.repeat(blobs(2, 60), 3, axis=0)
    model = fit(rows, np.arange(180))
    later = rows + np.repeat([0.0, 0.25, 0.5, 0.125], 45)[:, None]
    labels = model.follow(later, ids=np.arange(180), levels=LEVELS).hierarchy_.cut(8)
    _, place = np.unique(later, axis=0, return_inverse=True)
    before = model.hierarchy_.cut(8)
    for group in range(place.max() + 1):
        for leaf in np.unique(before[place == group]):
            assert np.unique(labels[(place == group) & (before == leaf)]).size == 1


def test_a_row_that_returns_finds_its_name():
    rows = blobs(4)
    ids = np.arange(rows.shape[0])
    model = fit(rows, ids)
    away = np.flatnonzero(np.arange(ids.size) % 7)
    gone = model.follow(rows[away], ids=ids[away], levels=LEVELS, budget=0.0)
    back = gone.follow(rows, ids=ids, levels=LEVELS, budget=0.0, price=100.0)
    for k in LEVELS:
        assert np.array_equal(names_of(back, k), names_of(model, k))


def test_a_row_that_returns_counts_as_new():
    rows = blobs(4)
    ids = np.arange(rows.shape[0])
    first = fit(rows, ids)
    rows[7] = rows[first.labels_ != first.labels_[7]][0]  # it returns elsewhere
    back = first.follow(np.delete(rows, 7, axis=0), ids=np.delete(ids, 7)).follow(
        rows, ids=ids, budget=0.0
    )
    assert names_of(back, 4)[7] != first.labels_[7]
    assert (back.follow_.n_new, back.moves_.size, back.follow_.budget_binds) == (1, 0, False)


def test_what_ends_with_polish_or_follow_is_named():
    rows = blobs(4)
    model = fit(rows)
    for changed in (model.polish(LEVELS), model.follow(rows[1:], levels=LEVELS)):
        with pytest.raises(ValueError, match=r"from 1 to .*the largest level of polish or follow"):
            changed.hierarchy_.cut(max(LEVELS) + 1)
        with pytest.raises(ValueError, match="cannot be explained after polish or follow"):
            changed.explain_row(rows[0])


def test_a_dry_run_says_what_follow_does(chain):
    data, models = chain
    ids, rows = data[2]
    plan = models[1].follow(rows, ids=ids, dry_run=True)
    assert plan.levels == LEVELS
    assert np.array_equal(plan.moved, models[2].follow_.moved)
    assert np.array_equal(plan.cost, models[2].follow_.cost)
    assert same_moves(plan.moves, models[2].moves_)
    assert np.array_equal(plan.events, models[2].events_)


def test_the_tolerance_holds_and_the_budget_comes_first():
    data = releases(11, count=4, changing=0.6)
    for budget in (None, 0.01):
        model = fit(data[0][1], data[0][0])
        for ids, rows in data[1:]:
            arguments = {"ids": ids, "levels": LEVELS, "price": 5.0, "budget": budget}
            model = model.follow(rows, tolerance=0.02, **arguments)
            report = model.follow_
            kept = (report.cost <= 1.02 * report.fresh_cost * (1 + 1e-8)).all()
            assert kept == (not report.tolerance_exceeded)
            assert kept or (budget is not None and report.budget_binds)
            if budget is not None:
                assert (report.moved <= budget).all()
            assert np.allclose(model.staleness().cost, report.cost / report.fresh_cost)


def test_a_budget_that_binds_says_what_comes_next():
    data = releases(11, count=2, changing=0.6)
    model = fit(data[0][1], data[0][0])
    ids, rows = data[1]
    after = model.follow(rows, ids=ids, levels=LEVELS, budget=0.0, price=0.1)
    assert after.follow_.budget_binds
    assert after.follow_.next_moves.size > 0
    assert after.moves_.size == 0
    free = model.follow(rows, ids=ids, levels=LEVELS, budget=1.0, price=0.1)
    assert free.moves_.size > 0
    assert not free.follow_.budget_binds
    assert free.follow_.next_moves.size == 0


def test_polish_lowers_the_cost():
    rows = blobs(31, groups=80)
    model = fit(rows, np.arange(240))
    before = [_relative_costs(model, rows, k) for k in LEVELS]
    polished = model.polish(LEVELS)
    after = [_relative_costs(polished, rows, k) for k in LEVELS]
    assert sum(np.divide(after, before)) < len(LEVELS) - 0.001
    assert not hasattr(polished, "moves_")  # a part of fitting
    assert np.array_equal(polished.ids_, np.arange(240))
    assert polished.labels_.max() == model.labels_.max()
    assert polished.hierarchy_.naming.levels == LEVELS
    for k in LEVELS:
        assert polished.hierarchy_.names(k).tolist() == list(range(k))
    again = polished.polish()
    assert again.moves_.size == 0
    assert np.array_equal(again.hierarchy_.finest, polished.hierarchy_.finest)
    assert polished.follow(rows, ids=np.arange(240)).moves_.size == 0


def _relative_costs(model, rows, k):
    labels = model.hierarchy_.cut(k)
    return sum(
        np.sqrt(((rows[labels == c] - rows[labels == c].mean(axis=0)) ** 2).sum(axis=1)).sum()
        for c in range(k)
    )


def test_polish_does_not_depend_on_the_order_of_rows():
    rows, order = blobs(31, groups=80), np.random.default_rng(0).permutation(240)
    one, other = (fit(rows[i]).polish(LEVELS) for i in (np.arange(240), order))
    assert np.array_equal(one.hierarchy_.finest[order], other.hierarchy_.finest)
    assert np.array_equal(one.hierarchy_.costs, other.hierarchy_.costs)


def test_the_tolerance_moves_no_more_than_it_must():
    """The price falls only as far as it has to, between the steps of the ladder."""
    data = releases(8, count=6, changing=0.9)
    model = fit(data[0][1], data[0][0]).polish(LEVELS)
    parts = []
    for ids, rows in data[1:]:
        model = model.follow(rows, ids=ids, levels=LEVELS, price=4.0, tolerance=0.02)
        report = model.follow_
        assert (report.cost <= report.fresh_cost * 1.0200001).all()
        parts += (report.price / 4.0).tolist()
    assert any(0.0 < part < 1.0 and part not in LADDER for part in parts)


def leaves_enough(cost, report, moved, tolerance):
    """Whether costs of levels keep the tolerance, and leave some of it: more if more rows would move."""
    ratio, used = cost / report.fresh_cost, max(0.0, 1.0 - 3.0 * moved.mean())
    return ratio.max() <= 1 + tolerance and ratio.mean() <= 1 + used * tolerance


def wander(seed, count=6, n=120):
    """Rows without groups, all of which change from week to week."""
    rng, weeks = np.random.default_rng(seed), [blobs(seed, n, groups=60)]
    for _ in range(count - 1):
        weeks.append(weeks[-1] + rng.integers(-64, 65, size=weeks[-1].shape) / 64.0)
    return weeks


@pytest.mark.parametrize("seed", [3, 8, 11])
def test_a_tolerance_moves_as_few_rows_as_it_allows(seed):
    weeks, ids = wander(seed, 8), np.arange(120)
    tolerance, seen = 0.03, set()
    model = fit(weeks[0], ids).polish(LEVELS)
    for rows in weeks[1:]:
        plain = model.follow(rows, ids=ids, levels=LEVELS, price=0.1)
        model = model.follow(rows, ids=ids, levels=LEVELS, price=0.1, tolerance=tolerance)
        report, moved = model.follow_, plain.follow_.moved
        assert (report.cost <= report.fresh_cost * (1 + tolerance + 1e-8)).all()
        if leaves_enough(report.cost_of_staying, report, moved, tolerance):
            assert model.moves_.size == 0
            seen.add("stayed")
        elif leaves_enough(plain.follow_.cost, report, moved, tolerance):
            assert leaves_enough(report.cost, report, moved, tolerance)
            assert 0 < report.moved.sum() <= plain.follow_.moved.sum()
            assert ((report.price >= 0.1) & (report.price <= 1.0)).all()
            seen.add("fewer" if report.moved.sum() < plain.follow_.moved.sum() else "as many")
    assert "fewer" in seen


def test_nothing_moves_and_no_budget_binds_where_the_tolerance_asks_for_no_move():
    rows, ids = blobs(3), np.arange(240)
    model = fit(rows, ids).polish(LEVELS)
    today = rows.copy()
    today[:3] = rows[[np.argmax(rows.sum(axis=1))]]  # far away from their clusters
    assert model.follow(today, ids=ids).moves_.size > 0
    assert model.follow(today, ids=ids, budget=0.0).follow_.budget_binds
    for budget in (None, 0.0):
        after = model.follow(today, ids=ids, budget=budget, tolerance=9.0)
        assert after.moves_.size == 0
        assert not after.follow_.budget_binds


@pytest.mark.parametrize("seed", [8, 17, 31])
def test_a_new_fit_is_the_last_resort(monkeypatch, seed):
    """Where no price at a level suffices, lower prices at all levels move fewer rows than a new fit."""
    weeks, ids = wander(seed), np.arange(120)

    def follow_all():
        model, moved, fitted = fit(weeks[0], ids).polish(LEVELS), 0.0, False
        for rows in weeks[1:]:
            model = model.follow(rows, ids=ids, levels=LEVELS, price=1.0, tolerance=0.02)
            report = model.follow_
            assert (report.cost <= report.fresh_cost * 1.0200001).all()
            moved += report.moved.sum()
            fitted |= np.array_equal(report.cost, report.fresh_cost)
        return fitted, moved

    fitted, few = follow_all()
    monkeypatch.setattr(engine, "LAST", ())
    without, many = follow_all()
    assert (fitted, without) == (False, True)
    assert few < 0.5 * many


def test_order_of_rows_changes_nothing_within_a_tolerance():
    weeks, ids = wander(15), np.arange(120)
    one = other = fit(weeks[0], ids).polish(LEVELS)
    prices = set()
    for week, rows in enumerate(weeks[1:]):
        order = np.random.default_rng(week).permutation(120)
        arguments = {"levels": LEVELS, "price": 0.5, "tolerance": 0.01}
        one = one.follow(rows, ids=ids, **arguments)
        other = other.follow(rows[order], ids=ids[order], **arguments)
        for k in LEVELS:
            assert np.array_equal(names_of(one, k)[order], names_of(other, k))
        prices |= set((one.follow_.price > 0.5).tolist())
    assert prices == {False, True}  # raised in one week, lowered in another


def test_new_clusters_get_the_next_numbers():
    rows = blobs(8)
    model = HierarchicalKMedian(4).fit(rows, ids=np.arange(240))
    assert model.hierarchy_.n_centers > 4
    stay = np.flatnonzero(model.hierarchy_.cut(4) != 1)
    after = model.follow(rows[stay], ids=stay)
    assert sorted(after.hierarchy_.names(4)) == [0, 2, 3, 4]


def test_staleness_compares_with_a_new_fit():
    rows = blobs(6)
    model = fit(rows)
    stale = model.staleness()
    assert stale.levels == (4,)
    assert np.allclose(stale.cost, 1.0)
    assert not stale.moved.any()
    stale = model.staleness(blobs(9))
    assert stale.cost[0] > 1.0
    assert 0.0 < stale.moved[0] < 1.0


def test_without_common_rows_the_model_is_fitted_again_with_new_names():
    model = fit(blobs(1), np.arange(240))
    with pytest.warns(UserWarning, match="No row of X is in the model"):
        after = model.follow(blobs(2), ids=np.arange(240) + 1000, levels=LEVELS)
    fresh = fit(blobs(2))
    for k in range(1, 9):
        assert np.array_equal(after.hierarchy_.cut(k), fresh.hierarchy_.cut(k))
        assert after.hierarchy_.names(k).min() >= 8
    assert after.moves_.size == 0
    assert set(after.events_["event"]) == {"ended", "new"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": -0.1}, "budget must be a fraction from 0 to 1; got -0.1"),
        ({"budget": 5}, "For 5%, pass 0.05"),
        ({"budget": "1%"}, "budget must be a fraction"),
        ({"price": np.inf}, "price must be a non-negative number; got inf"),
        ({"tolerance": np.nan}, "tolerance must be a non-negative number; got nan"),
        (
            {"levels": (2, 300)},
            "^levels must be at most 8, the number of clusters of this .* got 300",
        ),
        ({"levels": (0,)}, "levels must be an integer of at least 1"),
        ({"levels": 8}, "levels must be a list of numbers of clusters; got 8"),
        ({"ids": None}, "This model has ids, so X needs ids too"),
        ({"ids": np.zeros(240, dtype=int)}, "ids must be unique; got .* 240 times"),
        ({"ids": np.arange(3)}, r"ids must have one id per row, shape \(240,\)"),
        ({"ids": [None] * 240}, "all integers or all strings, none missing; got NoneType"),
        ({"ids": np.arange(240) / 2}, "ids must be integers or strings, none missing"),
        ({"ids": [str(i) for i in range(240)]}, "ids must be integers like those of the model"),
        ({"ids": np.ma.masked_equal(np.arange(240), 3)}, "none missing; got masked ones"),
    ],
)
def test_bad_input(arguments, message):
    model = fit(blobs(1), np.arange(240))
    with pytest.raises(ValueError, match=message):
        model.follow(blobs(1), **({"ids": np.arange(240)} | arguments))


def test_what_is_wrong_with_an_index_is_said():
    frame = pytest.importorskip("pandas").DataFrame(
        blobs(1), index=[f"row {i}" for i in range(240)]
    )
    model = HierarchicalKMedian(4, max_centers=8).fit(frame)
    with pytest.raises(ValueError, match="ids must be unique; got 'row 3' 2 times"):
        model.follow(frame.iloc[[*range(240), 3]])
    missing = frame.set_index(np.array([None, *frame.index[1:]], dtype=object))
    with pytest.raises(ValueError, match="none missing; got"):
        model.follow(missing)
    with pytest.raises(
        ValueError, match="must be integers or strings, none missing; got dtype float"
    ):
        model.follow(frame.set_index(np.arange(240) / 2))


def test_too_few_rows():
    model = fit(blobs(1), np.arange(240))
    with pytest.raises(ValueError, match=r"as many rows as there are clusters, 4; got 3"):
        model.follow(blobs(1)[:3], ids=np.arange(3))
    with pytest.raises(ValueError, match="at least as many distinct rows"):
        model.follow(np.ones((9, 3)), ids=np.arange(9) + 1000)
    with pytest.raises(ValueError, match="has 2 features"):
        model.follow(np.ones((9, 2)), ids=np.arange(9))


def test_a_cluster_that_lost_all_rows_ends_and_the_budget_holds():
    rows = blobs(8)
    model = fit(rows, np.arange(240))
    stay = np.flatnonzero(model.hierarchy_.cut(4) != 1)
    for budget in (None, 0.02):
        after = model.follow(rows[stay], ids=stay, levels=LEVELS, budget=budget)
        ended = after.events_[after.events_["event"] == "ended"]
        assert 1 in ended["name"][ended["level"] == 4]
        assert 1 not in after.hierarchy_.names(4)
        assert np.unique(after.hierarchy_.cut(8)).size == 8
        if budget is not None:
            assert (after.follow_.moved <= budget).all()
    with pytest.raises(ValueError, match="more than the budget allows"):
        model.follow(rows[stay], ids=stay, levels=LEVELS, budget=0.0)


def test_a_chain_of_twenty_releases():
    data = releases(13, count=21, n=120)
    model = fit(data[0][1], data[0][0])
    for ids, rows in data[1:]:
        after = model.follow(rows, ids=ids, levels=LEVELS, tolerance=0.05)
        report = after.follow_
        assert (report.cost <= 1.05 * report.fresh_cost * (1 + 1e-8)).all()
        assert report.n_survivors + report.n_new == ids.size
        assert report.n_survivors + report.n_left == model.ids_.size
        assert after._left.ids.size <= ids.size
        model = after
