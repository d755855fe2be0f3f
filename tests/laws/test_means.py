"""Splits between means against their definition, and what they promise besides the common laws."""

import math
import os
from fractions import Fraction

import numpy as np
import pytest
from laws.families import FAMILIES, make_rows
from laws.inputs import INPUTS
from oracles import naive_means
from scipy.sparse import csr_array

from holdfast import HierarchicalKMedian, k_median_cost, load
from holdfast.centers import proposals, samples
from holdfast.centers._member_kernels import Margins
from holdfast.centers.keyed_table import collect_table
from holdfast.centers.means import choose_means
from holdfast.centers.proposals import Proposer
from holdfast.centers.samples import DenseSample

EPSILONS = (0.0, 0.01, 1.0, math.inf)


def fit(X, weight=None, epsilon=0.01, k=None, seed=0, spherical=False):
    return choose_means(
        collect_table(X, weight, spherical, seed), epsilon, len(X) if k is None else k, seed
    )


def assert_equal(one, other):
    for name in ("center", "parent", "planes", "costs", "label"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def assert_as_defined(X, weight, epsilon, seed, spherical=False):
    """Every bit: centers, parents, labels and costs."""
    table = collect_table(X, weight, spherical, seed)
    counts = table.weight if table.weight.size else np.ones(len(X))
    found = choose_means(table, epsilon, len(X), seed)
    naive = naive_means.run(
        np.ldexp(table.rows, table.exponent),
        counts,
        table.key,
        epsilon,
        found.center.size,
        seed,
        spherical,
        table.weight_unit,
    )
    assert found.center.tolist() == naive.center
    assert found.parent.tolist() == naive.parent
    assert found.label.tolist() == naive.cuts[-1].tolist()
    assert found.costs.tolist() == naive.costs


def sample_few(monkeypatch, sample=12, scored=7, candidates=5):
    for module in (samples, naive_means):
        monkeypatch.setattr(module, "SAMPLE", sample)
        monkeypatch.setattr(module, "SCORED", scored)
        monkeypatch.setattr(module, "SCORED_VALUES", 0)
        monkeypatch.setattr(module, "CANDIDATES", candidates)
    monkeypatch.setattr(proposals, "SAMPLE", sample)
    monkeypatch.setattr(proposals, "_POOL", 2 * sample)


def draw_directions(monkeypatch):
    """No cluster is so small that every member is a candidate."""
    for module in (samples, naive_means):
        monkeypatch.setattr(module, "PAIR_VALUES", 0)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_agrees_with_the_definition(family, epsilon, monkeypatch):
    for number in range(4):
        if number == 2:
            draw_directions(monkeypatch)
        X, weight = make_rows(family, number), None
        if number % 2 == 1:
            weight = np.random.default_rng(number).integers(1, 5, size=len(X)).astype(float)
        assert_as_defined(X, weight, epsilon, number)
        if X.any(axis=1).all():
            assert_as_defined(X, weight, epsilon, number, spherical=True)


@pytest.mark.parametrize("data", INPUTS, ids=str)
def test_agrees_with_the_definition_on_awkward_inputs(data):
    weight = None if data.weight is None else data.weight[data.present]
    assert_as_defined(data.rows[data.present], weight, 0.01, 3)


@pytest.mark.parametrize("family", FAMILIES)
def test_agrees_with_the_definition_where_members_are_sampled(family, monkeypatch):
    sample_few(monkeypatch)
    for number in range(3):
        assert_as_defined(make_rows(family, number, n=120), None, 0.01, number)


def test_agrees_with_the_definition_in_many_columns():
    X = np.random.default_rng(0).normal(size=(30, 37))
    assert_as_defined(X, None, 0.01, 0)
    assert_as_defined(X, None, 0.01, 0, spherical=True)


def make_many_groups(n, d, n_groups, rng):
    """Groups of different size whose centers are all about equally far apart; which row is where."""
    centers = rng.normal(size=(n_groups, d))
    sizes = np.arange(2, n_groups + 2)
    group = rng.permutation(np.resize(np.repeat(np.arange(n_groups), sizes), n))
    return centers[group] + 0.3 * rng.normal(size=(n, d)), group


def test_agrees_with_the_definition_where_planes_start_off_the_mean(monkeypatch):
    started = []
    settle = DenseSample.settle
    monkeypatch.setattr(DenseSample, "settle", lambda *a: started.append(a[2]) or settle(*a))
    draw_directions(monkeypatch)
    X, _ = make_many_groups(140, 60, 12, np.random.default_rng(3))
    counts = np.random.default_rng(4).integers(1, 4, len(X)).astype(float)
    assert_as_defined(X, None, 0.01, 0)
    assert_as_defined(X, counts, 0.01, 1)
    assert sum(start > 0.0 for start in started) >= 5


@pytest.mark.parametrize("sparse", [False, True])
def test_one_of_many_groups_is_split_off_whole(sparse):
    """Halves of many groups are all about as good: which is found would hang on single rows."""
    X, group = make_many_groups(1200, 80, 20, np.random.default_rng(5))
    for seed in range(5):
        model = HierarchicalKMedian(6, random_state=seed).fit(csr_array(X) if sparse else X)
        sizes = np.bincount(model.labels_)
        for label in np.argsort(sizes)[:-1]:  # the largest cluster holds the groups that are left
            inside = np.unique(group[model.labels_ == label])
            assert inside.size == 1
            assert (group == inside[0]).sum() == sizes[label]


def test_samples_are_the_distinct_members_with_the_smallest_keys(monkeypatch):
    sample_few(monkeypatch)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 2))[rng.integers(400, size=900)]
    weight = rng.integers(1, 4, size=900).astype(float)
    propose, seen = Proposer.propose, []

    def recorded(proposer, members, part, pool):
        seen.append((members, pool))
        return propose(proposer, members, part, pool)

    monkeypatch.setattr(Proposer, "propose", recorded)
    table = collect_table(X, weight, False, 0)
    choose_means(table, 0.01, 60, 0)
    assert len(seen) == 119
    for members, pool in seen:
        keys = np.unique(table.key[members])[:12]
        np.testing.assert_array_equal(table.key[pool.members[:12]], keys)
        total = [table.weight[members][table.key[members] == key].sum() for key in keys]
        np.testing.assert_array_equal(pool.weight[:12], total)


