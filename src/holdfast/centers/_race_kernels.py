"""The exact sampler: one race per round between a few large gains and all the small ones.

Every free leaf x runs at rate ``weight(x) exp((gain(x) - threshold) / temperature)``; the first to
arrive is the next center. Tops (highest nodes without a center below) whose best gain exceeds the
threshold are *heavy*: their race is opened lazily, best first, from the root down. All other
leaves have a Poisson clock of rate ``weight(x)``, thinned by a coin of that exponential.
"""

import math

import numpy as np

from holdfast._jit import kernel
from holdfast._math_kernels import portable_exp, portable_log
from holdfast._seeding_kernels import combine, uniform
from holdfast.tree._kernels import distance_table

__all__ = ["first_arrivals", "label_leaves", "run_rounds"]

INSIDE = np.uint8(0)  # no center below, and none below the parent
LIGHT = np.uint8(1)  # a top, best gain at most the threshold
HEAVY = np.uint8(2)  # a top, best gain above the threshold
COVERED = np.uint8(3)  # a center lies below (or at) it

_THRESHOLD = 0.25  # heavy above this share of the smallest temperature of the round
_LARGEST = 1e300
_WORD = 18446744073709551616.0
_CLOCK = np.uint64(1)
_COIN = np.uint64(2)
_SPLIT = np.uint64(3)
_DELAY = np.uint64(4)


@kernel
def exponential(key):
    """Turn a key into a standard exponential variate."""
    return -portable_log(uniform(key))


@kernel
def arrival_after(time, leaf_key, attempt, weight):
    """Next arrival of a leaf's clock."""
    return time + exponential(combine(combine(leaf_key, _CLOCK), np.uint64(attempt))) / weight


@kernel
def first_arrivals(leaf_key, count):
    """First arrival of every leaf's clock."""
    times = np.empty(leaf_key.size, np.float64)
    for x in range(leaf_key.size):
        times[x] = arrival_after(0.0, leaf_key[x], 0, count[2 * x])
    return times


@kernel
def add_cost(cost, sign, weight, bit):
    """Add ``weight * 2^bit`` to a 128-bit integer (low word, high word), or subtract it."""
    word = np.uint64(weight)
    low = word << np.uint64(bit)
    high = np.uint64(0)
    if bit > 0:
        high = word >> np.uint64(64 - bit)
    if sign > 0:
        total = cost[0] + low
        carry = np.uint64(1) if total < low else np.uint64(0)
        cost[1] = cost[1] + high + carry
    else:
        total = cost[0] - low
        carry = np.uint64(1) if cost[0] < low else np.uint64(0)
        cost[1] = cost[1] - high - carry
    cost[0] = total


@kernel
def as_float(cost):
    """Value of a 128-bit cost in units of the root's distance."""
    return (np.float64(cost[1]) * _WORD + np.float64(cost[0])) * 2.0**-63


