"""Targets: the readers of tables, of chunks and of sketches."""

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
from fuzz.files import EDITS, SCRATCH, Edit
from fuzz.target import Target
from hypothesis import strategies as st

from holdfast.chunks import open_source
from holdfast.tables.errors import TableError
from holdfast.tables.read import read_table
from holdfast.tables.text import TextFormat

SIGNED = 16 + 32  # bytes of a sketch after its Arrow stream


MIXED = pa.table(
    {
        "name": ["ä", "b,c", None, 'd"e'],
        "x": [1.5, -2.0, None, 1e300],
        "n": [1, 2, 3, 2**60],
    }
)
NUMBERS = pa.table({"x": np.arange(9.0) / 7.0, "y": np.arange(9) % 4})


def write_tables(table: pa.Table) -> dict[str, bytes]:
    """Write a table in every format that is read."""
    found = {}
    for name, write in (
        ("a.csv", pyarrow.csv.write_csv),
        ("a.parquet", pyarrow.parquet.write_table),
        ("a.feather", lambda data, file: pyarrow.feather.write_feather(data, file, "lz4")),
        ("a.arrow", lambda data, file: pyarrow.feather.write_feather(data, file, "uncompressed")),
    ):
        file = io.BytesIO()
        write(table, file)
        found[name] = file.getvalue()
    found["a.tsv"] = b"x\ty\n1\t2.5\n3\t\n-4e5\t6\n"
    found["a.csv.gz"] = gzip.compress(found["a.csv"], mtime=0)
    file = io.BytesIO()
    np.save(file, np.arange(12.0).reshape(4, 3))
    found["a.npy"] = file.getvalue()
    return found


TABLES = write_tables(MIXED)
CHUNKS = {
    name: content
    for name, content in write_tables(NUMBERS).items()
    if name in ("a.csv", "a.parquet", "a.feather", "a.arrow")
}
OPTIONS = [
    TextFormat(),
    TextFormat(header=False),
    TextFormat(separator=";", decimal=","),
    TextFormat(encoding="latin-1"),
    TextFormat(encoding="utf-16"),
    TextFormat(encoding="no-such"),
    TextFormat(separator="tab"),
]
TEXTS = [
    "",
    "\n",
    "x",
    "x,y\n",
    "x,y\n1,2\n",
    '"',
    'a,b\n"1,2\n',
    "a,a\n1,2\n",
    "x\n\0\n",
    "\ufeffx\n1\n",
]
TEXTS += [
    "1;2\n3;4\n",
    "x,y\n1\n",
    "x,y\n1,2,3\n",
    "x\n" + "9" * 400 + "\n",
    "é,ü\nnan,inf\n",
    "\r\r\n,,\n",
]


def check_table_file(case: tuple[str, str, list[Edit], int]) -> None:
    """A file of any bytes gives a table with rows and distinct names, or one TableError."""
    name, text, edits, option = case
    content = text.encode() if name == "text.csv" else TABLES[name]
    for edit in edits:
        content = edit.apply(content)
    path = SCRATCH / name
    path.write_bytes(content)
    try:
        table = read_table(str(path), OPTIONS[option % len(OPTIONS)])
    except TableError as problem:
        if len(str(problem)) < 20:
            raise
        return
    assert table.data.num_rows >= 1
    assert len(set(table.data.column_names)) == table.data.num_columns >= 1
    table.data.validate(full=True)


def check_chunk_file(case: tuple[str, list[Edit], int]) -> None:
    """A file of any bytes gives chunks of finite rows with equal columns, or a ValueError that names it."""
    name, edits, chunk_rows = case
    content = CHUNKS[name]
    for edit in edits:
        content = edit.apply(content)
    path = SCRATCH / name
    path.write_bytes(content)
    try:
        chunks = list(open_source(path, chunk_rows=chunk_rows))
    except ValueError as error:
        if str(path) not in str(error):
            raise
        return
    assert len({chunk.rows.shape[1] for chunk in chunks}) <= 1
    for chunk in chunks:
        assert len(chunk.rows) <= chunk_rows
        assert np.isfinite(chunk.rows).all()


TABLE_FILES = Target(
    check_table_file,
    st.tuples(
        st.sampled_from(["text.csv", *TABLES]),
        st.sampled_from(TEXTS),
        st.lists(EDITS, max_size=3),
        st.integers(0, 20),
    ),
)
CHUNK_FILES = Target(
    check_chunk_file,
    st.tuples(st.sampled_from(list(CHUNKS)), st.lists(EDITS, max_size=3), st.integers(1, 10)),
)
