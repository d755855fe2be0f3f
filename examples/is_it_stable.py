"""
Is my Ward / KMeans / HDBSCAN result stable?
============================================

:func:`holdfast.average_sensitivity` measures any scikit-learn clusterer: it removes 5% of the rows,
fits again, matches old and new clusters, and counts the remaining rows that changed cluster.
:func:`holdfast.cluster_stability` measures which clusters are found again in bootstrap samples.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from holdfast import HierarchicalKMedian, average_sensitivity, cluster_stability

X = StandardScaler().fit_transform(load_wine().data)
K = 4
clusterers = {
    "Ward": AgglomerativeClustering(),
    "KMeans": KMeans(n_init=1),
    "HDBSCAN": HDBSCAN(min_cluster_size=5, copy=True),
    "holdfast": HierarchicalKMedian(),
}

moved, found_again = {}, {}
for name, clusterer in clusterers.items():
    result = average_sensitivity(
        clusterer, X, n_clusters=[K], delete=[0.05], trials=15, repeats=3, n_jobs=1
    )
    moved[name] = (result.mean.item(), *result.interval()[0, 0])
    found_again[name] = cluster_stability(clusterer, X, K, trials=20, n_jobs=1).jaccard
    print(
        f"{name:9} {result.mean.item():6.1%} ± {result.standard_error.item():.1%} of the rows move"
    )

# %%
# HDBSCAN chooses its own number of clusters and labels rows as noise. Here, most rows are noise, which is
# easily found again: stability alone is not quality.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for row, (mean, low, high) in enumerate(moved.values()):
    left.plot([low, high], [row, row], color="C0", linewidth=2)
    left.plot(mean, row, "o", color="C0", markersize=9)
left.set_yticks(range(len(moved)), moved)
left.set_xlim(left=0)
left.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
left.set_xlabel("rows that change cluster when 5% are removed")
left.invert_yaxis()
for row, values in enumerate(found_again.values()):
    right.plot(values, np.full(values.size, row), "o", color="C1", alpha=0.7, markersize=9)
right.axvline(0.75, color="0.6", linestyle=":", label="0.75: found again")
right.set_yticks(range(len(found_again)), found_again)
right.set_xlim(0, 1.02)
right.set_xlabel("Jaccard index of each cluster in bootstrap samples")
right.invert_yaxis()
right.legend(loc="lower left")
plt.show()

# %%
# **What was learned:** measure before you trust a clustering: on this table, removing a few rows moves many of
# the others with Ward and KMeans, and HDBSCAN is stable because most rows are noise.
