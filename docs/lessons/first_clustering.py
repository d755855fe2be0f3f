"""
Your first clustering in five minutes
=====================================

You have a table and want to know which groups its rows form. Install holdfast, open Python and follow along.
"""

# %%
# Load a table
# ------------
# The chemistry of 178 wines comes with scikit-learn. Its columns are measured in different units, and
# clusters depend on distances, so give every column the same weight first.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

wine = load_wine()
X = StandardScaler().fit_transform(wine.data)
X.shape

# %%
# Fit once, cut anywhere
# ----------------------
# :class:`holdfast.HierarchicalKMedian` is a scikit-learn estimator.

from holdfast import HierarchicalKMedian

model = HierarchicalKMedian(n_clusters=3).fit(X)
model.labels_

# %%
# One fit contains every number of clusters. ``cut(k + 1)`` splits one cluster of ``cut(k)`` and leaves the
# others unchanged, so a cluster keeps its number.

hierarchy = model.hierarchy_
for k in (2, 3, 4, 5):
    print(k, "clusters of", hierarchy.sizes(k), "wines")

# %%
# The picture shows these cuts below each other. The width of a bar is the number of rows in a cluster.

hierarchy.plot(8)
plt.show()

# %%
# What makes a cluster a cluster?
# -------------------------------
# Compare the mean of each cluster with the mean of all rows. The table is standardized, so 1 means one
# standard deviation above.

profile = np.array([X[model.labels_ == label].mean(axis=0) for label in range(3)])
figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
picture = ax.imshow(profile.T, cmap="RdBu_r", vmin=-1.5, vmax=1.5, aspect="auto")
ax.set_yticks(range(len(wine.feature_names)), wine.feature_names)
ax.set_xticks(range(3), [f"cluster {label}" for label in range(3)])
figure.colorbar(picture, label="standard deviations from the mean of all wines")
plt.show()

# %%
# Label new rows
# --------------
# ``predict`` gives new rows the label of the cluster they fall into. ``unknown=-1`` marks rows that lie
# farther out than every row of the fit.

model.predict(np.vstack([X[:3] + 0.1, np.full(13, 40.0)]), unknown=-1)

# %%
# Are these clusters stable?
# --------------------------
# Remove 5% of the rows, fit again, and count how many of the others change cluster, on average over many
# removals.

from holdfast import average_sensitivity

result = average_sensitivity(
    model, X, n_clusters=[3], delete=[0.05], trials=30, repeats=3, n_jobs=1
)
print(f"{result.mean.item():.1%} of the remaining wines change cluster")

# %%
# Keep the model
# --------------
# A saved model contains plain arrays, no pickle, and every later version can load it.

import tempfile

import holdfast

path = f"{tempfile.mkdtemp()}/wine.holdfast"
model.save(path)
holdfast.load(path)

# %%
# **What was learned:** fit once, cut at any k, look at what makes each cluster, and measure how stable
# it is. Next: :doc:`/howto/keep_segments`, or :doc:`the report page </report>`, which does most of
# the above in one call.
