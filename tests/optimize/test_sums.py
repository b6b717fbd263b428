"""Sums out of which factors and terms are taken: the same numbers, from fewer operations."""

import math

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from tests.kernels.interpret import interpreted

rng = np.random.default_rng(0)
x, y = pt.dvector("x"), pt.dvector("y")
m = pt.dmatrix("m")
s, c = pt.dscalar("s"), pt.dscalar("c")
codes = pt.lvector("codes")
d = x - c
VALUES = {
    x: rng.normal(size=5),
    y: rng.normal(size=5),
    m: rng.normal(size=(4, 5)),
    s: np.asarray(1.7),
    c: np.asarray(-0.3),
    codes: np.array([0, 3, 1, 3, -1]),
}
X, Y, M, S, C = (VALUES[v] for v in (x, y, m, s, c))
D = X - C
SUMS = {
    "constant": ((3.0 * x * y).sum(), 3 * (X * Y).sum()),
    "square": (((d / s) ** 2).sum(), ((D / S) ** 2).sum()),
    "terms": ((c - 0.5 * (d / s) ** 2 - pt.log(s)).sum(), (C - (D / S) ** 2 / 2 - np.log(S)).sum()),
    "powers": ((d * (d / s) * (x / s)).sum(), (D * D * X / S**2).sum()),
    "fraction": ((s / (y * y * s * s)).sum(), (1 / (Y * Y * S)).sum()),
    "difference": ((x - c).sum(), D.sum()),
    "two terms": ((s * x * y + c * pt.exp(x)).sum(), (S * X * Y + C * np.exp(X)).sum()),
    "rows": ((m * m * x[None, :]).sum(axis=0), (M * M * X).sum(axis=0)),
    "rows and terms": ((s * pt.exp(m) + x).sum(axis=0), (S * np.exp(M) + X).sum(axis=0)),
    "broadcast": ((c * x[None, :] * y[None, :] + s * m**2).sum(), (C * X * Y + S * M**2).sum()),
    "sums of a sum": (m.sum(axis=0).sum() + s * m.sum(axis=1).max(), M.sum() + S * M.sum(1).max()),
    "negative": ((-(s * x * y)).sum(), -(S * X * Y).sum()),
}


def run(outputs):
    inputs = [v for v in VALUES if v in pytensor.graph.traversal.graph_inputs(outputs)]
    function = interpreted(inputs, outputs)
    return function(*(VALUES[v] for v in inputs)), function.source


@pytest.mark.parametrize("name", SUMS)
def test_values(name):
    graph, expected = SUMS[name]
    (found,), _ = run([graph])
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def loops(source):
    """Lines in loops."""
    return [line.strip() for line in source.splitlines() if line.startswith("        ")]


def test_no_logarithm_and_no_division_in_the_loop():
    total = (-0.5 * ((x - c) / s) ** 2 - pt.log(s) - 0.9).sum()
    (value, _, _), source = run([total, *pytensor.grad(total, [c, s])])
    np.testing.assert_allclose(value, (-0.5 * (D / S) ** 2 - np.log(S) - 0.9).sum())
    inner = "\n".join(loops(source))
    assert "log" not in inner
    assert "/" not in inner
    # the sum of squares is the same for the value and the gradient
    assert inner.count("+=") == 2


def test_a_difference_that_cancels_is_summed_as_it_is():
    large = 1e12 + rng.random(1000)
    function = interpreted([x, c], [(x - c).sum()])
    exact = float(np.sum(large.astype(np.longdouble) - 1e12))
    np.testing.assert_allclose(function(large, np.asarray(1e12))[0], exact, rtol=1e-12)


def test_a_factor_of_what_is_added_up_by_group():
    zeros = pt.zeros(4)
    added = pt.inc_subtensor(zeros[codes], x / s / s)
    (found,), source = run([added])
    expected = np.zeros(4)
    np.add.at(expected, VALUES[codes], X / S**2)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert source.index("/") > source.rindex("+=")


