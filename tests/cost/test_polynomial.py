"""Polynomials in lengths, against the numbers that they stand for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.cost import Count, Lengths, Polynomial
from dimtensor.dims import ConcatDim, SelDim

a, b, c = dt.Dim("a"), dt.Dim("b"), dt.Dim("c")
LENGTHS = {a: 7, b: 3, c: 11}


def of(dim):
    return Polynomial.of(dim)


def test_sums_and_products_are_those_of_numbers():
    rng = np.random.default_rng(0)
    start = [(of(dim), n) for dim, n in LENGTHS.items()]
    for _ in range(40):
        numbers = list(start)
        for _ in range(4):
            (p, x), (q, y) = (numbers[i] for i in rng.integers(len(numbers), size=2))
            k = int(rng.integers(-3, 4))
            made = [(p + q, x + y), (p * q, x * y), (p * k + 1, x * k + 1), (p - q, x - y)]
            numbers.append(made[int(rng.integers(len(made)))])
            for polynomial, number in [*made, (k - p, k - x)]:
                assert polynomial.at(Lengths(LENGTHS)) == number


def test_equal_polynomials_are_equal_however_they_are_made():
    one, two = (of(a) + of(b)) ** 2, of(a) ** 2 + 2 * of(b) * of(a) + of(b) * of(b)
    assert one == two
    assert hash(one) == hash(two)
    assert one - two == 0
    assert not one - two
    assert one != two + 1


def test_text_has_terms_of_a_high_degree_first():
    assert str(3 * of(b) ** 2 + 2 * of(a) * of(b) * of(c) - of(a) + 5) == "2·a·b·c + 3·b² - a + 5"
    assert str(of(a) ** 3 * Fraction(2, 3) - Fraction(1, 3)) == "2·a³/3 - 1/3"
    found = [str(one) for one in (of(a) - of(a), -1 * of(a), 0.5 * of(a))]
    assert found == ["0", "-a", "0.5·a"]


def test_dims_made_of_others_answer_with_theirs():
    whole = ConcatDim([dt.Dim("x"), dt.Dim("y")], name="both")
    assert str(of(dt.ProductDim({a, b}))) == "a·b"
    assert str(of(whole)) == "x + y"
    assert of(a.rename("other")) == of(a)
    assert str(of(dt.ProductDim({whole, b}))) == "b·x + b·y"


def test_slices_and_masks_are_variables_with_the_numbers_of_their_parents():
    first = SelDim(a, positions=slice(None, 5))
    assert of(first).at(Lengths({a: 7})) == 5
    assert of(first).at(Lengths({a: 4})) == 4
    kept = dt.tensor("x", dims=a)
    (masked,) = kept[kept > 0].dims
    assert of(masked).at(Lengths({a: 7})) == 7  # at most
    assert of(masked).at(Lengths({a: 7, masked: 2})) == 2


def test_lengths_that_are_known_need_not_be_given():
    assert of(dt.Dim("k", length=4)).at(Lengths()) == 4
    assert of(dt.Dim("k", coords=["x", "y", "z"])).at(Lengths()) == 3


def test_lengths_that_are_missing_are_named():
    cost = of(a) * of(b) + Polynomial.of(Count("rounds"))
    assert [v._short for v in Lengths({a: 1}).missing(cost)] == ["b", "rounds"]
    with pytest.raises(dt.errors.GraphError, match="without a length: a"):
        cost.at(Lengths({b: 3}))


def test_assumed_lengths_are_said():
    lengths = Lengths({a: 2}, assumed=10)
    assert (of(a) * of(b)).at(lengths) == 20
    assert lengths.assumptions == {b: 10}


def test_the_bound_of_polynomials_is_no_smaller_than_they_are():
    one, two = 3 * of(a) + of(b), of(a) + 4 * of(c)
    assert Polynomial.bound(one, two) == 3 * of(a) + of(b) + 4 * of(c)
