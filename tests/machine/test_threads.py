"""Work is shared out to threads: all of it is done, errors come back, missing threads do not matter."""

import os
import threading

import pytest

from holdfast._machine import threads
from holdfast._machine.threads import share_parts, share_rows


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
    monkeypatch.setattr(threads, "_WORTHWHILE", 10)
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
def test_threads_that_cannot_start_are_done_without(allowed, four_cores, monkeypatch):
    left, start = [None] * allowed, threading.Thread.start

    def start_some(thread):
        if not left:
            raise RuntimeError("can't start new thread")
        left.pop()
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_some)
    done = []
    share_parts(20, done.append)
    assert sorted(done) == list(range(20))


@pytest.mark.parametrize("kind", [MemoryError, ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("number", [0, 3, 19])
def test_an_error_in_any_part_comes_back_and_ends_the_rest(kind, number, four_cores):
    done = []

    def work(i):
        if i == number:
            raise kind(str(i))
        done.append(i)

    before = threading.active_count()
    with pytest.raises(kind, match=str(number)):
        share_parts(10_000, work)
    assert threading.active_count() == before
    assert len(done) < 10_000
