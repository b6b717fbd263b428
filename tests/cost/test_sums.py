"""Sums of polynomials over the rounds of loops, against sums of numbers."""

from __future__ import annotations

import pytest

from dimtensor.cost import Count, Lengths, Polynomial
from dimtensor.cost.quantities import bytes_of, bytes_text, count_text
from dimtensor.cost.sums import substituted, summed
from dimtensor.errors import OptionError

SIZE, OUTER, INNER = Count("n"), Count("i"), Count("j")
n, i, j = map(Polynomial.of, (SIZE, OUTER, INNER))


@pytest.mark.parametrize("power", range(6))
@pytest.mark.parametrize(("start", "stop", "step"), [(0, 7, 1), (2, 9, 1), (3, 15, 4), (5, 5, 1)])
def test_sums_of_powers(power, start, stop, step):
    found = summed(
        i**power * n + 2, OUTER, Polynomial.constant(start), Polynomial.constant(stop), step
    )
    expected = sum(k**power * 3 + 2 for k in range(start, stop, step))
    assert found.at(Lengths({SIZE: 3})) == expected


def test_triangles_and_pyramids():
    zero = Polynomial.constant(0)
    triangle = summed(Polynomial.constant(1), INNER, zero, i + 1)
    assert str(summed(triangle, OUTER, zero, n)) == "n²/2 + n/2"
    pyramid = summed(summed(j, INNER, zero, i), OUTER, zero, n)
    expected = sum(b for a in range(9) for b in range(a))
    assert pyramid.at(Lengths({SIZE: 9})) == expected


def test_something_in_the_place_of_a_variable():
    assert substituted(i**2 + n * i, OUTER, n + 1) == 2 * n**2 + 3 * n + 1


def test_bytes_are_written_with_their_unit():
    assert [bytes_of(x) for x in ("2 GB", "3MiB", "0.5 kB", "7 B", 12)] == [
        2 * 10**9, 3 * 2**20, 500, 7, 12,
    ]  # fmt: skip
    assert [bytes_text(x) for x in (0, 999, 1000, 24.348e9, 5e18)] == [
        "0 B", "999 B", "1 kB", "24.3 GB", "5 EB",
    ]  # fmt: skip
    assert count_text(2.5e6) == "2.5 M"


@pytest.mark.parametrize(
    "limit", ["2", "2 G", "2 gb", "GB", "-1 GB", -1, 2.5, True, None, "1 GB x"]
)
def test_other_limits_are_refused(limit):
    with pytest.raises(OptionError, match="is not a number of bytes"):
        bytes_of(limit)
