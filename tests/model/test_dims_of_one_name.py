"""Results of models that have two dims of one name: a dim, and a selection of it.

The posterior of `z` is known in closed form: it depends on `y` alone, and elements are independent.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import dimtensor as dt
from dimtensor import dist

Y = np.array([0.3, 3.8, 2.4, -0.4])
TIMES = [None, [10, 20, 30, 40]]


def written(labels=None):
    """A state at each of four times, and a series over the last three of them."""
    time = dt.Dim("time", length=4) if labels is None else dt.Dim("time", coords=labels)
    (later,) = dt.tensor("x", dims=time).isel(time=slice(1, None)).dims
    a = dt.rv("a", dist.Normal(0.0, 1.0), dims=later)
    z = dt.rv("z", dist.Bernoulli(0.4), dims=time)
    y = dt.rv("y", dist.Normal(4 * z, 1.0))
    w = dt.rv("w", dist.Normal(a, 1.0))
    return dt.Model(y, w, backend="python")


@functools.cache
def fitted(labeled):
    fit = written(TIMES[labeled]).observe(y=Y, w=[0.0, 1.0, 2.0]).marginalize("z")
    return fit, fit.laplace(400, seed=1)


def one_given(y):
    odds = 0.4 / 0.6 * stats.norm.pdf(y, 4) / stats.norm.pdf(y, 0)
    return odds / (1 + odds)


@pytest.mark.parametrize("labeled", [0, 1])
@pytest.mark.parametrize("how", ["draws", "probabilities", "most probable"])
def test_what_is_recovered_has_all_of_its_elements(labeled, how):
    fit, post = fitted(labeled)
    found = fit.recover(post, how=how, seed=2)["posterior"].to_dataset()
    xr.testing.assert_identical(found["a"], post["posterior"]["a"])
    assert found.attrs == post["posterior"].attrs
    z = found["z_probability" if how == "probabilities" else "z"]
    (dim,) = set(z.dims) - {"chain", "draw", "z_state"}
    assert z.sizes[dim] == 4
    if labeled:
        assert z[dim].values.tolist() == TIMES[1]
    if how == "probabilities":
        found = z.sel(z_state=1).transpose("chain", "draw", dim)
        np.testing.assert_allclose(found, np.broadcast_to(one_given(Y), found.shape), rtol=1e-12)
        return
    assert z.dtype == "int64"
    mean = z.mean(("chain", "draw"))
    if how == "draws":
        np.testing.assert_allclose(mean, one_given(Y), atol=0.1)
    else:
        np.testing.assert_array_equal(mean, one_given(Y) > 0.5)


@pytest.mark.parametrize("labeled", [0, 1])
def test_a_second_recovery_takes_the_place_of_the_first(labeled):
    fit, post = fitted(labeled)
    first = fit.recover(post, how="most probable")["posterior"].to_dataset()
    again = fit.recover(fit.recover(post, seed=2), how="most probable")["posterior"].to_dataset()
    xr.testing.assert_identical(first, again)


def test_what_was_recovered_is_predicted_from():
    fit, post = fitted(1)
    post = fit.recover(post, how="most probable")
    found = fit.predict(post, names=["y", "z", "w"], seed=1)["posterior_predictive"]
    assert found["y"].sizes["time"] == 4
    assert found["w"].sizes["time_w"] == 3
    np.testing.assert_array_equal(found["z"].mean(("chain", "draw")), one_given(Y) > 0.5)
    np.testing.assert_allclose(
        found["y"].mean(("chain", "draw")), 4.0 * (one_given(Y) > 0.5), atol=0.3
    )


def test_predictions_over_a_wider_dim_keep_known_elements():
    fit, post = fitted(1)
    post = fit.recover(post, how="most probable")
    time = fit["z"].dims[0]
    wider = dt.Dim("time", coords=[10, 20, 30, 40, 50])
    found = fit.predict(post, names=["z"], dims={time: wider}, seed=1)["predictions"]["z"]
    mean = found.mean(("chain", "draw"))
    np.testing.assert_array_equal(mean[:4], one_given(Y) > 0.5)
    assert mean.sel(time=50).item() == pytest.approx(0.4, abs=0.1)


def test_labels_of_files_are_the_same_labels():
    """Files keep texts in the place of labels that they cannot hold."""
    pair = dt.Dim("pair", coords=[("a", 1), ("b", 2)])
    mu = dt.rv("mu", dist.Normal(0.0, 1.0), dims=pair)
    z = dt.rv("z", dist.Bernoulli(0.4), dims=pair)
    y = dt.rv("y", dist.Normal(mu + 4 * z, 1.0))
    fit = dt.Model(y, backend="python").observe(y=[0.0, 4.0]).marginalize(z)
    coords = {"pair": ["a,1", "b,2"]}
    post = xr.Dataset({"mu": (("chain", "draw", "pair"), np.zeros((1, 2, 2)))}, coords)
    found = fit.recover(post, how="most probable")["posterior"]["z"]
    assert found.dims == ("chain", "draw", "pair")
    assert found.sel(pair="b,2").values.tolist() == [[1, 1]]


@pytest.mark.compiled
def test_calibration_compares_elements_of_one_dim():
    pytest.importorskip("nutpie")
    time = dt.Dim("time", length=4)
    (later,) = dt.tensor("x", dims=time).isel(time=slice(1, None)).dims
    b = dt.rv("b", dist.Normal(0.0, 1.0), dims=time)
    a = dt.rv("a", dist.Normal(0.0, 1.0), dims=later)
    y, w = dt.rv("y", dist.Normal(b, 1.0)), dt.rv("w", dist.Normal(a, 1.0))
    model = dt.Model(w, y)
    found = dt.calibrate(model, 3, seed=1, ranks=4, thin=1, tune=20, processes=1)
    sizes = {name: sorted(found.ranks[name].sizes.values()) for name in ("a", "b")}
    assert sizes == {"a": [3, 3], "b": [3, 4]}
    assert sorted(found.truth["b"].sizes.values()) == [3, 4]