def first_draw(monkeypatch, X, spherical, seed):
    """Keys of the candidates for the first split, and of the one drawn.

    Without a preference (epsilon = inf) only keys decide over the draw, no mean and no cost.
    """
    draw, seen = Proposer.start_plane, []

    def recorded(proposer, part, sample, everybody):
        drawn, plane = draw(proposer, part, sample, everybody)
        keys = proposer.table.key[sample.members].tolist()
        seen.append((keys, keys[drawn]))
        return drawn, plane

    with monkeypatch.context() as patched:
        patched.setattr(Proposer, "start_plane", recorded)
        fit(X, epsilon=math.inf, k=2, seed=seed, spherical=spherical)
    return seen[0]


@pytest.mark.parametrize("spherical", [False, True])
@pytest.mark.parametrize("scale", [1.0, 1e-160, 1e150, 1e-305, 1e305])
def test_a_row_outside_the_sample_changes_no_key_and_no_draw(scale, spherical, monkeypatch):
    """Not even the single largest one, whose exponent decides how extreme rows are scaled."""
    sample_few(monkeypatch, sample=64, scored=64, candidates=16)
    X = np.random.default_rng(2).uniform(-0.9, 0.9, size=(3000, 3))
    X[7] = 37.0, -21.0, 5.0
    X *= scale
    drawn = set()
    for seed in range(12):
        key = collect_table(X, None, spherical, seed).key
        outside = np.argsort(key)[64:]
        if 7 not in outside:
            continue
        whole = first_draw(monkeypatch, X, spherical, seed)
        drawn.add(whole[0].index(whole[1]))
        for removed in (7, *outside[:3]):
            less = np.delete(X, removed, axis=0)
            left = collect_table(less, None, spherical, seed)
            np.testing.assert_array_equal(left.key, np.delete(key, removed))
            assert first_draw(monkeypatch, less, spherical, seed) == whole
    assert len(drawn) > 3


