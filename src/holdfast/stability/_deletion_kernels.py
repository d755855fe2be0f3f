"""What the first centers would be with one row less: change one path, run the rounds, restore."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._jit import kernel
from holdfast.centers._cover_kernels import (
    COVERED,
    HEAVY,
    INSIDE,
    LIGHT,
    cost_left,
    cost_without,
    look_above,
    refresh_above,
    take,
)
from holdfast.centers._race_kernels import delay_of, draw_temperature, race
from holdfast.tree._kernels import DISTANCE

__all__ = ["Scratch", "deepest_path", "effects_at", "run_without", "step_down"]


class Scratch(NamedTuple):
    """Memory of one run: what a removal overwrote, and which nodes the rounds touched."""

    node: NDArray[np.int32]
    weight: NDArray[np.float64]
    best: NDArray[np.float64]
    champion: NDArray[np.int32]
    tops: NDArray[np.int32]
    covered: NDArray[np.int32]


@kernel
def deepest_path(closing, parent):
    """Count the inner nodes on the longest path from the root."""
    depth = np.zeros(closing.size, np.int32)
    deepest = 0
    for c in range(closing.size - 1, -1, -1):
        w = closing[c]
        p = parent[2 * w + 1]
        depth[w] = 1 if p < 0 else depth[p // 2] + 1
        deepest = max(deepest, depth[w])
    return deepest


@kernel
def _own_distance(node, nodes):
    return 0.0 if node % 2 == 0 else DISTANCE[nodes.bit[node // 2]]


@kernel
def _distance_above(node, nodes):
    p = nodes.parent[node]
    return 1.0 if p < 0 else DISTANCE[nodes.bit[p // 2]]


@kernel
def _champion_of(node, champion):
    return node // 2 if node % 2 == 0 else np.int64(champion[node // 2])


@kernel
def _winner(a, b, best_a, best_b, champion_a, champion_b, leaf_key):
    """Whether the second of two siblings has the better champion."""
    return best_b > best_a or (best_b == best_a and leaf_key[champion_b] > leaf_key[champion_a])


@kernel
def _refresh_node(node, nodes, champion, leaf_key):
    """Recompute a node's best gain and champion from its children, as at the building."""
    below = 0.0
    if node % 2 == 1:
        w = node // 2
        a, b = np.int64(nodes.left[w]), np.int64(nodes.right[w])
        below = max(nodes.best[a], nodes.best[b])
        first, second = _champion_of(a, champion), _champion_of(b, champion)
        if _winner(a, b, nodes.best[a], nodes.best[b], first, second, leaf_key):
            first = second
        champion[w] = first
    drop = _distance_above(node, nodes) - _own_distance(node, nodes)
    nodes.best[node] = below + nodes.weight[node] * drop