def test_a_factor_of_what_is_added_up_by_two_groups():
    """As in the gradient of differences of neighbors."""
    back = codes[::-1]
    value = (x - y) / s
    added = pt.inc_subtensor(pt.inc_subtensor(pt.zeros(4)[codes], value)[back], -2.0 * value)
    (found,), source = run([added])
    expected = np.zeros(4)
    np.add.at(expected, VALUES[codes], (X - Y) / S)
    np.add.at(expected, VALUES[codes][::-1], -2 * (X - Y) / S)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert source.index("/") > source.rindex("+=")
    # other factors stay inside
    added = pt.inc_subtensor(pt.inc_subtensor(pt.zeros(4)[codes], value)[back], c * x)
    (found,), _ = run([added])
    np.add.at(expected := np.zeros(4), VALUES[codes], (X - Y) / S)
    np.add.at(expected, VALUES[codes][::-1], C * X)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_sums_over_no_elements():
    total = (2.0 * (x - c) ** 2 / s - pt.log(s)).sum()
    function = interpreted([x, c, s], [total])
    assert function(np.zeros(0), np.asarray(1.0), np.asarray(2.0))[0] == 0.0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_stays_so(value):
    total = (-0.5 * ((x - c) / s) ** 2 - pt.log(s)).sum()
    function = interpreted([x, c, s], [total])
    array = np.array([1.0, value, 2.0])
    assert not np.isfinite(function(array, np.asarray(0.0), np.asarray(1.0))[0])
    assert not np.isfinite(function(X, np.asarray(0.0), np.asarray(0.0))[0])
    assert not np.isfinite(function(X, np.asarray(value), np.asarray(1.0))[0])


def test_small_scales_do_not_divide_by_zero():
    # the square of the scale is 0
    total = ((x / s) ** 2).sum()
    function = interpreted([x, s], [total])
    assert function(np.array([0.0, 1e-150]), np.asarray(1e-170))[0] == pytest.approx(1e40)


def test_partial_sums_are_shared():
    total = ((m - y[None, :]) ** 2).sum()
    rows = (m - y[None, :]).sum(axis=1)
    columns, everything = (m - y[None, :]).sum(axis=0), (m - y[None, :]).sum()
    found, source = run([total, rows, columns, everything])
    difference = M - Y
    expected = [(difference**2).sum(), difference.sum(1), difference.sum(0), difference.sum()]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    innermost = [line for line in source.splitlines() if line.startswith(" " * 12)]
    # four rounds at a time, and what is left of them
    assert sum("+=" in line for line in innermost) == (4 + 1) * 3


MASKED = pt.switch(x > y, x * y / s / s, 0.0)
AS_MASKED = pt.switch(pt.le(x, y), 0.0, -(x * y) / s)


def test_factors_of_what_is_masked():
    found, source = run([MASKED.sum(), AS_MASKED.sum(), pt.switch(m > s, m * m / x, 0.0).sum(0)])
    chosen = X[X > Y] * Y[X > Y]
    rows = np.where(M > S, M * M / X, 0.0).sum(axis=0)
    for one, expected in zip(found, (chosen.sum() / S**2, -chosen.sum() / S, rows), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-13)
    inside = [line for line in loops(source) if "/" in line]
    assert len(inside) == 1  # of the rows, once for each


