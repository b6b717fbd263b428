"""Labels that are tuples of numbers: points of several coordinates, beside dense algebra."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr
from scipy.spatial.distance import cdist

import dimtensor as dt
from dimtensor import dist

RNG = np.random.default_rng(5)
AT = RNG.uniform(0.0, 4.0, (9, 2))
NEW = np.array([[1.0, 1.0], [3.0, 0.5]])
VALUES = np.sin(AT).sum(1)
NOISE = 0.3
EXACT = {"dense": None, "Vecchia": dt.gp.Vecchia(20), "fitc": dt.gp.InducingPoints(20, form="fitc")}


def places(at, name="place"):
    return dt.Dim(name, coords=[*map(tuple, at)])


def covariance(x, y, lengthscale=1.5):
    """Matérn 3/2, by SciPy's distances."""
    r = np.sqrt(3.0) * cdist(x / lengthscale, y / lengthscale)
    return (1.0 + r) * np.exp(-r)


@pytest.mark.parametrize("name", EXACT)
def test_densities(name):
    place = places(AT)
    d = dist.GP(dt.gp.Matern32(1.5), place, noise=NOISE, approximation=EXACT[name])
    cov = covariance(AT, AT) + NOISE**2 * np.eye(9)
    expected = scipy.stats.multivariate_normal(np.zeros(9), cov).logpdf(VALUES)
    np.testing.assert_allclose(d.logp(dt.data(VALUES, dims=place)).eval(), expected, rtol=1e-7)
    assert d.dims == (place,)


@pytest.mark.parametrize("name", [*EXACT, "HSGP"])
def test_predictions_at_new_places(name):
    wide = dt.gp.HSGP(domain=(-1.0, 5.0))
    approximation = wide if name == "HSGP" else EXACT[name]
    place, wider = places(AT), places([NEW[0], *AT[::-1], NEW[1]])
    d = dist.GP(dt.gp.Matern32(1.5), place, noise=NOISE, approximation=approximation)
    x = dt.rv("x", d)
    fit = dt.Model(x, backend="python").observe({x: VALUES})
    nothing = xr.Dataset({"other": (("chain", "draw"), np.zeros((1, 4000)))})
    drawn = fit.predict(nothing, dims={place: wider}, seed=1)["predictions"]["x"]
    drawn = drawn.transpose(..., "place").values[0]
    np.testing.assert_array_equal(drawn[0, 1:-1], VALUES[::-1])
    within = covariance(AT, AT) + NOISE**2 * np.eye(9)
    gain = covariance(NEW, AT) @ np.linalg.inv(within)
    left = covariance(NEW, NEW) + NOISE**2 * np.eye(2) - gain @ covariance(AT, NEW)
    # centers of clusters are of the known places
    slack = 0.02 if name == "HSGP" else 0.1 if name == "fitc" else 0.0
    np.testing.assert_allclose(drawn[:, [0, -1]].mean(0), gain @ VALUES, atol=0.04 + slack)
    np.testing.assert_allclose(np.cov(drawn[:, [0, -1]].T), left, atol=0.03 + slack)


def test_conditionals_at_new_places():
    place, new = places(AT), places(NEW, "new")
    axis = dt.Dim("axis", coords=["east", "north"])
    scales = np.array([1.0, 2.5])
    kernel = dt.gp.Matern32(dt.data(scales, dims=axis))
    process = dist.GP(kernel, place, at=dt.gp.points(place, axis), noise=NOISE)
    y = dt.data(VALUES, dims=place)
    d = process.conditional(y, {place: new}, at=dt.gp.points(new, axis), jitter=0.0)
    within = covariance(AT, AT, scales) + NOISE**2 * np.eye(9)
    gain = covariance(NEW, AT, scales) @ np.linalg.inv(within)
    np.testing.assert_allclose(d.mean().eval(), gain @ VALUES, rtol=1e-9)
    own = dist.GP(dt.gp.Matern32(1.5), place, noise=NOISE)
    d = own.conditional(y, {place: new}, jitter=0.0)
    within = covariance(AT, AT) + NOISE**2 * np.eye(9)
    gain = covariance(NEW, AT) @ np.linalg.inv(within)
    np.testing.assert_allclose(d.mean().eval(), gain @ VALUES, rtol=1e-9)


def test_a_kernel_of_one_of_the_numbers():
    place = places(AT)
    kernel = dt.gp.Matern32(1.5).sel(number=1)
    d = dist.GP(kernel, place, noise=NOISE)
    cov = covariance(AT[:, 1:], AT[:, 1:]) + NOISE**2 * np.eye(9)
    np.testing.assert_allclose(d.covariance().eval(), cov, atol=1e-12)


def test_dates_beside_depths():
    day = pd.to_datetime(["1970-01-02T00", "1970-01-04T12"])
    visit = dt.Dim("visit", coords=[(day[0], 2), (day[1], 5.5)])
    found = dt.gp.points(visit).eval().transpose("visit", "number")
    np.testing.assert_array_equal(found, [[1.0, 2.0], [3.5, 5.5]])


@pytest.mark.parametrize(
    ("labels", "numbers", "error", "match"),
    [
        ([(0, 1), (2, 3)], 3, dt.DimError, r"labels of t are not tuples of 3 numbers"),
        ([0.0, 1.0], 2, dt.DimError, r"labels of t are not tuples of 2 numbers"),
        ([(0, 1), (2, 3, 4)], None, dt.OptionError, "neither numbers nor dates, nor tuples of"),
        ([(0, "a"), (1, "b")], None, dt.OptionError, "neither numbers nor dates, nor tuples of"),
        ([(0, 1.0), (1, np.nan)], None, dt.OptionError, "labels of t are missing, and no points"),
    ],
)
def test_what_is_refused(labels, numbers, error, match):
    axis = None if numbers is None else dt.Dim("axis", length=numbers)
    with pytest.raises(error, match=match):
        dt.gp.points(dt.Dim("t", coords=labels), axis)