@kernel
def _save(k, node, nodes, champion, scratch):
    scratch.node[k] = node
    scratch.weight[k] = nodes.weight[node]
    scratch.best[k] = nodes.best[node]
    scratch.champion[k] = champion[node // 2] if node % 2 == 1 else 0


@kernel
def _remove_row(leaf, root, nodes, champion, leaf_key, scratch):
    """Take one row out of a leaf; the last one takes the leaf and its split along.

    Returns the root and how many nodes were overwritten.
    """
    node = np.int64(2 * leaf)
    if nodes.weight[node] > 1.0:
        _save(0, node, nodes, champion, scratch)
        nodes.weight[node] -= 1.0
    else:
        p = np.int64(nodes.parent[node])
        sibling = np.int64(nodes.left[p // 2]) + np.int64(nodes.right[p // 2]) - node
        above = np.int64(nodes.parent[p])
        node = sibling
        _save(0, node, nodes, champion, scratch)
        nodes.parent[node] = above
        if above < 0:
            root = node
        elif nodes.left[above // 2] == p:
            nodes.left[above // 2] = node
        else:
            nodes.right[above // 2] = node
    _refresh_node(node, nodes, champion, leaf_key)
    k = 1
    node = np.int64(nodes.parent[node])
    while node >= 0:
        _save(k, node, nodes, champion, scratch)
        nodes.weight[node] -= 1.0
        _refresh_node(node, nodes, champion, leaf_key)
        node = np.int64(nodes.parent[node])
        k += 1
    return root, k


@kernel
def _restore(leaf, saved, nodes, champion, scratch):
    for k in range(saved):
        node = np.int64(scratch.node[k])
        nodes.weight[node] = scratch.weight[k]
        nodes.best[node] = scratch.best[k]
        if node % 2 == 1:
            champion[node // 2] = scratch.champion[k]
    first = scratch.node[0]
    if first != 2 * leaf:
        p = nodes.parent[2 * leaf]
        above = nodes.parent[p]
        nodes.parent[first] = p
        if above >= 0 and nodes.left[above // 2] == first:
            nodes.left[above // 2] = p
        elif above >= 0:
            nodes.right[above // 2] = p


@kernel
def _lead(n_tops, tops, nodes, cover, champion, leaf_key):
    """Top with the best gain, ties by the key of its champion."""
    leader = np.int64(-1)
    for i in range(n_tops):
        top = np.int64(tops[i])
        if cover.state[top] == COVERED:
            continue
        if leader < 0 or _winner(
            leader, top, nodes.best[leader], nodes.best[top],
            _champion_of(leader, champion), _champion_of(top, champion), leaf_key,
        ):  # fmt: skip
            leader = top
    return leader


@kernel
def _mark_tops(n_tops, tops, threshold, nodes, cover):
    for i in range(n_tops):
        top = np.int64(tops[i])
        if cover.state[top] == LIGHT and nodes.best[top] > threshold:
            cover.state[top] = HEAVY
            refresh_above(top, nodes, cover)


@kernel
def _interval(leaf, cell, nodes):
    """First leaf of the cell that a center takes over, and the one behind its last."""
    node = np.int64(2 * leaf)
    while nodes.parent[node] >= 0 and np.int64(nodes.bit[nodes.parent[node] // 2]) < cell:
        node = np.int64(nodes.parent[node])
    low = high = node
    while low % 2 == 1:
        low = np.int64(nodes.left[low // 2])
    while high % 2 == 1:
        high = np.int64(nodes.right[high // 2])
    return low // 2, high // 2 + 1


@kernel
def _run(rate, root, keys, track, nodes, cover, champion, heap, late, scratch, low, high):
    """Choose as many centers as `low` and `high` have room for; note them, and their cells' bits.

    A rate of 0 is greedy. Leaves `cover` as it was. Returns the heaps and whether the queue of
    first arrivals was long enough.
    """
    weight = np.uint64(nodes.weight[root])
    cover.cost[0], cover.cost[1] = weight << np.uint64(63), weight >> np.uint64(1)
    cover.clock[0], cover.clock[1], cover.clock[2] = 0.0, 0.0, 0.0
    cover.state[root] = LIGHT
    tops, covered = scratch.tops, scratch.covered
    tops[0] = root
    n_tops, n_covered, enough = 1, 0, True
    for t in range(low.size):
        leader = _lead(n_tops, tops, nodes, cover, champion, track.leaf_key)
        threshold = np.inf
        if rate == 0.0:
            leaf = _champion_of(leader, champion)
            look_above(leaf, nodes, cover)
        else:
            least_cost = cost_without(leader, nodes, cover) + cost_left(leader, nodes)
            temperature, threshold = draw_temperature(t, least_cost, rate, keys[0])
            _mark_tops(n_tops, tops, threshold, nodes, cover)
            leaf, heap, late = race(
                t, nodes.best[leader], temperature, threshold, root, keys[1], track, nodes, cover,
                heap, late,
            )  # fmt: skip
            if leaf < 0:
                enough = False
                break
        node = np.int64(2 * leaf)
        while nodes.parent[node] >= 0 and cover.state[nodes.parent[node]] != COVERED:
            p = np.int64(nodes.parent[node])
            tops[n_tops] = nodes.left[p // 2] + nodes.right[p // 2] - node
            covered[n_covered] = p // 2
            n_tops += 1
            n_covered += 1
            node = p
        tops[n_tops] = 2 * leaf
        n_tops += 1
        _, cell = take(leaf, t, threshold, nodes, cover)
        low[t], high[t] = leaf, cell
    for i in range(n_tops):
        cover.state[tops[i]] = INSIDE
    for i in range(n_covered):
        w = covered[i]
        cover.state[2 * w + 1] = INSIDE
        cover.heavy_weight[w], cover.heavy_best[w] = 0.0, -1.0
    return heap, late, enough


@kernel
def _requeue(leaf, weight, track):
    """Move a leaf's first arrival to where it is with one row less, weight being what is left.

    Returns False where the queue is too short to tell.
    """
    queue, times = track.queue, track.times
    for i in range(queue.size):
        if queue[i] == leaf:
            later = delay_of(track.leaf_key[leaf], 0.0) / weight
            k = i
            while k + 1 < queue.size and times[k + 1] < later:
                queue[k], times[k] = queue[k + 1], times[k + 1]
                k += 1
            queue[k], times[k] = leaf, later
            return k + 1 < queue.size or queue.size == track.leaf_key.size
    return True


@kernel
def run_without(
    leaves, watched, rate, root, keys, track, nodes, cover, champion, heap, late, scratch, low, high
):
    """For each of `leaves`, the cells of the first centers once one of its rows is gone.

    Fills rows of `low` and `high`. A leaf of -1 removes nothing. Returns for each whether the run
    looked into the node `watched`, and whether the queue sufficed.
    """
    looked = np.empty(leaves.size, np.bool_)
    enough = np.empty(leaves.size, np.bool_)
    queue, times = track.queue.copy(), track.times.copy()
    for i in range(leaves.size):
        leaf = np.int64(leaves[i])
        cover.run[0] += 1
        new_root, saved = np.int64(root), np.int64(0)
        alone = leaf >= 0 and nodes.weight[2 * leaf] <= 1.0
        queued = True
        if leaf >= 0:
            if not alone:
                queued = _requeue(leaf, nodes.weight[2 * leaf] - 1.0, track)
            new_root, saved = _remove_row(leaf, new_root, nodes, champion, track.leaf_key, scratch)
            if alone:
                cover.state[2 * leaf] = COVERED  # its clock no longer counts
        heap, late, enough[i] = _run(
            rate, new_root, keys, track, nodes, cover, champion, heap, late, scratch, low[i],
            high[i],
        )  # fmt: skip
        enough[i] = enough[i] and queued
        if leaf >= 0:
            _restore(leaf, saved, nodes, champion, scratch)
            cover.state[2 * leaf] = INSIDE
            if not alone:
                for k in range(queue.size):
                    track.queue[k], track.times[k] = queue[k], times[k]
        if enough[i]:
            for t in range(low.shape[1]):  # in the whole tree, where intervals are the same for all
                low[i, t], high[i, t] = _interval(np.int64(low[i, t]), high[i, t], nodes)
        node = watched[i]
        looked[i] = node % 2 == 1 and cover.looked[node // 2] == cover.run[0]
    return looked, enough


@kernel
def effects_at(leaves, at, nodes, champion, leaf_key):
    """Best gain and champion of node ``at[i]`` once one row of ``leaves[i]`` below it is gone.

    Everything above depends on the row only through these two. Where the node is the leaf itself
    or its parent, the champion is replaced by minus the leaf, as such a removal is like no other.
    """
    best = np.empty(leaves.size, np.float64)
    first = np.empty(leaves.size, np.int64)
    for i in range(leaves.size):
        leaf, stop = np.int64(leaves[i]), np.int64(at[i])
        node = np.int64(2 * leaf)
        if node == stop or nodes.parent[node] == stop:
            best[i], first[i] = 0.0, -1 - leaf
            continue
        if nodes.weight[node] > 1.0:
            weight, below, champ = nodes.weight[node] - 1.0, 0.0, leaf
            own, place = 0.0, node
        else:
            place = np.int64(nodes.parent[node])
            node = np.int64(nodes.left[place // 2]) + np.int64(nodes.right[place // 2]) - node
            weight, champ, own = nodes.weight[node], _champion_of(node, champion), 0.0
            below = 0.0
            if node % 2 == 1:
                w = node // 2
                below = max(nodes.best[nodes.left[w]], nodes.best[nodes.right[w]])
                own = DISTANCE[nodes.bit[w]]
        while place != stop:
            p = np.int64(nodes.parent[place])
            distance = DISTANCE[nodes.bit[p // 2]]
            gain = below + weight * (distance - own)
            other = np.int64(nodes.left[p // 2]) + np.int64(nodes.right[p // 2]) - place
            rival = _champion_of(other, champion)
            if _winner(place, other, gain, nodes.best[other], champ, rival, leaf_key):
                champ = rival
            below, weight, own = max(gain, nodes.best[other]), nodes.weight[p] - 1.0, distance
            place = p
        best[i] = below + weight * (_distance_above(place, nodes) - own)
        first[i] = champ
    return best, first


@kernel
def step_down(leaves, at, run, nodes, looked):
    """Move each node of `at` towards its leaf, to the first that run number `run` did not look at.

    At least one step.
    """
    for i in range(leaves.size):
        node = np.int64(at[i])
        while node % 2 == 1:
            node = np.int64(
                nodes.left[node // 2] if 2 * leaves[i] < node else nodes.right[node // 2]
            )
            if node % 2 == 0 or looked[node // 2] != run:
                break
        at[i] = node
