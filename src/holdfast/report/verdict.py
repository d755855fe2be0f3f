"""The verdict: what the measurements say together, in sentences that cannot contradict each other.

Every comparison is between numbers that were measured on the same rows. "Fewer" and "more" need a
difference that chance does not explain, trial by trial or because the intervals do not overlap;
otherwise no ratio is shown either, and the interval says why.
"""

import math
import re
import shlex
from typing import Any

from holdfast.report.page import format_fraction

CLEAR_SEPARATION = 0.5
"""Mean silhouette."""

_SOME_SEPARATION = 0.25
_GIANT = 0.8  # chance alone finds four fifths of the rows again with a Jaccard index of 0.67
_FOUND_AGAIN = 0.85  # Jaccard index
_UNRELIABLE = 0.6  # Jaccard index, as in segments.js
_SAME_COST = 0.02  # relative difference in cost that does not matter
_LOWER_COST = 0.05  # relative difference in cost that does
_LITTLE_MORE = 0.01  # fraction of the rows that may move more at a lower cost
_PAIRWISE = ("ward", "average", "complete", "single")  # take a distance for every pair of rows
_MOST_PAIRWISE = 30_000  # rows

Entry = dict[str, Any]


def is_giant(fraction: float) -> bool:
    """Whether a cluster has so many of the rows that being found again means little."""
    return fraction >= _GIANT


def compose_verdict(comparison: Entry, segments: Entry, command: str) -> Entry:
    """Say what the segments are worth: sentences, numbers, and a method that would do better.

    docs/report.md describes the dictionaries; `command` is the command or call of the report.
    """
    own = next(m for m in comparison["methods"] if m["kind"] == "own")
    reference = _choose_reference(comparison["methods"])
    fractions = _list_fractions(segments, segments["k"])
    return {
        "headline": _compose_headline(segments, fractions),
        "sentence": _compose_sentence(comparison, own),
        "findings": _list_findings(segments, fractions),
        "numbers": [
            _number_moved(comparison, own),
            *([] if reference is None else _number_peer(comparison, own, reference)),
            _number_separation(segments, fractions),
        ],
        "better": _find_better(comparison, own, command),
    }


def _list_fractions(segments: Entry, k: int) -> list[float]:
    """Return the fraction of the rows in each cluster of a cut, from the sizes of the last one."""
    sizes = list(segments["sizes"])
    for cluster in range(len(sizes) - 1, k - 1, -1):
        sizes[segments["parent"][cluster]] += sizes[cluster]
    total = sum(segments["sizes"])
    return [size / total for size in sizes[:k]]


def _compose_headline(segments: Entry, fractions: list[float]) -> str:
    low, high = format_fraction(min(fractions)), format_fraction(max(fractions))
    if is_giant(max(fractions)):
        return (
            f"{len(fractions)} segments, but one of them contains {high} of the rows: at this k the "
            f"data are hardly divided."
        )
    spread = f"each with {low} of the rows" if low == high else f"with {low} to {high} of the rows"
    word = _name_separation(segments)
    return f"{len(fractions)} segments {spread}{'' if word is None else f', {word}'}."


def _name_separation(segments: Entry) -> str | None:
    silhouette = _silhouette(segments)
    if silhouette is None:
        return None
    if silhouette >= CLEAR_SEPARATION:
        return "clearly separated"
    if silhouette >= _SOME_SEPARATION:
        return "partly separated"
    return "hardly separated" if _least_found_again(segments) is None else "each found again"


def _silhouette(segments: Entry) -> float | None:
    """Return the mean silhouette of the cut as it is shown, so that words agree with digits."""
    silhouette: float | None = segments["separation"][segments["k"] - 1]
    return None if silhouette is None else round(silhouette, 2) + 0.0  # no -0.00


