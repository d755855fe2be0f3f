"""``python -m holdfast.demo``: cluster the Wine data, show the first cuts, draw the hierarchy."""

from pathlib import Path

from matplotlib.figure import Figure
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from holdfast import HierarchicalKMedian
from holdfast.hierarchy.cost import k_median_cost_to
from holdfast.hierarchy.draw import draw_hierarchy

__all__ = ["main"]

N_CUTS = 10
PICTURE = Path("demo-hierarchy.png")


def main() -> None:
    """Fit, print, draw."""
    wine = load_wine()
    X = StandardScaler().fit_transform(wine.data)
    model = HierarchicalKMedian(n_clusters=N_CUTS, random_state=0).fit(X)
    hierarchy = model.hierarchy_
    print(f"Wine: {X.shape[0]} rows, {X.shape[1]} columns, standardised.")
    print(f"One hierarchy, {hierarchy.n_centers} cuts; the first {N_CUTS}:\n")
    print(f"{'k':>2}  {'new center':>10}  {'splits':>6}  {'tree cost':>9}  {'cost':>6}  sizes")
    for k in range(1, N_CUTS + 1):
        rows = hierarchy.center_indices[:k]
        split = "-" if k == 1 else f"{hierarchy.parent[k - 1]}"
        sizes = " ".join(str(size) for size in hierarchy.sizes(k))
        print(
            f"{k:>2}  {f'row {rows[-1]}':>10}  {split:>6}  {hierarchy.costs[k - 1]:>9.0f}  "
            f"{k_median_cost_to(X, X[rows]):>6.0f}  {sizes}"
        )
    print("\ntree cost: k-median cost on the tree; cost: in Euclidean distance to nearest center.")
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    axes = draw_hierarchy(hierarchy, N_CUTS, figure.add_subplot())
    axes.set_title("Wine: every cut splits one cluster of the cut above", loc="left", fontsize=10)
    figure.savefig(PICTURE, dpi=120)
    print(f"The hierarchy is drawn in {PICTURE.resolve()}")


if __name__ == "__main__":
    main()
