"""Random numbers that are the same on every processor, under the name that some tests import."""

from holdfast_paper.draws import heavy_tail, normal, scales, uniform

__all__ = ["heavy_tail", "normal", "scales", "uniform"]
