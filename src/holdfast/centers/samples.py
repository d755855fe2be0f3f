"""Where the split of a cluster starts: candidates among a keyed sample of its members, and their planes.

:mod:`holdfast.centers.means` describes the steps.
"""

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from holdfast._machine.jit import Floats
from holdfast._machine.work import share_parts
from holdfast.centers._distance_kernels import draw_candidate
from holdfast.centers._sample_kernels import (
    GAPS,
    TILE,
    copy_sample,
    saved_by_plane,
    score_directions,
    score_members,
    settle_sample,
)
from holdfast.centers.keyed_table import Part, Pool, Table

SAMPLE = 4096
PAIR_COLUMNS, PAIR_VALUES = 128, 1 << 26  # up to which every member is a candidate
CANDIDATES = 16  # beyond
SCORED = 512  # members that score directions; in few columns as many more as SCORED_VALUES hold
SCORED_VALUES = 1 << 17
MANY_COLUMNS = 16  # from here on, planes may start off the mean
OFF_MEAN = 1.5  # where that saves so many times as much
AVERAGES = 8  # of a direction; in large samples as many as AVERAGED_VALUES hold, at least one
AVERAGED_VALUES = 1 << 18
SAMPLE_SPLITS = 32

_THREADED = 1 << 22  # values in all pairs from which threads pay
PROPOSE, CHOOSE = 1, 2  # clocks of a row: as a candidate, as the proposal of its cluster

Start = tuple[int, Floats | None]  # which member was drawn, and where its plane settled


