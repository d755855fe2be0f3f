"""Part 1: one sentence and three numbers."""

import math
from typing import Any

from holdfast.clusterers import METHODS
from holdfast.report.methods import OURS
from holdfast.report.numbers import format_share

__all__ = ["compose_verdict"]

_REFERENCES = (METHODS["ward"].title, METHODS["average"].title)

Method = dict[str, Any]


def compose_verdict(comparison: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Say how much moves, how that compares, and what it costs.

    Parameters
    ----------
    comparison : dict
        What `summarise_comparison` gave.
    own : dict
        What moves of all rows: "moved" (share), "low", "high", "n_rows".

    Returns
    -------
    dict
        "sentence" and "numbers", three of "value", "label" and "detail".
    """
    ours = next(m for m in comparison["methods"] if m["name"] == OURS)
    peers = _choose_references(comparison["methods"])
    return {
        "sentence": _compose_sentence(comparison, own, ours, peers),
        "numbers": [
            _number_moved(comparison, own),
            _number_compared(comparison, ours, peers),
            _number_cost(comparison, ours, peers),
        ],
    }


def _choose_references(methods: list[Method]) -> list[Method]:
    """Ward and average linkage; where neither was measured, the first two peers."""
    peers = [m for m in methods if not m["ours"]]
    return [m for m in peers if m["name"] in _REFERENCES] or peers[:2]


def _compose_sentence(
    comparison: dict[str, Any], own: dict[str, Any], ours: Method, peers: list[Method]
) -> str:
    start = (
        f"When {_name_deleted(comparison)} at random, {format_share(own['moved'])} of those that "
        f"stay change cluster (k = {comparison['k']})"
    )
    if not peers:
        return f"{start}."
    sides: dict[str, list[str]] = {}
    for peer in peers:
        side = _compare(ours, peer)
        sides.setdefault(side, []).append(f"{peer['name']} ({format_share(peer['moved'])})")
    compared = ", ".join(f"{side} with {_join(names)}" for side, names in sides.items())
    against = peers[0]
    return f"{start}, {compared}; its k-median cost is {_describe_cost(ours, against)}."


def _compare(ours: Method, peer: Method) -> str:
    """Fewer or more only where the difference exceeds two standard errors, both of them known."""
    difference = ours["moved"] - peer["moved"]
    errors = (ours["standard_error"], peer["standard_error"])
    if None in errors or abs(difference) <= 2.0 * math.hypot(*errors):
        return "about as many as"
    return "fewer than" if difference < 0 else "more than"


def _describe_cost(ours: Method, peer: Method) -> str:
    excess = _relative(ours["cost"], peer["cost"]) - 1.0
    if abs(excess) < 0.005:
        return f"the same as that of {peer['name']}"
    word = "above" if excess > 0 else "below"
    return f"{format_share(abs(excess))} {word} that of {peer['name']}"


def _relative(value: float, reference: float) -> float:
    """Ratio; 1 where both are 0, as with rows on as few places as clusters."""
    if reference == 0.0:
        return 1.0 if value == 0.0 else float("inf")
    return value / reference


def _name_deleted(comparison: dict[str, Any]) -> str:
    name = comparison["main"]
    if name.endswith("%"):
        return f"{name} of the rows go"
    return "one row goes" if name == "1" else f"{name} rows go"


def _number_moved(comparison: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    interval = ""
    if own["low"] is not None:  # as after many failed fits
        interval = f"95% interval {format_share(own['low'])} to {format_share(own['high'])}, "
    return {
        "value": format_share(own["moved"]),
        "label": f"of the rows that stay change cluster when {_name_deleted(comparison)}",
        "detail": f"{interval}k = {comparison['k']}, {own['n_rows']:,} rows",
    }


def _number_compared(
    comparison: dict[str, Any], ours: Method, peers: list[Method]
) -> dict[str, Any]:
    if not peers:
        return {"value": "–", "label": "no other method was measured", "detail": ""}
    parts = [f"{format_share(peer['moved'])} {peer['name']}" for peer in peers]
    detail = f"{format_share(ours['moved'])} here, {', '.join(parts)}"
    if comparison["sampled_from"] is not None:
        detail += f"; all on the same {comparison['n_rows']:,} rows"
    return {
        "value": " / ".join(_format_ratio(ours["moved"], peer["moved"]) for peer in peers),
        "label": f"as much movement as {_join([peer['name'] for peer in peers])}",
        "detail": detail,
    }


def _format_ratio(value: float, reference: float) -> str:
    ratio = _relative(value, reference)
    if ratio == float("inf"):
        return "∞"
    return f"{ratio:.2f}×" if ratio < 9.95 else f"{ratio:.0f}×"


def _number_cost(comparison: dict[str, Any], ours: Method, peers: list[Method]) -> dict[str, Any]:
    if not peers:
        return {
            "value": f"{ours['cost']:,.4g}", "label": "k-median cost", "detail": "lower is closer",
        }  # fmt: skip
    against = peers[0]
    least = min(comparison["methods"], key=lambda m: m["cost"])
    excess = _relative(ours["cost"], against["cost"]) - 1.0
    sign = "+" if excess > 0 else "−" if excess < 0 else "±"
    return {
        "value": f"{sign}{format_share(abs(excess))}" if excess != float("inf") else "∞",
        "label": f"k-median cost against {against['name']}",
        "detail": (
            f"{ours['cost']:,.4g} against {against['cost']:,.4g}; lowest: {least['name']}, "
            f"{least['cost']:,.4g}"
        ),
    }


def _join(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
