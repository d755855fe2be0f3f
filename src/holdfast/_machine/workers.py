"""Worker processes whose results may be left lying, as Ctrl-C does."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from joblib import Parallel

__all__ = ["results_of"]


@contextmanager
def results_of(tasks: Iterable[Any], **options: Any) -> Iterator[Iterator[Any]]:
    """Open the results of joblib tasks, in the order in which they are finished.

    Leaving the block stops what is under way, at once and without a word. joblib would advise
    whoever leaves early to ask for less, on whichever line the collector finds its generator.
    """
    results = Parallel(batch_size=1, return_as="generator_unordered", **options)(tasks)
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*tasks", UserWarning, "joblib")
            results.close()
