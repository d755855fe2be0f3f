"""What there is to measure: tasks, each run in a process of its own, in groups."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from clusterers import CLUSTERERS
from inputs import Rows
from report import Measured, Row

HERE = Path(__file__).resolve().parent

Numbers = dict[str, float]


class MeasurementError(Exception):
    """A measurement that failed."""


@dataclass(frozen=True)
class Settings:
    """The size of all inputs relative to the full benchmark, and how often each task is run."""

    scale: float
    repeats: int


class Task(Protocol):
    """Something to measure; equal tasks are measured once and shared between groups."""

    @property
    def title(self) -> str: ...

    @property
    def packages(self) -> tuple[str, ...]: ...

    def run(self) -> Numbers: ...


@dataclass(frozen=True)
class Turn:
    """One repeat of a task: a cell of the run."""

    task: Task
    repeat: int

    @property
    def title(self) -> str:
        return f"{self.task.title} {self.repeat}"


@dataclass(frozen=True)
class Fit:
    """One clusterer on one input, after a warm-up."""

    clusterer: str
    rows: Rows
    options: tuple[tuple[str, Any], ...] = ()
    quantity: Literal["seconds", "first", "memory"] = "seconds"

    @property
    def title(self) -> str:
        options = "".join(f", {name}={value}" for name, value in self.options)
        return f"{self.name}, {self.rows.title}{options}: {self.quantity}"

    @property
    def name(self) -> str:
        return CLUSTERERS[self.clusterer].title

    @property
    def packages(self) -> tuple[str, ...]:
        return (CLUSTERERS[self.clusterer].package,)

    def run(self) -> Numbers:
        task = {**asdict(self), "options": dict(self.options)}
        numbers: Numbers = json.loads(run_python([str(HERE / "measure.py"), json.dumps(task)]))
        return numbers


def run_python(
    arguments: Sequence[str], through: Sequence[str] = (), **environment: str | None
) -> str:
    """Return the output of a fresh interpreter; environment variables set to None are removed."""
    with start_python(arguments, through, **environment) as process:
        output, errors = process.communicate()
        check_ending(process, errors)
    return output


def start_python(
    arguments: Sequence[str], through: Sequence[str] = (), **environment: str | None
) -> subprocess.Popen[str]:
    """Start a fresh interpreter, through a command that prepares its rights if one is given.

    Idle threads wait passively: threads of one process that spin would slow the next one down.
    """
    merged = {**os.environ, "OMP_WAIT_POLICY": "passive", **environment}
    kept = {name: value for name, value in merged.items() if value is not None}
    command, pipe = [*through, sys.executable, *arguments], subprocess.PIPE
    return subprocess.Popen(command, env=kept, stdout=pipe, stderr=pipe, text=True)


def check_ending(process: subprocess.Popen[str], errors: str) -> None:
    """Raise an error if a process that has ended failed."""
    if process.returncode != 0:
        shown = errors.strip() or "no message; out of memory, if the status is -9"
        raise MeasurementError(f"exit status {process.returncode}: {shown}")


@dataclass
class Results:
    """Numbers of all finished repeats of each task."""

    repeats: dict[Task, list[Numbers]] = field(default_factory=dict)

    def add(self, task: Task, numbers: Numbers) -> None:
        self.repeats.setdefault(task, []).append(numbers)

    def each(self, task: Task, name: str = "seconds") -> list[float]:
        """Return the values of all repeats."""
        return [numbers[name] for numbers in self.repeats[task]]

    def best(self, task: Task, name: str = "seconds") -> Measured:
        """Return the smallest value of all repeats."""
        values = self.each(task, name)
        return Measured.over(min(values), values)

    def worst(self, task: Task, name: str) -> Measured:
        """Return the largest value of all repeats."""
        values = self.each(task, name)
        return Measured.over(max(values), values)

    def has(self, task: Task, name: str) -> bool:
        return all(name in numbers for numbers in self.repeats[task])


@dataclass(frozen=True)
class Group:
    """Tasks whose repeats take turns, so that noise hits all of them, and rows made from them."""

    name: str
    title: str
    plan: Callable[[Settings], Sequence[Task]]
    list_rows: Callable[[Settings, Results], list[Row]]


def order_turns(groups: Sequence[Group], settings: Settings) -> Mapping[str, list[Turn]]:
    """Return the turns of each group by name, without those of earlier groups."""
    seen: set[Turn] = set()
    turns: dict[str, list[Turn]] = {}
    for group in groups:
        tasks = group.plan(settings)
        turns[group.name] = []
        for repeat in range(settings.repeats):
            for task in tasks:
                turn = Turn(task, repeat)
                once = repeat > 0 and getattr(task, "once", False)
                if not once and turn not in seen:
                    seen.add(turn)
                    turns[group.name].append(turn)
    return turns
