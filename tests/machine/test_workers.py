"""Results that nobody takes any more: whoever leaves early hears nothing, and all stops."""

import time
import warnings

import pytest
from joblib import Parallel, delayed

from holdfast._machine.workers import results_of


def wait_and_return(seconds, value):
    time.sleep(seconds)
    return value


def some_tasks():
    """One result at once, two that wait to be taken, and some that take long."""
    return (delayed(wait_and_return)(0.0 if i < 3 else 30.0, i) for i in range(6))


def test_all_results_come():
    with results_of((delayed(wait_and_return)(0.0, i) for i in range(9)), n_jobs=2) as results:
        assert sorted(results) == list(range(9))


def leave_early(error):
    with results_of(some_tasks(), n_jobs=2) as results:
        assert next(results) in range(3)
        time.sleep(1.0)  # others finish meanwhile
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_leaving_early_is_quiet_and_quick(error):
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(error):
            leave_early(error)
    assert [str(warning.message) for warning in caught] == []
    assert time.perf_counter() - start < 20


def test_joblib_alone_is_not_quiet():
    """Else the test above could not fail."""
    results = Parallel(n_jobs=2, batch_size=1, return_as="generator_unordered")(some_tasks())
    next(results)
    time.sleep(1.0)
    with pytest.warns(UserWarning, match="tasks"):
        results.close()