@pytest.mark.parametrize("spherical", [False, True])
def test_order_of_rows_and_threads_change_no_bit(spherical, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20_000, 3)) + 4.0 * rng.normal(size=(9, 3))[rng.integers(9, size=20_000)]
    X[:3000] = np.round(X[:3000])  # repeats
    X += 0.25
    order = rng.permutation(len(X))
    whole, mixed = fit(X, k=60, spherical=spherical), fit(X[order], k=60, spherical=spherical)
    np.testing.assert_array_equal(whole.costs, mixed.costs)
    np.testing.assert_array_equal(whole.planes, mixed.planes)
    np.testing.assert_array_equal(whole.label[order], mixed.label)
    np.testing.assert_array_equal(X[whole.center], X[order][mixed.center])
    for threaded, cores in ((1 << 10, 2), (1 << 10, 7), (1 << 40, 3)):
        monkeypatch.setattr(proposals, "_THREADED", threaded)
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        assert_equal(fit(X, k=60, spherical=spherical), whole)


@pytest.mark.parametrize("spherical", [False, True])
def test_integer_weights_equal_repeated_rows(spherical, monkeypatch):
    rng = np.random.default_rng(4)
    X, weight = rng.normal(size=(3000, 4)), rng.integers(1, 6, size=3000)
    repeated = np.repeat(np.arange(3000), weight)
    sample_few(monkeypatch, sample=200, scored=100, candidates=16)
    once = fit(X, weight.astype(float), k=80, spherical=spherical)
    often = fit(X[repeated], k=80, spherical=spherical)
    for name in ("parent", "planes", "costs"):
        np.testing.assert_array_equal(getattr(once, name), getattr(often, name))
    np.testing.assert_array_equal(once.label[repeated], often.label)
    np.testing.assert_array_equal(X[once.center], X[repeated][often.center])


def test_single_precision_gives_what_the_same_values_give():
    X = np.random.default_rng(5).normal(size=(2000, 20)).astype(np.float32)
    narrow, wide = fit(X, k=40), fit(X.astype(np.float64), k=40)
    assert_equal(narrow, wide)
    assert collect_table(X, None, False, 0).rows.dtype == np.float32


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_predict_replays_the_planes(metric):
    rng = np.random.default_rng(6)
    X, new = rng.normal(size=(500, 4)), 3.0 * rng.normal(size=(200, 4))
    model = HierarchicalKMedian(30, metric=metric).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    splits = fit(X, k=30, epsilon=model.epsilon_, spherical=metric == "cosine")
    rows = new / np.linalg.norm(new, axis=1)[:, None] if metric == "cosine" else new
    label = np.zeros(len(new), int)
    for t in range(1, 30):
        far = (rows - splits.planes[t][0]) @ splits.planes[t][1] > 0.0
        label[far & (label == splits.parent[t])] = t
    np.testing.assert_array_equal(model.predict(new), label)
    assert np.unique(label).size > 5


@pytest.mark.parametrize("d", [2, 3, 10, 100, 300, 2000])
@pytest.mark.parametrize("small", [200, 40, 10])
def test_finds_planted_groups_in_any_dimension(d, small):
    """Two groups, far apart for the number of columns: balanced, and one of 400 rows in ten."""
    n = 400
    for seed in range(3):
        rng = np.random.default_rng([d, small, seed])
        truth = np.arange(n) < small
        apart = 6.0 / math.sqrt(d) if d < 36 else 1.0
        X = rng.normal(size=(n, d)) + apart * truth[:, None]
        labels = HierarchicalKMedian(2, random_state=seed).fit(X).labels_
        wrong = min((labels == truth).sum(), (labels != truth).sum())
        if small == 200 or (d >= 100 and small == 40):
            assert wrong <= 0.02 * n
        assert np.bincount(labels).min() > 1  # no single row is peeled off


