"""A pytest plugin: the time of each group of tests, printed after the run.

A group is a folder directly under tests/, or a test file that lies there itself.
"""

import time
from dataclasses import dataclass, field

import pytest


def group_of(nodeid: str) -> str:
    """Group of a test: ``tests/laws/test_x.py::test_y`` -> ``laws``."""
    parts = nodeid.split("::", 1)[0].split("/")
    inside = parts[1:] if parts[0] == "tests" else parts
    return inside[0].removesuffix(".py")


@dataclass
class Group:
    """What the tests of one group took, setup and teardown included."""

    seconds: float = 0.0
    tests: set[str] = field(default_factory=set)


class GroupTimes:
    """Sums the durations that pytest reports."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.groups: dict[str, Group] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A subtest reports for itself, but its time is within its test's.
        if type(report) is not pytest.TestReport:
            return
        group = self.groups.setdefault(group_of(report.nodeid), Group())
        group.seconds += report.duration
        group.tests.add(report.nodeid)

    @pytest.hookimpl(trylast=True)  # so that what other plugins do at the end is counted
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.groups:
            return
        elapsed = time.perf_counter() - self.start
        processes = getattr(terminalreporter.config.option, "numprocesses", None) or 1
        total = Group(
            sum(group.seconds for group in self.groups.values()),
            set().union(*(group.tests for group in self.groups.values())),
        )
        rows = sorted(self.groups.items(), key=lambda item: -item[1].seconds)
        rows.append(("all groups", total))
        width = max(len(name) for name, _ in rows)
        title = "time of each test group"
        if processes > 1:
            title += f", added up over {processes} processes"
        terminalreporter.write_sep("=", title)
        for name, group in rows:
            terminalreporter.write_line(
                f"{name:<{width}} {group.seconds:9.2f} s {len(group.tests):7d} tests"
            )
        terminalreporter.write_line(
            f"{'by the clock':<{width}} {elapsed:9.2f} s (with starting, collecting, waiting)"
        )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(GroupTimes(), "group-times")
