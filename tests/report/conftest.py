import numpy as np
import pytest
from report_builder import build, build_evil, make_ids, make_rows

from holdfast.report import Report


@pytest.fixture(scope="session")
def rows() -> np.ndarray:
    return make_rows()


@pytest.fixture(scope="session")
def ids(rows: np.ndarray) -> list[str]:
    return make_ids(len(rows))


@pytest.fixture(scope="session")
def report(rows: np.ndarray) -> Report:
    return build_evil(rows)


@pytest.fixture(scope="session")
def report_without_rows(rows: np.ndarray, ids: list[str]) -> Report:
    return build(rows, names=list("abcd"), ids=ids, values=(rows + 40.0) * 1e7, rows=False)
