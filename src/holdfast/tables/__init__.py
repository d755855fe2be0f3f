"""Files and frames -> prepared rows, and results -> files: once for all callers.

`read` (files, whole or in parts) -> `columns` (which are numbers, and these numbers) ->
`preparation` (gaps and scales, fitted whole or in parts) -> `dataset` (prepared rows with ids and
weights). `chunks` takes arrays and frames in parts for Python. `write` writes tables, whole or as a
stream. pyarrow is imported when a file is read or written, never before.
"""