def test_factors_around_a_mask_and_inside_of_it():
    (found,), source = run([-(pt.switch(x > y, (x / s) * y / s, 0.0) * m[0, 0]).sum()])
    expected = -(X[X > Y] * Y[X > Y]).sum() / S**2 * M[0, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert not any("/" in line for line in loops(source))


@pytest.mark.parametrize("scale", [0.0, np.inf, np.nan])
@pytest.mark.parametrize("some", [False, True])
def test_factors_of_what_is_masked_everywhere_do_not_count(scale, some):
    inputs = [x, y, s]
    below = X + 1.0 - 2.0 * (some * (np.arange(5) == 2))
    for graph in (MASKED, AS_MASKED):
        (found,) = interpreted(inputs, [graph.sum()])(X, below, np.asarray(scale))
        with np.errstate(all="ignore"):
            terms = X * below / scale / scale if graph is MASKED else -(X * below) / scale
            expected = np.where(below < X, terms, 0.0).sum()
        np.testing.assert_array_equal(found, expected)
    (nothing,) = interpreted(inputs, [MASKED.sum()])(X[:0], Y[:0], np.asarray(scale))
    assert nothing == 0.0


def test_short_and_long_sums_of_rows():
    function = interpreted([m], [m.sum(axis=1)])
    assert " == 0:\n" in function.source
    for table in (rng.normal(size=(3, 4)), np.full((2, 5000), 0.1), np.array([[np.inf, 1.0]])):
        expected = [math.fsum(row) for row in table]
        np.testing.assert_allclose(function(table)[0], expected, rtol=1e-13)
    assert function(np.zeros((2, 0)))[0].tolist() == [0.0, 0.0]


def test_a_sum_of_many_sums_is_one():
    terms = [pt.exp(-(x - c) * float(k)) for k in range(1, 9)]
    others = [pt.exp(-y * m.sum()), pt.sin(m)]  # another dim, for all that is known, and one more
    total = pt.add(*(t.sum() for t in terms), s, *(t.sum() for t in others))
    rows = pt.add(*(pt.sqrt(k + m * m).sum(axis=1)[:, None] for k in range(1, 9)))
    (found, found_rows), source = run([total, rows])
    expected = sum(np.exp(-D * k).sum() for k in range(1, 9))
    expected += S + np.exp(-Y * M.sum()).sum() + np.sin(M).sum()
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    wanted = sum(np.sqrt(k + M * M).sum(1, keepdims=True) for k in range(1, 9))
    np.testing.assert_allclose(found_rows, wanted, rtol=1e-14)
    assert sum("+=" in line for line in loops(source)) <= 6


def test_a_sum_of_many_multiples_of_sums_is_one():
    numbers = [3.0, -1.0, 0.5, 7.0, 0.0, 1.0, -2.0, 4.0]
    terms = [pt.exp(-(x - c) * (k + 1.0)) for k in range(8)]
    sums = [t.sum() for t in terms]
    multiples = [-t if n == -1.0 else n * t for n, t in zip(numbers, sums, strict=True)]
    rows = pt.add(*(n * pt.sqrt(k + m * m).sum(axis=1)[:, None] for k, n in enumerate(numbers)))
    (found, found_rows), source = run([pt.add(*multiples, s), rows])
    expected = S + sum(n * np.exp(-D * (k + 1.0)).sum() for k, n in enumerate(numbers))
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    wanted = sum(n * np.sqrt(k + M * M).sum(1, keepdims=True) for k, n in enumerate(numbers))
    np.testing.assert_allclose(found_rows, wanted, rtol=1e-13)
    assert sum("+=" in line for line in loops(source)) <= 4


def test_a_sum_whose_multiple_is_asked_for_too_stays_apart():
    sums = [pt.exp(-x * float(k)).sum() for k in range(1, 10)]
    multiple = 5.0 * sums[0]
    found, _ = run([pt.add(multiple, *sums[1:]), multiple])
    np.testing.assert_allclose(found[1], 5 * np.exp(-X).sum(), rtol=1e-14)
    expected = 5 * np.exp(-X).sum() + sum(np.exp(-k * X).sum() for k in range(2, 10))
    np.testing.assert_allclose(found[0], expected, rtol=1e-14)


def test_sums_over_elements_that_may_be_of_another_number_stay_apart():
    vectors = [pt.dvector(f"v{k}") for k in range(8)]
    total = pt.add(*(pt.exp(v).sum() for v in vectors))
    arrays = [rng.normal(size=k + 1) for k in range(8)]
    function = interpreted(vectors, [total])
    expected = sum(np.exp(a).sum() for a in arrays)
    np.testing.assert_allclose(function(*arrays)[0], expected, rtol=1e-14)


def test_a_sum_that_is_asked_for_too_stays_one():
    sums = [pt.exp(-x * float(k)).sum() for k in range(1, 10)]
    found, _ = run([pt.add(*sums), sums[3]])
    np.testing.assert_allclose(found[1], np.exp(-4 * X).sum(), rtol=1e-14)
    np.testing.assert_allclose(found[0], sum(np.exp(-k * X).sum() for k in range(1, 10)), 1e-14)
