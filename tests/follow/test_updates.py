"""Rows are added to and removed from a model whose clusters have lasting names."""

import copy

import numpy as np
import pytest
from follow.series import releases
from scipy.optimize import linear_sum_assignment

import holdfast
from holdfast import HierarchicalKMedian

LEVELS = (3, 6)


@pytest.fixture(scope="module")
def weeks():
    return releases(5, count=3)


@pytest.fixture(scope="module")
def followed(weeks):
    (ids, rows), (later, today), _ = weeks
    model = HierarchicalKMedian(6).fit(rows, ids=ids).polish(LEVELS)
    model.forget(ids=ids[model.labels_ == 1])
    assert 1 not in model.hierarchy_.names(6)
    return model.follow(today, ids=later, price=0.01)


def _names(model, k):
    named = model.hierarchy_.names(k)[model.hierarchy_.cut(k)]
    return dict(zip(model.ids_.tolist(), named.tolist(), strict=True))


def _expected(before, after, k):
    """Oracle: match labels to names by the rows that they share, one level at a time."""
    was = _names(before, k)
    labels = dict(zip(after.ids_.tolist(), after.hierarchy_.cut(k).tolist(), strict=True))
    known = sorted(set(was.values()))
    shared = np.zeros((len(known), k))
    for id in was.keys() & labels.keys():
        shared[known.index(was[id]), labels[id]] += 1
    pairs = zip(*linear_sum_assignment(-shared), strict=True)
    enough = 0.2 * shared.sum(axis=1)
    return {int(b): known[a] for a, b in pairs if shared[a, b] > enough[a]}


def test_updates_keep_names_of_clusters_that_share_most_rows(weeks, followed):
    ids, rows = weeks[2]
    after = copy.copy(followed)
    known = set(followed.ids_.tolist())
    after.forget(ids=followed.ids_[:20])
    new = np.array([id not in known for id in ids.tolist()])
    after.partial_fit(rows[new], ids=ids[new])
    again = HierarchicalKMedian(6, random_state=followed.seed_).fit(after.rows_, ids=after.ids_)
    next_name = followed.hierarchy_.naming.next_name
    assert after.hierarchy_.naming.levels == LEVELS
    assert after.hierarchy_.n_centers == LEVELS[-1]
    for k in LEVELS:
        np.testing.assert_array_equal(after.hierarchy_.cut(k), again.hierarchy_.cut(k))
        names = after.hierarchy_.names(k)
        assert np.unique(names).size == k
        matched = _expected(followed, after, k)
        assert len(matched) >= k - 2
        assert {t: names[t] for t in matched} == matched
        others = [names[t] for t in range(k) if t not in matched]
        assert all(name >= next_name for name in others)
    assert (followed.hierarchy_.names(6) != np.arange(6)).any()


def test_names_last_through_updates_saving_and_following(weeks, followed, tmp_path):
    ids, rows = weeks[2]
    after = copy.copy(followed).forget(ids=followed.ids_[::9])
    after.save(tmp_path / "model")
    loaded = holdfast.load(tmp_path / "model")
    new = np.isin(ids, followed.ids_, invert=True)
    for model in (after, loaded):
        model.partial_fit(rows[new], ids=ids[new])
    one, two = (model.follow(rows, ids=ids) for model in (after, loaded))
    for k in LEVELS:
        assert _names(after, k) == _names(loaded, k)
        assert _names(one, k) == _names(two, k)
        was, now = _names(after, k), _names(one, k)
        moved = {m["id"]: m["to"] for m in one.moves_ if m["level"] == k}
        assert all(now[id] == moved.get(id, was[id]) for id in was.keys() & now.keys())


def test_a_name_that_was_seen_to_end_is_not_given_again(followed):
    ended = followed.hierarchy_.names(6)[2]
    gone = followed.ids_[followed.labels_ == 2]
    rows = followed.rows_[followed.labels_ == 2]
    seen, unseen = copy.copy(followed).forget(ids=gone), copy.copy(followed).forget(ids=gone)
    assert ended not in seen.hierarchy_.names(6)
    assert max(seen.hierarchy_.names(6)) >= followed.hierarchy_.naming.next_name
    seen.partial_fit(rows, ids=gone)
    assert ended not in seen.hierarchy_.names(6)
    unseen.partial_fit(rows, ids=gone)  # nobody looked meanwhile: the same rows as before
    assert ended in unseen.hierarchy_.names(6)


def test_rows_without_ids_keep_the_names_of_equal_rows(weeks):
    rows = np.repeat(weeks[0][1], 2, axis=0)
    model = HierarchicalKMedian(6).fit(rows).polish(LEVELS)
    model = model.follow(np.concatenate((rows[60:], weeks[1][1][:40])), price=0.01)
    after = copy.copy(model).forget(rows[60:90]).partial_fit(weeks[2][1][:10])
    was = {tuple(row): label for row, label in zip(model.rows_, model.labels_, strict=True)}
    own = model.hierarchy_.names(6)
    agree = [
        own[was[tuple(row)]] == name
        for row, name in zip(after.rows_, after.hierarchy_.names(6)[after.labels_], strict=True)
        if tuple(row) in was
    ]
    assert np.mean(agree) > 0.7


def test_more_clusters_than_have_names_are_refused_and_a_fit_starts_again(followed, weeks):
    model = copy.copy(followed).set_params(n_clusters=9)
    with pytest.raises(ValueError, match=r"at most 6, .*; got 9\. Fit again"):
        model.forget(ids=followed.ids_[:3])
    np.testing.assert_array_equal(model.labels_, followed.labels_)
    model.set_params(n_clusters=6).forget(ids=followed.ids_[:3]).fit(weeks[0][1])
    assert model.hierarchy_.naming is None
    model.forget(weeks[0][1][:3])
    assert model.hierarchy_.naming is None


def test_fewer_rows_than_clusters_keep_what_they_can(followed):
    few = copy.copy(followed).set_params(n_clusters=2).forget(ids=followed.ids_[4:])
    assert few.hierarchy_.naming.levels == (3,)
    assert set(few.hierarchy_.names(3)) & set(followed.hierarchy_.names(3))
    fewer = copy.copy(followed).set_params(n_clusters=2).forget(ids=followed.ids_[2:])
    assert fewer.hierarchy_.naming.levels == (2,)
