"""The result of a fit: one nested hierarchy that can be cut for any k, and drawn."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from holdfast._machine.jit import read_only, unwrap_interrupts
from holdfast._machine.work import lock_of, share_rows
from holdfast.centers import CenterSequence
from holdfast.centers.choose import ancestors_among
from holdfast.centers.keyed_table import as_csr
from holdfast.grid import Cells, Grid
from holdfast.hierarchy.locate import build_cell_locator
from holdfast.tree._kernels import merge_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_BLOCK = 1 << 22  # values of sparse rows that are dense at a time

_FIELDS = ("center_indices", "costs", "parent", "finest", "locator")

# The palette of Okabe and Ito: distinct for color-blind readers, and in print without color.
_PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")

# Hatches distinguish clusters when the colors repeat.
_HATCHES = ("", "//", "..", "xx")


class Locator(Protocol):
    """Finds the finest cluster of any row."""

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""

    def finest(self, X: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the finest cluster of each row."""

    def first(self, k: int) -> "Locator":
        """Keep the first k centers; `finest` then returns the labels of ``cut(k)``."""


@dataclass(frozen=True, eq=False)
class Naming:
    """Names of clusters that last from one followed model to the next."""

    levels: tuple[int, ...]  # the numbers of clusters that are followed, rising
    names: tuple[NDArray[np.int64], ...]  # for each level, the name of each label
    next_name: int  # no cluster has had this name or a larger one


