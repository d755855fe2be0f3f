"""What the oracle of means takes from that of medoids, under its earlier name."""

from oracles.naive_medoids import Naive, uniforms

__all__ = ["Naive", "uniforms"]
