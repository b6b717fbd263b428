"""States that follow from data alone are computed once, and the loop that reads them is none."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
from scipy.stats import bernoulli

import dimtensor as dt
from dimtensor import dist

TIME, DOG = dt.Dim("time"), dt.Dim("dog")


def chances(seen, rate, extra=0.0):
    """exp(-rate * how many were before), by a loop that counts; the number at the end."""

    def step(count, y):
        return count + y + extra, dt.exp(-rate * count)

    start = dt.zeros([dim for dim in seen.dims if dim is not TIME], dtype="float64")
    return dt.scan(step, start, seen, dim=TIME)


def counted(y):
    return np.cumsum(y, axis=-1) - y


@pytest.mark.compiled
@pytest.mark.parametrize("shape", [(3, 7), (7,), (1,), (0,), (3, 0)])
def test_values_and_gradients_are_those_of_the_sum(shape, rng):
    y = rng.integers(0, 2, shape).astype(float)
    dims = [DOG, TIME][-len(shape) :]
    rate = dt.scalar("rate")
    end, found = chances(dt.data(y, dims=dims), rate)
    f = dt.function([rate], [found, end, dt.grad(found.sum(), rate)])
    value, last, slope = f(0.3)
    before = counted(y)
    np.testing.assert_allclose(value.transpose(*[d.name for d in dims]), np.exp(-0.3 * before))
    np.testing.assert_allclose(last, y.sum(-1))
    np.testing.assert_allclose(slope, (-before * np.exp(-0.3 * before)).sum(), rtol=1e-12)


@pytest.mark.compiled
def test_no_loop_is_left_and_other_data_are_counted_anew(rng):
    y = rng.integers(0, 2, (4, 6)).astype(float)
    rate, seen = dt.scalar("rate"), dt.data(y, dims=[DOG, TIME], name="seen")
    f = dt.function([rate], chances(seen, rate)[1])
    np.testing.assert_allclose(f(0.5).transpose("dog", "time"), np.exp(-0.5 * counted(y)))
    assert "step" not in f.source
    other = f.with_data(seen=(["dog", "time"], 1 - y[:, :5]))
    expected = np.exp(-0.5 * counted(1 - y[:, :5]))
    np.testing.assert_allclose(other(0.5).transpose("dog", "time"), expected)


@pytest.mark.compiled
def test_states_that_follow_from_inputs_stay(rng):
    y = rng.integers(0, 2, 6).astype(float)
    rate, extra = dt.scalar("rate"), dt.scalar("extra")
    f = dt.function([rate, extra], chances(dt.data(y, dims=TIME), rate, extra)[1])
    assert "step" in f.source
    expected = np.exp(-0.5 * (counted(y) + 0.25 * np.arange(6)))
    np.testing.assert_allclose(f(0.5, 0.25), expected)


@pytest.mark.compiled
@pytest.mark.parametrize("dims", [(), DOG])
def test_a_series_that_counts_its_own_values_has_no_steps(dims, rng):
    y = rng.integers(0, 2, (4, 6) if dims else (1, 6))
    a, b = (dt.rv(name, dist.Uniform(0, 1)) for name in "ab")

    def step(before, a, b):
        shocks, avoided = before
        p = dt.exp((1 + shocks) * dt.log(a) + avoided * dt.log(b))
        return dist.Bernoulli(p), lambda y: (shocks + y, avoided + 1 - y)

    series = dt.rv("y", dist.Series(step, (0.0, 0.0), dim=TIME, a=a, b=b), dims=dims)
    seen = (("dog", "time"), y) if dims else y[0]
    density = dt.Model(series).observe({series: seen}).log_density()
    assert "for step" not in density.functions.get("logp_and_grad").source

    def expected(x):
        a, b = scipy.special.expit(x)
        chance = a ** (1 + counted(y)) * b ** counted(1 - y)
        return bernoulli.logpmf(y, chance).sum() + np.log(a * (1 - a) * b * (1 - b))

    at = np.array([0.4, -0.2])
    value, gradient = density.logp_and_grad(at)
    np.testing.assert_allclose(value, expected(at))
    shifts = 1e-5 * np.eye(2)
    slopes = [(expected(at + h) - expected(at - h)) / 2e-5 for h in shifts]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6)
