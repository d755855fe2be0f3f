"""Ids are found again, whatever their order."""

import numpy as np
import pytest

from holdfast.rows.ids import check_ids, find_ids


def _texts(numbers):
    return np.array([f"C{i}" for i in numbers], dtype=object)


N = 600
NUMBERS = np.arange(N)
ORDERS = {
    "the same": NUMBERS,
    "some left": NUMBERS[NUMBERS % 7 > 0],
    "a long run left": NUMBERS[(NUMBERS < 100) | (NUMBERS > 300)],
    "some are new": np.insert(NUMBERS, [0, 5, 5, N], [N, N + 1, N + 2, N + 3]),
    "some are elsewhere": np.concatenate((NUMBERS[20:], NUMBERS[:20])),
    "reversed": NUMBERS[::-1],
    "shuffled": NUMBERS * 7 % N,
    "all are new": NUMBERS + N,
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("unique", [False, True])
def test_texts_are_found_in_any_order(order, unique):
    wanted = ORDERS[order]
    expected = np.where(wanted < N, wanted, -1)
    np.testing.assert_array_equal(
        find_ids(_texts(wanted), _texts(NUMBERS), unique=unique), expected
    )


def test_a_few_wanted_ids_may_repeat():
    wanted = np.array([7, 7, 599, 1000, 0])
    found = find_ids(_texts(wanted), _texts(NUMBERS))
    np.testing.assert_array_equal(found, [7, 7, 599, -1, 0])


def test_integers_are_found_in_any_order():
    known = 2 * NUMBERS[::-1]  # odd ones lie between them
    wanted = np.concatenate((NUMBERS * 7 % N, [2 * N, -1, 4, 4]))
    expected = np.where(wanted % 2 == 0, N - 1 - wanted // 2, -1)
    expected[wanted >= 2 * N] = -1
    np.testing.assert_array_equal(find_ids(wanted, known), expected)


@pytest.mark.parametrize("wrong", [float("nan"), None, 7, 7.5])
def test_a_list_of_texts_with_something_else_is_refused(wrong):
    with pytest.raises(ValueError, match="all integers or all strings, none missing; got .* and "):
        check_ids(None, ["a", wrong, "b"], 3)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([1 << 63, 1], "from -2\\^63 to 2\\^63 - 1; got 9223372036854775808. Use strings"),
        ([-(10**30), 1], "got -1000000000000000000000000000000. Use strings"),
        (np.array([1 << 63, 1], dtype=np.uint64), "got 9223372036854775808. Use strings"),
        (["a", "b\ud800"], "ids must be valid Unicode; got 'b\\\\ud800'"),
        (np.array(["a", "a"]), "got 'a' 2 times"),
        (np.array([7, 7]), "got 7 2 times"),
        (["a", 1], "got int and str"),
    ],
)
def test_ids_that_cannot_be_kept_are_refused(ids, words):
    with pytest.raises(ValueError, match=words):
        check_ids(None, ids, 2)


def test_lists_of_texts_and_of_integers_are_taken():
    assert check_ids(None, ["a", "b"], 2).tolist() == ["a", "b"]
    assert check_ids(None, (3, np.int32(5)), 2).dtype == np.int64