def test_costs_are_distances_to_the_means_of_the_clusters():
    X = np.random.default_rng(6).normal(size=(300, 2))
    hierarchy = HierarchicalKMedian(1, max_centers=40).fit(X).hierarchy_
    for k in (1, 2, 5, 40):
        labels = hierarchy.cut(k)
        parts = (X[labels == j] for j in range(k))
        cost = sum(np.linalg.norm(part - part.mean(axis=0), axis=1).sum() for part in parts)
        assert hierarchy.costs[k - 1] == pytest.approx(cost, rel=1e-8)


def test_cosine_costs_are_distances_to_the_directions_of_the_means():
    X = np.random.default_rng(7).normal(size=(300, 5))
    hierarchy = HierarchicalKMedian(1, max_centers=40, metric="cosine").fit(X).hierarchy_
    unit = X / np.linalg.norm(X, axis=1)[:, None]
    for k in (1, 2, 5, 40):
        labels = hierarchy.cut(k)
        means_of = [unit[labels == j].mean(axis=0) for j in range(k)]
        cost = sum(
            (1.0 - unit[labels == j] @ (m / np.linalg.norm(m))).sum()
            for j, m in enumerate(means_of)
        )
        assert hierarchy.costs[k - 1] == pytest.approx(cost, rel=1e-8)


def test_costs_never_rise_where_means_raise_the_sum_of_distances():
    # The mean of all is at the many rows; those of the two parts are not.
    X = np.concatenate((np.zeros(20), [-1.0, 1.0, -1.1, 1.1]))[:, None]
    hierarchy = HierarchicalKMedian(1, epsilon=math.inf).fit(X).hierarchy_
    assert (np.diff(hierarchy.costs) <= 0.0).all()
    assert hierarchy.costs[4] == 0.0


EXTREME = {
    "one far outlier": np.append(np.random.default_rng(8).normal(size=(40, 2)), [[1e300, 0]], 0),
    "smallest doubles": np.arange(9.0)[:, None] * 5e-324,
    "smallest doubles and 1": np.append(np.arange(9.0)[:, None] * 5e-324, [[1.0]], 0),
    "denormal": np.random.default_rng(9).normal(size=(40, 2)) * 1e-310,
    "largest": np.random.default_rng(9).normal(size=(40, 2)) * 1e306,
    "neighboring doubles": 1.0 + np.arange(6.0)[:, None] * 2.0**-52,
    "two values": np.repeat([[0.1, 7.0], [0.1, 7.0 + 2.0**-50]], [5, 9], axis=0),
}


@pytest.mark.parametrize("name", EXTREME)
def test_extreme_values_are_told_apart(name):
    X = EXTREME[name]
    hierarchy = HierarchicalKMedian(1, max_centers="all").fit(X).hierarchy_
    k = np.unique(X, axis=0).shape[0]
    labels = hierarchy.cut(k)
    assert len({(label, *row) for label, row in zip(labels, X.tolist(), strict=True)}) == k
    np.testing.assert_array_equal(hierarchy.predict(X, k), labels)
    assert hierarchy.costs[k - 1] == 0.0
    assert (hierarchy.costs[: k - 1] > 0.0).all()
    np.testing.assert_array_equal(hierarchy.finest[hierarchy.center_indices], np.arange(len(X)))


def test_after_an_outlier_the_others_are_split_as_without_it():
    X = np.random.default_rng(10).normal(size=(60, 2))
    alone = HierarchicalKMedian(5, epsilon=0.0).fit(X)
    beside = HierarchicalKMedian(6, epsilon=0.0).fit(np.append(X, [[1e300, 0.0]], axis=0))
    assert k_median_cost(X, beside.labels_[:-1]) <= 1.1 * k_median_cost(X, alone.labels_)
    assert (beside.labels_[:-1] != beside.labels_[-1]).all()