@dataclass(frozen=True, repr=False, eq=False)
class Hierarchy:
    """A nested k-median hierarchy with the centers of every cut. Immutable.

    Cluster t is the cluster of the t-th center for every k > t. ``cut(k + 1)`` differs from
    ``cut(k)`` only in the rows that moved into the new cluster k.
    :meth:`HierarchicalKMedian.fit` creates it. It does not hold the rows. `explain`, `explain_row` and
    `membership`, which need them, ask the estimator that the hierarchy was read from (`hierarchy_`),
    and keep its rows in memory. Copies and pickles of a hierarchy alone do not have them.

    Attributes
    ----------
    center_indices : ndarray of shape (n_centers,), dtype int64
        Row of each center, in the order in which they were chosen.
    costs : ndarray of shape (n_centers,), dtype float64
        Cost of the cuts into k = 1 .. n_centers clusters. For the tree, COST_T(P, S_k); for
        medoids, the sum of distances from rows to the center of their cluster; for means, the sum
        of distances to the mean of their cluster.
    parent : ndarray of shape (n_centers,), dtype int32
        The cluster that cluster t was split from; -1 for cluster 0.
    finest : ndarray of shape (n_rows,), dtype int32
        Labels of the finest cut; `parent` leads from these to every other cut.
    locator : Locator
        Finds the finest cluster of any row.
    naming : Naming or None
        For a hierarchy that follows another one: the names of its clusters.

    Notes
    -----
    After `partial_fit` or `forget`, the tree has computed only its first clusters. `cut`, `sizes`,
    `predict` and `first` use them if they suffice. Everything else is computed on first use. Threads
    may share a hierarchy.
    """

    center_indices: NDArray[np.int64]
    costs: NDArray[np.float64]
    parent: NDArray[np.int32]
    finest: NDArray[np.int32]
    locator: Locator
    naming: Naming | None = None

    @classmethod
    def in_part(
        cls, part: "Hierarchy", n_centers: int, finish: Callable[[], "Hierarchy"]
    ) -> "Hierarchy":
        """Return a hierarchy of which the first clusters are known; `finish` computes all."""
        hierarchy = object.__new__(cls)
        hierarchy.__dict__.update(_part=part, _n_centers=n_centers, _finish=finish)
        return hierarchy

    def __getattr__(self, name: str) -> Any:
        """Compute what a hierarchy in part lacks."""
        if name not in _FIELDS or "_n_centers" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        with lock_of(self):
            if name not in self.__dict__:
                whole = self._finish()
                self.__dict__.update((field, getattr(whole, field)) for field in _FIELDS)
                del self.__dict__["_part"], self.__dict__["_finish"]
        return self.__dict__[name]

    def bind(self, model_of: "Callable[[Hierarchy], Any]") -> None:
        """Take note of who knows the rows: a function that returns the model of a hierarchy."""
        self.__dict__["_model_of"] = model_of

    def _model(self, what: str) -> Any:
        model_of = self.__dict__.get("_model_of")
        if model_of is None:
            raise ValueError(
                f"{what} needs the rows, which a hierarchy alone does not hold. Use hierarchy_ of a "
                f"fitted HierarchicalKMedian, or {what} of the estimator."
            )
        return model_of(self)

    def membership(
        self, X: Any = None, n_clusters: int | None = None, **options: Any
    ) -> NDArray[np.float64]:
        """Compute the probability of each cluster for each row.

        Parameters, options and result are those of :meth:`HierarchicalKMedian.membership`.
        """
        return np.asarray(self._model("membership").membership(X, n_clusters, **options))

    def explain(self, n_clusters: int | None = None, **options: Any) -> Any:
        """Describe clusters and splits by rules.

        Parameters, options and result are those of :meth:`HierarchicalKMedian.explain`.
        """
        return self._model("explain").explain(n_clusters, **options)

    def explain_row(self, row: Any, n_clusters: int | None = None, **options: Any) -> Any:
        """Explain why a row is in its cluster.

        Parameters, options and result are those of :meth:`HierarchicalKMedian.explain_row`.
        """
        return self._model("explain_row").explain_row(row, n_clusters, **options)

    def down_to(self, k: int) -> "Hierarchy":
        """Return a hierarchy with at least the first k clusters of this one, at the least cost."""
        part: Hierarchy | None = self.__dict__.get("_part")
        return self if part is None or k > part.n_centers else part

    @property
    def n_centers(self) -> int:
        """Number of clusters of the finest cut."""
        known: int | None = self.__dict__.get("_n_centers")
        return self.center_indices.size if known is None else known

    @property
    def n_rows(self) -> int:
        """Number of rows that were clustered."""
        return self.down_to(1).finest.size

    def __getstate__(self) -> dict[str, Any]:
        """Pickle all clusters."""
        return {field: getattr(self, field) for field in (*_FIELDS, "naming")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled hierarchy with read-only arrays."""
        self.__dict__.update(state)
        for array in (self.center_indices, self.costs, self.parent, self.finest):
            array.flags.writeable = False

    def __repr__(self) -> str:
        """Show the sizes of the hierarchy."""
        return f"Hierarchy(n_rows={self.n_rows}, n_centers={self.n_centers})"

    def _repr_html_(self) -> str:
        """Show the costs and cluster sizes of a few cuts."""
        cuts = [k for k in (1, 2, 3, 4, 6, 8, 12, 16) if k <= self.n_centers]
        whole = float(self.costs[0])
        lines = []
        for k in cuts:
            sizes = self.sizes(k)
            bars = "".join(
                f'<span title="cluster {t}: {sizes[t]:,} rows" style="display:inline-block;height:1em;'
                f'width:{100.0 * sizes[t] / self.n_rows:.2f}%;background:{cluster_color(t)}"></span>'
                for t in nested_order(self.parent, k)
            )
            cost = 100.0 * float(self.costs[k - 1]) / whole if whole > 0.0 else 0.0
            lines.append(
                f'<tr><td style="text-align:right">{k}</td>'
                f'<td style="text-align:right">{cost:.0f}%</td>'
                f'<td style="min-width:20em;white-space:nowrap">{bars}</td></tr>'
            )
        return (
            f"<table><caption>Hierarchy of {self.n_rows:,} rows, up to {self.n_centers:,} "
            "clusters</caption><thead><tr><th>clusters</th><th>cost, relative to one cluster</th>"
            f"<th>rows in each cluster</th></tr></thead><tbody>{''.join(lines)}</tbody></table>"
        )

    @unwrap_interrupts()
    def cut(self, n_clusters: int) -> NDArray[np.int32]:
        """Return the labels of the partition into `n_clusters` clusters.

        Parameters
        ----------
        n_clusters : int
            From 1 to `n_centers`.

        Returns
        -------
        ndarray of shape (n_rows,), dtype int32
            Labels from 0. No cluster is empty. Label t is the cluster of center t.
        """
        part = self.down_to(self._check(n_clusters))
        return part._ancestors(n_clusters)[part.finest]

    def names(self, n_clusters: int) -> NDArray[np.int64]:
        """Return the lasting name of each label of ``cut(n_clusters)``.

        After a fit, names are labels. A hierarchy that follows another one keeps the names of the
        levels that are followed, and never gives the name of a cluster that ended to another one.
        A cut between two levels has the names of the finer one.

        Parameters
        ----------
        n_clusters : int
            From 1 to `n_centers`.

        Returns
        -------
        ndarray of shape (n_clusters,), dtype int64
        """
        k = self._check(n_clusters)
        if self.naming is None:
            return np.arange(k, dtype=np.int64)
        finer = next(level for level, size in enumerate(self.naming.levels) if size >= k)
        return self.naming.names[finer][:k].copy()

    def first(self, n_clusters: int) -> "Hierarchy":
        """Return the hierarchy that stops at this number of clusters."""
        if (k := self._check(n_clusters)) == self.n_centers:
            return self
        if (part := self.down_to(k)) is not self:
            return part.first(k)
        ancestors, naming = self._ancestors(k), self.naming
        if naming is not None:
            kept = [level for level, size in enumerate(naming.levels) if size < k]
            levels = (*(naming.levels[level] for level in kept), k)
            names = (*(naming.names[level] for level in kept), self.names(k))
            naming = Naming(levels, names, naming.next_name)
        first = Hierarchy(
            read_only(self.center_indices[:k]),
            read_only(self.costs[:k]),
            read_only(self.parent[:k]),
            read_only(ancestors[self.finest]),
            self.locator.first(k),
            naming,
        )
        if "_model_of" in self.__dict__:
            first.bind(self.__dict__["_model_of"])
        return first

    def sizes(self, n_clusters: int) -> NDArray[np.int64]:
        """Return the number of rows in each cluster of ``cut(n_clusters)``."""
        k = self._check(n_clusters)
        part = self.down_to(k)
        finest = np.bincount(part.finest, minlength=part.n_centers)
        counts = np.bincount(part._ancestors(k), weights=finest, minlength=k)
        return counts.astype(np.int64)

    @unwrap_interrupts()
    def linkage(self) -> NDArray[np.float64]:
        """Return the hierarchy as a SciPy linkage matrix.

        The height of a merge is the cost before the corresponding split. Heights never fall, and
        ``fcluster(Z, k, "maxclust")`` is the partition ``cut(k)`` if heights are distinct. If the
        hierarchy stops early (`max_centers`), the rows of each finest cluster merge first, at
        height 0. So do repeated rows.

        Returns
        -------
        ndarray of shape (n_rows - 1, 4), dtype float64
        """
        merges: NDArray[np.float64] = merge_rows(
            self.finest, self.center_indices, self.parent, self.costs
        )
        return merges

    def plot(self, n_clusters: int = 16, ax: "Axes | None" = None) -> "Axes":
        """Draw the cuts 1 to `n_clusters` below each other, with clusters as bars of their size.

        A cluster keeps its color and label in every cut. Needs matplotlib.

        Parameters
        ----------
        n_clusters : int, default=16
            The finest cut to draw, at most `n_centers`.
        ax : matplotlib.axes.Axes, default=None
            None creates a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        n_clusters = min(n_clusters, self.n_centers)
        axes: Axes = new_axes(ax, (9.0, 0.42 * n_clusters + 1.2))
        order = nested_order(self.parent, n_clusters)
        for k in range(1, n_clusters + 1):
            sizes = self.sizes(k)
            left = 0
            for t in order:
                if t >= k:
                    continue
                width = int(sizes[t])
                bar = axes.barh(
                    k, width, left=left, height=0.86, color=cluster_color(t), edgecolor="white"
                )
                bar[0].set_hatch(cluster_hatch(t))
                if width > 0.015 * self.n_rows:
                    box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
                    axes.text(
                        left + width / 2, k, str(t), ha="center", va="center", fontsize=8, bbox=box
                    )
                left += width
        axes.set_ylim(n_clusters + 0.5, 0.5)
        axes.set_xlim(0, self.n_rows)
        axes.set_yticks(range(1, n_clusters + 1))
        axes.set_ylabel("k")
        axes.set_xlabel("rows")
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.tick_params(left=False)
        return axes

    @unwrap_interrupts()
    def predict(self, X: Any, n_clusters: int) -> NDArray[np.int32]:
        """Predict the labels of rows in ``cut(n_clusters)``.

        The tree uses the smallest labeled cell that contains a row, and cluster 0 outside all
        cells. Means and medoids replay the nested splits.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, n_features), dtype float64
        n_clusters : int
            From 1 to `n_centers`.

        Returns
        -------
        ndarray of shape (n,), dtype int32
        """
        part = self.down_to(self._check(n_clusters))
        rows: Any = as_csr(X) if issparse(X) else np.ascontiguousarray(X, dtype=np.float64)
        ancestors, locator = part._ancestors(n_clusters), part.locator
        if rows.ndim != 2 or rows.shape[1] != locator.n_features:
            raise ValueError(
                f"X must have {locator.n_features} columns like the rows of the fit; got an "
                f"array of shape {rows.shape}."
            )
        if not np.isfinite(rows.data if issparse(rows) else rows).all():
            raise ValueError("X must be finite; got NaN or infinity.")
        if not issparse(rows) or getattr(locator, "sparse", False):
            return ancestors[locator.finest(rows)]
        step = max(1, _BLOCK // rows.shape[1])
        found = [
            locator.finest(rows[start : start + step].toarray())
            for start in range(0, rows.shape[0], step)
        ]
        return ancestors[np.concatenate(found)]

    @property
    def _ends_at_level(self) -> bool:
        """Whether the hierarchy ends at the largest level of `polish` or `follow`."""
        return self.naming is not None and self.n_centers == max(self.naming.levels)

    def _check(self, k: int) -> int:
        if not isinstance(k, Integral) or isinstance(k, bool):
            raise TypeError(f"n_clusters must be an integer; got {k!r}.")
        if not 1 <= k <= self.n_centers:
            why = "one for each row"
            if self.n_centers < self.n_rows:
                why = "one for each distinct row of positive weight"
                if self.costs[-1] > 0.0:
                    why = "limited by max_centers"
                if self._ends_at_level:
                    why = "the largest level of polish or follow"
            raise ValueError(
                f"n_clusters must be from 1 to {self.n_centers}, the number of centers in this "
                f"hierarchy ({why}); got {k}."
            )
        return int(k)

    def _ancestors(self, k: int) -> NDArray[np.int32]:
        return ancestors_among(self.parent, int(k))


def new_axes(ax: Any, size: tuple[float, float] | None = None) -> Any:
    """Return `ax`, or the axes of a new figure: of this size in inches, or one that pyplot shows."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "Plotting needs matplotlib, which is not installed. Install it with "
            "pip install 'holdfast[plot]'."
        ) from None
    if size is None:
        from matplotlib.pyplot import subplots

        return subplots(layout="constrained")[1]
    return Figure(figsize=size, layout="constrained").add_subplot()


def cluster_color(cluster: int) -> str:
    """Color of a cluster, the same in every cut."""
    return _PALETTE[cluster % len(_PALETTE)]


def cluster_hatch(cluster: int) -> str:
    """Hatch of a cluster: none for the first ones, whose colors differ."""
    return _HATCHES[cluster // len(_PALETTE) % len(_HATCHES)]


def nested_order(parent: NDArray[np.int32], n_clusters: int) -> list[int]:
    """Order clusters so that each is followed by those split from it, the latest first."""
    children: list[list[int]] = [[] for _ in range(n_clusters)]
    for t in range(1, n_clusters):
        children[parent[t]].append(t)
    order, todo = [], [0]
    while todo:
        t = todo.pop()
        order.append(t)
        todo.extend(children[t])
    return order


def build_hierarchy(
    centers: CenterSequence, cells: Cells, grid: Grid, max_centers: int
) -> Hierarchy:
    """Build a hierarchy of rows from centers that are leaves of the tree."""
    finest = np.empty(cells.order.size, dtype=np.int32)
    label = centers.label
    if label.size < finest.size:
        label = np.repeat(label, np.diff(cells.start))

    def write(part: slice) -> None:
        finest[cells.order[part]] = label[part]

    share_rows(finest.size, write)
    return assemble_hierarchy(
        cells.first_rows[centers.leaf].astype(np.int64),
        centers.parent,
        centers.cost,
        finest,
        build_cell_locator(centers, cells, grid),
        cells.order,
        cells.start,
        max_centers,
    )


def assemble_hierarchy(
    center_rows: NDArray[np.int64],
    parent: NDArray[np.int32],
    costs: NDArray[np.float64],
    finest: NDArray[np.int32],
    locator: Locator,
    order: NDArray[np.integer],
    start: NDArray[np.integer],
    max_centers: int,
) -> Hierarchy:
    """Build a hierarchy; if all locations are centers, repeated rows split off last, at cost 0."""
    n_locations = start.size - 1
    n_repeats = min(max_centers, order.size) - n_locations
    if n_repeats > 0 and center_rows.size == n_locations:
        is_first = np.zeros(order.size, dtype=np.bool_)
        is_first[start[:-1]] = True
        repeats = order[~is_first][:n_repeats].astype(np.int64)
        parent = np.concatenate((parent, finest[repeats]))
        costs = np.concatenate((costs, np.zeros(n_repeats)))
        center_rows = np.concatenate((center_rows, repeats))
        finest[repeats] = np.arange(n_locations, n_locations + n_repeats, dtype=np.int32)
    for array in (center_rows, costs, parent, finest):
        array.flags.writeable = False
    return Hierarchy(center_rows, costs, parent, finest, locator)