@kernel
def refresh_best(w, left, right, state, best, heavy_best):
    """Best gain among the heavy tops below covered inner node 2 w + 1."""
    most = -1.0
    for child in (left[w], right[w]):
        if state[child] == HEAVY:
            most = max(most, best[child])
        elif state[child] == COVERED and child % 2 == 1:
            most = max(most, heavy_best[child // 2])
    heavy_best[w] = most


@kernel
def add_heavy(node, weight, tree, state, heavy_weight, heavy_best):
    """Change the heavy weight on the path above `node` and refresh the best gains there."""
    left, right, bit, parent, count, best = tree
    p = parent[node]
    while p >= 0:
        w = p // 2
        before = heavy_best[w]
        heavy_weight[w] += weight
        refresh_best(w, left, right, state, best, heavy_best)
        if weight == 0.0 and heavy_best[w] == before:
            break
        p = parent[p]


@kernel
def cover(leaf, t, threshold, tree, state, owner, heavy_weight, heavy_best, cost):
    """Make `leaf` center t: cover the path above it; the siblings along it become tops.

    Returns the cluster that it splits (-1 for the first) and the bit of its new cell.
    """
    left, right, bit, parent, count, best = tree
    top = 2 * leaf
    while parent[top] >= 0 and state[parent[top]] != COVERED:
        top = parent[top]
    anchor = parent[top]  # lowest covered ancestor
    split_from, cell = -1, 64
    if anchor >= 0:
        split_from, cell = np.int64(owner[anchor // 2]), np.int64(bit[anchor // 2])
    change = -count[top] if state[top] == HEAVY else 0.0
    add_cost(cost, -1, count[top], min(cell, 63))
    node = 2 * leaf
    state[node] = COVERED
    below_weight = 0.0
    while node != top:
        p = parent[node]
        w = p // 2
        sibling = left[w] + right[w] - node
        if best[sibling] > threshold:
            state[sibling] = HEAVY
            below_weight += count[sibling]
        else:
            state[sibling] = LIGHT
        add_cost(cost, 1, count[sibling], bit[w])
        state[p] = COVERED
        owner[w] = split_from if np.int64(bit[w]) == cell else t
        heavy_weight[w] = below_weight
        refresh_best(w, left, right, state, best, heavy_best)
        node = p
    if change != 0.0 or below_weight > 0.0:
        add_heavy(top, change + below_weight, tree, state, heavy_weight, heavy_best)
    return split_from, cell


@kernel
def residual_cost(node, tree, distance):
    """Cost of the leaves below an uncovered node once its best leaf is a center."""
    left, right, bit, parent, count, best = tree
    cost = 0.0
    while node % 2 == 1:
        w = node // 2
        a, b = left[w], right[w]
        if best[b] > best[a]:
            a, b = b, a
        cost += count[b] * distance[bit[w]]
        node = a
    return cost


@kernel
def score_of(time, deficit, temperature):
    """Upper bound on ``-ln(arrival)`` below a node: its earliest time and least deficit."""
    if deficit > 0.0:
        if temperature == 0.0:
            return -math.inf
        return -portable_log(time) - deficit / temperature
    return -portable_log(time)


@kernel
def push(heap_score, heap_node, heap_time, heap_deficit, size, score, node, time, deficit):
    """Put an entry on the binary heap (largest score first), given its current size."""
    k = size
    while k > 0:
        up = (k - 1) // 2
        if heap_score[up] >= score:
            break
        heap_score[k], heap_node[k] = heap_score[up], heap_node[up]
        heap_time[k], heap_deficit[k] = heap_time[up], heap_deficit[up]
        k = up
    heap_score[k], heap_node[k], heap_time[k], heap_deficit[k] = score, node, time, deficit


@kernel
def drop_first(heap_score, heap_node, heap_time, heap_deficit, size):
    """Remove the first entry of the heap; `size` is the size after that."""
    score, node = heap_score[size], heap_node[size]
    time, deficit = heap_time[size], heap_deficit[size]
    k = 0
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and heap_score[child + 1] > heap_score[child]:
            child += 1
        if heap_score[child] <= score:
            break
        heap_score[k], heap_node[k] = heap_score[child], heap_node[child]
        heap_time[k], heap_deficit[k] = heap_time[child], heap_deficit[child]
        k = child
    heap_score[k], heap_node[k], heap_time[k], heap_deficit[k] = score, node, time, deficit


@kernel
def search_heavy(
    root, time, most, temperature, t, tree, branch_key, state, heavy_weight, heavy_best, heap
):
    """Winner of the race among the leaves under heavy tops.

    `time` is the earliest clock of all of them. Opening a node hands its time to one child, with
    probability proportional to weight, and gives the other a later one. Nodes are opened best
    first by score; the first leaf on top is the winner.

    Returns leaf, clock, deficit (best gain of all minus its gain), heap.
    """
    left, right, bit, parent, count, best = tree
    heap_score, heap_node, heap_time, heap_deficit = heap
    size = 0
    node, deficit = root, most - (best[root] if state[root] == HEAVY else heavy_best[root // 2])
    score = score_of(time, deficit, temperature)
    while True:
        if node % 2 == 0:
            if size == 0 or heap_score[0] <= score:
                return node // 2, time, deficit, (heap_score, heap_node, heap_time, heap_deficit)
        else:
            w = node // 2
            a, b = left[w], right[w]
            if state[node] == COVERED:
                weight_a, gain_a = 0.0, 0.0
                weight_b, gain_b = 0.0, 0.0
                if state[a] == HEAVY:
                    weight_a, gain_a = count[a], best[a]
                elif state[a] == COVERED and a % 2 == 1:
                    weight_a, gain_a = heavy_weight[a // 2], heavy_best[a // 2]
                if state[b] == HEAVY:
                    weight_b, gain_b = count[b], best[b]
                elif state[b] == COVERED and b % 2 == 1:
                    weight_b, gain_b = heavy_weight[b // 2], heavy_best[b // 2]
                deficit_a, deficit_b = most - gain_a, most - gain_b
            else:
                weight_a, weight_b = count[a], count[b]
                deficit_a = deficit + max(best[b] - best[a], 0.0)
                deficit_b = deficit + max(best[a] - best[b], 0.0)
            if weight_b == 0.0:
                node, deficit = a, deficit_a
            elif weight_a == 0.0:
                node, deficit = b, deficit_b
            else:
                key = combine(branch_key[w], np.uint64(t))
                share = uniform(combine(key, _SPLIT)) * (weight_a + weight_b)
                delay = exponential(combine(key, _DELAY))
                if share < weight_a:
                    time_a, time_b = time, time + delay / weight_b
                else:
                    time_a, time_b = time + delay / weight_a, time
                score_a = score_of(time_a, deficit_a, temperature)
                score_b = score_of(time_b, deficit_b, temperature)
                if score_b > score_a:
                    a, b = b, a
                    time_a, time_b = time_b, time_a
                    deficit_a, deficit_b = deficit_b, deficit_a
                    score_a, score_b = score_b, score_a
                if size == heap_score.size:
                    heap_score = np.concatenate((heap_score, np.empty_like(heap_score)))
                    heap_node = np.concatenate((heap_node, np.empty_like(heap_node)))
                    heap_time = np.concatenate((heap_time, np.empty_like(heap_time)))
                    heap_deficit = np.concatenate((heap_deficit, np.empty_like(heap_deficit)))
                push(
                    heap_score, heap_node, heap_time, heap_deficit, size,
                    score_b, b, time_b, deficit_b,
                )  # fmt: skip
                size += 1
                node, time, deficit, score = a, time_a, deficit_a, score_a
        if size > 0 and heap_score[0] > score:
            better = heap_score[0], heap_node[0], heap_time[0], heap_deficit[0]
            size -= 1
            drop_first(heap_score, heap_node, heap_time, heap_deficit, size)
            push(heap_score, heap_node, heap_time, heap_deficit, size, score, node, time, deficit)
            size += 1
            score, node, time, deficit = better


@kernel
def gain_of(leaf, tree, state, distance):
    """Gain of a free leaf, and the state of its top."""
    left, right, bit, parent, count, best = tree
    node = 2 * leaf
    below, gain = 0.0, 0.0
    while True:
        p = parent[node]
        above = 1.0 if p < 0 else distance[bit[p // 2]]
        gain += count[node] * (above - below)
        if p < 0 or state[p] == COVERED:
            return gain, state[node]
        node, below = p, above


@kernel
def run_rounds(
    tree, branch_key, leaf_key, rank, arrival_order, times, rate, rounds, round_keys, root
):
    """Choose `rounds` centers by Algorithm 2.

    `rank` lists all nodes by best gain, largest first; `arrival_order` and `times` the leaves by
    their first arrival; ``rate * cost`` is the smallest temperature of a round; `round_keys` are
    the keys of the temperatures and of the heavy race.

    Returns centers (leaves), costs after each (in units of the root's distance), the clusters
    they split, the bits of their cells, node states and owners.
    """
    left, right, bit, parent, count, best = tree
    leaves = leaf_key.size
    inner = max(leaves - 1, 1)
    center = np.empty(rounds, np.int32)
    split_from = np.empty(rounds, np.int32)
    cell = np.empty(rounds, np.uint8)
    costs = np.empty(rounds, np.float64)
    state = np.full(2 * leaves - 1, INSIDE, np.uint8)
    owner = np.full(inner, -1, np.int32)
    heavy_weight = np.zeros(inner, np.float64)
    heavy_best = np.full(inner, -1.0, np.float64)
    distance = distance_table()
    cost = np.zeros(2, np.uint64)
    add_cost(cost, 1, count[root], 63)
    state[root] = LIGHT
    heap = (np.empty(64), np.empty(64, np.int32), np.empty(64), np.empty(64))
    late_score = np.empty(1024)  # minus the time of a redrawn arrival: largest first
    late_leaf = np.empty(1024, np.int32)
    late_attempt = np.empty(1024)
    late_unused = np.empty(1024)
    late = 0
    front, passed, arrived = 0, 0, 0
    clock = 0.0
    for t in range(rounds):
        # the greedy choice and its cost
        while state[rank[front]] == COVERED:
            front += 1
        most = best[rank[front]]
        top = np.int64(rank[front])
        while state[top] == INSIDE:
            top = np.int64(parent[top])
        above = 63 if parent[top] < 0 else np.int64(bit[parent[top] // 2])
        add_cost(cost, -1, count[top], above)
        least_cost = as_float(cost) + residual_cost(top, tree, distance)
        add_cost(cost, 1, count[top], above)
        # the temperature, and which tops are heavy
        coolest = 0.0 if least_cost == 0.0 else min(rate * least_cost, _LARGEST)
        temperature = coolest * (1.0 + uniform(combine(round_keys[0], np.uint64(t))))
        threshold = _THRESHOLD * coolest
        while passed < rank.size and best[rank[passed]] > threshold:
            node = np.int64(rank[passed])
            if state[node] == LIGHT:
                state[node] = HEAVY
                add_heavy(node, count[node], tree, state, heavy_weight, heavy_best)
            passed += 1
        heavy = count[root] if state[root] == HEAVY else 0.0
        if state[root] == COVERED and root % 2 == 1:
            heavy = heavy_weight[root // 2]
        # the race
        heavy_time, heavy_leaf, earliest = 0.0, np.int64(-1), math.inf
        if heavy > 0.0:
            heavy_time = exponential(combine(round_keys[1], np.uint64(t))) / heavy
            earliest = 0.0
            if temperature > 0.0:
                earliest = heavy_time * portable_exp((threshold - most) / temperature)
        while True:
            redrawn = late > 0 and (
                arrived == leaves or -late_score[0] < times[arrival_order[arrived]]
            )
            if redrawn:
                arrival = -late_score[0]
            elif arrived < leaves:
                arrival = times[arrival_order[arrived]]
            else:
                arrival = math.inf
            if heavy > 0.0 and arrival - clock >= earliest:
                if heavy_leaf < 0:
                    heavy_leaf, heavy_time, deficit, heap = search_heavy(
                        root, heavy_time, most, temperature, t, tree, branch_key, state,
                        heavy_weight, heavy_best, heap,
                    )  # fmt: skip
                    if temperature > 0.0:
                        slow = ((threshold - most) + deficit) / temperature
                        earliest = heavy_time * portable_exp(slow)
                    else:
                        earliest = 0.0
                if arrival - clock >= earliest:
                    leaf = heavy_leaf
                    clock += earliest
                    break
            if redrawn:
                leaf, attempt = np.int64(late_leaf[0]), np.int64(late_attempt[0])
                late -= 1
                drop_first(late_score, late_leaf, late_attempt, late_unused, late)
            else:
                leaf, attempt = np.int64(arrival_order[arrived]), 0
                arrived += 1
            if state[2 * leaf] == COVERED:
                continue
            gain, top_state = gain_of(leaf, tree, state, distance)
            if top_state == LIGHT:
                coin = uniform(combine(combine(leaf_key[leaf], _COIN), np.uint64(attempt)))
                if coin < portable_exp((gain - threshold) / temperature):
                    clock = arrival
                    break
            if late == late_score.size:
                late_score = np.concatenate((late_score, np.empty_like(late_score)))
                late_leaf = np.concatenate((late_leaf, np.empty_like(late_leaf)))
                late_attempt = np.concatenate((late_attempt, np.empty_like(late_attempt)))
                late_unused = np.concatenate((late_unused, np.empty_like(late_unused)))
            again = arrival_after(arrival, leaf_key[leaf], attempt + 1, count[2 * leaf])
            push(
                late_score, late_leaf, late_attempt, late_unused, late,
                -again, leaf, attempt + 1.0, 0.0,
            )  # fmt: skip
            late += 1
        center[t] = leaf
        split_from[t], cell[t] = cover(
            leaf, t, threshold, tree, state, owner, heavy_weight, heavy_best, cost
        )
        costs[t] = as_float(cost)
    return center, costs, split_from, cell, state, owner


@kernel
def label_leaves(center, closing, left, right, state, owner):
    """Cluster of every leaf once all centers are chosen."""
    leaves = closing.size + 1
    label = np.zeros(leaves, np.int32)
    for c in range(closing.size - 1, -1, -1):
        w = closing[c]
        for child in (left[w], right[w]):
            if child % 2 == 0:
                label[child // 2] = owner[w]
            elif state[child] != COVERED:
                owner[child // 2] = owner[w]
    for t in range(center.size):
        label[center[t]] = t
    return label
