"""Worker processes that stop cleanly if the caller stops early, for example on Ctrl-C."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from joblib import Parallel

__all__ = ["results_of"]


@contextmanager
def results_of(tasks: Iterable[Any], **options: Any) -> Iterator[Iterator[Any]]:
    """Iterate over the results of joblib tasks in the order in which they finish.

    Leaving the block stops all running tasks immediately and without a warning. joblib itself would
    warn about unused tasks, at the line where the garbage collector finds its generator.
    """
    results = Parallel(batch_size=1, return_as="generator_unordered", **options)(tasks)
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*tasks", UserWarning, "joblib")
            results.close()
