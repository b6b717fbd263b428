"""Numbers of positions of every class, which elements are shifted and rolled by."""

import numpy as np
import pytest

import dimtensor as dt

KNOWN, LATE = dt.Dim("t", length=4), dt.Dim("t")
VALUES = np.array([1.0, 2.0, 3.0, 4.0])
INTEGERS = [np.int8, np.uint8, np.uint64, np.int64, lambda n: np.array(n, "u8")]


@pytest.mark.parametrize("dim", [KNOWN, LATE], ids=["known", "late"])
@pytest.mark.parametrize("number", INTEGERS)
def test_integers_of_numpy_move_as_those_of_python(number, dim):
    x = dt.tensor("x", dims=dim)
    for n in (0, 1, 3, 6):
        shifted = np.r_[np.full(min(n, 4), np.nan), VALUES[: max(4 - n, 0)]]
        np.testing.assert_array_equal(x.shift(t=number(n)).eval({x: VALUES}), shifted)
        np.testing.assert_array_equal(x.roll(t=number(n)).eval({x: VALUES}), np.roll(VALUES, n))


def test_rolls_further_than_64_bits_count():
    rolled = dt.data(VALUES, dims=KNOWN).roll(t=2**70 + 1)
    np.testing.assert_array_equal(rolled.eval(), np.roll(VALUES, 1))


@pytest.mark.parametrize("dim", [KNOWN, LATE], ids=["known", "late"])
@pytest.mark.parametrize("number", [2.0, None, np.array([2]), True, 1j])
def test_what_is_no_number_of_positions(number, dim):
    x = dt.tensor("x", dims=dim)
    for method in (x.shift, x.roll):
        with pytest.raises(dt.DtypeError, match="is no number of positions along dim 't'"):
            method(t=number)
    with pytest.raises(dt.DtypeError, match="hint: write an integer: t=2"):
        x.roll(t=2.0)
    with pytest.raises(dt.DtypeError, match="roll: '2' is no number of positions"):
        x.roll(t="2")
