"""CPU time and peak memory of means on sparse rows: 80,000 x 400,000 with 100 values a row.

Not named sparse.py: Dask imports a package of that name where it finds one.

python benchmarks/sparse_rows.py [--rows N] [--columns D] [--entries E]

Columns are drawn like words: few are common, most are rare, and each of 50 topics prefers its own.
"""

import argparse
import resource
import time

import numpy as np
from scipy.sparse import csr_array

from holdfast import HierarchicalKMedian

TOPICS = 50


def make_rows(n: int, d: int, entries: int) -> csr_array:
    """Draw columns and values with integers and products only, the same on every machine."""
    rng = np.random.default_rng(0)
    topic = rng.integers(0, TOPICS, n)[:, None]
    place = rng.random((n, entries))
    columns = (d * (place * place * place * place)).astype(np.int64)
    own = rng.integers(0, 10, (n, entries)) < 3
    columns = np.where(own, (7 * columns + 7919 * topic) % d, columns).astype(np.int32)
    starts = np.arange(0, n * entries + 1, entries)
    rows = csr_array((rng.random(n * entries) + 0.5, columns.ravel(), starts), shape=(n, d))
    rows.sum_duplicates()
    return rows


def peak() -> float:
    """Largest memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=80_000)
    parser.add_argument("--columns", type=int, default=400_000)
    parser.add_argument("--entries", type=int, default=100)
    given = parser.parse_args()
    rows = make_rows(given.rows, given.columns, given.entries)
    used = np.unique(rows.indices).size
    print(f"{rows.shape[0]:,} x {rows.shape[1]:,}, {rows.nnz:,} values in {used:,} columns")
    print(
        f"memory before {peak():.2f} GB; as dense rows {rows.shape[0] * rows.shape[1] * 8e-9:.1f} GB"
    )
    for metric in ("euclidean", "cosine"):
        model = HierarchicalKMedian(8, metric=metric)
        model.fit(rows[:100])  # compiles
        start = time.process_time()
        model.fit(rows)
        fitted = time.process_time() - start
        start = time.process_time()
        same = np.array_equal(model.predict(rows), model.labels_)
        predicted = time.process_time() - start
        print(
            f"{metric}: {model.hierarchy_.n_centers} centers, fit {fitted:.1f} s and predict "
            f"{predicted:.1f} s (CPU), labels {'equal' if same else 'DIFFER'}, peak {peak():.2f} GB"
        )


if __name__ == "__main__":
    main()