def _least_found_again(segments: Entry) -> float | None:
    """Return the smallest Jaccard index of the cut, if every segment is found again."""
    found: list[float | None] = segments["stability"][segments["k"] - 1]
    known = [jaccard for jaccard in found if jaccard is not None]
    if len(known) < len(found) or round(min(known), 2) < _FOUND_AGAIN:
        return None
    return min(known)


def _choose_reference(methods: list[Entry]) -> Entry | None:
    """Return Ward linkage if it was compared, otherwise the first peer, or None."""
    peers = [m for m in methods if m["kind"] == "other"]
    return next((m for m in peers if m["name"] == "ward"), peers[0] if peers else None)


def _compose_sentence(comparison: Entry, own: Entry) -> str:
    peers = [m for m in comparison["methods"] if m["name"] in ("ward", "average")]
    peers = peers or [m for m in comparison["methods"] if m["kind"] == "other"][:2]
    sides: dict[str, list[str]] = {}
    for peer in peers:
        side = _compare_movement(own, peer)
        sides.setdefault(side, []).append(f"{peer['title']} ({_describe_movement(peer, side)})")
    moved = format_fraction(own["moved"])
    if "unclear" in sides and own["low"] != own["high"]:
        moved += f" (95% interval {_format_interval(own)})"
    sentence = (
        f"When {_name_removed(comparison)} removed at random, {moved} of the remaining rows change "
        f"cluster (k = {comparison['k']})"
    )
    for side in ("fewer", "more"):
        if side in sides:
            sentence += f", {side} than with {_join(sides[side])}"
    if "unclear" in sides:
        sentence += f"; no clear difference from {_join(sides['unclear'])}"
    sentence += "."
    reference = _choose_reference(comparison["methods"])
    if reference is not None:
        sentence += f" Its k-median cost is {_describe_cost(own, reference)}."
    if comparison["sampled_from"] is not None:
        sentence += (
            f" Measured on a sample of {comparison['n_rows']:,} of "
            f"{comparison['sampled_from']:,} rows."
        )
    return sentence


def _describe_movement(peer: Entry, side: str) -> str:
    text = format_fraction(peer["moved"])
    if side == "unclear" and peer["low"] != peer["high"]:
        text += f", 95% interval {_format_interval(peer)}"
    if is_giant(peer["largest"]):
        text += f", with {format_fraction(peer['largest'])} of the rows in one cluster"
    return text


def _format_interval(method: Entry) -> str:
    return f"{format_fraction(method['low'])} to {format_fraction(method['high'])}"


def _compare_movement(own: Entry, peer: Entry) -> str:
    """Return "fewer", "more" or "unclear": the report's own method beside another.

    Clear is a difference whose 95% interval over the trials has the sign of the numbers shown, and
    also one between intervals that do not overlap.
    """
    found = peer["difference"]
    apart = None not in (own["low"], peer["low"])
    if peer["moved"] > own["moved"]:
        clear = (found["low"] or 0.0) > 0.0 or (apart and peer["low"] > own["high"])
        return "fewer" if clear else "unclear"
    clear = (found["high"] or 0.0) < 0.0 or (apart and peer["high"] < own["low"])
    return "more" if clear else "unclear"


def _describe_cost(own: Entry, peer: Entry) -> str:
    excess = _relative(own["cost"], peer["cost"]) - 1.0
    if abs(excess) < 0.005:
        return f"the same as that of {peer['title']}"
    if math.isinf(excess):
        return f"positive, that of {peer['title']} zero"
    word = "higher" if excess > 0 else "lower"
    return f"{format_fraction(abs(excess))} {word} than that of {peer['title']}"


def _relative(value: float, reference: float) -> float:
    """Return the ratio; 1 where both are 0, as with rows at no more places than clusters."""
    if reference == 0.0:
        return 1.0 if value == 0.0 else float("inf")
    return value / reference


def _name_removed(comparison: Entry) -> str:
    name = comparison["main"]
    if name.endswith("%"):
        return f"{name} of the rows are"
    return "one row is" if name == "1" else f"{name} rows are"


