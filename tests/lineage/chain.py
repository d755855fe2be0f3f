"""A short chain of releases whose moves, events and flows are known."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

MOVES = [("id", object), ("level", "i4"), ("from", "i8"), ("to", "i8"), ("reason", "U32"),
         ("gain", "f8")]  # fmt: skip
EVENTS = [("level", "i4"), ("name", "i8"), ("event", "U8"), ("other", "i8"), ("size_before", "i8"),
          ("size_after", "i8")]  # fmt: skip


@dataclass
class FakeHierarchy:
    """Labels and names of two levels."""

    labels: dict[int, np.ndarray]
    lasting: dict[int, np.ndarray]
    costs: np.ndarray
    naming: None = None

    @property
    def parent(self) -> np.ndarray:
        """Each finest label that the coarsest level does not have splits off within that level."""
        k, last = min(self.labels), max(self.labels)
        parent = np.minimum(np.arange(-1, last - 1), 0)
        for t in range(k, last):
            parent[t] = self.labels[k][np.argmax(self.labels[last] == t)]
        return parent.astype(np.int32)

    def cut(self, k: int) -> np.ndarray:
        return self.labels[k]

    def names(self, k: int) -> np.ndarray:
        return self.lasting[k]


class FakeModel:
    """What a lineage reads of a fitted model."""

    _fitted_metric = "euclidean"
    table_ = None

    def __init__(self, rows, names: dict[int, np.ndarray], ids=None, before: "FakeModel | None" = None,
                 **follow: Any):  # fmt: skip
        self.rows_ = np.asarray(rows, dtype=np.float64)
        self.row_weights_ = np.ones(len(rows))
        self.ids_ = None if ids is None else np.array(ids, dtype=object)
        self.n_features_in_ = self.rows_.shape[1]
        self.n_clusters = max(names)
        self.feature_names_in_ = np.array(["spend", "visits"], dtype=object)
        self._names = names
        lasting = {k: np.unique(found) for k, found in names.items()}
        labels = {
            k: np.searchsorted(lasting[k], found).astype(np.int32) for k, found in names.items()
        }
        costs = np.linspace(10.0, 1.0, self.n_clusters)
        self.hierarchy_ = FakeHierarchy(labels, lasting, costs)
        self.held_ = np.zeros(len(rows), dtype=bool)
        if before is not None:
            self._compare(before, follow)
        else:
            self.table_ = None

    def _to_record(self, include_rows: bool) -> None:
        """There is no model to keep."""

    def _compare(self, before: "FakeModel", follow: dict[str, Any]) -> None:
        old = {id: i for i, id in enumerate(before.ids_.tolist())}
        moves, events, moved = [], [], []
        both = [i for i, id in enumerate(self.ids_.tolist()) if id in old]
        for k, names in self._names.items():
            was = before._names[k]
            left = [(self.ids_[i], k, was[old[self.ids_[i]]], names[i], "values changed", 0.5)
                    for i in both if names[i] != was[old[self.ids_[i]]]]  # fmt: skip
            moves += left
            moved.append(len(left) / len(both))
            for name in sorted(set(was.tolist()) | set(names.tolist())):
                sizes = int((was == name).sum()), int((names == name).sum())
                word = "new" if not sizes[0] else "ended" if not sizes[1] else "kept"
                events.append((k, name, word, -1, *sizes))
        self.moves_ = np.array(moves, dtype=MOVES)
        self.events_ = np.array(events, dtype=EVENTS)
        ks = tuple(self._names)
        self.follow_ = SimpleNamespace(
            levels=ks, moved=np.array(moved), cost=np.full(len(ks), 2.0),
            cost_of_staying=np.full(len(ks), 2.5), fresh_cost=np.full(len(ks), np.nan),
            budget=follow.get("budget"), budget_binds=follow.get("binds", False),
            tolerance_exceeded=False, next_moves=self.moves_[:1], n_survivors=len(both),
            n_new=len(self.ids_) - len(both), n_left=len(before.ids_) - len(both),
        )  # fmt: skip


def build_chain() -> list[FakeModel]:
    """Three releases of ten rows: b moves to cluster 1, then cluster 2 ends and 3 is new."""
    rows = np.array(
        [[0, 0], [1, 0], [0, 1], [1, 1], [9, 9], [8, 9], [9, 8], [5, 0], [5, 1], [6, 0]]
    )
    ids = list("abcdefghij")
    fine = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
    first = FakeModel(rows, {2: np.minimum(fine, 1), 3: fine}, ids)
    rows, fine = rows.copy(), fine.copy()
    rows[1], fine[1] = [8, 0], 1
    second = FakeModel(rows, {2: np.minimum(fine, 1), 3: fine}, ids, first, budget=0.2, binds=True)
    keep = np.arange(1, 10)
    rows, fine = np.concatenate((rows[keep], [[6, 1]])), np.append(fine[keep], 2)
    fine = np.where(fine == 2, 3, fine)
    third = FakeModel(rows, {2: np.minimum(fine, 1), 3: fine}, [*ids[1:], "k"], second)
    return [first, second, third]
