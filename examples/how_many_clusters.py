"""
How many clusters are stable?
=============================

One fit has the clusters for every k. :func:`holdfast.suggest_k` removes a few rows again and again,
and counts how many of the other rows change cluster, for every k at once. Numbers of clusters at
which fewer rows move than at their neighbors are worth a look.
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
# The curve shows how many rows move; the bars show what the cuts look like. A cluster keeps its color
# and its number in every cut, so you can read off which cluster each step splits.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
suggestion.plot(left)
model.hierarchy_.plot(10, right)
plt.show()

# %%
# **What was learned:** two clusters are the steadiest cut of these wines, and movement grows with k; a
# circle on the curve marks a number of clusters that is worth a second look.
