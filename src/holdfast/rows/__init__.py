"""Rows that are added and removed: sketches, the log of changes, the order of a fit."""