def _list_findings(segments: Entry, fractions: list[float]) -> list[Entry]:
    """Describe what limits the worth of the other numbers: size, separation, segments that get lost."""
    silhouette = _silhouette(segments)
    found = []
    if is_giant(max(fractions)):
        found.append(_describe_giant(segments, fractions))
    elif silhouette is not None:
        found.append(_judge_separation(segments, silhouette))
    lost = {t: j for t, j in enumerate(segments["stability"][segments["k"] - 1]) if j is not None}
    lost = {t: j for t, j in lost.items() if round(j, 2) < _UNRELIABLE}
    if lost:
        named = f"Segment{'' if len(lost) == 1 else 's'} {_join([str(t) for t in lost])}"
        text = (
            f"{named} {'is' if len(lost) == 1 else 'are'} not reliably found again when rows are drawn "
            f"with replacement (Jaccard index down to {min(lost.values()):.2f})."
        )
        found.append({"tone": "poor", "text": text})
    return found


def _describe_giant(segments: Entry, fractions: list[float]) -> Entry:
    text = (
        f"Segment {fractions.index(max(fractions))} contains {format_fraction(max(fractions))} of the "
        f"rows. Any method finds such a cluster again, and far rows are always well separated from "
        f"it, so little movement and a high silhouette are no merit here."
    )
    for k in range(segments["k"] + 1, segments["max_k"] + 1):
        if not is_giant(max(_list_fractions(segments, k))):
            text += f" From k = {k} on, no segment contains {_GIANT:.0%} of the rows."
            break
    return {"tone": "poor", "text": text}


def find_most_separated(segments: Entry) -> int | None:
    """Return the k with the largest silhouette, among cuts without a giant cluster."""
    known = [
        (silhouette, -k)
        for k, silhouette in enumerate(segments["separation"], start=1)
        if silhouette is not None and not is_giant(max(_list_fractions(segments, k)))
    ]
    return -max(known)[1] if known else None


def _judge_separation(segments: Entry, silhouette: float) -> Entry:
    shown = f"mean silhouette {silhouette:.2f}"
    least = _least_found_again(segments)
    if silhouette >= CLEAR_SEPARATION:
        return {"tone": "good", "text": f"The segments are clearly separated ({shown})."}
    tone, text = "fair", f"The segments are partly separated ({shown})."
    if silhouette < _SOME_SEPARATION and least is not None:
        text = (
            f"Each segment is found again in resampled rows (Jaccard index at least {least:.2f}), "
            f"although the {shown} is low, as is common with many columns or with segments that touch."
        )
    elif silhouette < _SOME_SEPARATION:
        tone = "poor"
        text = (
            f"The segments are hardly separated ({shown}): they may divide the data usefully, but they "
            f"are not natural groups."
        )
    best = find_most_separated(segments)
    if best == segments["max_k"] > segments["k"]:
        text += f" Separation still grows at k = {best}, the last k on this page."
    elif best not in (None, segments["k"]):
        text += f" Separation is best at k = {best}."
    return {"tone": tone, "text": text}


def _number_moved(comparison: Entry, own: Entry) -> Entry:
    interval = ""
    if own["low"] is not None:  # as after many failed fits
        interval = f"95% interval {_format_interval(own)}, "
    return {
        "value": format_fraction(own["moved"]),
        "label": f"of the remaining rows change cluster when {_name_removed(comparison)} removed",
        "detail": f"{interval}k = {comparison['k']}, {comparison['n_rows']:,} rows",
    }


