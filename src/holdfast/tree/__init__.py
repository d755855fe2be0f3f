"""Cells -> the compressed trie on which the cost of the tree is defined."""

from holdfast.tree.build import Tree, build_tree

__all__ = ["Tree", "build_tree"]
