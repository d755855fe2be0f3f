"""The exact sampler: in each round, a race between a few large gains and all the small ones.

Every free leaf x arrives at rate ``weight(x) exp((gain(x) - threshold) / temperature)``. The first to
arrive is the next center. Leaves under *heavy* tops (best gain above the threshold) race with keyed
noise that is opened lazily, best first, from the root down. All other leaves have a Poisson clock
of rate ``weight(x)`` that keeps running from round to round. An arrival counts with probability
``exp((gain(x) - threshold) / temperature)``.
"""

import math

import numpy as np

from holdfast._machine.hash import combine, portable_exp, portable_log, uniform
from holdfast._machine.jit import inlined_kernel, inner_kernel, prefetch, writing_kernel
from holdfast.centers._cover_kernels import (
    COVERED,
    HEAVY,
    INSIDE,
    LIGHT,
    cost_with_best,
    current_cost,
    drop_first,
    gain_of,
    heavy_below,
    look_above,
    push,
    refresh_above,
    take,
)
from holdfast.tree._kernels import branch_key_at

_THRESHOLD = 0.25  # heavy above this fraction of the smallest temperature of the round
_LARGEST = 1e300
_MARGIN = 1e-12  # more than all rounding errors of a bound
_CLOCK = np.uint64(1)
_COIN = np.uint64(2)
_SPLIT = np.uint64(3)
_DELAY = np.uint64(4)
_AHEAD = 4  # arrivals between two prefetches: the number of rounds that a memory access takes
_LEVELS = 4  # nodes of a path that are requested ahead


@inner_kernel
def exponential(key):
    """Convert a key to a standard exponential variate."""
    return -portable_log(uniform(key))


@inner_kernel
def falls_below(coin, x):
    """Whether ``coin < portable_exp(x)`` for x <= 0, from ``1 + x <= exp(x) <= 1 / (1 - x)`` if possible."""
    if coin < 1.0 + x - _MARGIN:
        return True
    if coin * (1.0 - x) > 1.0 + _MARGIN:
        return False
    return coin < portable_exp(x)


@inner_kernel
def soonest_arrival(key, weight, x):
    """Bound an arrival, by -ln(u) >= 1 - u and exp(x) >= (1 + x / 8)^8 for x <= 0."""
    base = max(1.0 + 0.125 * x, 0.0)
    base *= base
    base *= base
    return (1.0 - uniform(key)) / weight * (base * base) * (1.0 - _MARGIN)


@inner_kernel
def delay_of(leaf_key, attempt):
    """Time between the arrivals `attempt` and `attempt` - 1 of a clock of rate 1."""
    return exponential(combine(combine(leaf_key, _CLOCK), np.uint64(attempt)))


@writing_kernel
def first_arrivals(leaf_key, nodes, start, stop, times):
    """Compute the first arrival of the clocks of the leaves ``start .. stop``."""
    for x in range(start, stop):
        times[x] = delay_of(leaf_key[x], 0.0) / nodes[2 * x]["weight"]


@writing_kernel
def early_arrivals(leaf_key, nodes, before, leaves, times):
    """List leaves that arrive before a time, with arrivals, in any order; return their number."""
    found = 0
    for x in range(leaf_key.size):
        weight = nodes[2 * x]["weight"]
        late = uniform(combine(combine(leaf_key[x], _CLOCK), np.uint64(0)))
        if 1.0 - late <= before * weight:
            time = delay_of(leaf_key[x], 0.0) / weight
            if time <= before:
                if found < leaves.size:
                    leaves[found], times[found] = x, time
                found += 1
    return found


@writing_kernel
def largest_gains(root, nodes, rank, heap):
    """Fill `rank` with the nodes of the largest best gains, in order, from the root down."""
    push(heap, np.int64(0), nodes[root]["best"], np.int64(root), 0.0, 0.0)
    size = np.int64(1)
    for i in range(rank.size):
        node = heap[0]["number"]
        size -= 1
        drop_first(heap, size)
        rank[i] = node
        if node % 2 == 1:
            for child in (np.int64(nodes[node]["left"]), np.int64(nodes[node]["right"])):
                push(heap, size, nodes[child]["best"], child, 0.0, 0.0)
                size += 1


@inner_kernel
def score_of(time, deficit, temperature):
    """Bound ``-ln(arrival)`` below a node from its earliest clock and its least deficit."""
    if deficit > 0.0:
        if temperature == 0.0:
            return -math.inf
        return -portable_log(time) - deficit / temperature
    return -portable_log(time)


