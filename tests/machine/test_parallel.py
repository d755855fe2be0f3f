"""Threads and worker processes: all work is done, errors come back, leaving early is quiet and quick."""

import _thread
import os
import threading
import time
import warnings

import pytest
from joblib import Parallel, delayed

from holdfast._machine import work as parallel
from holdfast._machine.work import results_of, share_parts, share_rows


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 50])
def test_every_part_is_done_once(count, four_cores):
    done = []
    share_parts(count, done.append)
    assert sorted(done) == list(range(count))


@pytest.mark.parametrize("n_rows", [0, 1, 9, 40])
def test_rows_are_covered_by_parts_in_order(n_rows, four_cores, monkeypatch):
    monkeypatch.setattr(parallel, "_WORTHWHILE", 10)
    parts = []
    share_rows(n_rows, parts.append)
    assert [
        i for part in sorted(parts, key=lambda p: p.start) for i in range(n_rows)[part]
    ] == list(range(n_rows))
    assert len(parts) == max(1, min(4, n_rows // 10))


def test_parts_run_side_by_side(four_cores):
    meeting = threading.Barrier(4, timeout=60)
    share_parts(4, lambda number: meeting.wait())  # a lone thread would wait in vain


@pytest.mark.parametrize("allowed", [0, 1])
@pytest.mark.parametrize("refused", ["with an error", "without a word"])
def test_threads_that_cannot_start_are_done_without(allowed, refused, four_cores, monkeypatch):
    left, start = [None] * allowed, _thread.start_new_thread

    def start_some(function, arguments):
        if left:
            left.pop()
            return start(function, arguments)
        if refused == "with an error":
            raise RuntimeError("can't start new thread")
        return 0  # it had no memory to begin

    monkeypatch.setattr(_thread, "start_new_thread", start_some)
    done = []
    share_parts(20, done.append)
    assert sorted(done) == list(range(20))


@pytest.mark.parametrize("late", [1, 2])
def test_ctrl_c_while_others_work_waits_for_them(late, four_cores):
    main, begun, done = threading.get_ident(), threading.Barrier(2, timeout=60), []

    def work(i):
        if threading.get_ident() == main:
            begun.wait()  # the other thread has a part
            raise KeyboardInterrupt
        begun.wait()
        time.sleep(0.05 * late)
        done.append(i)

    with pytest.raises(KeyboardInterrupt):
        share_parts(2, work)
    assert len(done) == 1


@pytest.mark.parametrize("kind", [MemoryError, ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("number", [0, 3, 19])
def test_an_error_in_any_part_comes_back_and_ends_the_rest(kind, number, four_cores):
    done = []

    def work(i):
        if i == number:
            raise kind(str(i))
        done.append(i)

    with pytest.raises(kind, match=str(number)):
        share_parts(10_000, work)
    finished = len(done)
    assert finished < 9_000  # each thread stops after its current part
    time.sleep(0.02)
    assert len(done) == finished  # and none goes on


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
