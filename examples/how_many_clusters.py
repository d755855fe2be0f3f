"""
How many clusters are stable?
=============================

One fit contains the clusters for every k. :func:`holdfast.suggest_k` repeatedly removes a few rows and counts
how many of the remaining rows change cluster, for every k at once. A k at which fewer rows move than at its
neighbors is worth a look.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from holdfast import HierarchicalKMedian, suggest_k

X = StandardScaler().fit_transform(load_wine().data)
model = HierarchicalKMedian().fit(X)
suggestion = suggest_k(model, X, range(2, 11), trials=20, repeats=4, n_jobs=1)
suggestion

# %%
# The curve shows how many rows move, and the bars show the cuts. A cluster keeps its color and its number in
# every cut, so you can see which cluster each step splits.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
suggestion.plot(left)
model.hierarchy_.plot(10, right)
plt.show()

# %%
# **What was learned:** the lowest point of the curve is the most stable number of clusters, and a circle marks
# each other number that is worth a second look.