def test_saved_hierarchy_gives_the_same_answers(tmp_path):
    rng = np.random.default_rng(9)
    X, new = rng.normal(size=(60, 3)), rng.normal(size=(500, 3))
    for metric in ("euclidean", "cosine"):
        model = HierarchicalKMedian(1, metric=metric).fit(X)
        model.save(tmp_path / "means.holdfast")
        hierarchy, loaded = model.hierarchy_, load(tmp_path / "means.holdfast").hierarchy_
        for k in (2, 7, 60):
            np.testing.assert_array_equal(loaded.predict(new, k), hierarchy.predict(new, k))
            np.testing.assert_array_equal(loaded.cut(k), hierarchy.cut(k))


def test_progress_counts_splits():
    heard = []
    X = np.random.default_rng(11).normal(size=(100, 2))
    table = collect_table(X, None, False, 0)
    choose_means(table, 0.01, 10, 0, lambda what, done, total: heard.append((done, total)))
    assert heard == [(float(done), 9) for done in range(10)]


def test_the_first_clusters_are_found_as_among_all():
    X = np.random.default_rng(4).standard_normal((60, 3))
    hierarchy = HierarchicalKMedian(1).fit(X).hierarchy_
    for k in (1, 2, 7, hierarchy.n_centers):
        assert np.array_equal(hierarchy.locator.first(k).finest(X), hierarchy.predict(X, k))


def look_again(monkeypatch, X, weight, spherical, doubts):
    """Splits of a fit, and for each plane that moved how many members were looked at."""
    seen, split = [], proposals.split_members

    def counted(*given):
        near, far, margin, side = given[9], given[10], given[15], given[14]
        if near >= 0:
            doubtful = (margin >= -near) & (margin <= far) | ((margin > 0) != side)
            seen.append((margin.size, int(doubtful.sum())))
        return split(*given)

    with monkeypatch.context() as patched:
        patched.setattr(proposals, "split_members", counted)
        if doubts is not None:
            patched.setattr(Margins, "doubts", lambda margins, plane: doubts)
        return fit(X, weight, k=30, spherical=spherical), seen


@pytest.mark.parametrize("spherical", [False, True])
@pytest.mark.parametrize("family", ["normal", "repeats", "offset", "huge", "tiny"])
def test_members_that_cannot_change_sides_are_not_looked_at(family, spherical, monkeypatch):
    sample_few(monkeypatch, sample=200)
    X = make_rows(family, 2, n=3000)
    for weight in (None, 1.0 + np.arange(3000.0) % 3):
        found, seen = look_again(monkeypatch, X, weight, spherical, None)
        assert_equal(found, look_again(monkeypatch, X, weight, spherical, (-1, -1))[0])
        members, looked_at = np.sum(seen, axis=0)
        assert 0 < looked_at < 0.6 * members


@pytest.mark.parametrize("d", [1, 3, 40])
@pytest.mark.parametrize("scale", [0, -600, 600])
def test_margins_leave_no_doubt_where_there_is_some(d, scale):
    """Exact: beyond the doubtful margins, every row is on the side of the new plane it was on."""
    rng = np.random.default_rng([d, scale + 600])
    beyond = 0
    for angle in (0.0, 2.0**-50, 2.0**-20, 0.001, 0.02):
        X = np.ldexp(rng.integers(-(2**20), 2**20, size=(400, d)) / 2.0**20, scale)
        reach = math.ldexp(math.sqrt(d) * 1.01, scale)
        plane = np.array([np.ldexp(rng.random(d) / 8, scale), rng.random(d) - 0.5])
        moved = plane + [np.ldexp(angle * rng.random(d), scale), angle * rng.random(d)]
        margins = Margins(len(X), np.zeros(d), reach)
        margins.start(plane)
        along = ((X - plane[0]) * plane[1]).sum(axis=1)
        margin = np.minimum(np.abs(along) * margins.rate, 126.0).astype(int) + 1
        near, far = margins.doubts(moved)
        point, normal = ([Fraction(x) for x in line] for line in moved)
        for i in range(len(X)):
            if margin[i] > (far if along[i] > 0.0 else near) >= 0:
                place = [Fraction(x) for x in X[i]]
                exact = sum((x - p) * n for x, p, n in zip(place, point, normal, strict=True))
                assert (exact > 0) == (along[i] > 0.0)
                beyond += 1
    assert beyond > 500
