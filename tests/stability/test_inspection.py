"""Influence of rows, and clusters that are recovered, against counting by hand."""

from itertools import permutations

import numpy as np
import pytest
from stability.brute_force import clusters_of, most_matched
from stability.clusterers import ByQuantile, by_rank, by_sign

from holdfast import HierarchicalKMedian, average_sensitivity, cluster_stability, row_influence
from holdfast.clusterers import METHODS
from holdfast.stability import Add, Bootstrap, Jitter
from holdfast.stability.plan import keyed_generator, repeat_seeds

rng = np.random.RandomState(13)
ROWS = rng.standard_normal((30, 2)) + 5.0 * rng.randint(0, 3, size=(30, 1))


# Rows


@pytest.mark.parametrize("measure", ["moved", "symmetric_difference", "moved_fraction"])
def test_mean_influence_is_the_average_sensitivity(measure):
    for clusterer in (METHODS["ward"].build(), by_rank, HierarchicalKMedian(method="tree")):
        found = row_influence(clusterer, ROWS, 3, repeats=2, measure=measure, n_jobs=1)
        average = average_sensitivity(
            clusterer, ROWS, n_clusters=3, trials="all", repeats=2, measure=measure, n_jobs=1
        )
        assert found.influence.mean() == pytest.approx(average.mean.item())
        assert found.floor == average.floor.item()
        assert found.influence.min() >= found.floor


class Renaming(ByQuantile):
    """Gives clusters other names when the number of rows changes."""

    def cut(self, k):
        return (super().cut(k) + self.rows.shape[0]) % k


def test_influence_and_instability_equal_counting_by_hand():
    before = Renaming().fit(ROWS).cut(3)
    found = row_influence(Renaming(), ROWS, 3, n_jobs=1, measure="moved")
    moved = np.zeros(30)
    for gone in range(30):
        kept = np.delete(np.arange(30), gone)
        after = Renaming().fit(ROWS[kept]).cut(3)
        sets = clusters_of(before.tolist(), range(30)), clusters_of(after.tolist(), kept.tolist())
        assert found.influence[gone] == 30 - most_matched(*sets)
        overlaps = [(np.take(order, after) == before[kept]) for order in permutations(range(3))]
        overlaps.sort(key=np.sum)
        assert overlaps[-1].sum() > overlaps[-2].sum()  # one best matching
        moved[kept] += ~overlaps[-1]
    np.testing.assert_allclose(found.instability, moved / 29)
    assert moved.sum() > 0


def test_sums_of_influence_and_instability_count_the_same_moves():
    found = row_influence(by_rank, ROWS, 3, repeats=3, n_jobs=1, measure="moved")
    # Beyond the deleted row itself, each move is counted once by influence and once by instability.
    assert (found.influence - 1.0).sum() == pytest.approx((found.instability * 29).sum())
    assert found.instability.max() > 0.0


def test_rows_to_look_at_first():
    found = row_influence(by_rank, ROWS, 3, n_jobs=1)
    for by in ("influence", "instability"):
        top = found.top(5, by=by)
        values = getattr(found, by)
        assert top.size == 5
        assert (np.diff(values[top]) <= 0).all()
        assert values[top[-1]] >= np.delete(values, top).max()
    assert found.top(1000).size == 30
    assert str(found.top(1)[0]) in repr(found)
    assert f"<tr><td>{found.top(1)[0]}</td>" in found._repr_html_()
    assert found._repr_html_().count("<tr>") == 1 + 10
    calm = row_influence(by_sign, ROWS, 2, n_jobs=1)
    assert calm.top(3).tolist() == [0, 1, 2]
    assert (calm.instability == 0.0).all()
    with pytest.raises(ValueError, match="got 'size'"):
        found.top(3, by="size")
    with pytest.raises(ValueError, match="count must be"):
        found.top(0)


