"""Tree -> centers in the order they are chosen."""

from holdfast.centers.choose import CenterSequence, choose_centers

__all__ = ["CenterSequence", "choose_centers"]
