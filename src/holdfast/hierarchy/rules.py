"""Rows and labels -> short rules that say which values a cluster has.

A rule is a conjunction of a few conditions on columns, such as ``income > 62000 and age <= 40``. It
grows greedily: each step adds the condition that raises the F score most, the harmonic mean of
precision (the fraction of the rule's rows that are in the cluster) and coverage (the fraction of the
cluster's rows that follow the rule). A further rule describes what the rules before it leave of the
cluster, as long as that raises the F score of all of them together. Rules describe a clustering. They
decide no label.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.hash import key_rows
from holdfast._machine.jit import Ints, Mask, Words

Rows = NDArray[np.float64]

MAX_RULES = 3
"""Rules that describe a cluster, at most."""

_HALVES = 10  # half samples that measure the stability of a rule
_LEAST_GAIN = 0.01  # in F score, for which a rule gets another condition
_LEAST_ADDED = 0.04  # in F score of all rules, for which a cluster gets another rule
_LEAST_CONTRAST = 0.7  # of a rule by other columns, relative to that of the first rule
_VALUES = 1 << 20  # in a sample
_LEAST_ROWS = 512


@dataclass(frozen=True)
class Column:
    """How a prepared column reads in the units of the table: ``value * scale``."""

    name: str
    scale: float = 1.0
    category: str | None = None  # of an indicator: conditions then read ``name = category``
    date: bool = False  # whether values are seconds since 1970: conditions then show dates


@dataclass(frozen=True)
class Condition:
    """One condition on a column: ``low < value <= high``, where either end may be infinite.

    Attributes
    ----------
    column : Column
    index : int
        Index of the prepared column.
    low, high : float
        In prepared units.
    low_text, high_text : str
        The ends in the units of the table, with as few digits as tell the rows apart.
    """

    column: Column
    index: int
    low: float = -np.inf
    high: float = np.inf
    low_text: str = ""
    high_text: str = ""

    def holds(self, X: Rows) -> Mask:
        """Which rows meet the condition."""
        values = X[:, self.index]
        return np.asarray((values > self.low) & (values <= self.high))

    def __str__(self) -> str:
        """Such as ``age <= 40``."""
        name = self.column.name
        if self.column.category is not None:
            return f"{name} {'=' if self.low > -np.inf else '!='} {self.column.category}"
        if self.low == -np.inf:
            return f"{name} <= {self.high_text}"
        if self.high == np.inf:
            return f"{name} > {self.low_text}"
        return f"{self.low_text} < {name} <= {self.high_text}"


@dataclass(frozen=True)
class Rule:
    """A conjunction of conditions, and how well it describes a cluster.

    Attributes
    ----------
    conditions : tuple of Condition
        Empty if no condition tells the cluster from the other rows.
    precision : float
        Fraction of the rows that follow the rule and are in the cluster.
    coverage : float
        Fraction of the rows of the cluster that follow the rule.
    others : float
        Fraction of the other rows that follow the rule.
    stability : float
        Mean Jaccard index of the rows that follow the rule and those that follow the most similar
        rule of a half sample, over ten keyed half samples. 1 if every half gives the same rule.
    """

    conditions: tuple[Condition, ...]
    precision: float
    coverage: float
    others: float
    stability: float = 1.0

    def holds(self, X: Rows) -> Mask:
        """Which rows follow the rule."""
        met = np.ones(X.shape[0], dtype=np.bool_)
        for condition in self.conditions:
            met &= condition.holds(X)
        return met

    @property
    def contrast(self) -> float:
        """Coverage minus the fraction of the other rows that follow the rule."""
        return self.coverage - self.others

    def __str__(self) -> str:
        """List the conditions."""
        return " and ".join(map(str, self.conditions)) or "no rule"


def find_rules(
    X: Rows,
    weight: Rows,
    inside: Mask,
    columns: Sequence[Column],
    keys: Words,
    max_conditions: int,
    max_rules: int = MAX_RULES,
    halves: int = _HALVES,
) -> tuple[Rule, ...]:
    """Find rules that tell the rows `inside` from the others, and measure their stability.

    The bits of `keys` select the half samples that measure it; no `halves` do not. Returns at least
    one rule, which may have no conditions. Figures of each are those of the rule alone.
    """
    rules = _grow_rules(X, weight, inside, columns, max_conditions, max_rules)
    followed = [rule.holds(X) for rule in rules]
    agreement: list[list[float]] = [[] for _ in rules]
    for half in range(halves):
        kept = (keys >> np.uint64(half)) & np.uint64(1) == 1
        if not (inside[kept].any() and (~inside)[kept].any()):
            continue
        part = (X[kept], weight[kept], inside[kept], columns, max_conditions, max_rules)
        others = [rule.holds(X) for rule in _grow_rules(*part)]
        for mine, found in zip(followed, agreement, strict=True):
            found.append(max(_jaccard(mine, other, weight) for other in others))
    stability = [float(np.mean(found)) if found else np.nan for found in agreement]
    return tuple(replace(r, stability=s) for r, s in zip(rules, stability, strict=True))


def find_other_rule(
    X: Rows, weight: Rows, inside: Mask, columns: Sequence[Column], rule: Rule, max_conditions: int
) -> Rule | None:
    """Find a rule without the columns of `rule`, or one of them; None if it says too little."""
    used = [condition.column.name for condition in rule.conditions]
    left_out = [set(used), *({name} for name in used if len(used) > 1)]
    for names in left_out:
        kept = [j for j, column in enumerate(columns) if column.name not in names]
        if not kept:
            continue
        grown = _grow_conditions(
            X[:, kept], weight, inside, [columns[j] for j in kept], max_conditions
        )
        conditions = tuple(replace(c, index=kept[c.index]) for c in grown)
        other = _describe(conditions, X, weight, inside)
        is_new = any(condition.column.name not in used for condition in conditions)
        if is_new and other.contrast >= _LEAST_CONTRAST * rule.contrast:
            return other
    return None


def _jaccard(a: Mask, b: Mask, weight: Rows) -> float:
    either = weight[a | b].sum()
    return float(weight[a & b].sum() / either) if either > 0.0 else 1.0


def sample_rows(X: Rows, seed: int) -> tuple[Ints, Words]:
    """Numbers and keys of the rows with the smallest keys; all rows of a small table."""
    keys = key_rows(np.asarray(X, dtype=np.float64), seed, "explain")
    count = max(_LEAST_ROWS, _VALUES // X.shape[1])
    if X.shape[0] <= count:
        return np.arange(X.shape[0]), keys
    chosen = np.sort(np.argsort(keys, kind="stable")[:count])
    return chosen, keys[chosen]


def _grow_rules(
    X: Rows,
    weight: Rows,
    inside: Mask,
    columns: Sequence[Column],
    max_conditions: int,
    max_rules: int,
) -> list[Rule]:
    """Grow rules one by one, each on the rows inside that no rule before it describes."""
    rules: list[Rule] = []
    left, met, best = inside, np.zeros(X.shape[0], dtype=np.bool_), 0.0
    while len(rules) < max_rules:
        some = left | ~inside
        conditions = _grow_conditions(X[some], weight[some], left[some], columns, max_conditions)
        rule = _describe(conditions, X, weight, inside)
        either = met | rule.holds(X)
        score = 2.0 * weight[either & inside].sum() / (weight[either].sum() + weight[inside].sum())
        if rules and (not conditions or score <= best + _LEAST_ADDED):
            break
        rules.append(rule)
        left, met, best = left & ~either, either, score
        if not conditions or not weight[left].any():
            break
    return rules


def _describe(conditions: tuple[Condition, ...], X: Rows, weight: Rows, inside: Mask) -> Rule:
    """Compute precision and coverage of a conjunction."""
    rule = Rule(conditions, 0.0, 0.0, 0.0)
    met = rule.holds(X)
    covered, others = (weight * inside)[met].sum(), (weight * ~inside)[met].sum()
    n_outside = (weight * ~inside).sum()
    return replace(
        rule,
        precision=float(covered / max(covered + others, np.finfo(float).tiny)),
        coverage=float(covered / (weight * inside).sum()),
        others=float(others / n_outside) if n_outside > 0.0 else 0.0,
    )


def _grow_conditions(
    X: Rows, weight: Rows, inside: Mask, columns: Sequence[Column], max_conditions: int
) -> tuple[Condition, ...]:
    target = weight * inside
    n_inside, n_outside = target.sum(), (weight * ~inside).sum()
    conditions: dict[int, Condition] = {}
    met = np.ones(X.shape[0], dtype=np.bool_)
    best = 2.0 * n_inside / (2.0 * n_inside + n_outside)  # the F score of no condition
    while len(conditions) <= max_conditions:
        found = _best_condition(X[met], weight[met], target[met], n_inside)
        if found is None or found.score <= best + _LEAST_GAIN:
            break
        merged = _merge(conditions.get(found.index), found, columns[found.index])
        if found.index not in conditions and len(conditions) == max_conditions:
            break
        conditions[found.index] = merged
        met &= merged.holds(X)
        best = found.score
    return tuple(conditions[index] for index in sorted(conditions))


@dataclass(frozen=True)
class _Found:
    """A threshold between two neighboring values of a column, and the side to keep."""

    score: float
    index: int
    below: float
    above: float
    keep_above: bool


def _best_condition(X: Rows, weight: Rows, target: Rows, n_inside: float) -> _Found | None:
    """Find the condition with the largest F score among all columns, thresholds and sides."""
    if X.shape[0] < 2:
        return None
    order = np.argsort(X, axis=0, kind="stable")
    values = np.take_along_axis(X, order, axis=0)
    covered = np.cumsum(target[order], axis=0)
    kept = np.cumsum(weight[order], axis=0)
    splits = values[1:] > values[:-1]
    best = None
    for keep_above in (True, False):
        hits, size = covered[:-1], kept[:-1]
        if keep_above:
            hits, size = covered[-1] - hits, kept[-1] - size
        score = np.where(splits, 2.0 * hits / (size + n_inside), -1.0)
        place = int(np.argmax(score))
        i, j = divmod(place, X.shape[1])
        if score[i, j] >= 0.0 and (best is None or score[i, j] > best.score):
            below, above = float(values[i, j]), float(values[i + 1, j])
            best = _Found(float(score[i, j]), j, below, above, keep_above)
    return best


def _merge(known: Condition | None, found: _Found, column: Column) -> Condition:
    """Narrow the known condition on the same column, or start a new one."""
    condition = Condition(column, found.index) if known is None else known
    threshold, text = _short_threshold(found.below, found.above, column)
    if found.keep_above:
        return replace(condition, low=threshold, low_text=text)
    return replace(condition, high=threshold, high_text=text)


def _short_threshold(below: float, above: float, column: Column) -> tuple[float, str]:
    """Find a threshold with few digits, in the units of the table, between two values."""
    if column.date:
        return _short_date(below, above, column)
    low, high = below * column.scale, above * column.scale
    middle = low + (high - low) / 2.0
    for digits in range(1, 18):
        text = f"{middle:.{digits}g}"
        threshold = float(text) / column.scale
        # A row below meets `<=`, a row above meets `>`; rounding must not swap them.
        if below <= threshold < above:
            return threshold, _plain(text)
    return below, _plain(f"{low:.17g}")


def _short_date(below: float, above: float, column: Column) -> tuple[float, str]:
    """Find the roundest date between two values: a day, an hour, a minute or a second."""
    low = below * column.scale
    for unit, shown_in in ((86_400.0, "D"), (3_600.0, "m"), (60.0, "m"), (1.0, "s")):
        seconds = float(np.ceil(low / unit) * unit)
        threshold = seconds / column.scale
        if below <= threshold < above:
            return threshold, show_date(seconds, shown_in)
    return below, show_date(low, "us")


def show_date(seconds: float, unit: str) -> str:
    """Write seconds since 1970 as a date; `unit` is that of NumPy, such as "D" for days."""
    date = np.datetime64(round(seconds * 1e6), "us").astype(f"datetime64[{unit}]")
    return str(date).replace("T", " ")


def _plain(text: str) -> str:
    """Write moderate numbers without an exponent: 62000, not 6.2e+04."""
    value = float(text)
    if "e" in text and 1e-4 <= abs(value) < 1e15:
        return f"{value:f}".rstrip("0").rstrip(".")
    return text
