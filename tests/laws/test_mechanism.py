"""Law 3: the centers follow Algorithm 2 of [LHBP25] exactly.

The tree stays fixed: one grid, and only the keys of its nodes and rows and of the rounds come from
other seeds. Every statistic has level ALPHA = 1e-4 under the exact law; there are about 100 of them,
so that a correct sampler with fresh keys fails the file at most once in 100 times (Bonferroni).
Seeds are fixed, so that it fails always or never.

Two views of the same law:

- *The first centers*: counts of (c_1, c_2, c_3) over seeds against the enumerated law, by
  chi-square. Sequences of similar probability are pooled into at most 40 bins.
- *Every round*: given its earlier centers, each round's choice has a known law. The randomised
  probability-integral transform of the choice is then uniform and independent of all earlier
  rounds, whichever order of the candidates it is taken in; and the choice's excess cost, minus its
  mean under the law, sums to a martingale whose ratio to its standard deviation is standard normal
  for thousands of rounds. This reaches the late rounds, where the samplers hand over.

Both reject a temperature that is 10% too high, at the same level and sample size.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from oracles.naive_tree import (
    ROOT,
    NaiveTree,
    costs_with_each,
    law_of_first,
    law_of_next,
    naive_tree,
)
from oracles.stages import plant
from scipy import stats

from holdfast._machine.hash import combine_arrays, purpose_key, uniform
from holdfast.centers import choose_centers
from holdfast.grid import Grid, collect_cells
from holdfast.tree import build_tree

ALPHA = 1e-4
WRONG = 1.1


@dataclass(frozen=True)
class Regime:
    """Rows on one tree, an epsilon, and how much to draw."""

    X: np.ndarray
    weight: np.ndarray | None
    epsilon: float
    runs: int
    rounds: int
    grid_seed: int = 0

    def grid(self) -> Grid:
        return plant(self.X, self.weight, seed=self.grid_seed).grid

    def naive(self) -> NaiveTree:
        return naive_tree(self.X, self.weight, self.grid())


def draw(regime: Regime, naive: NaiveTree) -> tuple[np.ndarray, np.ndarray]:
    """Centers, as locations, of every run: at the regime's temperature and at a wrong one."""
    grid = regime.grid()
    drawn = np.empty((2, regime.runs, regime.rounds), dtype=np.int64)
    for seed in range(regime.runs):
        cells = collect_cells(regime.X, regime.weight, grid, seed)
        tree = build_tree(cells, grid, seed)
        for i, epsilon in enumerate((regime.epsilon, regime.epsilon * WRONG)):
            chosen = choose_centers(tree, epsilon, regime.rounds, seed)
            drawn[i, seed] = naive.location[cells.first_rows[chosen.leaf]]
    return drawn[0], drawn[1]


def cauchy_rows(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_cauchy(size=(n, 2))


def normal_rows(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 2))


def nested_rows(n: int, seed: int) -> np.ndarray:
    """Every scale from 1 to 2^-12: gains of all sizes in all rounds."""
    rng = np.random.default_rng(seed)
    return 2.0 ** -rng.integers(0, 12, size=(n, 1)).astype(float) * rng.normal(size=(n, 2))


