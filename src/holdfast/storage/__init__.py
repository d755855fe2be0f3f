"""Files: a versioned, checksummed archive of arrays, and models in it."""
