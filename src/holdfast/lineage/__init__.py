"""The releases of one segmentation: each model of a chain of follows, week after week.

`compose` turns a model and the release before into a `release`; `series` keeps releases in a folder
and answers questions about them; `show` puts them into words and pictures.
"""

from holdfast.lineage.release import Release
from holdfast.lineage.series import Lineage

__all__ = ["Lineage", "Release"]
