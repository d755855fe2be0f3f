"""Machinery that is independent of clustering: kernels, hashes, threads, interrupts, files."""
