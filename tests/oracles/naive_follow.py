"""Following straight from its definition: the objective, and rows that move one round at a time.

Plain loops over rows; clusters are sets of names. Nothing is shared with the library.
"""

import math

ROUNDS = 12
LEAST_FALL = 1e-6
PARTS = 4


class Naive:
    """Rows with the leaf they had yesterday (or None), and a tree of leaves that does not change.

    ``paths[leaf]`` are the names of the clusters of a leaf, the coarsest first. Rows whose number is
    not a multiple of 3 did not change, and move only if that saves ``caution`` times the price.
    """

    def __init__(self, rows, yesterday, paths, price, limit=None, caution=None):
        self.rows = [tuple(map(float, row)) for row in rows]
        self.yesterday, self.paths, self.price, self.limit = yesterday, paths, price, limit
        self.depth = len(next(iter(paths.values())))
        self.ref = [1.0] * self.depth
        self.caution = [1.0] * self.depth if caution is None else caution

    def means(self, leaves):
        found = {}
        for level in range(self.depth):
            members = {}
            for row, leaf in zip(self.rows, leaves, strict=True):
                members.setdefault(self.paths[leaf][level], []).append(row)
            for name, group in members.items():
                found[level, name] = [math.fsum(c) / len(group) for c in zip(*group, strict=True)]
        return found

    def costs(self, leaves):
        means = self.means(leaves)
        return [
            math.fsum(
                math.dist(row, means[level, self.paths[leaf][level]])
                for row, leaf in zip(self.rows, leaves, strict=True)
            )
            for level in range(self.depth)
        ]

    def away(self, i, leaf, level):
        old = self.yesterday[i]
        return old is not None and self.paths[leaf][level] != self.paths[old][level]

    def moved(self, leaves):
        return [
            sum(self.away(i, leaf, level) for i, leaf in enumerate(leaves))
            for level in range(self.depth)
        ]

    def objective(self, leaves):
        parts = [cost / ref for cost, ref in zip(self.costs(leaves), self.ref, strict=True)]
        return math.fsum(parts) + self.price * sum(self.moved(leaves)) / len(self.rows)

    def score(self, i, leaf, means):
        total = 0.0
        for level, ref in enumerate(self.ref):
            total += math.dist(self.rows[i], means[level, self.paths[leaf][level]]) / ref
            price = self.price * (self.caution[level] if i % 3 > 0 else 1.0)
            total += price / len(self.rows) * self.away(i, leaf, level)
        return total

    def one_round(self, leaves):
        means, moved = self.means(leaves), self.moved(leaves)
        wishes = []
        for i, leaf in enumerate(leaves):
            own = self.score(i, leaf, means)
            open_leaves = [
                q
                for q in self.paths
                if q != leaf
                and not any(
                    self.limit is not None
                    and moved[level] >= self.limit
                    and self.away(i, q, level)
                    and not self.away(i, leaf, level)
                    for level in range(self.depth)
                )
            ]
            if open_leaves:
                best = min(open_leaves, key=lambda q: self.score(i, q, means))
                if self.score(i, best, means) < own * (1 - 1e-12):
                    wishes.append((own - self.score(i, best, means), i, best))
        after = list(leaves)
        left = None if self.limit is None else [self.limit - m for m in moved]
        for gain, i, best in sorted(wishes, reverse=True):
            change = [
                self.away(i, best, level) - self.away(i, leaves[i], level)
                for level in range(self.depth)
            ]
            if left is not None and max(change) > 0:
                if any(c > room for c, room in zip(change, left, strict=True)):
                    continue
                left = [room - max(c, 0) for c, room in zip(change, left, strict=True)]
            assert gain > 0
            after[i] = best
        self.gains = {i: gain for gain, i, _ in wishes}
        return self.keep_filled(leaves, after)

    def keep_filled(self, leaves, after):
        while set(after) != set(self.paths):  # whoever would leave a leaf empty stays
            empty = set(self.paths) - set(after)
            after = [old if old in empty else new for old, new in zip(leaves, after, strict=True)]
        return after

    def slope(self, level, name, leaves, means):
        """Mean direction from a center to its rows: by how much other rows come nearer if it shifts."""
        center = means[level, name]
        members = [
            row for row, q in zip(self.rows, leaves, strict=True) if self.paths[q][level] == name
        ]
        ways = [[x - c for x, c in zip(row, center, strict=True)] for row in members]
        units = [[x / math.hypot(*way) for x in way] for way in ways if any(way)]
        return [math.fsum(column) / len(members) for column in zip(*units, strict=True)]

    def shifting(self, i, leaf, leaves, means):
        """What the other rows of a leaf's clusters save as row i pulls the means."""
        total = 0.0
        for level, ref in enumerate(self.ref):
            name = self.paths[leaf][level]
            slope = self.slope(level, name, leaves, means)
            way = (x - c for x, c in zip(self.rows[i], means[level, name], strict=True))
            total += sum(a * b for a, b in zip(slope, way, strict=True)) / ref
        return total

    def what_pays(self, leaves, after, value):
        """Of moves that do not pay together, those that pay although they shift the means, or a part."""
        means, saved = self.means(leaves), {}
        for i, (old, new) in enumerate(zip(leaves, after, strict=True)):
            if old != new:
                shifts = self.shifting(i, old, leaves, means) - self.shifting(i, new, leaves, means)
                saved[i] = self.gains[i] - shifts
        order = sorted(saved, key=lambda i: saved[i], reverse=True)
        count = sum(each > 0.0 for each in saved.values())
        for _ in range(PARTS):
            go = set(order[:count])
            some = [new if i in go else leaves[i] for i, new in enumerate(after)]
            some = self.keep_filled(leaves, some)
            if some == leaves or self.objective(some) < value:
                return some
            count //= 2
        return leaves

    def settle(self, leaves):
        self.ref = self.costs(leaves)
        value = self.objective(leaves)
        for _ in range(ROUNDS):
            after = self.one_round(leaves)
            if not self.objective(after) < value:
                after = self.what_pays(leaves, after, value)
            if after == leaves or not self.objective(after) < value:
                break
            fall, leaves = value - self.objective(after), after
            value -= fall
            if fall < LEAST_FALL * (value + fall):
                break
        return leaves
