"""A lineage of models that the library itself followed."""

import numpy as np
import pytest
from lineage.weeks import follow_weeks, make_weeks
from scipy.spatial.distance import cdist

from holdfast import HierarchicalKMedian, Lineage, load

WEEKS, N, LEVELS = 4, 300, (3, 6)


@pytest.fixture(scope="module")
def lineage(tmp_path_factory):
    return follow_weeks(tmp_path_factory.mktemp("weeks") / "series", WEEKS, N, levels=LEVELS)


def test_a_release_contains_its_model(lineage):
    weeks = list(make_weeks(WEEKS, N))
    for number in range(WEEKS - 1):
        model = lineage[number].model()
        ids, rows = weeks[number + 1]
        again = model.follow(rows, ids=ids, levels=LEVELS)
        for k in LEVELS:
            names = again.hierarchy_.names(k)[again.hierarchy_.cut(k)]
            np.testing.assert_array_equal(names, lineage[number + 1].names(k))
        np.testing.assert_array_equal(lineage[number].rows, weeks[number][1])
        assert lineage[number].ids.tolist() == weeks[number][0].tolist()


def test_loading_a_lineage_as_a_model_says_how_to_get_one(lineage):
    with pytest.raises(IsADirectoryError, match=r"holdfast\.Lineage\(path\)\[-1\]\.model\(\)"):
        load(lineage.path)


def test_moves_are_the_differences_between_releases(lineage):
    for before, after in zip(lineage, list(lineage)[1:], strict=False):
        for k in LEVELS:
            was = dict(zip(before.ids, before.names(k), strict=True))
            now = dict(zip(after.ids, after.names(k), strict=True))
            expected = {id for id in now if id in was and now[id] != was[id]}
            moves = lineage.moves(since=after.number, level=k)
            moves = moves[moves["release"] == after.number]
            assert set(moves["id"]) == expected
            assert {(m["id"], m["from"], m["to"]) for m in moves} == {
                (id, was[id], now[id]) for id in expected
            }


def test_costs_and_sizes_are_those_of_the_model(lineage):
    for release in lineage:
        model = release.model()
        for j, k in enumerate(LEVELS):
            chosen = release.clusters[release.clusters["level"] == k]
            np.testing.assert_array_equal(chosen["size"], model.hierarchy_.sizes(k))
            np.testing.assert_allclose(chosen["cost"].sum(), release.levels["cost"][j], rtol=1e-9)


def test_the_column_that_carried_a_row_brought_it_closer(lineage):
    """Oracle: with the old value in that column alone, the row is less on the side of its cluster."""
    moves = lineage.moves()
    carried = moves[moves["column"] != ""]
    assert carried.size > 10
    for move in carried[:40]:
        release = lineage[int(move["release"])]
        row = release.rows[int(np.flatnonzero(release.ids == move["id"])[0])]
        j = release.columns.index(move["column"])
        assert row[j] == move["after"]
        places = {
            (int(c["level"]), int(c["name"])): release.centers[i]
            for i, c in enumerate(release.clusters)
        }
        ends = [places.get((int(move["level"]), int(move[end]))) for end in ("from", "to")]
        if ends[0] is None:
            continue
        before = row.copy()
        before[j] = move["before"]
        side = [((x - ends[0]) ** 2).sum() - ((x - ends[1]) ** 2).sum() for x in (before, row)]
        assert side[1] > side[0]


def test_staleness_is_kept(lineage, tmp_path):
    model = lineage[-1].model()
    other = Lineage(tmp_path / "stale")
    stale = model.staleness()
    levels = other.append(model, label="now", levels=LEVELS, staleness=stale).levels
    np.testing.assert_allclose(levels["cost"] / levels["fresh_cost"], stale.cost)
    np.testing.assert_array_equal(levels["fresh_moved"], stale.moved)


def test_the_gain_of_a_fresh_fit_is_known_on_demand(lineage):
    stored, found = lineage.levels(), lineage.levels(fresh=True)
    assert np.isnan(stored["fresh_moved"]).any()
    release = lineage[-1]
    stale = release.model().staleness(levels=LEVELS)
    lines = found[found["release"] == release.number]
    np.testing.assert_allclose(lines["cost"] / lines["fresh_cost"], stale.cost)
    np.testing.assert_array_equal(lines["fresh_moved"], stale.moved)
    for name in ("moved", "cost", "cost_of_staying"):
        np.testing.assert_array_equal(found[name], stored[name])


