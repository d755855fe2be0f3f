"""Law 10: exact centers, costs and cuts, so that no change moves anybody's clusters unnoticed.

A failure here means that users' results change. If that is meant, see recipe.py.
"""

import struct
import zlib

import numpy as np
import pytest
from golden.recipe import CASES, crc, expected, result_of


@pytest.fixture(scope="module")
def golden() -> dict[str, dict[str, object]]:
    return expected()


def test_every_case_has_its_result(golden):
    assert list(golden) == list(CASES)
    methods = [case.parameters.get("method", "tree") for case in CASES.values()]
    assert methods.count("tree") >= 24
    assert methods.count("medoids") >= 20


def test_cases_cover_what_they_should():
    sizes = [case.rows.shape for case in CASES.values()]
    assert {1, 2, 3, 7, 40} <= {d for _, d in sizes}
    assert min(n for n, _ in sizes) == 1
    assert max(n for n, _ in sizes) == 6000  # more than a sample of means
    epsilons = {case.parameters.get("epsilon", "auto") for case in CASES.values()}
    assert epsilons == {"auto", 0, 0.05, 1, 10, 1000, np.inf}
    weighted = [case.weight for case in CASES.values() if case.weight is not None]
    assert any((weight == 0).any() for weight in weighted)
    assert any((weight % 1.0 != 0).any() for weight in weighted)
    repeats = [len(case.rows) - len(np.unique(case.rows, axis=0)) for case in CASES.values()]
    assert sum(count > 0 for count in repeats) >= 5


@pytest.mark.parametrize("name", CASES)
def test_result_is_what_it_was(name: str, golden):
    found, was = result_of(CASES[name]), golden[name]
    assert found["input"] == was["input"], "the recipe's input changed, not the library"
    for part in was:
        assert found[part] == was[part], part
    assert found == was


def test_crc_depends_on_values_only():
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    packed = struct.pack("<4d", 1.0, 2.0, 3.0, 4.0)
    assert (
        crc(values, "<f8") == crc(np.asfortranarray(values), "<f8") == f"{zlib.crc32(packed):08x}"
    )
