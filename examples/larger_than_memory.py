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
import pyarrow as pa
import pyarrow.parquet as pq

from holdfast import HierarchicalKMedian, fit_chunks

# %%
# Twelve files, each a month of readings from sensors along a spiral; here small enough to check.

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
files = []
for month in range(12):
    at = rng.uniform(1.0, 10.0, size=20_000)
    spiral = np.column_stack([at * np.cos(at), at * np.sin(at)])
    rows = np.round(spiral + rng.normal(scale=0.35, size=spiral.shape), 2)
    files.append(folder / f"month_{month + 1:02}.parquet")
    pq.write_table(pa.table({"x": rows[:, 0], "y": rows[:, 1]}), files[-1])

labels = folder / "labels.parquet"
model = fit_chunks(HierarchicalKMedian(24), files, labels=labels)
written = pq.read_table(labels)["label"].to_numpy()
print(f"{written.size:,} rows in {len(files)} files; {len(model.rows_):,} distinct rows")

# %%
# The same files backwards, in parts of 7,001 rows: the same clusters.

again = fit_chunks(HierarchicalKMedian(24), files[::-1], chunk_rows=7_001)
assert np.array_equal(model.labels_, again.labels_)

# %%
# With a cap on the memory of the sketch, cells of a grid stand for rows. Splits finer than a cell are
# lost, and the clusters are another draw, of nearly the same cost.

capped = fit_chunks(HierarchicalKMedian(24), files, max_cells=5_000)
figure, axes = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained", sharex=True, sharey=True)
for ax, fitted, size in zip(axes, (model, capped), (1, 9), strict=True):
    color = plt.cm.hsv((fitted.labels_ * 0.618034) % 1.0)
    ax.scatter(*fitted.rows_.T, c=color, s=size, linewidths=0, rasterized=True)
    ax.set_title(f"{len(fitted.rows_):,} distinct rows or cells kept")
    ax.set_aspect("equal")
    ax.set_axis_off()
plt.show()

# %%
# **What was learned:** memory depends on the cap, not on the number of rows, and how the files are cut
# up changes nothing.
