"""Kernels of Gaussian processes against the formulas of Rasmussen and Williams in NumPy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.special
import scipy.stats
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.testing.differences import assert_gradient

AT = np.array([0.0, 0.5, 1.7, 1.7, 4.0])  # two points are the same
T = dt.Dim("t", length=5)
FEATURE = dt.Dim("feature", coords=["x", "y"])


def matrix(kernel, at=AT, dims=(T,)):
    x = dt.data(at, dims=list(dims))
    (row, *_) = dims
    found = kernel(x, x.relabel(row, row.rename()))
    return found.eval().transpose(row.name, row.rename().name).values


def matern(nu, r):
    """(4.14), by the Bessel function that the closed forms come from."""
    s = np.sqrt(2 * nu) * np.where(r > 0, r, 1.0)
    value = 2 ** (1 - nu) / scipy.special.gamma(nu) * s**nu * scipy.special.kv(nu, s)
    return np.where(r > 0, value, 1.0)


R = np.abs(np.subtract.outer(AT, AT))
LENGTH = 1.3
EXPECTED = {
    "SquaredExponential": (
        lambda: dt.gp.SquaredExponential(LENGTH),
        np.exp(-0.5 * (R / LENGTH) ** 2),
    ),
    "Matern12": (lambda: dt.gp.Matern12(LENGTH), matern(0.5, R / LENGTH)),
    "Matern32": (lambda: dt.gp.Matern32(LENGTH), matern(1.5, R / LENGTH)),
    "Matern52": (lambda: dt.gp.Matern52(LENGTH), matern(2.5, R / LENGTH)),
    "RationalQuadratic": (
        lambda: dt.gp.RationalQuadratic(LENGTH, alpha=0.7),
        (1 + R**2 / (2 * 0.7 * LENGTH**2)) ** -0.7,
    ),
    "Periodic": (
        lambda: dt.gp.Periodic(LENGTH, period=3.0),
        np.exp(-2 * np.sin(np.pi * R / 3.0) ** 2 / LENGTH**2),
    ),
    "Linear": (lambda: dt.gp.Linear(0.3), np.outer(AT - 0.3, AT - 0.3)),
    "Polynomial": (
        lambda: dt.gp.Polynomial(3, offset=0.2, center=1.0),
        (np.outer(AT - 1.0, AT - 1.0) + 0.2) ** 3,
    ),
    "White": (lambda: dt.gp.White(0.4), 0.4 * np.eye(5)),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_covariances(name):
    make, expected = EXPECTED[name]
    np.testing.assert_allclose(matrix(make()), expected, rtol=1e-12, atol=1e-14)
    assert repr(make()).startswith(name)


def test_sums_products_and_scales():
    one, other = dt.gp.Matern32(LENGTH), dt.gp.Linear(0.3)
    a, b = (EXPECTED[name][1] for name in ("Matern32", "Linear"))
    np.testing.assert_allclose(matrix(2.0 * (one + other) * one), 2.0 * (a + b) * a)
    np.testing.assert_allclose(matrix(np.float64(3.0) * one + other * 0.5), 3.0 * a + 0.5 * b)
    scale = dt.data(2.5, name="variance")
    np.testing.assert_allclose(matrix(scale * one), 2.5 * a)
    assert repr(scale * one) == "variance * Matern32(lengthscale=1.3)"
    with pytest.raises(TypeError, match="unsupported operand"):
        one + 1.0


def test_points_of_several_numbers(rng):
    at, lengths = rng.normal(size=(5, 2)), np.array([0.5, 2.0])
    scaled = at / lengths
    distance = np.linalg.norm(scaled[:, None] - scaled[None], axis=-1)
    kernel = dt.gp.Matern52(dt.data(lengths, dims=FEATURE))
    np.testing.assert_allclose(matrix(kernel, at, (T, FEATURE)), matern(2.5, distance), rtol=1e-10)
    of_y = dt.gp.Matern12(0.7).sel(feature="y")
    expected = np.exp(-np.abs(np.subtract.outer(at[:, 1], at[:, 1])) / 0.7)
    np.testing.assert_allclose(matrix(of_y, at, (T, FEATURE)), expected)
    product = dt.gp.Periodic(1.0, period=2.0)
    turns = np.sin(np.pi * (at[:, None] - at[None]) / 2.0) ** 2
    expected = np.exp(-2 * turns.sum(-1))
    np.testing.assert_allclose(matrix(product, at, (T, FEATURE)), expected)


def test_warped_points():
    at = AT + 1.0
    expected = matern(1.5, np.abs(np.subtract.outer(np.log(at), np.log(at))))
    np.testing.assert_allclose(matrix(dt.gp.Matern32(1.0).warp(dt.log), at), expected)


def test_labels_with_given_covariances():
    kind = dt.Dim("kind", coords=["a", "b"])
    given = np.array([[1.0, 0.3], [0.3, 2.0]])
    kinds = dt.data(["a", "b", "b", "a", "b"], dims=T, categories=kind)
    kernel = dt.gp.Coregion(dt.data(given, dims=[kind, kind.rename()]))
    at = np.array([0, 1, 1, 0, 1])
    found = kernel(kinds, kinds.relabel(T, T.rename())).eval().transpose("t", "t'")
    np.testing.assert_array_equal(found, given[np.ix_(at, at)])
    with pytest.raises(dt.ArgumentError, match="the covariance is a tensor"):
        dt.gp.Coregion(given)


@pytest.mark.parametrize(
    "name", ["SquaredExponential", "Matern12", "Matern32", "Matern52", "Periodic"]
)
def test_gradients_where_points_are_the_same(name):
    """Distances are zero on the diagonal, where a square root has no slope."""
    length = dt.scalar("length")
    options = {"period": 3.0} if name == "Periodic" else {}
    kernel = getattr(dt.gp, name)(length, **options)
    x = dt.data(np.stack([AT, AT[::-1]], axis=1), dims=[T, FEATURE])
    weights = dt.data(np.arange(25.0).reshape(5, 5), dims=[T, T.rename()])
    assert_gradient((weights * kernel(x, x.relabel(T, T.rename()))).sum(), length, {length: 1.3})


def test_processes_over_labels():
    t = dt.Dim("t", coords=AT[[0, 1, 2, 4]])
    at = AT[[0, 1, 2, 4]]
    cov = matern(2.5, np.abs(np.subtract.outer(at, at)) / LENGTH) + 0.1 * np.eye(4)
    values = np.array([0.1, -0.3, 0.8, 0.2])
    d = dist.GP(dt.gp.Matern52(LENGTH), t, jitter=0.1)
    expected = scipy.stats.multivariate_normal(np.zeros(4), cov).logpdf(values)
    np.testing.assert_allclose(d.logp(dt.data(values, dims=t)).eval(), expected)
    # at new labels, conditional on the known ones: (2.19)
    f = dt.rv("f", d)
    fit = dt.Model(f, backend="python").observe({f: values})
    wider = dt.Dim("t", coords=[*at, 1.2])
    new = np.array([*at, 1.2])
    whole = matern(2.5, np.abs(np.subtract.outer(new, new)) / LENGTH) + 0.1 * np.eye(5)
    gain = whole[4, :4] @ np.linalg.inv(whole[:4, :4])
    nothing = xr.Dataset({"other": (("chain", "draw"), np.zeros((1, 4000)))})
    drawn = fit.predict(nothing, dims={t: wider}, seed=2)["predictions"]["f"]
    last = drawn.sel(t=1.2).values.ravel()
    spread = np.sqrt(whole[4, 4] - gain @ whole[:4, 4])
    np.testing.assert_allclose(last.mean(), gain @ values, atol=5 * spread / np.sqrt(len(last)))
    np.testing.assert_allclose(last.std(), spread, rtol=0.06)


def test_dates_and_durations():
    day = dt.Dim("day", coords=pd.to_datetime(["2026-01-01T00", "2026-01-31T00", "2026-03-02T12"]))
    days = np.array([0.0, 30.0, 60.5])
    np.testing.assert_allclose(np.diff(dt.gp.points(day).eval()), np.diff(days))
    d = dist.GP(dt.gp.Matern12("30D"), day, jitter=0.0)
    cov = np.exp(-np.abs(np.subtract.outer(days, days)) / 30.0)
    expected = scipy.stats.multivariate_normal(np.zeros(3), cov).logpdf(np.ones(3))
    np.testing.assert_allclose(d.logp(dt.ones(day)).eval(), expected)
    in_days = dist.GP(dt.gp.Periodic(1.0, period="12h") * dt.gp.Matern12(30.0), day, jitter=0.5)
    assert np.isfinite(float(in_days.logp(dt.ones(day)).eval()))


@pytest.mark.parametrize(
    ("labels", "days"),
    [
        (pd.to_datetime(["1970-01-03T00", "2026-01-01T06"]), [2.0, 20454.25]),
        # midnight in Rome is 23 o'clock of the day before in UTC
        (pd.date_range("1970-01-02", periods=2, tz="Europe/Rome"), [23 / 24, 47 / 24]),
        (pd.to_timedelta([36, 48], "h"), [1.5, 2.0]),
    ],
)
def test_times_are_in_days(labels, days):
    t = dt.Dim("t", coords=labels)
    np.testing.assert_allclose(dt.gp.points(t).eval(), days, rtol=1e-15)
    assert dist.GP(dt.gp.Matern12("30D"), t).dims == (t,)


def test_kernels_are_summed_by_python():
    one, other = dt.gp.Matern32(LENGTH), dt.gp.Linear(0.3)
    np.testing.assert_allclose(matrix(sum([one, other])), matrix(one + other))
    with pytest.raises(TypeError, match="unsupported operand"):
        1.0 + one


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: dt.gp.Matern32(-1.0), dt.OptionError, "lengthscale of Matern32"),
        (lambda: dt.gp.Matern32("soon"), dt.OptionError, "'soon' is no duration"),
        (lambda: dt.gp.Polynomial(1.5), dt.OptionError, "the power is a positive integer"),
        (lambda: dt.gp.White(-1.0), dt.OptionError, "variance of White"),
        (lambda: -1.0 * dt.gp.White(), dt.OptionError, "factor of a kernel"),
        (
            lambda: dist.GP(dt.gp.Matern32("30D"), dt.Dim("t", coords=[1.0, 2.0])),
            dt.OptionError,
            "'30D' is a duration, and labels of t are not dates",
        ),
        (
            lambda: dist.GP(dt.gp.Matern32(1.0), dt.Dim("t", coords=["a", "b"])),
            dt.OptionError,
            "labels of t are neither numbers nor dates",
        ),
        (
            lambda: dt.gp.points(dt.Dim("t", coords=pd.to_datetime(["2020-01-01", None]))),
            dt.OptionError,
            "labels of t are missing, and no points",
        ),
        (
            lambda: dist.GP(dt.gp.Matern32(1.0), dt.Dim("t")),
            dt.OptionError,
            "labels of t are not known",
        ),
    ],
)
def test_what_is_refused(make, error, match):
    with pytest.raises(error, match=match):
        make()
