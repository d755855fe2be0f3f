"""
Text embeddings with cosine distance
====================================

Texts become sparse rows with one column for each word. Their direction matters, not their length, so use
``metric="cosine"``. The rows stay sparse in ``fit`` and ``predict``. The texts here are the docstrings of
SciPy and scikit-learn, which are on every machine that has holdfast. Vectors of an embedding model work
in the same way.
"""

import inspect
from importlib import import_module

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from holdfast import HierarchicalKMedian

MODULES = ["scipy.stats", "scipy.optimize", "scipy.signal", "scipy.sparse", "scipy.spatial"]
MODULES += ["scipy.linalg", "scipy.special", "sklearn.cluster", "sklearn.linear_model"]
MODULES += ["sklearn.ensemble", "sklearn.metrics", "sklearn.preprocessing"]

texts = {}
for module in map(import_module, MODULES):
    for name in getattr(module, "__all__", dir(module)):
        doc = inspect.getdoc(getattr(module, name, None))
        if doc and len(doc) > 300 and not name.startswith("_"):
            texts.setdefault(f"{module.__name__}.{name}", doc)
names = np.array(list(texts))
home = np.array([name.rpartition(".")[0] for name in names])

words = TfidfVectorizer(stop_words="english", min_df=3, max_df=0.3, sublinear_tf=True)
X = words.fit_transform(texts.values())
model = HierarchicalKMedian(n_clusters=12, metric="cosine").fit(X)

# %%
# The words with the largest weight describe a cluster, and its center is a text that you can read.

vocabulary = words.get_feature_names_out()
print(
    f"{X.shape[0]} docstrings, {X.shape[1]} words, {X.nnz / X.shape[0]:.0f} of them in a docstring"
)
for label, center in enumerate(model.center_indices_):
    members = model.labels_ == label
    weight = np.asarray(X[members].mean(axis=0)).ravel()
    top = ", ".join(vocabulary[np.argsort(-weight)[:4]])
    print(f"{label:2} {members.sum():4} texts  {names[center]:35}  {top}")

# %%
# ``predict`` labels new texts.

new = [
    "Design a digital filter with a sharp cutoff.",
    "Train a regression with a penalty on coefficients.",
]
for text, label in zip(new, model.predict(words.transform(new)), strict=True):
    print(f"{label:2}  {text}")

# %%
# Compare the clusters with the modules of the functions, which the fit did not see.

modules = sorted(set(home))
table = np.array([[np.sum((home == m) & (model.labels_ == k)) for k in range(12)] for m in modules])
order = np.argsort(table.argmax(axis=0), kind="stable")
figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
picture = ax.imshow(
    (table / table.sum(axis=0))[:, order], cmap="Blues", aspect="auto", vmin=0, vmax=1
)
ax.set_yticks(range(len(modules)), modules)
ax.set_xticks(range(12), order)
ax.set_xlabel("cluster")
figure.colorbar(picture, label="fraction of the cluster's texts")
plt.show()

# %%
# **What was learned:** words alone separate statistics from signals and sparse matrices from
# regression, and the center of each cluster is a real text that you can read to name it.
