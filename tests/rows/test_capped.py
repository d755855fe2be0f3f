"""A capped sketch depends on the rows and the cap, never on chunks or their order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.grid.place import place_grid
from holdfast.rows.log import MAX_CELLS, Cap, CappedSketch
from holdfast.rows.sketch import Sketch


def sketch_all(cap: Cap, rows: np.ndarray) -> CappedSketch:
    empty = CappedSketch.empty(cap, rows.shape[1])
    return empty.add_rows(rows, np.ones(rows.shape[0], dtype=np.int64))


def cells_at(cap: Cap, rows: np.ndarray, exponent: int) -> dict[tuple[int, ...], list[int]]:
    """Rows of each cell of a side; the grid's numbers are tested elsewhere."""
    numbers = cap.place(rows.shape[1]).cell_numbers(rows, exponent)
    cells: dict[tuple[int, ...], list[int]] = {}
    for i, number in enumerate(numbers.tolist()):
        cells.setdefault(tuple(number), []).append(i)
    return cells


@st.composite
def clouds(draw: st.DrawFn) -> np.ndarray:
    """Rows at very different scales, some of them repeated."""
    rng = np.random.RandomState(draw(st.integers(0, 10**6)))
    n, d = draw(st.integers(2, 120)), draw(st.integers(1, 3))
    rows = rng.standard_normal((n, d)) * 10.0 ** draw(st.integers(-200, 200))
    rows[rng.random_sample(n) < 0.3] *= 1e-3
    rows[rng.random_sample(n) < 0.1] *= 1e-17
    return rows[rng.randint(n, size=n)]


caps = st.builds(Cap, st.integers(2, 60), st.integers(0, 5))


@given(clouds(), caps, st.data())
@settings(max_examples=150, deadline=None)
def test_chunks_order_and_merges_do_not_matter(rows, cap, data):
    whole = sketch_all(cap, rows)
    rng = np.random.RandomState(data.draw(st.integers(0, 10**6)))
    parts = np.array_split(rng.permutation(rows.shape[0]), data.draw(st.integers(1, 8)))
    chunked = CappedSketch.empty(cap, rows.shape[1])
    for part in parts:
        chunked = chunked.add(Sketch.from_rows(rows[part]))
        chunked = chunked.settle() if rng.randint(2) else chunked
    assert chunked == whole
    sketches = [sketch_all(cap, rows[part]) for part in parts]
    while len(sketches) > 1:
        i, j = rng.permutation(len(sketches))[:2]
        rest = [s for k, s in enumerate(sketches) if k not in (i, j)]
        sketches = [*rest, sketches[i] + sketches[j]]
    assert sketches[0] == whole
    assert whole.total_weight == rows.shape[0]
    nothing = CappedSketch.empty(cap, rows.shape[1])
    assert whole + nothing == nothing + whole == whole


@given(clouds(), caps)
@settings(max_examples=150, deadline=None)
def test_cells_are_the_smallest_that_are_few_enough(rows, cap):
    sketch = sketch_all(cap, rows)
    exact = Sketch.from_rows(rows)
    if len(exact) <= cap.max_cells:
        assert sketch.exponent is None
        assert Sketch(sketch.rows, sketch.weight) == exact
        return
    assert sketch.exponent is not None
    assert len(sketch) <= cap.max_cells
    cells = cells_at(cap, rows, sketch.exponent)
    expected = sorted((min(rows[cell].tolist()), len(cell)) for cell in cells.values())
    settled = sketch.settle()
    assert list(zip(settled.rows.tolist(), settled.weight.tolist(), strict=True)) == expected
    np.testing.assert_array_equal(sketch.lower, rows.min(axis=0))
    np.testing.assert_array_equal(sketch.upper, rows.max(axis=0))
    if sketch.exponent > sketch._least_exponent():
        assert len(cells_at(cap, rows, sketch.exponent - 1)) > cap.max_cells


def test_cap_is_a_fixed_number():
    assert MAX_CELLS == 2_097_152


def test_sketches_of_other_grids_are_not_merged():
    rows = np.arange(6.0).reshape(-1, 2)
    one = sketch_all(Cap(2, 0), rows)
    for other in (Cap(2, 1), Cap(3, 0)):
        with pytest.raises(ValueError, match="same grid and cap.*seed"):
            one + sketch_all(other, rows)
    with pytest.raises(ValueError, match="2 columns.*3 columns"):
        one + CappedSketch.empty(Cap(2, 0), 3)


def test_coarse_sketch_does_not_forget_and_says_why():
    coarse = sketch_all(Cap(4, 0), np.random.RandomState(0).standard_normal((50, 2)))
    with pytest.raises(ValueError, match=r"more than max_cells=4.*larger max_cells"):
        coarse.remove(Sketch.empty(2))


def test_cap_that_cannot_be_reached_is_an_error(monkeypatch):
    rows = np.array([[-1.0], [1.0], [2.0]])  # a grid without a shift parts signs at every side
    zero = np.zeros(1)
    monkeypatch.setattr(Cap, "place", lambda *_: place_grid(zero, zero, 0, random_shift=False))
    with pytest.raises(ValueError, match="max_cells=1 is too small"):
        sketch_all(Cap(1, 0), rows)


def test_far_rows_widen_the_cells_whenever_they_come():
    """Cells are numbered by 64 bits: a coordinate of 2^61 sides or more needs wider ones."""
    cap = Cap(20, 0)
    near = np.random.RandomState(0).standard_normal((40, 2)) * 1e-12
    far = np.array([[1e20, 0.0]])
    whole = sketch_all(cap, np.concatenate((near, far)))
    assert whole.exponent == whole._least_exponent()
    assert len(whole) < 20
    assert sketch_all(cap, near) + sketch_all(cap, far) == whole
    assert sketch_all(cap, far) + sketch_all(cap, near) == whole
    assert sketch_all(cap, near).add(Sketch.from_rows(far)) == whole
