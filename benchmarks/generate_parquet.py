"""Write seeded rows of eight Gaussian groups to a Parquet file, a part at a time.

The rows of a file depend on their number and on the number of columns only.
"""

import argparse
from pathlib import Path

import numpy as np
from inputs import GROUPS

PART = 1 << 20  # rows of a row group


def generate_parquet(path: Path, n: int, d: int = 3) -> None:
    """Write `n` rows of `d` columns ``x0``, ``x1``, ...; in one step, so that a file is complete."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng([d, n])
    centers = generator.uniform(-10.0, 10.0, size=(GROUPS, d))
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(d)])
    part = path.with_suffix(".part")
    with pq.ParquetWriter(part, schema, use_dictionary=False, compression="none") as writer:
        for start in range(0, n, PART):
            size = min(PART, n - start)
            rows = generator.standard_normal((size, d))
            rows += centers[generator.integers(GROUPS, size=size)]
            writer.write_batch(pa.record_batch(list(rows.T.copy()), schema=schema))
    part.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--columns", type=int, default=3)
    options = parser.parse_args()
    generate_parquet(options.path, options.rows, options.columns)


if __name__ == "__main__":
    main()
