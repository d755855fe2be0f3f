"""Centers -> hierarchy: nested cuts, costs, linkage, labels of new rows."""

from holdfast.hierarchy.model import Hierarchy, assemble_hierarchy, build_hierarchy

__all__ = ["Hierarchy", "assemble_hierarchy", "build_hierarchy"]
