"""The Python of the README runs as written, one block after the other."""

import re
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd

import holdfast
import holdfast.distributed

README = Path(__file__).parents[1] / "README.md"


def test_blocks_run_as_written(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 5
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"holdfast": holdfast}
    # A second week: the last rows of the first have left.
    exec(blocks[0], names)  # noqa: S102
    X = np.asarray(names["X"])
    names |= {"customers": np.arange(len(X)), "X_next": X[:-8], "customers_next": np.arange(170)}
    for block in blocks[1:4]:
        exec(block, names)  # noqa: S102
    assert (tmp_path / "hierarchy.png").stat().st_size > 1000
    assert holdfast.load("wine.holdfast").hierarchy_.n_rows == 178
    assert "</html>" in (tmp_path / "report.html").read_text(encoding="utf-8")
    printed = capsys.readouterr().out
    assert re.search(r"\d% of the remaining rows change cluster when 5% are removed", printed)
    # What the last block takes for granted: rows that come, go, lie in a file or on a cluster.
    table = pd.DataFrame(X, columns=[f"column {i}" for i in range(X.shape[1])])
    table.to_parquet("rows.parquet")
    names |= {"new_rows": X[:3] + 1.0, "new_customers": [900, 901, 902], "lost_customers": [5, 6]}
    names["dask_dataframe"] = dd.from_pandas(table, npartitions=2)
    exec(blocks[4], names)  # noqa: S102
    assert (tmp_path / "labels.parquet").exists()


def test_readme_is_short_and_leads_to_files_that_exist():
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (README.parent / link).exists(), link
