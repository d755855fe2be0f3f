"""Machinery that knows nothing of clustering: kernels, hashes, threads, interrupts, files."""