def test_a_lineage_begins_with_a_polished_fit(tmp_path):
    (ids, rows), (later_ids, later) = make_weeks(2, 220)
    model = HierarchicalKMedian(6).fit(rows, ids=ids).polish(LEVELS)
    lineage = Lineage(tmp_path / "polished")
    first = lineage.append(model, label="week 0")
    assert tuple(first.levels["level"]) == LEVELS
    assert (first.n_new, first.moves.size) == (ids.size, 0)
    lineage.append(model.follow(later, ids=later_ids), label="week 1")
    assert len(lineage) == 2


def test_a_lineage_begins_with_rows_that_were_added(tmp_path):
    ids, rows = next(make_weeks(1, N))
    model = HierarchicalKMedian(3, random_state=0).partial_fit(rows, ids=ids)
    release = Lineage(tmp_path / "series").append(model)
    assert release.columns == ("column_0", "column_1", "column_2", "column_3")
    np.testing.assert_array_equal(release.names(3), model.labels_)


def test_a_lineage_without_ids_and_without_rows(tmp_path):
    lineage = Lineage(tmp_path / "plain")
    model = None
    ((_, table),) = make_weeks(1, 220)
    for week in range(3):
        rows = table[10 * week : 200 + 10 * week]
        model = HierarchicalKMedian(4).fit(rows) if model is None else model.follow(rows)
        lineage.append(model, label=f"week {week}", include_rows=False)
    release = lineage[-1]
    assert release.rows is None
    assert release.ids is None
    assert release.flows["size"][release.flows["to"] >= 0].sum() == release.n_rows
    assert set(lineage.moves()["column"]) <= {""}
    with pytest.raises(ValueError, match="has no ids"):
        lineage.of(3)
    with pytest.raises(ValueError, match="without its rows"):
        release.model().follow(rows)
    assert lineage.plot() is not None


def test_rows_of_weight_zero_have_no_history(tmp_path):
    rng = np.random.default_rng(0)
    ids, rows = np.arange(80), rng.random((80, 2))
    weight = rng.integers(0, 3, size=80).astype(float)
    model = HierarchicalKMedian(4).fit(rows, sample_weight=weight, ids=ids)
    lineage = Lineage(tmp_path / "weights.lineage")
    lineage.append(model, label="0")
    rows = np.where(rng.random((80, 1)) < 0.3, rng.random((80, 2)), rows)
    weight = rng.integers(0, 3, size=80).astype(float)
    lineage.append(model.follow(rows, sample_weight=weight, ids=ids), label="1")
    release = lineage[-1]
    np.testing.assert_array_equal(release.ids, ids[weight > 0.0])
    assert release.clusters["size"].sum() == np.count_nonzero(weight)
    assert lineage[-1].model().labels_.size == 80


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_clusters_are_measured_with_the_weights_and_the_distance_of_the_model(tmp_path, metric):
    """Oracle: SciPy's distances of the rows of each cluster to their weighted mean."""
    rng = np.random.default_rng(3)
    rows, weight = rng.integers(1, 90, size=(80, 3)) / 8.0, rng.integers(0, 9, size=80) / 4.0
    method = "medoids" if metric == "manhattan" else "means"
    model = HierarchicalKMedian(5, metric=metric, method=method).fit(rows, sample_weight=weight)
    release = Lineage(tmp_path / "one").append(model, levels=(2, 5))
    name = "cityblock" if metric == "manhattan" else metric
    for i, cluster in enumerate(release.clusters):
        own = (model.hierarchy_.cut(cluster["level"]) == cluster["name"]) & (weight > 0.0)
        mean = np.average(rows[own], axis=0, weights=weight[own])
        cost = weight[own] @ cdist(rows[own], mean[None], name)[:, 0]
        np.testing.assert_allclose(release.centers[i], mean, rtol=1e-12)
        np.testing.assert_allclose(cluster["cost"], cost, rtol=1e-9)
        assert cluster["size"] == own.sum()
        above = set(model.hierarchy_.cut(2)[own].tolist())
        assert {int(cluster["parent"])} == (above if cluster["level"] == 5 else {-1})
