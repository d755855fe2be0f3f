"""What the first centers would be with one row less: change one path, run the rounds, restore."""

import numpy as np

from holdfast._machine.jit import inner_kernel, kernel
from holdfast.centers._cover_kernels import (
    COVERED,
    HEAVY,
    INSIDE,
    LIGHT,
    bit_above,
    cost_with_best,
    look_above,
    refresh_above,
    take,
)
from holdfast.centers._race_kernels import delay_of, draw_temperature, race
from holdfast.tree._kernels import DISTANCE, own_distance

SAVED = np.dtype(
    [("node", np.int64), ("weight", np.float64), ("best", np.float64), ("champion", np.int64)]
)
"""What the removal of a row overwrites."""


@kernel
def deepest_path(closing, nodes):
    """Count the inner nodes on the longest path from the root."""
    depth = np.zeros(closing.size, np.int32)
    deepest = 0
    for c in range(closing.size - 1, -1, -1):
        w = closing[c]
        p = nodes[2 * w + 1]["parent"]
        depth[w] = 1 if p < 0 else depth[p // 2] + 1
        deepest = max(deepest, depth[w])
    return deepest


@inner_kernel
def _champion_of(node, champion):
    return node // 2 if node % 2 == 0 else np.int64(champion[node // 2])


@inner_kernel
def _is_beaten(best_a, champion_a, best_b, champion_b, leaf_key):
    """Whether the second of two has the better champion: the larger gain, ties by key."""
    return best_b > best_a or (best_b == best_a and leaf_key[champion_b] > leaf_key[champion_a])


@inner_kernel
def _sibling(node, nodes):
    p = nodes[node]["parent"]
    return np.int64(nodes[p]["left"]) + np.int64(nodes[p]["right"]) - node


@inner_kernel
def _refresh_node(node, nodes, champion, leaf_key):
    """Recompute a node's best gain and champion from its children, as at the building."""
    below = 0.0
    if node % 2 == 1:
        a, b = np.int64(nodes[node]["left"]), np.int64(nodes[node]["right"])
        best_a, best_b = nodes[a]["best"], nodes[b]["best"]
        below = max(best_a, best_b)
        first, second = _champion_of(a, champion), _champion_of(b, champion)
        champion[node // 2] = (
            second if _is_beaten(best_a, first, best_b, second, leaf_key) else first
        )
    drop = DISTANCE[bit_above(node, nodes)] - own_distance(node, nodes)
    nodes[node]["best"] = below + nodes[node]["weight"] * drop


@inner_kernel
def _save(k, node, nodes, champion, saved):
    saved[k]["node"] = node
    saved[k]["weight"] = nodes[node]["weight"]
    saved[k]["best"] = nodes[node]["best"]
    saved[k]["champion"] = champion[node // 2] if node % 2 == 1 else 0


@inner_kernel
def _replace_child(p, child, other, nodes):
    if nodes[p]["left"] == child:
        nodes[p]["left"] = other
    else:
        nodes[p]["right"] = other


@inner_kernel
def _remove_row(leaf, root, nodes, champion, leaf_key, saved):
    """Take a row out of a leaf, or the leaf and its split; return the root and what is saved."""
    node = np.int64(2 * leaf)
    if nodes[node]["weight"] > 1.0:
        _save(0, node, nodes, champion, saved)
        nodes[node]["weight"] -= 1.0
    else:
        p = np.int64(nodes[node]["parent"])
        node = _sibling(node, nodes)
        above = np.int64(nodes[p]["parent"])
        _save(0, node, nodes, champion, saved)
        nodes[node]["parent"] = above
        if above < 0:
            root = node
        else:
            _replace_child(above, p, node, nodes)
    _refresh_node(node, nodes, champion, leaf_key)
    k = 1
    node = np.int64(nodes[node]["parent"])
    while node >= 0:
        _save(k, node, nodes, champion, saved)
        nodes[node]["weight"] -= 1.0
        _refresh_node(node, nodes, champion, leaf_key)
        node = np.int64(nodes[node]["parent"])
        k += 1
    return root, k


@inner_kernel
def _restore(leaf, n_saved, nodes, champion, saved):
    for k in range(n_saved):
        node = saved[k]["node"]
        nodes[node]["weight"] = saved[k]["weight"]
        nodes[node]["best"] = saved[k]["best"]
        if node % 2 == 1:
            champion[node // 2] = saved[k]["champion"]
    first = saved[0]["node"]
    if first != 2 * leaf:
        p = np.int64(nodes[2 * leaf]["parent"])
        above = np.int64(nodes[p]["parent"])
        nodes[first]["parent"] = p
        if above >= 0:
            _replace_child(above, first, p, nodes)


@inner_kernel
def _lead(n_tops, tops, nodes, state, champion, leaf_key):
    """Top with the best gain, ties by the key of its champion."""
    leader = np.int64(-1)
    for i in range(n_tops):
        top = tops[i]
        if state[top] == COVERED:
            continue
        if leader < 0 or _is_beaten(
            nodes[leader]["best"], _champion_of(leader, champion),
            nodes[top]["best"], _champion_of(top, champion), leaf_key,
        ):  # fmt: skip
            leader = top
    return leader


@inner_kernel
def _mark_tops(n_tops, tops, threshold, nodes, state):
    for i in range(n_tops):
        if state[tops[i]] == LIGHT and nodes[tops[i]]["best"] > threshold:
            state[tops[i]] = HEAVY
            refresh_above(tops[i], nodes, state)


@inner_kernel
def _interval(leaf, cell, nodes):
    """First leaf of the cell that a center takes over, and the one behind its last."""
    node = np.int64(2 * leaf)
    while nodes[node]["parent"] >= 0 and bit_above(node, nodes) < cell:
        node = np.int64(nodes[node]["parent"])
    low = high = node
    while low % 2 == 1:
        low = np.int64(nodes[low]["left"])
    while high % 2 == 1:
        high = np.int64(nodes[high]["right"])
    return low // 2, high // 2 + 1


@inner_kernel
def _add_path(leaf, n_tops, tops, nodes, state):
    """List the nodes that will have changed once `leaf` is a center, tops and covered ones."""
    node = np.int64(2 * leaf)
    tops[n_tops] = node
    n_tops += 1
    p = np.int64(nodes[node]["parent"])
    while p >= 0 and state[p] != COVERED:
        tops[n_tops] = _sibling(node, nodes)
        tops[n_tops + 1] = p
        n_tops += 2
        node = p
        p = np.int64(nodes[node]["parent"])
    return n_tops


@inner_kernel
def _run(
    rate, root, keys, source, splits, place, leaf_key, queue, times, champion,
    whole, nodes, state, now, looked, heap, late, tops, leaves, bits,
):  # fmt: skip
    """Choose as many centers as `leaves` and `bits` have room for; note them and their cells.

    A rate of 0 is greedy. Leaves the state as it was, and the nodes like those of the `whole` tree.
    Returns whether the queue of first arrivals was long enough.
    """
    weight = np.uint64(nodes[root]["weight"])
    now[0]["cost_low"], now[0]["cost_high"] = weight << np.uint64(63), weight >> np.uint64(1)
    now[0]["clock"] = 0.0
    now[0]["arrived"] = 0
    now[0]["late"] = 0
    state[root] = LIGHT
    tops[0] = root
    n_tops, enough = np.int64(1), True
    for t in range(leaves.size):
        leader = _lead(n_tops, tops, nodes, state, champion, leaf_key)
        threshold = np.inf
        if rate == 0.0:
            leaf = _champion_of(leader, champion)
            look_above(leaf, nodes, looked, now)
        else:
            least_cost = cost_with_best(leader, nodes, now)
            temperature, threshold = draw_temperature(t, least_cost, rate, keys[0])
            _mark_tops(n_tops, tops, threshold, nodes, state)
            leaf = race(
                t, nodes[leader]["best"], temperature, threshold, root, keys[1], source,
                splits, place, leaf_key, queue, times, nodes, state, now, looked, heap, late,
            )  # fmt: skip
            if leaf < 0:
                enough = False
                break
        n_tops = _add_path(leaf, n_tops, tops, nodes, state)
        _, cell = take(leaf, t, threshold, nodes, state, now)
        leaves[t], bits[t] = leaf, cell
    for i in range(n_tops):
        state[tops[i]] = INSIDE
        if tops[i] % 2 == 1:
            nodes[tops[i]]["weight"] = whole[tops[i]]["weight"]
            nodes[tops[i]]["best"] = whole[tops[i]]["best"]
    return enough


@inner_kernel
def _requeue(leaf, weight, leaf_key, queue, times):
    """Move a leaf's arrival to that of the weight left; return whether the queue is long enough."""
    for i in range(queue.size):
        if queue[i] == leaf:
            later = delay_of(leaf_key[leaf], 0.0) / weight
            k = i
            while k + 1 < queue.size and times[k + 1] < later:
                queue[k], times[k] = queue[k + 1], times[k + 1]
                k += 1
            queue[k], times[k] = leaf, later
            return k + 1 < queue.size or queue.size == leaf_key.size
    return True


@kernel
def run_without(
    removed, watched, rate, root, keys, source, splits, place, leaf_key, queue, times,
    champion, whole, nodes, state, now, looked, heap, late, saved, tops, low, high,
):  # fmt: skip
    """For each leaf of `removed`, the cells of the first centers once one of its rows is gone.

    Fills rows of `low` and `high`. A leaf of -1 removes nothing. Everything else is as before
    afterwards. Returns for each whether the run looked into the node `watched`, and whether the
    queue sufficed.
    """
    seen = np.empty(removed.size, np.bool_)
    enough = np.empty(removed.size, np.bool_)
    full_queue, full_times = queue.copy(), times.copy()
    for i in range(removed.size):
        leaf = np.int64(removed[i])
        now[0]["run"] += 1
        new_root, n_saved, queued = np.int64(root), np.int64(0), True
        alone = leaf >= 0 and nodes[2 * leaf]["weight"] <= 1.0
        if leaf >= 0:
            if not alone:
                queued = _requeue(leaf, nodes[2 * leaf]["weight"] - 1.0, leaf_key, queue, times)
            new_root, n_saved = _remove_row(leaf, new_root, nodes, champion, leaf_key, saved)
            if alone:
                state[2 * leaf] = COVERED  # its clock no longer counts
        enough[i] = queued and _run(
            rate, new_root, keys, source, splits, place, leaf_key, queue, times, champion,
            whole, nodes, state, now, looked, heap, late, tops, low[i], high[i],
        )  # fmt: skip
        if leaf >= 0:
            _restore(leaf, n_saved, nodes, champion, saved)
            state[2 * leaf] = INSIDE
            if not alone:
                for k in range(queue.size):
                    queue[k], times[k] = full_queue[k], full_times[k]
        if enough[i]:
            for t in range(low.shape[1]):  # in the whole tree, where intervals are the same for all
                low[i, t], high[i, t] = _interval(np.int64(low[i, t]), high[i, t], nodes)
        node = watched[i]
        seen[i] = node % 2 == 1 and looked[node // 2] == now[0]["run"]
    return seen, enough


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
        if node == stop or nodes[node]["parent"] == stop:
            best[i], first[i] = 0.0, -1 - leaf
            continue
        place, champ, below, own = node, leaf, 0.0, 0.0
        weight = nodes[node]["weight"] - 1.0
        if weight == 0.0:
            place = np.int64(nodes[node]["parent"])
            node = _sibling(node, nodes)
            weight, champ = nodes[node]["weight"], _champion_of(node, champion)
            if node % 2 == 1:
                own = DISTANCE[nodes[node]["bit"]]
                below = max(nodes[nodes[node]["left"]]["best"], nodes[nodes[node]["right"]]["best"])
        while place != stop:
            p = np.int64(nodes[place]["parent"])
            distance = DISTANCE[nodes[p]["bit"]]
            gain = below + weight * (distance - own)
            other = _sibling(place, nodes)
            rival = _champion_of(other, champion)
            if _is_beaten(gain, champ, nodes[other]["best"], rival, leaf_key):
                champ = rival
            below, own = max(gain, nodes[other]["best"]), distance
            weight = nodes[p]["weight"] - 1.0
            place = p
        best[i] = below + weight * (DISTANCE[bit_above(place, nodes)] - own)
        first[i] = champ
    return best, first


@kernel
def step_down(leaves, at, nodes, looked_at):
    """Move each node of `at` towards its leaf, at least one step, to the first not looked at."""
    for i in range(leaves.size):
        node = np.int64(at[i])
        while node % 2 == 1:
            side = nodes[node]["left"] if 2 * leaves[i] < node else nodes[node]["right"]
            node = np.int64(side)
            if node % 2 == 0 or not looked_at[node // 2]:
                break
        at[i] = node
