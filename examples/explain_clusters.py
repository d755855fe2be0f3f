"""
Explain the clusters to a colleague
===================================

A colleague asks what cluster 2 *is*. ``explain`` answers with short rules in the units of the table and
reports how well each rule describes its cluster. ``explain_row`` explains why one row is in its cluster. The
rules describe the clusters; they do not define them.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline

from holdfast import HierarchicalKMedian, TablePreparer

# %%
# :class:`holdfast.TablePreparer` scales the columns. Pass it to ``explain``, and the rules are in the original
# units.

wine = load_wine(as_frame=True).data
preparer, model = make_pipeline(TablePreparer(), HierarchicalKMedian(n_clusters=3)).fit(wine)
explanation = model.explain(max_conditions=2, preparer=preparer)
explanation

# %%
# For one wine: the nearest boundary, and the columns that keep the wine on its side.

model.explain_row(61, preparer=preparer)

# %%
# Each panel shows the two columns of a rule. The rule holds in the darkest part.

figure, axes = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
for cluster, (ax, rule) in enumerate(zip(axes, explanation.clusters, strict=True)):
    first, second = (condition.column.name for condition in rule.conditions)
    for label in range(3):
        rows = wine[model.labels_ == label]
        ax.scatter(rows[first], rows[second], s=14, color=f"C{label}", label=f"cluster {label}")
    spans = (ax.axvspan, ax.axhspan), (ax.get_xlim(), ax.get_ylim())
    for span, (low, high), condition in zip(*spans, rule.conditions, strict=True):
        low, high = float(condition.low_text or low), float(condition.high_text or high)
        span(low, high, color=f"C{cluster}", alpha=0.12, zorder=0)
        ax.set(xlim=spans[1][0], ylim=spans[1][1])
    ax.set_xlabel(first)
    ax.set_ylabel(second)
    conditions = str(rule).replace(" and ", "\nand ")
    ax.set_title(f"{conditions}:\n{rule.coverage:.0%} of cluster {cluster}", fontsize=10)
figure.legend(
    *axes[0].get_legend_handles_labels(), frameon=False, loc="outside lower center", ncols=3
)
plt.show()

# %%
# **What was learned:** two columns are enough to describe these clusters; be careful where a rule covers only a
# part of its cluster.