def with_repeats(X: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Twice as many rows, repeated and weighted."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, len(X), 2 * len(X))
    return X[rows], rng.integers(1, 4, rows.size).astype(float)


# ---------------------------------------------------------------------------------- first centers

# Rows and grids that show a wrong temperature early, found by trying 200 seeds of each kind.
FIRST = {
    # Gains far above the temperature: the heavy race alone.
    "cool": Regime(normal_rows(7, 127), None, 0.3, 5500, 3, grid_seed=127),
    "paper": Regime(cauchy_rows(8, 145), None, 1.0, 4000, 3, grid_seed=145),
    "weights": Regime(*with_repeats(cauchy_rows(7, 141), 141), 3.0, 3500, 3, grid_seed=141),
    # Most rows on clocks, some still in the heavy race.
    "warm": Regime(cauchy_rows(30, 1), None, 10.0, 4500, 2, grid_seed=1),
}


@dataclass(frozen=True)
class Bins:
    """Sequences pooled in order of probability into at most 40 bins of about equal probability."""

    number: dict[tuple[int, ...], int]
    probability: np.ndarray

    @classmethod
    def of(cls, law: dict[tuple[int, ...], float]) -> "Bins":
        sequences = sorted(law, key=lambda s: (law[s], s))
        reached = np.cumsum([law[s] for s in sequences])
        at_most_40 = np.minimum(np.floor(reached * 40 * (1 - 1e-12)), 39)
        _, number = np.unique(at_most_40, return_inverse=True)
        probability = np.bincount(number, weights=[law[s] for s in sequences])
        return cls(dict(zip(sequences, number.tolist(), strict=True)), probability)

    def p_value(self, drawn: np.ndarray) -> float:
        bins = [self.number[tuple(sequence)] for sequence in drawn.tolist()]
        counts = np.bincount(bins, minlength=self.probability.size)
        return float(stats.chisquare(counts, self.probability * len(drawn)).pvalue)

    def pool(self, law: dict[tuple[int, ...], float]) -> np.ndarray:
        """Probability of each bin under another law."""
        sequences = list(law)
        number = [self.number[s] for s in sequences]
        return np.bincount(number, weights=[law[s] for s in sequences])


@pytest.mark.parametrize("name", FIRST)
def test_first_centers_follow_the_enumerated_law(name):
    regime = FIRST[name]
    naive = regime.naive()
    bins = Bins.of(law_of_first(naive, regime.epsilon, regime.rounds))
    assert bins.probability.size >= 4
    assert bins.probability.min() * regime.runs >= 10.0  # for chi-square to be one
    right, wrong = draw(regime, naive)
    assert bins.p_value(right) > ALPHA
    assert bins.p_value(wrong) < ALPHA


@pytest.mark.parametrize("name", FIRST)
def test_sample_is_large_enough_to_see_ten_percent(name):
    """The power of the chi-square test, from both laws: why the wrong draws above must fail."""
    regime = FIRST[name]
    naive = regime.naive()
    bins = Bins.of(law_of_first(naive, regime.epsilon, regime.rounds))
    wrong = bins.pool(law_of_first(naive, regime.epsilon * WRONG, regime.rounds))
    distance = ((wrong - bins.probability) ** 2 / bins.probability).sum() * regime.runs
    freedom = bins.probability.size - 1
    power = stats.ncx2.sf(stats.chi2.isf(ALPHA, freedom), freedom, distance)
    print(f"{name}: {freedom} degrees of freedom, noncentrality {distance:.0f}, power {power:.5f}")
    assert power > 0.999


def test_infinite_epsilon_draws_by_weight_alone():
    X, weight = with_repeats(nested_rows(6, 1), 3)
    regime = Regime(X, weight, math.inf, 3000, 3)
    naive = regime.naive()
    law = law_of_first(naive, regime.epsilon, regime.rounds)
    first, second, third = next(iter(law))
    w = naive.weight.astype(float)
    by_hand = w[first] / w.sum() * w[second] / (w.sum() - w[first])
    by_hand *= w[third] / (w.sum() - w[first] - w[second])
    assert law[first, second, third] == pytest.approx(by_hand)
    assert Bins.of(law).p_value(draw(regime, naive)[0]) > ALPHA


def test_epsilon_near_zero_is_greedy():
    """Below any difference of gains the best one wins; rows without ties."""
    for seed in range(30):
        X = np.random.default_rng(seed).normal(size=(12, 3))
        weight = 1.0 + np.arange(12) * 0.137
        tree = plant(X, weight, seed=seed).tree
        cold = choose_centers(tree, 1e-9, 12, seed)
        greedy = choose_centers(tree, 0.0, 12, seed)
        np.testing.assert_array_equal(cold.leaf, greedy.leaf)
        np.testing.assert_allclose(cold.cost, greedy.cost, rtol=1e-12, atol=0.0)


def test_quadrature_of_the_law_is_exact_to_a_millionth():
    for regime in FIRST.values():
        naive = regime.naive()
        for centers in ([], [0], [0, 3]):
            law = law_of_next(naive, centers, regime.epsilon)
            finer = law_of_next(naive, centers, regime.epsilon, nodes=120)
            assert law.sum() == pytest.approx(1.0)
            np.testing.assert_allclose(law, finer, atol=1e-6, rtol=0.0)


# ---------------------------------------------------------------------------------- every round

EVERY = {
    "cold": Regime(normal_rows(30, 3), None, 0.1, 1500, 30),
    "paper": Regime(normal_rows(30, 4), None, 1.0, 500, 30),
    "warm": Regime(nested_rows(40, 3), None, 10.0, 600, 40),
    "hot": Regime(nested_rows(40, 4), None, 50.0, 2000, 40),
    "weights": Regime(*with_repeats(nested_rows(40, 5), 6), 20.0, 1400, 0),
}


def every(name: str) -> Regime:
    """The regime, with as many rounds as there are locations."""
    regime = EVERY[name]
    size = regime.naive().size
    return Regime(regime.X, regime.weight, regime.epsilon, regime.runs, size)


@dataclass(frozen=True)
class Replay:
    """What the law said about every round of every run, and what was chosen.

    Arrays have a row per round: `law` and `excess` (of the cost over the best one, in units of the
    lowest temperature) a column per location. The last round has no choice and is left out.
    """

    chosen: np.ndarray
    law: np.ndarray
    excess: np.ndarray
    round: np.ndarray

    def transform(self, order: np.ndarray, seed: int) -> np.ndarray:
        """Randomised probability-integral transform; `order` sorts the candidates."""
        rank = np.argsort(order, axis=1, kind="stable")
        reached = np.cumsum(np.take_along_axis(self.law, rank, axis=1), axis=1)
        place = np.argmax(rank == self.chosen[:, None], axis=1)
        rows = np.arange(self.chosen.size)
        probability = self.law[rows, self.chosen]
        return reached[rows, place] - probability * np.random.default_rng(seed).random(rows.size)

    def score(self, factor: np.ndarray | float = 1.0) -> float:
        """Standardised sum of excess minus expected excess: standard normal."""
        mean = (self.law * self.excess).sum(axis=1)
        variance = (self.law * (self.excess - mean[:, None]) ** 2).sum(axis=1)
        rows = np.arange(self.chosen.size)
        surprise = (self.excess[rows, self.chosen] - mean) * factor
        return float(surprise.sum() / math.sqrt((variance * factor**2).sum()))


def replay(
    regime: Regime, naive: NaiveTree, drawn: np.ndarray, temperatures: np.ndarray | None = None
) -> Replay:
    """Law of every round given the earlier centers.

    `temperatures`, of shape (runs, rounds), are the rounds' own lambdas in units of their lowest;
    without them the law is the average over lambda. Doubles: distances are powers of two, and few.
    """
    distance, weight = naive.distance.astype(float), naive.weight.astype(float)
    points, quadrature = np.polynomial.legendre.leggauss(16)
    averaging, averages = 1.5 + points / 2.0, quadrature / 2.0
    rate = regime.epsilon / (6.0 * math.log(max(naive.total_weight, 2.0)))
    size, runs = naive.size, len(drawn)
    laws, excesses = np.zeros((2, runs, size - 1, size))
    nearest = np.full((runs, size), float(ROOT))
    free = np.tile(weight, (runs, 1))
    for t in range(size - 1):
        costs = np.stack([np.minimum(nearest, column) @ weight for column in distance.T], axis=1)
        best = np.where(free > 0.0, costs, np.inf).min(axis=1, keepdims=True)
        excess = np.where(free > 0.0, costs - best, 0.0) / (rate * best)
        if temperatures is None:
            lambdas = [
                (np.full((runs, 1), at), share)
                for at, share in zip(averaging, averages, strict=True)
            ]
        else:
            lambdas = [(temperatures[:, t, None], 1.0)]
        for at, share in lambdas:
            law = free * np.exp(-excess / at)
            laws[:, t] += share * law / law.sum(axis=1, keepdims=True)
        excesses[:, t] = excess
        free[np.arange(runs), drawn[:, t]] = 0.0
        nearest = np.minimum(nearest, distance[drawn[:, t]])
    rounds = np.tile(np.arange(size - 1), runs)
    flat = (runs * (size - 1), size)
    return Replay(drawn[:, :-1].ravel(), laws.reshape(flat), excesses.reshape(flat), rounds)


@dataclass(frozen=True)
class Drawn:
    """A regime with its draws and their replay."""

    regime: Regime
    naive: NaiveTree
    centers: np.ndarray
    wrong: np.ndarray
    replay: Replay


@pytest.fixture(scope="module", params=EVERY)
def drawn(request: pytest.FixtureRequest) -> Drawn:
    regime = every(request.param)
    naive = regime.naive()
    centers, wrong = draw(regime, naive)
    return Drawn(regime, naive, centers, wrong, replay(regime, naive, centers))


def p_uniform(values: np.ndarray, bins: int = 20) -> float:
    counts, _ = np.histogram(values, bins=bins, range=(0.0, 1.0))
    assert counts.sum() == values.size
    return float(stats.chisquare(counts).pvalue)


def test_replay_is_the_oracles_law(drawn: Drawn):
    for run, t in [(0, 0), (1, 3), (2, drawn.naive.size - 4), (3, drawn.naive.size - 2)]:
        centers = drawn.centers[run, :t].tolist()
        exact = law_of_next(drawn.naive, centers, drawn.regime.epsilon)
        row = run * (drawn.naive.size - 1) + t
        np.testing.assert_allclose(drawn.replay.law[row], exact, atol=1e-6, rtol=0.0)


@pytest.mark.parametrize("order", ["excess", "weight", "place"])
def test_every_round_follows_its_law(drawn: Drawn, order: str):
    replay = drawn.replay
    by = {
        "excess": replay.excess,
        "weight": np.broadcast_to(drawn.naive.weight.astype(float), replay.law.shape),
        "place": np.broadcast_to(np.arange(drawn.naive.size), replay.law.shape),
    }
    transformed = replay.transform(by[order], seed=1)
    assert p_uniform(transformed) > ALPHA


@pytest.mark.parametrize("stage", ["first", "early", "middle", "late", "last"])
def test_rounds_of_every_stage_follow_their_law(drawn: Drawn, stage: str):
    """From the first round to the hand-over and the last rounds, each stage by itself."""
    last = drawn.naive.size - 2  # the last round with a choice
    first, stop = {
        "first": (0, 1),
        "early": (1, last // 3),
        "middle": (last // 3, 2 * last // 3),
        "late": (2 * last // 3, last - 3),
        "last": (last - 3, last + 1),
    }[stage]
    replay = drawn.replay
    here = (replay.round >= first) & (replay.round < stop)
    assert p_uniform(replay.transform(replay.excess, seed=2)[here]) > ALPHA


def test_rounds_are_independent_of_the_ones_before(drawn: Drawn):
    """Clocks that run on from round to round must not remember what happened."""
    replay = drawn.replay
    for order in (replay.excess, np.broadcast_to(np.arange(drawn.naive.size), replay.law.shape)):
        transformed = replay.transform(order, seed=3).reshape(drawn.regime.runs, -1)
        for lag in (1, 2):
            before, after = transformed[:, :-lag].ravel(), transformed[:, lag:].ravel()
            cell = np.floor(before * 6) * 6 + np.floor(after * 6)
            assert p_uniform((cell + 0.5) / 36, bins=36) > ALPHA


def test_ten_percent_wrong_temperature_is_rejected(drawn: Drawn):
    critical = stats.norm.isf(ALPHA / 2)
    assert abs(drawn.replay.score()) < critical
    wrong = replay(drawn.regime, drawn.naive, drawn.wrong)
    assert abs(wrong.score()) > critical


def test_many_rows_follow_their_law():
    """250 rows, so that queues and heaps grow; no temperature but the right one is tried here."""
    X = np.random.default_rng(9).standard_cauchy(size=(250, 2))
    regime = Regime(X, None, 3.0, 40, 250)
    naive = regime.naive()
    many = replay(regime, naive, draw(regime, naive)[0])
    for order in (many.excess, np.broadcast_to(np.arange(naive.size), many.law.shape)):
        assert p_uniform(many.transform(order, seed=6)) > ALPHA
    assert abs(many.score()) < stats.norm.isf(ALPHA / 2)


# ---------------------------------------------------------------------------------- lambda


def keyed_uniforms(seeds: int, rounds: int) -> np.ndarray:
    """The numbers that place lambda in its interval, by seed and round."""
    keys = np.array([purpose_key(seed, "temperature") for seed in range(seeds)])
    of_round = combine_arrays(keys[:, None], np.arange(rounds, dtype=np.uint64)[None, :])
    elementwise = getattr(uniform, "py_func", uniform)
    values: np.ndarray = elementwise(of_round)
    return values


def test_lambda_is_uniform_and_fresh_in_every_round():
    """20,000 numbers; pairs of neighbouring rounds, and of neighbouring seeds, on a 10 x 10 table."""
    numbers = keyed_uniforms(500, 40)
    assert numbers.min() > 0.0
    assert numbers.max() < 1.0
    assert stats.kstest(numbers.ravel(), "uniform").pvalue > ALPHA
    for before, after in [
        (numbers[:, :-1], numbers[:, 1:]),
        (numbers[:-1], numbers[1:]),
        (numbers[:, :-7], numbers[:, 7:]),
    ]:
        cell = np.floor(before * 10) * 10 + np.floor(after * 10)
        assert p_uniform((cell.ravel() + 0.5) / 100, bins=100) > ALPHA


def test_each_round_uses_its_own_lambda(drawn: Drawn):
    """Given lambda, the choice follows the law at lambda, in both halves of its interval.

    A lambda that ignored its number would be too low where the number is large and too high where
    it is small: the score weighted by the number sees it. So it does when the numbers are shuffled.
    """
    critical = stats.norm.isf(ALPHA / 2)
    regime, naive = drawn.regime, drawn.naive
    numbers = keyed_uniforms(regime.runs, naive.size - 1)
    given = replay(regime, naive, drawn.centers, 1.0 + numbers)
    assert p_uniform(given.transform(given.excess, seed=4)) > ALPHA
    for half in (numbers.ravel() < 0.5, numbers.ravel() >= 0.5):
        assert p_uniform(given.transform(given.excess, seed=5)[half]) > ALPHA
    assert abs(given.score(numbers.ravel() - 0.5)) < critical
    some = regime.runs // 3
    shuffled = np.random.default_rng(0).permuted(numbers[:some])
    other = replay(regime, naive, drawn.centers[:some], 1.0 + shuffled)
    assert abs(other.score(shuffled.ravel() - 0.5)) > critical


# ---------------------------------------------------------------------------------- utility


def test_each_round_is_nearly_as_good_as_the_best_choice(drawn: Drawn):
    """[LHBP25], Lemma 3.8: a cost above (1 + epsilon) times the best one, once in n^2 rounds.

    The exact law keeps the bound in every round. The draws keep it as a whole: so many failures or
    more would be seen with probability above ALPHA if each round failed with 1 / n^2.
    """
    replay = drawn.replay
    n = max(drawn.naive.total_weight, 2.0)
    # excess is in units of epsilon * best / (6 ln n)
    failing = replay.excess > 6.0 * math.log(n)
    assert (replay.law * failing).sum(axis=1).max() <= 1.0 / n**2
    rounds = replay.chosen.size
    failures = int(failing[np.arange(rounds), replay.chosen].sum())
    assert stats.binom.sf(failures - 1, rounds, 1.0 / n**2) > ALPHA


def test_excess_is_measured_against_the_best_cost(drawn: Drawn):
    """The bound above in the oracle's whole numbers, for one run."""
    naive, n = drawn.naive, max(drawn.naive.total_weight, 2.0)
    for t in range(naive.size - 1):
        costs = costs_with_each(naive, drawn.centers[0, :t].tolist())
        free = [x for x in range(naive.size) if x not in drawn.centers[0, :t]]
        best = min(costs[x] for x in free)
        too_much = {x for x in free if costs[x] > (1.0 + drawn.regime.epsilon) * best}
        assert too_much == set(np.flatnonzero(drawn.replay.excess[t] > 6.0 * math.log(n)))
