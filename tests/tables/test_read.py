"""Tables that are read whole."""

import gzip

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from holdfast.tables.read import read_table

TABLE = pa.table({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5]})
TEXT = b"a,b\n1,0.5\n2,1.5\n3,2.5\n"


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_threads_of_arrow_read_from_nothing_that_belongs_to_python(ending, tmp_path, monkeypatch):
    """They may let go of it when the interpreter has ended, and the process would abort."""
    path = tmp_path / f"rows.{ending}"
    if ending == "parquet":
        pa.parquet.write_table(TABLE, path)
    else:
        path.write_bytes(gzip.compress(TEXT) if ending == "csv.gz" else TEXT)
    seen = []

    def watch(module, name):
        read = getattr(module, name)

        def read_watched(file, *rest, **options):
            seen.append(file)
            return read(file, *rest, **options)

        monkeypatch.setattr(module, name, read_watched)

    watch(pyarrow.csv, "read_csv")
    watch(pyarrow.parquet, "read_table")
    steps = []
    found = read_table(str(path), progress=lambda what, done, total: steps.append((done, total)))
    assert found.data.equals(TABLE)
    assert [type(file) for file in seen] == [pa.BufferReader]
    size = path.stat().st_size
    assert (steps[0], steps[-1]) == ((0.0, size), (size, size))
