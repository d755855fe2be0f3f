"""HierarchicalKMedian, the scikit-learn estimator: validates, then calls the pipeline.

`checking` takes rows of any kind; `model` fits, predicts, saves and loads; `explaining` says why;
`updates` adds and removes rows; `following` follows a fitted model to today's rows.
"""

from holdfast.estimator.model import HierarchicalKMedian, load

__all__ = ["HierarchicalKMedian", "load"]
