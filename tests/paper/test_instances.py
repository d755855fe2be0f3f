"""The generators give what [LHBP25] describes; what clusterers make of it is in tests/laws."""

import numpy as np
import pytest

from holdfast_paper.instances import make_clnss_instance, make_growing_line, make_well_clusterable


@pytest.mark.parametrize(("n_rows", "n_features"), [(2, 1), (2, 8), (50, 8), (300, 3)])
def test_line_is_straight_and_its_gaps_grow(n_rows: int, n_features: int):
    X = make_growing_line(n_rows, n_features=n_features, random_state=3)
    assert X.shape == (n_rows, n_features)
    steps = np.diff(X, axis=0)
    gaps = 1.0 + np.arange(1, n_rows) / n_rows
    np.testing.assert_allclose(np.linalg.norm(steps, axis=1), gaps, rtol=1e-12)
    np.testing.assert_allclose(
        steps / gaps[:, None], np.tile(steps[:1] / gaps[:1], (n_rows - 1, 1))
    )


def test_line_of_one_row_is_the_origin():
    np.testing.assert_array_equal(make_growing_line(1, n_features=3), np.zeros((1, 3)))


def test_line_has_a_random_direction():
    """400 directions in R^2: each octant gets 50 on average, and 20 at the least (5 sigma)."""
    last = np.array([make_growing_line(2, n_features=2, random_state=s)[1] for s in range(400)])
    octant = np.floor(np.arctan2(last[:, 1], last[:, 0]) / (np.pi / 4.0)).astype(int) + 4
    assert np.bincount(octant, minlength=8).min() > 20


def test_clnss_groups_lie_around_corners_of_cells_in_their_box():
    instance = make_clnss_instance(100, random_state=1)
    corner, side = instance.root_box
    X = instance.rows
    assert X.shape == (302, 2)
    assert ((corner <= X) & (corner + side > X)).all()
    np.testing.assert_array_equal(X[:2], [[0.0, 0.0], [15.5, 0.0]])
    for i, middle in enumerate([(5, 5), (9, 9), (9, 3)]):
        group = X[2 + 100 * i : 102 + 100 * i]
        assert np.abs(group - middle).max() < 0.1
        assert 0.008 < (group - middle).std() < 0.012  # 200 numbers: 4 sigma
        # All four cells of side 1 around the middle are occupied.
        assert len(np.unique(np.floor(group), axis=0)) == 4


def test_clusters_are_labelled_in_order_and_spread_around_their_middles():
    """Separation itself is checked by tests/laws/test_well_clusterable.py."""
    instance = make_well_clusterable([3, 1, 40], n_features=4, random_state=2)
    assert instance.rows.shape == (44, 4)
    np.testing.assert_array_equal(np.bincount(instance.labels), [3, 1, 40])
    assert (np.diff(instance.labels) >= 0).all()
    assert 0.3 < instance.rows[instance.labels == 2].std(axis=0).mean() < 1.2


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: make_growing_line(9, random_state=seed),
        lambda seed: make_clnss_instance(4, random_state=seed).rows,
        lambda seed: make_well_clusterable([3, 4], random_state=seed).rows,
    ],
)
def test_seed_decides_everything(make):
    np.testing.assert_array_equal(make(5), make(5))
    assert (make(5) != make(6)).any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_growing_line(0), "n_rows must be an integer of at least 1; got 0"),
        (lambda: make_growing_line(3, n_features=1.5), "n_features must be an integer"),
        (lambda: make_clnss_instance(True), "group_size must be an integer"),
        (lambda: make_clnss_instance(3, noise=0.2), "noise must be from 0 to 0.1; got 0.2"),
        (lambda: make_well_clusterable([]), "at least one cluster; got none"),
        (lambda: make_well_clusterable([2, 0]), "cluster_sizes must be an integer"),
        (lambda: make_well_clusterable([2], separation=0.5), "separation must be at least 1"),
        (lambda: make_well_clusterable([2], longest_of="each"), "longest_of must be"),
    ],
)
def test_bad_arguments_are_named(make, message: str):
    with pytest.raises(ValueError, match=message):
        make()
