"""Cells -> the compressed trie on which all costs are measured."""

from holdfast.tree.build import Tree, build_tree

__all__ = ["Tree", "build_tree"]
