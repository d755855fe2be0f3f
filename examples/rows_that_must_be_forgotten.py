"""
Rows that must be forgotten
===========================

Some people ask for their data to be deleted. ``forget`` removes their rows, and the result is *exactly* that
of a fit without them: labels, centers and costs are equal to the last bit. Nothing of the removed rows
remains in the model.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from holdfast import HierarchicalKMedian, match_labels

X = load_digits().data
asked = np.arange(7, len(X), 20)
stay = np.setdiff1d(np.arange(len(X)), asked)

model = HierarchicalKMedian(n_clusters=10).fit(X)
before = model.labels_[stay]
model.forget(X[asked])

never_seen = HierarchicalKMedian(n_clusters=10).fit(model.rows_, sample_weight=model.row_weights_)
assert np.array_equal(model.labels_, never_seen.labels_)
assert np.array_equal(model.hierarchy_.costs, never_seen.hierarchy_.costs)
after = match_labels(before, model.predict(X[stay]))
print(f"{asked.size} rows forgotten; {np.mean(before != after):.1%} of the others changed cluster")

# %%
# The remaining rows that changed cluster lie between clusters.

flat = PCA(2).fit_transform(X)
changed = stay[before != after]
figure, ax = plt.subplots(figsize=(8, 5.5), layout="constrained")
ax.scatter(*flat[stay].T, c=after, cmap="tab10", s=9, alpha=0.6)
ax.scatter(*flat[asked].T, marker="x", c="black", s=22, linewidths=1, label="forgotten")
ax.scatter(*flat[changed].T, facecolors="none", edgecolors="red", s=45, label="changed cluster")
ax.set_axis_off()
ax.legend(frameon=False)
plt.show()

# %%
# **What was learned:** removing rows is exact, and it moves few of the rows that remain.