def test_some_deletions_give_instability_for_all_rows_and_influence_for_some(tmp_path):
    some = row_influence(by_rank, ROWS, 3, trials=10, n_jobs=1, checkpoint=tmp_path)
    whole = row_influence(by_rank, ROWS, 3, n_jobs=1)
    tried = np.isfinite(some.influence)
    assert tried.sum() == 10
    np.testing.assert_array_equal(some.influence[tried], whole.influence[tried])
    assert np.isfinite(some.instability).all()
    assert some.top(30).size == 10
    again = row_influence(by_rank, ROWS, 3, trials=10, n_jobs=1, checkpoint=tmp_path)
    np.testing.assert_array_equal(some.instability, again.instability)
    with pytest.raises(ValueError, match="there trials is 10 rows, now it is all"):
        row_influence(by_rank, ROWS, 3, n_jobs=1, checkpoint=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be"),
        ({"n_clusters": 30}, "29 of 30"),
        ({"n_clusters": 2, "trials": 0}, "trials must be"),
    ],
)
def test_bad_arguments_of_row_influence_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        row_influence(by_rank, ROWS, n_jobs=1, **arguments)


# Clusters


def test_clusters_that_are_found_again():
    loose, tight = rng.standard_normal((25, 2)), rng.standard_normal((25, 2))
    blobs = np.concatenate([loose, 40.0 + 0.01 * tight])
    found = cluster_stability(METHODS["ward"].build(), blobs, 3, trials=30, n_jobs=1)
    # The tight blob is whole, the other is torn in two, somewhere else in each trial.
    whole = int(found.labels[-1])
    assert found.sizes[whole] == 25
    assert found.jaccard[whole] == 1.0
    assert np.delete(found.jaccard, whole).max() < 0.95
    assert np.bincount(found.labels).tolist() == found.sizes.tolist()
    assert 0.3 < found.rand < 1.0
    calm = cluster_stability(
        METHODS["ward"].build(), blobs, 2, perturb=Jitter(1e-6), trials=3, n_jobs=1
    )
    assert calm.jaccard.tolist() == [1.0, 1.0]
    assert calm.rand == 1.0


def test_cluster_stability_needs_all_rows():
    with pytest.raises(ValueError, match="must not hold rows back"):
        cluster_stability(METHODS["ward"].build(), ROWS, 2, perturb=Add(1))
    with pytest.raises(ValueError, match="n_clusters must be"):
        cluster_stability(METHODS["ward"].build(), ROWS, 0)


def naive_jaccard(clusterer, X, k, trials, seed):
    """Mean over bootstrap samples of each cluster's largest Jaccard index, with sets of rows."""
    fit_seed = repeat_seeds(seed, 1)[0]
    labels = np.asarray(clusterer.fit(X, fit_seed).cut(k))
    names = sorted(set(labels.tolist()))
    found = {name: [] for name in names}
    for trial in range(trials):
        rng = keyed_generator(seed, "perturb: bootstrap", trial)
        _, drawn = Bootstrap().perturb(X, X[:0], rng)
        new_labels = np.asarray(clusterer.fit(X[drawn], fit_seed).cut(k))
        first = {row: i for i, row in reversed(list(enumerate(drawn.tolist())))}
        sets = [
            {row for row, i in first.items() if new_labels[i] == new} for new in set(new_labels)
        ]
        for name in names:
            mine = {row for row in first if labels[row] == name}
            if mine:
                found[name].append(max(len(mine & s) / len(mine | s) for s in sets))
    return [np.mean(found[name]) for name in names]


@pytest.mark.parametrize(
    "clusterer", [METHODS["ward"].build(), METHODS["kmeans"].build(n_init=1)], ids=lambda c: c.name
)
@pytest.mark.parametrize("seed", [0, 9])
def test_cluster_stability_is_the_bootstrap_jaccard_index(clusterer, seed):
    found = cluster_stability(clusterer, ROWS, 5, trials=12, random_state=seed, n_jobs=1)
    np.testing.assert_allclose(found.jaccard, naive_jaccard(clusterer, ROWS, 5, 12, seed))
    assert found.jaccard.min() < 0.9
    assert "5 clusters, jaccard=[" in repr(found)
    html = found._repr_html_()
    assert html.count("<tr>") == 6
    assert f"<td>{found.jaccard[4]:.3f}</td>" in html
