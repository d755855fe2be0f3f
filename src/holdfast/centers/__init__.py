"""Tree or rows -> centers in order."""

from holdfast.centers.choose import CenterSequence, choose_centers

__all__ = ["CenterSequence", "choose_centers"]
