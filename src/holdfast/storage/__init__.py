"""Bytes on disk: a checked, versioned archive of arrays."""
