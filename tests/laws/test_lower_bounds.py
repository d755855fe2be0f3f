"""Law 4: the lower bounds of [LHBP25], Lemmas 4.1 and 4.2, and Algorithm 2 on the same rows.

All figures are Eq. 1 (symmetric difference, floor 1) at k = 2. A method is linear if the mean over
instances, fitted against n = 50 .. 300 by a line, leaves less than 2% of its variance (R^2 > 0.98)
and rises by at least MIN_SLOPE a row. Algorithm 2 (epsilon 1, random shift, same seed on both sides,
rebuilt tree, every deletion) must stay below CONSTANT at n = 50, 150 and 300.

Sample sizes. Instances vary by a tenth of the mean for the linear methods, so 20 of them do. For
Algorithm 2 a few pairs of instance and seed in a hundred move tens of rows and the others none: with
40 instances and 10 seeds each the standard error is at most MAX_ERROR at each n, and CONSTANT is
compared with the mean plus 3 of them.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from holdfast import HierarchicalKMedian, average_sensitivity
from holdfast.clusterers.linkage import LinkageClusterer
from holdfast_paper.instances import make_clnss_instance, make_growing_line
from holdfast_paper.unshifted import UnshiftedKMedian

SIZES = (50, 100, 150, 200, 250, 300)
INSTANCES = 20
DELETIONS = 25
STEADY_SIZES = (50, 150, 300)
STEADY_INSTANCES = 40
STEADY_SEEDS = 10
MIN_SLOPE = 0.25
CONSTANT = 8.0
MAX_ERROR = 1.2


@dataclass(frozen=True)
class Line:
    """Least squares against n."""

    slope: float
    r_squared: float

    def __str__(self) -> str:
        return f"slope {self.slope:.3f}, R^2 {self.r_squared:.4f}"

    @classmethod
    def through(cls, sizes: np.ndarray, values: np.ndarray) -> "Line":
        slope, start = np.polyfit(sizes, values, 1)
        left = ((values - start - slope * sizes) ** 2).sum()
        return cls(float(slope), float(1.0 - left / ((values - values.mean()) ** 2).sum()))


def group_size(n_rows: int) -> int:
    return round((n_rows - 2) / 3)


def exact_changes_on_the_line(n: int) -> np.ndarray:
    """Eq. 1 for each row of the growing line, by hand.

    With all rows the last gap is the widest: {1 .. n-1} and {n}. Without row i, 1 < i < n, it is the
    one that i leaves: {1 .. i-1} and {i+1 .. n}, which agree with the former on i rows or, matched
    the other way, on n - 1 - i. Without row 1 nothing moves; without row n, row n - 1 is alone.
    """
    i = np.arange(2, n)
    inner = 2 * (n - np.maximum(i, n - 1 - i)) - 1
    return np.array([1, *inner, 3])


@pytest.mark.parametrize("n", SIZES)
def test_single_linkage_moves_as_computed_by_hand(n: int):
    """Every deletion; the direction in space does not matter, so one will do."""
    X = make_growing_line(n, random_state=n)
    result = average_sensitivity(
        LinkageClusterer("single", only_scipy=True),
        X,
        n_clusters=2,
        trials="all",
        n_jobs=1,
        measure="symmetric_difference",
    )
    np.testing.assert_array_equal(result.values[0, 0, :, 0], exact_changes_on_the_line(n))
    print(f"single linkage, growing line, n {n}: Eq. 1 {result.mean[0, 0]:.3f}")


def test_single_linkage_grows_linearly_on_the_growing_line():
    """20 directions, 25 random deletions in each: 500 changes between 1 and n, spread n / sqrt(12).

    The standard error of a mean is then about n / 80, a fortieth of the mean.
    """
    means = []
    for n in SIZES:
        values = [
            average_sensitivity(
                LinkageClusterer("single", only_scipy=True),
                make_growing_line(n, random_state=1000 * n + instance),
                n_clusters=2,
                trials=DELETIONS,
                n_jobs=1,
                random_state=1000 * n + instance,
                measure="symmetric_difference",
            ).mean[0, 0]
            for instance in range(INSTANCES)
        ]
        means.append(np.mean(values))
    line = Line.through(np.array(SIZES), np.array(means))
    print(f"single linkage, growing line: {np.round(means, 1)}, {line}")
    assert line.r_squared > 0.98
    assert line.slope > MIN_SLOPE


def test_clnss_without_shift_grows_linearly_on_its_instance():
    """20 instances, every deletion: exact for each instance."""
    sizes, means = [], []
    for n in SIZES:
        values = []
        for number in range(INSTANCES):
            instance = make_clnss_instance(group_size(n), random_state=1000 * n + number)
            greedy = UnshiftedKMedian(1, epsilon=0, root_box=instance.root_box)
            result = average_sensitivity(
                greedy,
                instance.rows,
                n_clusters=2,
                trials="all",
                n_jobs=1,
                measure="symmetric_difference",
            )
            assert result.values.shape[-1] == 1  # deterministic: one repeat
            values.append(result.mean[0, 0])
        sizes.append(instance.rows.shape[0])
        means.append(np.mean(values))
    line = Line.through(np.array(sizes), np.array(means))
    print(f"CLNSS without shift: n {sizes}, {np.round(means, 1)}, {line}")
    assert line.r_squared > 0.98
    assert line.slope > MIN_SLOPE


def growing_line_rows(n: int, number: int) -> np.ndarray:
    return make_growing_line(n, random_state=1000 * n + number)


def clnss_rows(n: int, number: int) -> np.ndarray:
    return make_clnss_instance(group_size(n), random_state=1000 * n + number).rows


@pytest.mark.parametrize("make", [growing_line_rows, clnss_rows])
def test_algorithm_2_stays_below_a_constant(make):
    means, errors = [], []
    for n in STEADY_SIZES:
        values = [
            average_sensitivity(
                HierarchicalKMedian(1, method="tree", epsilon=1.0),
                make(n, number),
                n_clusters=2,
                trials="all",
                repeats=STEADY_SEEDS,
                n_jobs=1,
                random_state=1000 * n + number,
                measure="symmetric_difference",
            ).mean[0, 0]
            for number in range(STEADY_INSTANCES)
        ]
        means.append(np.mean(values))
        errors.append(np.std(values, ddof=1) / np.sqrt(STEADY_INSTANCES))
    print(f"Algorithm 2, {make.__name__}: {np.round(means, 2)} +- {np.round(errors, 2)}")
    assert max(errors) < MAX_ERROR
    assert (np.array(means) + 3.0 * np.array(errors)).max() < CONSTANT