def _number_peer(comparison: Entry, own: Entry, peer: Entry) -> list[Entry]:
    """Compare movement and cost with those of another method."""
    moved = {
        "value": "≈",
        "label": f"no clear difference in movement from {peer['title']}",
        "detail": f"{format_fraction(own['moved'])} here, {format_fraction(peer['moved'])} with "
        f"{peer['title']}, on the same {comparison['n_rows']:,} rows",
    }
    if _compare_movement(own, peer) != "unclear":
        ratio = _relative(own["moved"], peer["moved"])
        moved["value"] = "∞" if math.isinf(ratio) else f"{ratio:.{2 if ratio < 9.95 else 0}f}×"
        moved["label"] = f"the movement of {peer['title']}"
    excess = _relative(own["cost"], peer["cost"]) - 1.0
    sign = "+" if excess > 0 else "−" if excess < 0 else "±"
    cost = {
        "value": "∞" if math.isinf(excess) else f"{sign}{format_fraction(abs(excess))}",
        "label": f"k-median cost relative to {peer['title']}",
        "detail": "sum of the distances to each cluster's best medoid; lower is better",
    }
    return [moved, cost]


def _number_separation(segments: Entry, fractions: list[float]) -> Entry:
    silhouette = _silhouette(segments)
    scale = f"from −1 to 1; clear from {CLEAR_SEPARATION}, hardly any below {_SOME_SEPARATION}"
    if is_giant(max(fractions)):
        scale = "says little beside one segment with nearly all rows"
    return {
        "value": "–" if silhouette is None else f"{silhouette:.2f}",
        "label": "mean silhouette: how well the segments are separated",
        "detail": f"{scale}; {segments['separation_rows']:,} rows",
    }


def _find_better(comparison: Entry, own: Entry, command: str) -> Entry | None:
    """Find a method that is clearly steadier at the same cost, or closer and not less steady.

    Methods that can handle all rows come first.
    """
    better = [m for m in comparison["methods"] if m["kind"] != "own" and _is_better(m, own)]
    n_rows = comparison["sampled_from"] or comparison["n_rows"]
    usable = [m for m in better if m["name"] not in _PAIRWISE or n_rows <= _MOST_PAIRWISE]
    if not better:
        return None
    best = min(usable or better, key=lambda m: _relative(m["cost"], own["cost"]) + m["moved"])
    cost = _relative(best["cost"], own["cost"]) - 1.0
    costs = "at about the same k-median cost"
    if abs(cost) >= _SAME_COST:
        word = "lower" if cost < 0 else "higher"
        costs = f"at a {format_fraction(abs(cost))} {word} k-median cost"
    where = "On this table" if comparison["sampled_from"] is None else "On the sampled rows"
    text = (
        f"{where}, {best['title']} does better: {format_fraction(best['moved'])} of the remaining "
        f"rows change cluster, against {format_fraction(own['moved'])} here, {costs}."
    )
    if best not in usable:
        text += (
            f" It takes a distance for every pair of rows, too many for {n_rows:,} rows; use it for "
            f"a sample."
        )
        return {"text": text, "command": None}
    if best["kind"] != "holdfast" and command.startswith("holdfast "):
        text += " It is called from Python:"
    return {"text": text, "command": _suggest_command(best, comparison["k"], command)}


def _is_better(peer: Entry, own: Entry) -> bool:
    if is_giant(peer["largest"]):  # which is no merit, however little it moves
        return False
    cost = _relative(peer["cost"], own["cost"])
    side = _compare_movement(own, peer)
    if side == "more":
        return cost <= 1.0 + _SAME_COST
    moves_more = side == "fewer" or peer["moved"] > own["moved"] + _LITTLE_MORE
    return cost <= 1.0 - _LOWER_COST and not moves_more


def _suggest_command(method: Entry, k: int, command: str) -> str:
    """Return how to use a method: the same command where there is one, otherwise Python."""
    if method["kind"] != "holdfast":
        if method["name"] == method["title"]:
            return f"the clusterer that you passed as {method['name']!r}"
        return f"holdfast.clusterers.METHODS[{method['name']!r}].build().fit(X, seed=0).cut({k})"
    if command.startswith("holdfast "):
        plain = re.sub(r" --method[= ]\S+", "", command)
        return f"{plain} --method {shlex.quote(method['name'])}"
    return f"HierarchicalKMedian({k}, method={method['name']!r}).fit(X)"


def _join(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
