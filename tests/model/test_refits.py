"""Models of one structure share a compiled log density, whatever their data are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import dimtensor as dt
from dimtensor import dist
from dimtensor.compile.code import compilations
from tests.backend_names import LONG_JAX_COMPILED

HOUSE = dt.Dim("house")
COUNTY = dt.Dim("county", coords=["a", "b", "c"])
COUNTY_OF = dt.tensor("county_of", dims=HOUSE, categories=COUNTY)


def model(backend="python"):
    alpha = dt.rv("alpha", dist.Normal(0.0, 2.0), dims=COUNTY)
    y = dt.rv("y", dist.Normal(alpha.sel(county=COUNTY_OF), 0.5))
    return dt.Model(y, data={COUNTY_OF: ["a", "b"]}, backend=backend)


def expected(alpha, places, y):
    means = [alpha["abc".index(place)] for place in places]
    kept = np.isfinite(y)
    terms = stats.norm(means, 0.5).logpdf(y)
    return stats.norm(0, 2).logpdf(alpha).sum() + terms[kept].sum()


def counted(backend):
    return compilations[backend]


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
def test_refits_with_changed_data_compile_once(backend, rng):
    base = model(backend)
    alpha = np.array([0.5, -1.0, 2.0])
    before = counted(backend)
    for _ in range(4):
        places, y = ["a", "c"], rng.normal(size=2)
        density = base.with_data(county_of=places).observe(y=y).log_density()
        value, _ = density.logp_and_grad(alpha)
        np.testing.assert_allclose(value, expected(alpha, places, y))
    assert counted(backend) - before == 1


@pytest.mark.compiled
def test_refits_of_other_lengths_compile_once(rng):
    base = model("numba")
    alpha = np.array([0.5, -1.0, 2.0])
    before = counted("native")
    for length in (2, 5, 3):
        places, y = list("abcab"[:length]), rng.normal(size=length)
        density = base.with_data(county_of=places).observe(y=y).log_density()
        np.testing.assert_allclose(density.logp_and_grad(alpha)[0], expected(alpha, places, y))
    # what is missing is data, too
    y = np.array([1.0, np.nan, 2.0])
    for missing in ([1.0, np.nan, 2.0], [np.nan, 1.0, np.nan]):
        y = np.array(missing)
        fit = base.with_data(county_of=list("abc")).observe(y=y, missing="drop")
        value, _ = fit.log_density().logp_and_grad(alpha)
        np.testing.assert_allclose(value, expected(alpha, "abc", y))
    assert counted("native") - before == 2


def test_models_of_other_structures_do_not_share():
    base = model()
    alpha = np.array([0.5, -1.0, 2.0])
    fit = base.observe(y=[1.0, 2.0])
    plain = fit.log_density().logp(alpha)
    raw = fit.noncentered("alpha").log_density()
    assert raw.names == ["alpha_raw[a]", "alpha_raw[b]", "alpha_raw[c]"]
    np.testing.assert_allclose(raw.logp(alpha / 2), plain + 3 * np.log(2.0))
    inferred = base.observe(y=[1.0, np.nan], missing="infer").log_density()
    other = base.observe(y=[np.nan, 1.0], missing="infer").log_density()
    vector = np.array([*alpha, 3.0])
    np.testing.assert_allclose(inferred.logp(vector), expected(alpha, "ab", [1.0, 3.0]))
    np.testing.assert_allclose(other.logp(vector), expected(alpha, "ab", [3.0, 1.0]))
    np.testing.assert_allclose(fit.log_density().logp(alpha), plain)
    fixed = fit.do(alpha=dt.zeros(COUNTY))
    assert fixed.log_density().size == 0


def test_labels_come_with_changed_data():
    z = dt.rv("z", dist.Normal(0.0, 1.0), dims=HOUSE)
    y = dt.rv("y", dist.Normal(z, 1.0))
    base = dt.Model(y, backend="python")
    one = pd.Series([1.0, 2.0], index=pd.Index(["p", "q"], name="house"))
    two = pd.Series([1.0, 2.0, 3.0], index=pd.Index(["r", "s", "t"], name="house"))
    assert base.observe(y=one).log_density().names == ["z[p]", "z[q]"]
    assert base.observe(y=two).log_density().names == ["z[r]", "z[s]", "z[t]"]


def test_labels_of_missing_values_are_those_of_their_observations():
    base = dt.Model(dt.rv("y", dist.Normal(0.0, 1.0), dims=HOUSE), backend="python")
    for labels in (["p", "q"], ["r", "s"]):
        y = pd.Series([1.0, np.nan], index=pd.Index(labels, name="house"))
        fit = base.observe(y=y, missing="infer")
        assert fit.log_density().names == [f"y_missing[{labels[1]}]"]
    assert base.observe(y=[1.0, np.nan], missing="infer").log_density().names == ["y_missing[1]"]


def test_what_has_one_log_density_cannot_be_left_out_in_part():
    walk = dist.GaussianRandomWalk(0.0, 1.0, dim=COUNTY, start=dist.Normal(0.0, 1.0))
    y = dt.rv("y", walk)
    fit = dt.Model(y, backend="python").observe(y=[1.0, np.nan, 2.0], missing="drop")
    with pytest.raises(dt.GraphError, match="'y' cannot be left out along 'county'"):
        fit.log_density()


def test_whole_rows_of_series_are_left_out():
    """Also of other data: in part they are refused there, too."""
    row = dt.Dim("row", coords=["u", "v", "w"])
    cov = np.minimum.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    walks = dist.GaussianRandomWalk(0.0, 1.0, dim=COUNTY, start=dist.Normal(mu, 1.0))
    base = dt.Model(dt.rv("y", walks, dims=row), backend="python")
    values = np.array([[1.0, -0.5, 2.0], [np.nan] * 3, [0.3, 0.1, 0.0]])

    def observed(values):
        y = xr.DataArray(values, {"row": row.coords, "county": COUNTY.coords}, ("row", "county"))
        return base.observe(y=y, missing="drop")

    fit = observed(values)
    expected = stats.multivariate_normal(np.full(3, 0.2), cov).logpdf(values[[0, 2]])
    terms = fit.logp({"mu": 0.2})["y"]
    np.testing.assert_allclose(terms, [expected[0], 0.0, expected[1]])
    prior = stats.norm(0.0, 1.0).logpdf(0.2)
    np.testing.assert_allclose(fit.log_density().logp([0.2]), expected.sum() + prior)
    kept = fit.log_likelihood(fit.laplace(2, seed=1))["log_likelihood"]["y"]
    assert kept.indexes["row"].tolist() == ["u", "w"]
    partly = values.copy()
    partly[2, 0] = np.nan
    with pytest.raises(dt.GraphError, match=r"left out along 'county'(.|\n)*in part at: 'row=w'"):
        observed(partly).logp({"mu": 0.2})
    with pytest.raises(dt.CheckError, match="left out along all of county, or none"):
        observed(partly).log_density().logp([0.2])


def test_models_on_other_data_make_no_graph_again(monkeypatch):
    fits = [model().observe(y=[1.0, 2.0])]
    fits[0].log_density()

    def fail(*arguments):
        raise AssertionError("the gradient is made once more")

    monkeypatch.setattr("dimtensor.model.logdensity.assemble", fail)
    fits += [fits[0].observe(y=[3.0, -1.0]), fits[0].with_data(county_of=["b", "c"])]
    alpha = np.array([0.5, -1.0, 2.0])
    for fit, places, y in zip(fits, ("ab", "ab", "bc"), ([1, 2], [3, -1], [1, 2]), strict=True):
        value = fit.log_density().logp(alpha)
        np.testing.assert_allclose(value, expected(alpha, places, np.array(y, dtype=float)))