@inner_kernel
def open_node(node, t, time, deficit, most, temperature, branch_key, nodes, state):
    """Pass the earliest clock of an inner node to its children.

    One child, chosen in proportion to weight, gets that clock, and the other gets a later one. A
    deficit is the best gain of all minus the best gain below. Inside an uncovered subtree it grows
    by differences between siblings, small numbers that lose no digits to the large ones above.

    Returns score, node, time, deficit of the better child, then of the other (node -1 if none).
    """
    a, b = np.int64(nodes[node]["left"]), np.int64(nodes[node]["right"])
    if state[node] == COVERED:
        weight_a, best_a = heavy_below(a, nodes, state)
        weight_b, best_b = heavy_below(b, nodes, state)
        deficit_a, deficit_b = most - best_a, most - best_b
    else:
        weight_a, weight_b = nodes[a]["weight"], nodes[b]["weight"]
        ahead = nodes[a]["best"] - nodes[b]["best"]
        deficit_a, deficit_b = deficit + max(-ahead, 0.0), deficit + max(ahead, 0.0)
    time_a, time_b = time, time
    if weight_a > 0.0 and weight_b > 0.0:
        key = combine(branch_key, np.uint64(t))
        later = exponential(combine(key, _DELAY))
        if uniform(combine(key, _SPLIT)) * (weight_a + weight_b) < weight_a:
            time_b += later / weight_b
        else:
            time_a += later / weight_a
    score_a, score_b = -math.inf, -math.inf
    if weight_a > 0.0:
        score_a = score_of(time_a, deficit_a, temperature)
    else:
        a = np.int64(-1)
    if weight_b > 0.0:
        score_b = score_of(time_b, deficit_b, temperature)
    else:
        b = np.int64(-1)
    if a < 0 or (b >= 0 and score_b > score_a):
        return score_b, b, time_b, deficit_b, score_a, a, time_a, deficit_a
    return score_a, a, time_a, deficit_a, score_b, b, time_b, deficit_b


