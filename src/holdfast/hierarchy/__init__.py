"""Centers -> nested cuts, costs, linkage, labels of new rows."""

from holdfast.hierarchy.model import Hierarchy, build_hierarchy

__all__ = ["Hierarchy", "build_hierarchy"]
