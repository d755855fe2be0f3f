"""Files and frames -> prepared rows, once for all callers."""
