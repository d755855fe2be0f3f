"""Rows that come and go: sketches, the log of changes, the order of a fit."""
