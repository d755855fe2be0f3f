"""Files and frames -> prepared rows, and results -> files: once for all callers.

`read` (files, whole or in parts: `text`, `binary`) -> `columns` (which are used, and what for) ->
`summary` (counts of each column, and how it is prepared) -> `preparation` (what was decided, and columns
as numbers) -> `dataset` (prepared rows with ids and weights). `preparer` does the same for frames in
Python. `write` writes tables, whole or as a stream. pyarrow is imported when a file is read or written,
never before.
"""
