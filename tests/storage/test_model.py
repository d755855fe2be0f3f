"""What a file says of a model must fit together; what does not is refused, with the reason."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from holdfast import HierarchicalKMedian
from holdfast.rows.ids import DepartedRows
from holdfast.storage.model import model_from_arrays, model_to_arrays
from holdfast.tables.preparer import TablePreparer

ROWS = (np.arange(24) * np.arange(24) % 11).reshape(12, 2).astype(np.float64)
PREPARER = TablePreparer().fit(ROWS)
MODEL = HierarchicalKMedian(3, column_scale=[1.0, 2.0]).fit(
    PREPARER.transform(ROWS), sample_weight=np.arange(1.0, 13.0), ids=np.arange(12)
)
LEFT = DepartedRows(np.array([20, 21]), np.array([0, 1]), 3)
CAP = {"max_cells": 9, "exponent": 3, "lower": [0.0, 0.0], "upper": [9.0, 9.0]}
RECORD = replace(
    MODEL._to_record(True), left=LEFT, least=0.5, cap=CAP, columns=("a", "b"),
    table=MODEL._describe_table(PREPARER),
)  # fmt: skip

# The place in the description -> values that are wrong there, and what the error says.
DESCRIPTIONS = {
    "parameters.epsilon": ([-1.0, 1, "small", None], "epsilon is not a non-negative number"),
    "parameters.method": (["ward", None], "method is not"),
    "parameters.metric": (["chebyshev", None], "metric is not one of"),
    "parameters.seed": ([-1, 1 << 64, True, 1.0], "seed is not a 64-bit integer"),
    "parameters.max_centers": ([0, "some", 3.0], "max_centers is not"),
    "parameters.n_clusters": ([0, 13, 3.0], "n_clusters is not from 1"),
    "parameters.column_scale": (
        [[1.0], [0.0, 1.0], [1.0, np.inf], [1, 2], 3],
        "column_scale is not",
    ),
    "parameters.shift": ([1], "parameters must be"),
    "parameters": ([None, []], "no description of its parameters"),
    "reach": ([-1.0, np.inf, np.nan, 1], "reach is not"),
    "least": ([-1.0, np.inf, 1], "price of a change is not"),
    "columns": ([["a"], ["a", "a"], ["a", 1], "ab"], "one distinct name per column"),
    "cap": ([{}, [], CAP | {"more": 1}], "no valid description of the cells"),
    "cap.max_cells": ([0, 9.0], "out of range"),
    "cap.exponent": ([1201, -1201, 3.0], "out of range"),
    "cap.lower": ([[0.0], [0.0, np.nan], [0, 0], 0.0], "bounds of its rows are not finite"),
    "cap.upper": ([[-1.0, 9.0]], "in the wrong order"),
    "left": ([3], "no description of its left"),
    "left.level": ([0, 1.0], "level of the rows that left"),
    "left.ids": (["none", "texts"], "ids"),
    "table": ([3], "no description of its table"),
    "table.cuts": ([[], [0], [2.0], 3, None], "not positive integers"),
    "table.id_name": ([3], "not text"),
    "table.ids": (["names"], "unknown kind"),
}
ARRAYS = {
    "rows": (
        [ROWS[:3], ROWS.astype(np.int64), np.where(ROWS > 1.0, np.nan, ROWS)],
        "its rows are not",
    ),
    "weight": ([np.ones(3), -np.ones(12), np.zeros(12), np.ones(12, np.int64)], "weights are not"),
    "centers": (
        [ROWS[:2], np.full((3, 2), np.inf), np.ones((3, 2), np.float32)],
        "centers are not",
    ),
    "left.names": ([np.array([-1, 0])], "no cluster names"),
    "used": ([np.zeros(12, np.bool_), np.ones(13, np.bool_), np.ones(12, np.int64)], "fitted rows"),
}


def test_a_model_as_it_was_written_is_read():
    found = model_from_arrays(*model_to_arrays(RECORD))
    assert found.parameters == RECORD.parameters
    assert (found.cap, found.least, found.columns) == (CAP, 0.5, ("a", "b"))
    for name in ("rows", "weight", "centers"):
        np.testing.assert_array_equal(getattr(found, name), getattr(RECORD, name))


def test_more_clusters_in_the_table_than_centers_are_refused():
    metadata, arrays = model_to_arrays(RECORD)
    table = metadata["table"] | {"cuts": [RECORD.hierarchy.n_centers + 1]}
    with pytest.raises(ValueError, match="larger than the number of centers"):
        model_from_arrays(metadata | {"table": table}, arrays)


@pytest.mark.parametrize("place", DESCRIPTIONS)
def test_descriptions_that_do_not_fit_are_refused(place):
    values, said = DESCRIPTIONS[place]
    metadata, arrays = model_to_arrays(RECORD)
    for value in values:
        changed = deepcopy(metadata)
        *outer, name = place.split(".")
        (changed[outer[0]] if outer else changed)[name] = value
        with pytest.raises(ValueError, match=said):
            model_from_arrays(changed, arrays)


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_do_not_fit_are_refused(name):
    values, said = ARRAYS[name]
    metadata, arrays = model_to_arrays(RECORD)
    for value in values:
        with pytest.raises(ValueError, match=said):
            model_from_arrays(metadata, arrays | {name: value})
