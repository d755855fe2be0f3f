"""Any file of holdfast -> the object it holds."""

import os
from importlib import import_module
from typing import Any

from holdfast.storage.archive import DamagedFile, read_archive

__all__ = ["load"]

_READERS = {
    "hierarchy": "holdfast.storage.hierarchy:hierarchy_from_arrays",
    "model": "holdfast.model_file:model_from_arrays",
}
"""For each kind of file the function that makes its object of (metadata, arrays).

It checks all that the object's code relies on, and raises ValueError (the problem as half a
sentence, without the file's name) where that does not hold.
"""


def load(path: str | os.PathLike[str]) -> Any:
    """Load what was saved: the same object, bit for bit.

    Loading never executes anything that a file brings along, and a damaged, cut off or crafted file
    gives one clear error, in time and memory bounded by the size of the file. Loading does not
    tell who made a file: a well-formed one from a stranger can hold any clusters they like.

    Parameters
    ----------
    path : str or path-like
        A file written by ``save``, by this or any earlier version.

    Returns
    -------
    Hierarchy
        Or what else the file says that it holds.

    Raises
    ------
    holdfast.storage.archive.DamagedFile
        A ValueError that says what is wrong with the file and what to do.
    OSError
        Where there is no file to read.

    Examples
    --------
    >>> import holdfast
    >>> model = holdfast.HierarchicalKMedian(2).fit([[0.0], [1.0], [9.0]])
    >>> model.hierarchy_.save("clusters.holdfast")  # doctest: +SKIP
    >>> holdfast.load("clusters.holdfast").cut(2)  # doctest: +SKIP
    """
    archive = read_archive(path, _READERS)
    module, _, name = _READERS[archive.kind].partition(":")
    restore = getattr(import_module(module), name)
    try:
        return restore(archive.metadata, archive.arrays)
    except ValueError as error:
        raise DamagedFile(path, str(error)) from None
