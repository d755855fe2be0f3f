"""A keyed sample of a cluster: where its planes may start, and where they settle.

Proposals of dense and of sparse rows ask the same questions of a sample.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.centers._sample_kernels import (
    GAPS,
    TILE,
    copy_sample,
    saved_by_plane,
    score_directions,
    score_members,
    settle_sample,
)
from holdfast.centers.keyed_table import Floats, Part, Pool, Table

SAMPLE_SPLITS = 32


class Sample(Protocol):
    """Members of a cluster, centered, in units of its extent."""

    def release(self) -> None:
        """Leave memory for the next sample."""
        ...

    def score_directions(self, count: int, scored: int, few: int) -> tuple[Floats, Floats]:
        """Score the directions of the first members by what they tell apart, and where to start.

        The first `scored` members score them; planes off the mean are searched for among the first
        `few`.
        """
        ...

    def score_members(self) -> Floats:
        """Score all members by what each saves as a second center beside the mean."""
        ...

    def settle(self, drawn: int, start: float, averages: int) -> Floats | None:
        """Let the plane across the direction of a candidate settle; None if a side is empty."""
        ...

    def saved_by(self, plane: Floats) -> float:
        """Estimate what the means of both sides of a plane save, in units of the extent."""
        ...


class DenseSample:
    """Members in single precision, column by column, in a buffer that is used again."""

    def __init__(
        self, table: Table, part: Part, pool: Pool, stretch: float, buffer: NDArray[np.float32],
        buffers: list[NDArray[np.float32]],
    ) -> None:  # fmt: skip
        self.buffer, self.buffers = buffer, buffers
        self.weight, self.mean, self.stretch = pool.weight, part.mean, stretch
        self.spherical, d, size = table.spherical, part.mean.size, pool.members.size
        self.columns = buffer[: size * d].reshape(d, size)
        self.room = np.empty((3, size), np.float32)
        self.square = np.empty(size, np.float32)
        tile = np.empty((TILE, d), np.float32)
        copy_sample(
            table.rows, table.factor, pool.members, part.mean, stretch, tile, self.columns,
            self.square,
        )  # fmt: skip

    def release(self) -> None:
        """Give the buffer back."""
        self.buffers.append(self.buffer)

    def score_directions(self, count: int, scored: int, few: int) -> tuple[Floats, Floats]:
        """Score directions on the columns."""
        score, starts = np.empty(count), np.empty((2, count))
        directions = np.empty((count, self.mean.size), np.float32)
        score_directions(
            self.columns, self.square, self.weight, scored, few, self.room, np.empty((3, GAPS + 1)),
            directions, score, starts,
        )  # fmt: skip
        return score, starts

    def score_members(self) -> Floats:
        """Score members on the columns."""
        gain = np.empty(self.square.size)
        score_members(self.columns, self.square, self.weight, self.room, gain)
        return gain

    def settle(self, drawn: int, start: float, averages: int) -> Floats | None:
        """Settle on the columns."""
        d, plane = self.mean.size, np.empty((2, self.mean.size))
        settled = settle_sample(
            self.columns, self.weight, self.mean, self.stretch, self.spherical, drawn, start,
            averages, SAMPLE_SPLITS, self.room, np.empty(d, np.float32), np.empty((4, d)), plane,
        )  # fmt: skip
        return plane if settled else None

    def saved_by(self, plane: Floats) -> float:
        """Split the columns."""
        normal = plane[1].astype(np.float32)
        level = np.float32(((plane[0] - self.mean) * self.stretch * plane[1]).cumsum()[-1])
        lines = np.empty((2, normal.size))
        return float(
            saved_by_plane(self.columns, self.square, self.weight, normal, level, self.room, lines)
        )
