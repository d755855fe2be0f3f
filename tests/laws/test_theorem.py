"""Law 7: Theorem 3.1 of [LHBP25] as a measurement.

The theorem: average sensitivity O(k ln n / epsilon). Measured: the excess of Eq. 1 over its floor of
1, with the same seed on both sides and a rebuilt tree (an upper bound of Eq. 2), every deletion
computed exactly, mean over DRAWS independent pairs of instance and seed. It must stay below

    CONSTANT * k * (1 + ln n / epsilon)

for all n, k and epsilon below, one constant for all of them. The mean plus 2 standard errors is
compared: one or two draws in a hundred move a large share of the rows and the others almost none, so
DRAWS = 40 leaves relative errors of up to a half, for which CONSTANT has room (the largest measured
ratio is printed). CONSTANT was set after a first look at the figures, twice what the least lucky
sample needed: at n = 450 with 60 draws the largest ratio was 1.75, and 4.18 with 2 errors. For small
epsilon this bound is wide; there the paper's own form, PAPER_CONSTANT * k ln n / epsilon, is tested.

Without the 1 the form fails for large epsilon. There the choice is nearly uniform; when the deleted
row was a center, which happens to k of n rows, its cluster of about n / k rows needs another one.
That is a change of the order of 1 that no epsilon removes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from holdfast import HierarchicalKMedian, average_sensitivity
from holdfast_paper.instances import make_clnss_instance, make_regression_rows

CONSTANT = 8.0
PAPER_CONSTANT = 1.5
DRAWS = 40
SIZES = (50, 150, 450)
KS = np.array([2, 4, 8, 16])
EPSILONS = (0.1, 1.0, 10.0, 100.0, 1000.0)


def regression_rows(n: int, number: int) -> np.ndarray:
    """The regression data of the paper's experiments."""
    return make_regression_rows(n, random_state=1000 * n + number)


def clnss_rows(n: int, number: int) -> np.ndarray:
    """Near ties between large groups: as hard as it gets for the first centers."""
    return make_clnss_instance(round((n - 2) / 3), random_state=1000 * n + number).rows


FAMILIES: dict[str, Callable[[int, int], np.ndarray]] = {
    "regression": regression_rows,
    "clnss": clnss_rows,
}


@dataclass(frozen=True)
class Excess:
    """Excess over the floor by family, epsilon, n and k, with standard errors."""

    mean: np.ndarray
    error: np.ndarray

    @property
    def form(self) -> np.ndarray:
        """k ln n / epsilon, in the shape of the others."""
        epsilon = np.array(EPSILONS)[:, None, None]
        log_n = np.log(np.array(SIZES))[:, None]
        return np.broadcast_to(KS * log_n / epsilon, self.mean.shape)


@pytest.fixture(scope="module")
def excess() -> Excess:
    shape = (len(FAMILIES), len(EPSILONS), len(SIZES), DRAWS, KS.size)
    values = np.empty(shape)
    for f, make in enumerate(FAMILIES.values()):
        for s, n in enumerate(SIZES):
            for draw in range(DRAWS):
                X = make(n, draw)
                for e, epsilon in enumerate(EPSILONS):
                    result = average_sensitivity(
                        HierarchicalKMedian(1, method="tree", epsilon=epsilon),
                        X,
                        n_clusters=KS,
                        trials="all",
                        repeats=1,
                        n_jobs=1,
                        random_state=1000 * n + draw,
                        measure="symmetric_difference",
                    )
                    values[f, e, s, draw] = result.mean[0] - result.floor[0]
    return Excess(values.mean(axis=3), values.std(axis=3, ddof=1) / math.sqrt(DRAWS))


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_measured_are_refits(family: str):
    """One draw at the smallest n, for every epsilon: a fit without each row, on its own tree."""
    X = FAMILIES[family](SIZES[0], 0)
    for epsilon in EPSILONS:
        fast, slow = (
            average_sensitivity(
                HierarchicalKMedian(1, method="tree", epsilon=epsilon),
                X,
                n_clusters=KS,
                trials="all",
                repeats=1,
                n_jobs=1,
                keep_labels=refit,
                measure="symmetric_difference",
            )
            for refit in (False, True)
        )
        np.testing.assert_array_equal(fast.values, slow.values)


def test_excess_stays_below_the_bound_for_one_constant(excess: Excess):
    bound = KS + excess.form
    for f, family in enumerate(FAMILIES):
        for e, epsilon in enumerate(EPSILONS):
            ratio = (excess.mean / bound)[f, e]
            print(
                f"{family}, epsilon {epsilon:g}: excess at n {SIZES[-1]}, k {KS.tolist()}: "
                f"{excess.mean[f, e, -1].round(2)} +- {excess.error[f, e, -1].round(2)}; "
                f"largest ratio to k (1 + ln n / epsilon) {ratio.max():.3f}"
            )
    reached = (excess.mean + 2.0 * excess.error) / bound
    print(f"largest ratio: {(excess.mean / bound).max():.2f}, with 2 errors {reached.max():.2f}")
    assert reached.max() < CONSTANT


def test_form_of_the_paper_holds_for_small_epsilon(excess: Excess):
    small = [e for e, epsilon in enumerate(EPSILONS) if epsilon <= 1.0]
    reached = ((excess.mean + 2.0 * excess.error) / excess.form)[:, small]
    print(f"epsilon <= 1: largest ratio to k ln n / epsilon, with 2 errors, {reached.max():.2f}")
    assert reached.max() < PAPER_CONSTANT


def test_form_of_the_paper_fails_for_large_epsilon(excess: Excess):
    """What its constant would have to be, epsilon by epsilon; at 1000 within 2 errors."""
    needed = (excess.mean / excess.form).max(axis=(0, 2, 3))
    for epsilon, constant in zip(EPSILONS, needed, strict=True):
        print(f"epsilon {epsilon:g}: excess up to {constant:.3g} k ln n / epsilon")
    surely = ((excess.mean - 2.0 * excess.error) / excess.form)[:, EPSILONS.index(1000.0)]
    assert surely.max() > 10.0 * CONSTANT
