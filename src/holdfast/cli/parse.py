"""Short texts of the command line -> values."""

import csv
import math
from typing import TYPE_CHECKING, Any, Literal

from holdfast.cli.problems import InputProblem

if TYPE_CHECKING:
    from holdfast.estimator import HierarchicalKMedian

__all__ = [
    "COSTS",
    "check_counts",
    "name_cost",
    "parse_amounts",
    "parse_cost",
    "parse_counts",
    "parse_epsilon",
    "parse_names",
    "parse_share",
]

COSTS: dict[str, dict[str, Any]] = {
    "tree": {"method": "tree"},
    "euclidean": {"method": "medoids"},
    "refined": {"method": "means"},
}
"""What --cost offers, as parameters of the estimator."""

_MOST_COUNTS = 10_000


def parse_counts(text: str) -> tuple[int, ...]:
    """Read ``8``, ``4,8,16`` or ``2-6``: ascending, each once."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            low = int(first)
            high = int(last) if dash else low
        except ValueError:
            low = high = 0
        if low < 1 or high < low or high - low >= _MOST_COUNTS:
            raise InputProblem(
                f"--clusters must be positive numbers such as 8, 4,8,16 or 2-6; got {text!r}."
            )
        found.update(range(low, high + 1))
    return tuple(sorted(found))


def parse_amounts(text: str) -> list[int | float]:
    """Read ``1,1%,5%``: counts of rows, or shares of them."""
    amounts: list[int | float] = []
    for part in text.split(","):
        word = part.strip()
        if word.isdecimal() and int(word) > 0:
            amounts.append(int(word))
        else:
            share = _share(word)
            if share is None or not 0.0 < share < 1.0:
                raise InputProblem(
                    f"--delete must be numbers of rows or shares, such as 1,1%,5%; got {part!r}."
                )
            amounts.append(share)
    return amounts


def parse_share(option: str, text: str) -> float:
    """Read ``5%`` or ``0.05``."""
    share = _share(text.strip())
    if share is None or not 0.0 <= share <= 1.0:
        raise InputProblem(f"{option} must be a share such as 5% or 0.05; got {text!r}.")
    return share


def check_counts(ks: tuple[int, ...], n_rows: int) -> None:
    """Refuse more clusters than there are rows."""
    if max(ks) > n_rows:
        raise InputProblem(
            f"--clusters asks for {max(ks):,} clusters of {n_rows:,} rows; ask for at most "
            f"{n_rows:,}."
        )


def parse_epsilon(text: str) -> float | Literal["auto"]:
    """Read a number from 0 to inf, or ``auto``."""
    if text.strip() == "auto":
        return "auto"
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value >= 0.0:
        raise InputProblem(f"--epsilon must be a number of at least 0, inf or auto; got {text!r}.")
    return value


def parse_cost(text: str) -> dict[str, Any]:
    """Turn the name of a cost into parameters of the estimator."""
    if text not in COSTS:
        raise InputProblem(f"--cost must be one of {', '.join(COSTS)}; got {text!r}.")
    return COSTS[text]


def name_cost(estimator: "HierarchicalKMedian") -> str:
    """Give the name that `parse_cost` would turn into the estimator's parameters."""
    return {"tree": "tree", "medoids": "euclidean", "means": "refined"}[estimator.method]


def parse_seed(seed: int) -> int:
    """Accept 32 bits, as scikit-learn does."""
    if not 0 <= seed < 1 << 32:
        raise InputProblem(f"--seed must be from 0 to 2^32 - 1; got {seed}.")
    return seed


def parse_names(option: str, text: str | None) -> tuple[str, ...]:
    """Read names separated by commas; a name with a comma stands in double quotes."""
    if text is None:
        return ()
    try:
        (names,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        names = []
    if not names or "" in names:
        raise InputProblem(f"{option} must be names of columns, such as a,b; got {text!r}.")
    return tuple(dict.fromkeys(names))


def _share(word: str) -> float | None:
    percent = word.endswith("%")
    try:
        value = float(word.removesuffix("%"))
    except ValueError:
        return None
    return value / 100.0 if percent else value
