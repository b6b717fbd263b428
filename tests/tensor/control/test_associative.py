"""Prefixes of associative functions against sequential ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dimtensor as dt
from tests.effort import a_tenth


def affine(one, other):
    """The composition of two affine maps, the earlier one first."""
    return {"slope": one["slope"] * other["slope"], "at": one["at"] * other["slope"] + other["at"]}


def prefixes(slopes, at):
    found = []
    for slope, start in zip(slopes, at, strict=True):
        last = found[-1] if found else (1.0, 0.0)
        found.append((last[0] * slope, last[1] * slope + start))
    return np.array(found).reshape(-1, 2)


@a_tenth
@given(length=st.integers(0, 20), reverse=st.booleans(), known=st.booleans())
def test_prefixes_are_those_of_a_loop(length, reverse, known):
    time = dt.Dim("time", length=length if known else None)
    slope, at = dt.tensor("slope", dims=time), dt.tensor("at", dims=time)
    found = dt.associative_scan(affine, {"slope": slope, "at": at}, dim=time, reverse=reverse)
    rng = np.random.default_rng(length)
    values = rng.normal(size=(2, length))
    expected = prefixes(*values[:, :: -1 if reverse else 1])[:: -1 if reverse else 1]
    results = dt.evaluate(found, {"slope": values[0], "at": values[1]})
    np.testing.assert_allclose(results["slope"], expected[:, 0])
    np.testing.assert_allclose(results["at"], expected[:, 1])


@pytest.mark.parametrize("known", [True, False])
def test_gradients_and_other_dims(known, rng):
    time, k = dt.Dim("time", length=6 if known else None), dt.Dim("k", coords=["a", "b"])
    x = dt.tensor("x", dims=[time, k])
    found = dt.associative_scan(lambda a, b: a * b, x, dim="time")
    assert found.dims == x.dims
    values = rng.uniform(0.5, 1.5, size=(6, 2))
    value, slope = dt.evaluate([found, dt.grad(found.sum(), x)], {x: (("time", "k"), values)})
    path = np.cumprod(values, axis=0)
    np.testing.assert_allclose(value.transpose("time", "k"), path)
    expected = np.cumsum(path[::-1], axis=0)[::-1] / values
    np.testing.assert_allclose(slope.transpose("time", "k"), expected)


def test_few_steps():
    """As many calls of the function as there are levels, not elements."""
    calls = []

    def add(a, b):
        calls.append(1)
        return a + b

    time = dt.Dim("time", length=1000)
    dt.associative_scan(add, dt.tensor("x", dims=time), dim=time)
    assert len(calls) <= 2 * np.log2(1000)


def test_functions_that_are_none():
    time, k = dt.Dim("time", length=4), dt.Dim("k", length=2)
    x = dt.tensor("x", dims=time)
    with pytest.raises(dt.DimError, match="of another type than the elements"):
        dt.associative_scan(lambda a, b: a + b + dt.ones(k), x, dim=time)
    with pytest.raises(dt.ArgumentError, match="another structure"):
        dt.associative_scan(lambda a, b: (a, b), x, dim=time)