class Sample(ABC):
    """Members of a cluster in the order of their keys, centered, in units of its extent."""

    def __init__(self, table: Table, part: Part, pool: Pool, exponent: int) -> None:
        self.table, self.part, self.pool, self.exponent = table, part, pool, exponent
        self.size, self.width = pool.members.size, table.rows.shape[1]
        self.stretch = math.ldexp(1.0, -exponent)

    def start(self, everybody: bool, heat: Callable[[float], float]) -> Start:
        """Draw a candidate, and let its plane settle; -1 and no plane if none separates members.

        If `everybody` is in the sample and the cluster is small, every member is a candidate for a
        center beside the mean. Elsewhere a direction is drawn. In many columns both are, since few
        members may be closer to another one than to the mean; the plane that saves more decides.
        """
        paired = everybody and not self.table.spherical and self.width <= PAIR_COLUMNS
        paired = paired and self.size * self.size * max(self.width, 8) <= PAIR_VALUES
        drawn, plane = self.start_at_member(heat) if paired else (-1, None)
        if plane is None or self.width >= MANY_COLUMNS:
            other, found = self.start_at_direction(heat)
            if found is not None and (plane is None or self.saved_by(found) > self.saved_by(plane)):
                drawn, plane = other, found
        self.release()
        return (-1, None) if plane is None else (drawn, plane)

    def start_at_member(self, heat: Callable[[float], float]) -> Start:
        """Draw a member by what it saves as a center; start half way between the mean and it."""
        gain = np.minimum(np.ldexp(self.score_members(), self.exponent), self.part.cost)
        drawn = self.draw(gain, heat)
        return drawn, None if drawn < 0 else self.settle(drawn, 0.5, 0)

    def start_at_direction(self, heat: Callable[[float], float]) -> Start:
        """Draw one of the first members by what its direction tells apart; start at the mean.

        In many columns the plane may start closer to the member; see `find_gap`. Not for the cosine
        distance: it saves by the lengths of the means of both sides, so halves of many groups save
        more than one group alone.
        """
        scored = min(self.size, max(SCORED, SCORED_VALUES // self.width))
        few = self.table.spherical or self.width < MANY_COLUMNS
        score, starts = self.score_directions(
            min(CANDIDATES, self.size), scored, 0 if few else min(scored, SCORED)
        )
        off_mean = starts[1] > OFF_MEAN
        times = np.where(off_mean, starts[1], 1.0)
        gain = self.part.cost * np.minimum((1.0 - np.sqrt(1.0 - score)) * times, 1.0)
        drawn = self.draw(gain, heat)
        if drawn < 0:
            return -1, None
        if off_mean[drawn]:
            return drawn, self.settle(drawn, float(starts[0, drawn]), 0)
        averages = max(1, min(AVERAGES, AVERAGED_VALUES // (self.size * self.width)))
        return drawn, self.settle(drawn, 0.0, averages)

    def draw(self, gain: Floats, heat: Callable[[float], float]) -> int:
        """Draw one of the first members by its gain; -1 if none has any."""
        useful, weight = gain > 0.0, self.pool.weight[: gain.size]
        if not useful.any():
            return -1
        counts = weight * 1.0 if weight.size else np.ones(gain.size)
        keys = self.table.key[self.pool.members[: gain.size]]
        warmth = heat(self.part.cost - float(gain.max()))
        return int(draw_candidate(PROPOSE, gain, useful, counts, keys, warmth))

    @abstractmethod
    def score_directions(self, count: int, scored: int, few: int) -> tuple[Floats, Floats]:
        """Score the directions of the first members by what they tell apart, and where to start.

        The first `scored` members score them; planes off the mean are searched for among the first
        `few`.
        """

    @abstractmethod
    def score_members(self) -> Floats:
        """Score all members by what each saves as a second center beside the mean."""

    @abstractmethod
    def settle(self, drawn: int, start: float, averages: int) -> Floats | None:
        """Let the plane across the direction of a candidate settle; None if a side is empty."""

    @abstractmethod
    def saved_by(self, plane: Floats) -> float:
        """Estimate what the means of both sides of a plane save, in units of the extent."""

    @abstractmethod
    def release(self) -> None:
        """Leave memory to the next sample."""


class DenseSample(Sample):
    """Members in single precision, column by column, in a buffer that is used again."""

    def __init__(
        self, table: Table, part: Part, pool: Pool, exponent: int,
        buffers: list[NDArray[np.float32]],
    ) -> None:  # fmt: skip
        super().__init__(table, part, pool, exponent)
        single, d, size = np.float32, self.width, self.size
        most = min(table.rows.shape[0], SAMPLE) * d
        self.buffers, self.buffer = buffers, buffers.pop() if buffers else np.empty(most, single)
        self.columns = self.buffer[: size * d].reshape(d, size)
        self.room, self.square = np.empty((3, size), single), np.empty(size, single)
        copy_sample(
            table.rows, table.factor, pool.members, part.mean, self.stretch,
            np.empty((TILE, d), single), self.columns, self.square,
        )  # fmt: skip

    def score_directions(self, count: int, scored: int, few: int) -> tuple[Floats, Floats]:
        """Score directions on the columns."""
        score, starts = np.empty(count), np.empty((2, count))
        score_directions(
            self.columns, self.square, self.pool.weight, scored, few, self.room,
            np.empty((3, GAPS + 1)), np.empty((count, self.width), np.float32), score, starts,
        )  # fmt: skip
        return score, starts

    def score_members(self) -> Floats:
        """Score members on the columns; threads share them unless they are few."""
        gain, values = np.empty(self.size), self.size * self.size * self.width
        parts = 1 if values < _THREADED else os.cpu_count() or 1
        ends = [self.size * i // parts for i in range(parts + 1)]

        def work(i: int) -> None:
            score_members(
                self.columns, self.square, self.pool.weight, ends[i],
                np.empty((2, self.size), np.float32), gain[ends[i] : ends[i + 1]],
            )  # fmt: skip

        share_parts(parts, work)
        return gain

    def settle(self, drawn: int, start: float, averages: int) -> Floats | None:
        """Settle on the columns."""
        d, plane = self.width, np.empty((2, self.width))
        settled = settle_sample(
            self.columns, self.pool.weight, self.part.mean, self.stretch, self.table.spherical,
            drawn, start, averages, SAMPLE_SPLITS, self.room, np.empty(d, np.float32),
            np.empty((4, d)), plane,
        )  # fmt: skip
        return plane if settled else None

    def saved_by(self, plane: Floats) -> float:
        """Split the columns."""
        level = ((plane[0] - self.part.mean) * self.stretch * plane[1]).cumsum()[-1]
        normal, lines = plane[1].astype(np.float32), np.empty((2, self.width))
        saved = saved_by_plane(
            self.columns, self.square, self.pool.weight, normal, np.float32(level), self.room, lines
        )
        return float(saved)

    def release(self) -> None:
        """Give the buffer back."""
        self.buffers.append(self.buffer)