@inner_kernel
def search_heavy(
    root, time, most, temperature, t, source, splits, place, nodes, state, now, looked, heap
):
    """Find the first leaf under heavy tops to arrive; `time` is their earliest clock.

    Nodes are opened best first by score, a bound on all arrivals below. The first leaf on top wins.

    Returns leaf, clock and deficit.
    """
    size = np.int64(0)
    node, deficit = np.int64(root), most - heavy_below(root, nodes, state)[1]
    score = score_of(time, deficit, temperature)
    while True:
        if node % 2 == 1:
            if looked.size > 0:
                looked[node // 2] = now[0]["run"]
            key = branch_key_at(node // 2, source, splits, place)
            score, node, time, deficit, score_b, b, time_b, deficit_b = open_node(
                node, t, time, deficit, most, temperature, key, nodes, state
            )
            if b >= 0:
                push(heap, size, score_b, b, time_b, deficit_b)
                size += 1
        elif size == 0 or heap[0]["score"] <= score:
            return node // 2, time, deficit
        if size > 0 and heap[0]["score"] > score:
            push(heap, size, score, node, time, deficit)
            score, node = heap[0]["score"], heap[0]["number"]
            time, deficit = heap[0]["time"], heap[0]["deficit"]
            drop_first(heap, size)


@inlined_kernel
def mark_heavy(passed, threshold, rank, nodes, state):
    """Mark the tops whose best gain exceeds the threshold as heavy; resume `rank` at `passed`."""
    while passed < rank.size:
        node = np.int64(rank[passed])
        prefetch(nodes, np.int64(rank[min(passed + _AHEAD, rank.size - 1)]))
        if state[node] != COVERED and nodes[node]["best"] <= threshold:
            break
        if state[node] == LIGHT:
            state[node] = HEAVY
            refresh_above(node, nodes, state)
        passed += 1
    return passed


@inlined_kernel
def look_ahead(arrived, queue, leaf_key, nodes, state):
    """Prefetch leaves that arrive soon and nodes above them, the higher the sooner they arrive."""
    if arrived + _LEVELS * _AHEAD >= queue.size:
        return
    leaf = np.int64(queue[arrived + _LEVELS * _AHEAD])
    prefetch(leaf_key, leaf)
    prefetch(state, 2 * leaf)
    prefetch(nodes, 2 * leaf)
    for level in range(1, _LEVELS):
        node = 2 * np.int64(queue[arrived + (_LEVELS - level) * _AHEAD])
        p = np.int64(nodes[node]["parent"])
        for _ in range(level - 1):
            if p >= 0 and state[p] != COVERED:
                p = np.int64(nodes[p]["parent"])
        if p >= 0:
            prefetch(nodes, p)
            prefetch(state, p)


@inlined_kernel
def next_arrival(queue, times, now, late):
    """Time, leaf (-1 if none is left) and attempt of the next arrival; whether it was redrawn."""
    arrived = now[0]["arrived"]
    if now[0]["late"] > 0 and (arrived == queue.size or -late[0]["score"] < times[arrived]):
        return -late[0]["score"], np.int64(late[0]["number"]), late[0]["time"], True
    if arrived < queue.size:
        return times[arrived], np.int64(queue[arrived]), 0.0, False
    return math.inf, np.int64(-1), 0.0, False


@inlined_kernel
def race(
    t, most, temperature, threshold, root, race_key, source, splits, place, leaf_key, queue,
    times, nodes, state, now, looked, heap, late,
):  # fmt: skip
    """Run the race of round t.

    `queue` has the leaves by their first arrival, and `times` these arrivals. `heap` and `late` are
    work space for opened nodes and redrawn arrivals. If `looked` is not empty, it marks, with the
    number of the run, the inner nodes on which the outcome depends in other ways than through their
    weight and best gain.

    Returns the winner, or -1 if the queue was too short.
    """
    weight, heavy_key = heavy_below(root, nodes, state)[0], combine(race_key, np.uint64(t))
    heavy_leaf, heavy_time, earliest = np.int64(-1), -1.0, math.inf
    if weight > 0.0:
        earliest = 0.0
        if temperature > 0.0:
            earliest = soonest_arrival(heavy_key, weight, (threshold - most) / temperature)
    while True:
        if now[0]["arrived"] == queue.size < leaf_key.size:
            return np.int64(-1)
        arrival, leaf, attempt, redrawn = next_arrival(queue, times, now, late)
        if leaf >= 0:
            look_above(leaf, nodes, looked, now)
            look_ahead(now[0]["arrived"], queue, leaf_key, nodes, state)
        if arrival - now[0]["clock"] >= earliest and heavy_time < 0.0:
            heavy_time = exponential(heavy_key) / weight
            if temperature > 0.0:
                earliest = heavy_time * portable_exp((threshold - most) / temperature)
        if arrival - now[0]["clock"] >= earliest and heavy_leaf < 0:
            heavy_leaf, heavy_time, deficit = search_heavy(
                root, heavy_time, most, temperature, t, source, splits, place, nodes, state,
                now, looked, heap,
            )  # fmt: skip
            if temperature > 0.0:
                slow = ((threshold - most) + deficit) / temperature
                earliest = heavy_time * portable_exp(slow)
        if arrival - now[0]["clock"] >= earliest:
            now[0]["clock"] += earliest
            return heavy_leaf
        if redrawn:
            now[0]["late"] -= 1
            drop_first(late, now[0]["late"])
        else:
            now[0]["arrived"] += 1
        if state[2 * leaf] == COVERED:
            continue
        gain, top = gain_of(leaf, nodes, state)
        if top == LIGHT:
            coin = uniform(combine(combine(leaf_key[leaf], _COIN), np.uint64(attempt)))
            if falls_below(coin, (gain - threshold) / temperature):
                now[0]["clock"] = arrival
                return leaf
        attempt += 1.0
        again = arrival + delay_of(leaf_key[leaf], attempt) / nodes[2 * leaf]["weight"]
        push(late, now[0]["late"], -again, leaf, attempt, 0.0)
        now[0]["late"] += 1


@writing_kernel
def draw_temperature(t, least_cost, rate, key):
    """Temperature of round t: 1 to 2 times ``rate * least_cost``; the threshold for heavy tops."""
    coolest = min(rate * least_cost, _LARGEST) if least_cost > 0.0 else 0.0
    return coolest * (1.0 + uniform(combine(key, np.uint64(t)))), _THRESHOLD * coolest


@writing_kernel
def run_rounds(
    rate, root, keys, source, splits, place, leaf_key, rank, queue, times,
    nodes, state, now, looked, heap, late, center, costs, split_from, cell,
):  # fmt: skip
    """Choose as many centers by Algorithm 2 as `center` has room for.

    Parameters
    ----------
    rate : ``rate * cost`` is the smallest temperature of a round
    keys : of the temperatures and of the heavy race
    source, splits, place : what determines the keys of inner nodes
    rank : nodes by best gain, largest first, or the first part of that list
    queue, times : leaves by their first arrival, or the first part of them; their arrivals
    nodes, state, now : as before the first round; overwritten with the final state
    heap, late : empty heaps, for opened nodes and for redrawn arrivals
    center, costs, split_from, cell : filled with the chosen leaves, the cost after each, the
        clusters they split and the bits of their cells

    Returns
    -------
    the number of rounds, which is smaller than the size of `center` if `rank` or `queue` was too
    short
    """
    front, passed = np.int64(0), np.int64(0)
    leader = np.int64(root)  # the top with the best gain
    for t in range(center.size):
        if state[leader] == COVERED:
            while front < rank.size and state[rank[front]] == COVERED:
                front += 1
            if front == rank.size:
                return t
            leader = np.int64(rank[front])
            while state[leader] == INSIDE:
                leader = np.int64(nodes[leader]["parent"])
        least_cost = cost_with_best(leader, nodes, now)
        temperature, threshold = draw_temperature(t, least_cost, rate, keys[0])
        passed = mark_heavy(passed, threshold, rank, nodes, state)
        if passed == rank.size < state.size:
            return t
        leaf = race(
            t, nodes[leader]["best"], temperature, threshold, root, keys[1], source, splits,
            place, leaf_key, queue, times, nodes, state, now, looked, heap, late,
        )  # fmt: skip
        if leaf < 0:
            return t
        center[t] = leaf
        split_from[t], cell[t] = take(leaf, t, threshold, nodes, state, now)
        costs[t] = current_cost(now)
    return center.size
