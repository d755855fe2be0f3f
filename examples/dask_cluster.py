"""
On a Dask cluster
=================

:func:`holdfast.distributed.fit` sketches each partition on the worker that holds it, merges the
sketches and builds the hierarchy once. The result is that of a local fit, bit for bit.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from holdfast import HierarchicalKMedian, distributed

rng = np.random.default_rng(0)
grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(4.0)), axis=-1).reshape(-1, 2)
groups = grid + rng.uniform(-0.25, 0.25, size=grid.shape)
rows = groups[rng.integers(24, size=120_000)] + rng.normal(scale=0.12, size=(120_000, 2))
X = da.from_array(rows, chunks=(15_000, -1))

# %%
# Two workers on this machine; ``Client("scheduler:8786")`` would use yours.

with (
    LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as here,
    Client(here),
):
    model = distributed.fit(HierarchicalKMedian(24), X)
    labels = distributed.predict(model, X)
    sizes = da.bincount(labels, minlength=24).compute()
    labels = labels.compute()

alone = HierarchicalKMedian(24).fit(rows)
assert np.array_equal(labels, alone.labels_)
print(f"{X.numblocks[0]} partitions, {sizes.sum():,} rows, the labels of a local fit")

# %%
# Each cluster, drawn with the number of its rows that each partition held: partitions know nothing of
# clusters, and need not.

parts = np.repeat(np.arange(X.numblocks[0]), 15_000)
counts = np.zeros((X.numblocks[0], 24))
np.add.at(counts, (parts, labels), 1)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
left.scatter(*rows[::2].T, c=plt.cm.hsv((labels[::2] * 0.618034) % 1), s=0.6, linewidths=0)
left.set_axis_off()
left.set_title("120,000 rows, 24 clusters")
picture = right.imshow(counts, aspect="auto", cmap="viridis")
right.set_xlabel("cluster")
right.set_ylabel("partition")
figure.colorbar(picture, label="rows")
plt.show()

# %%
# **What was learned:** every partition holds a part of every cluster, and the cluster of machines still
# returns the labels of one machine.
