"""CPU time and memory of preparing a mixed table of 1,000,000 rows, against the fit that follows.

python benchmarks/prepare.py
"""

import time

import numpy as np
import pandas as pd
from measure import measure_memory

from holdfast import HierarchicalKMedian, TablePreparer
from holdfast_paper.draws import normal

N_ROWS = 1_000_000


def make_table() -> pd.DataFrame:
    """Twenty columns: numbers, counts, categories, text, truth values, dates; some gaps."""
    rng = np.random.default_rng(0)
    columns = {f"x{j}": normal(rng, N_ROWS) * (j + 1) for j in range(10)}
    columns |= {f"i{j}": rng.integers(0, 1000, N_ROWS) for j in range(4)}
    for j in range(2):
        codes = rng.integers(0, 6, N_ROWS)
        columns[f"c{j}"] = pd.Categorical.from_codes(codes, list("abcdef"))
        columns[f"s{j}"] = rng.choice(["red", "green", "blue"], N_ROWS)
    columns["b"] = rng.random(N_ROWS) < 0.4
    seconds = pd.to_timedelta(rng.integers(0, 10**7, N_ROWS), "s")
    columns["t"] = pd.Timestamp("2020-01-01") + seconds
    table = pd.DataFrame(columns)
    table.loc[rng.random(N_ROWS) < 0.05, "x0"] = np.nan
    return table


def main() -> None:
    table = make_table()
    HierarchicalKMedian(8).fit(TablePreparer().fit_transform(table.head(1000)))  # imports, compiles
    memory = measure_memory(lambda: TablePreparer().fit_transform(table))
    start = time.process_time()
    rows = TablePreparer().fit_transform(table)
    prepared = time.process_time() - start
    start = time.process_time()
    HierarchicalKMedian(8).fit(rows)
    fitted = time.process_time() - start
    print(f"{N_ROWS:,} rows of {table.shape[1]} columns become {rows.shape[1]} prepared columns")
    print(f"CPU time: {prepared:.1f} s to prepare them, {fitted:.1f} s to fit means")
    print(
        f"peak memory: {memory['peak'] / 2**20:.0f} MB beyond the table of "
        f"{table.memory_usage(deep=True).sum() / 2**20:.0f} MB, "
        f"of which the prepared rows are {rows.nbytes / 2**20:.0f} MB"
    )


if __name__ == "__main__":
    main()
