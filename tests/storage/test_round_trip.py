"""save and load: the same hierarchy, bit for bit."""

import pickle

import numpy as np
import pytest
from laws.configurations import CONFIGURATIONS
from laws.inputs import INPUTS

import holdfast
from holdfast import HierarchicalKMedian, Hierarchy
from holdfast.storage.archive import write_archive
from holdfast.storage.hierarchy import hierarchy_from_arrays, hierarchy_to_arrays

ROWS = np.random.RandomState(5).standard_normal((40, 3))
NAMES = ("tree-1", "tree-0-unshifted", "medoids-0.05", "means-0.01")
CHOSEN = [c for c in CONFIGURATIONS if c.name in NAMES]


def assert_equal(found: Hierarchy, was: Hierarchy, rows: np.ndarray) -> None:
    for name in ("center_indices", "costs", "parent", "finest"):
        a, b = getattr(found, name), getattr(was, name)
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()
        assert not a.flags.writeable
    assert found.linkage().tobytes() == was.linkage().tobytes()
    near = np.concatenate((rows, rows * 0.75 + np.roll(rows, 1, axis=0) * 0.25, -rows))
    for k in {1, (was.n_centers + 1) // 2, was.n_centers}:
        assert np.array_equal(found.cut(k), was.cut(k))
        assert np.array_equal(found.sizes(k), was.sizes(k))
        assert np.array_equal(found.predict(near, k), was.predict(near, k))


@pytest.mark.parametrize("given", INPUTS, ids=str)
@pytest.mark.parametrize("configuration", CHOSEN, ids=str)
def test_every_answer_is_the_same(configuration, given, tmp_path):
    model = configuration.estimator().fit(given.rows, sample_weight=given.weight)
    write_archive(tmp_path / "h", "hierarchy", *hierarchy_to_arrays(model.hierarchy_))
    found = holdfast.load(tmp_path / "h").hierarchy_
    assert_equal(found, model.hierarchy_, given.rows)
    write_archive(tmp_path / "again", "hierarchy", *hierarchy_to_arrays(found))
    assert (tmp_path / "again").read_bytes() == (tmp_path / "h").read_bytes()
    assert_equal(pickle.loads(pickle.dumps(found)), model.hierarchy_, given.rows)


def test_a_hierarchy_can_live_inside_another_file():
    hierarchy = HierarchicalKMedian(2, method="tree").fit(ROWS).hierarchy_
    metadata, arrays = hierarchy_to_arrays(hierarchy)
    assert_equal(hierarchy_from_arrays(metadata, arrays), hierarchy, ROWS)


def test_loading_does_not_freeze_the_arrays_it_is_given():
    hierarchy = HierarchicalKMedian(2, method="tree").fit(ROWS).hierarchy_
    metadata, arrays = hierarchy_to_arrays(hierarchy)
    arrays = {name: array.copy() for name, array in arrays.items()}
    hierarchy_from_arrays(metadata, arrays)
    assert all(array.flags.writeable for array in arrays.values())


def test_another_locator_cannot_be_saved(tmp_path):
    class Elsewhere:
        n_features = 3

        def finest(self, X):
            return np.zeros(len(X), dtype=np.int32)

    h = HierarchicalKMedian(2, method="tree").fit(ROWS).hierarchy_
    other = Hierarchy(h.center_indices, h.costs, h.parent, h.finest, Elsewhere())
    with pytest.raises(TypeError, match="Elsewhere"):
        hierarchy_to_arrays(other)
    assert list(tmp_path.iterdir()) == []
