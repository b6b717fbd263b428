"""Loops that are run several rounds at a time inside another one."""

import math
import re

import numpy as np
import pytensor.tensor as pt
import pytest

from dimtensor.kernels.passes import unroll_and_jam
from dimtensor.tuning import SUM_BLOCK
from tests.kernels.interpret import interpreted

rng = np.random.default_rng(0)
m, t = pt.dmatrix("m"), pt.dtensor3("t")
a = pt.dvector("a")


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 5, 8, 11])
def test_sums_over_rows(rows):
    apart = m - a[:, None]
    function = interpreted([m, a], [apart.sum(axis=0), (m * apart).max(axis=0)])
    assert "// 4" in function.source
    x, y = rng.normal(size=(rows, 6)), rng.normal(size=rows)
    if rows:
        total, largest = function(x, y)
        np.testing.assert_allclose(total, (x - y[:, None]).sum(axis=0), rtol=1e-12)
        np.testing.assert_array_equal(largest, (x * (x - y[:, None])).max(axis=0))


@pytest.mark.parametrize("shape", [(2, 5, 3), (1, 4, 1), (3, 3, 7), (2, 0, 3), (0, 4, 2)])
def test_sums_over_every_side_of_a_table(shape):
    x = rng.normal(size=shape)
    outputs = [t.sum(axis=(0, 1)), t.sum(axis=(0, 2)), t.sum(axis=(1, 2)), (t * t).sum()]
    function = interpreted([t], outputs)
    expected = [x.sum((0, 1)), x.sum((0, 2)), x.sum((1, 2)), (x * x).sum()]
    for one, other in zip(function(x), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("rows", [3, 4, 7, 4000])
def test_a_total_takes_in_blocks_of_several_rows_at_once(rows):
    """One correction of its own for four rows, and one for each of the rest; rows keep theirs."""
    function = interpreted([m, a], [(m - a).sum(), (m - a).sum(axis=0), (m - a).sum(axis=1)])
    inside, rest = function.source.split("// 4 * 4")
    corrections = [re.findall(r"a\d+ = a\d+ \+ \(", part) for part in (inside, rest)]
    assert len(corrections[0]) == 4 + 1
    assert len(corrections[1]) == 1 + 1
    x, y = 1e8 + rng.normal(size=(rows, 50)), rng.normal(size=50)
    total, columns, by_row = function(x, y)
    exact = math.fsum((x - y).ravel())
    assert abs(total - exact) <= 4 * np.spacing(exact)
    np.testing.assert_allclose(columns, (x - y).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(by_row, (x - y).sum(axis=1), rtol=1e-12)


def test_known_lengths_leave_no_rest():
    for rows, loops in ((8, 2), (7, 4)):
        x = pt.tensor("table", dtype="float64", shape=(rows, 9))
        assert interpreted([x], [x.sum(axis=0)]).source.count("for ") == loops


def test_few_rounds_and_long_bodies_are_left_alone():
    few = pt.tensor("table", dtype="float64", shape=(3, 9))
    assert "//" not in interpreted([few], [few.sum(axis=0)]).source
    short = pt.tensor("table", dtype="float64", shape=(None, 8))  # LLVM unrolls the inner loop
    assert "//" not in interpreted([short], [short.sum(axis=0)]).source
    long = m
    for _ in range(40):
        long = pt.sin(long) + a[:, None]
    assert "//" not in interpreted([m, a], [long.sum(axis=0)]).source


def test_updates_by_data_keep_their_order():
    at = pt.lmatrix("at")
    zeros = pt.zeros(4)
    outputs = [pt.set_subtensor(zeros[at], m), m.sum(axis=0)]
    x, codes = rng.normal(size=(6, 5)), rng.integers(0, 4, size=(6, 5))
    last, _ = interpreted([m, at], outputs)(x, codes)
    expected = np.zeros(4)
    expected[codes] = x
    np.testing.assert_array_equal(last, expected)


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 6, 8])
def test_rows_times_the_same(rows):
    for length in (0, 1, 5, SUM_BLOCK, 5000):
        outputs = [(t * a).sum(axis=2).sum(axis=0), (m * a).sum(axis=1), (m + a).max(axis=1)]
        function = interpreted([t, m, a], outputs[: 2 + bool(length)])
        assert "// 4" in function.source
        x, y, z = (rng.normal(size=(*lead, length)) for lead in ((2, rows), (rows,), ()))
        found = function(x, y, z)
        np.testing.assert_allclose(found[0], (x @ z).sum(axis=0), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found[1], y @ z, rtol=1e-10, atol=1e-12)
        if length:
            np.testing.assert_array_equal(found[2], (y + z).max(axis=1))


def test_totals_of_rows_times_the_same_lose_nothing():
    function = interpreted([m, a], [(m * a).sum(axis=1)])
    table = np.zeros((5, 4 * SUM_BLOCK))
    table[:, ::SUM_BLOCK] = np.outer(np.arange(1, 6), [1e16, 1.0, 1.0, -1e16])
    expected = [math.fsum(row) for row in table]
    ones = np.ones(table.shape[1])
    np.testing.assert_array_equal(function(table, ones)[0], expected)
    table[:, 7] = np.inf
    assert np.isposinf(function(table, ones)[0]).all()


def test_rows_with_nothing_in_common_and_short_ones_are_left_alone():
    assert "//" not in interpreted([m], [pt.exp(m).sum(axis=1)]).source
    x = pt.tensor("table", dtype="float64", shape=(None, 3))
    assert "//" not in interpreted([x, a], [(x * a).sum(axis=1)]).source


@pytest.mark.parametrize("most", [0, 29, 30, 40])
def test_short_rows_of_a_large_array_are_left_alone(most, monkeypatch):
    """Which rows these are is known when the kernel runs, unless both lengths are."""
    monkeypatch.setattr(unroll_and_jam, "JAMMED_ELEMENTS", most)
    rows = rng.normal(size=(3, 10))
    function = interpreted([m, a], [(m - a[:, None]).sum(axis=0)])
    assert f">= {unroll_and_jam.JAMMED_ROW} or" in function.source
    found = function(rows, np.arange(3.0))[0]
    np.testing.assert_allclose(found, (rows - np.arange(3.0)[:, None]).sum(axis=0), rtol=1e-12)
    x = pt.tensor("table", dtype="float64", shape=(4, 10))
    assert ("4 * k" in interpreted([x], [x.sum(axis=0)]).source) == (most >= 40)
