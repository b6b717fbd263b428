"""Expressions of random variables, evaluated for draws or other values of them."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist

K = dt.Dim("k", coords=["a", "b"])
MU, SIGMA = dt.rv("mu", dist.Normal(0.0, 1.0), dims=K), dt.rv("sigma", dist.HalfNormal(1.0))
Y = dt.rv("y", dist.Normal(MU, SIGMA))
RNG = np.random.default_rng(1)
POST = xr.Dataset(
    {
        "mu": (("chain", "draw", "k"), RNG.normal(size=(2, 3, 2))),
        "sigma": (("chain", "draw"), RNG.gamma(2.0, size=(2, 3))),
    },
    {"k": ["a", "b"]},
)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("tree", [False, True])
def test_of_draws(named, tree):
    x = MU / SIGMA
    x = dt.named("ratio", x) if named else x
    post = xr.DataTree.from_dict({"posterior": POST}) if tree else POST
    xr.testing.assert_allclose(
        dt.evaluate(x, post).drop_attrs(), (POST["mu"] / POST["sigma"]).rename(x.name)
    )


def test_of_several_and_of_numbers():
    found = dt.evaluate({"low": MU.sel(k="a"), "spread": SIGMA}, {MU: [1.0, 2.0], "sigma": 4.0})
    assert [float(found["low"]), float(found["spread"])] == [1.0, 4.0]
    first, second = dt.evaluate((MU.sum(), SIGMA), POST)
    np.testing.assert_allclose(first, POST["mu"].sum("k"))
    np.testing.assert_allclose(second, POST["sigma"])
    assert float((MU.sel(k="b") * SIGMA).eval({MU: [1.0, 2.0], SIGMA: 3.0})) == 6.0


def test_what_has_no_value_is_named():
    with pytest.raises(dt.InputError, match=r"no values of 'y'(.|\n)*predict\(post, names=\['x'\]"):
        dt.evaluate(Y.mean(), POST)
    with pytest.raises(dt.InputError, match=r"no values of 'sigma'(.|\n)*'sigma': value"):
        dt.evaluate(MU / SIGMA, {MU: [1.0, 2.0]})
    with pytest.raises(dt.GraphError, match="is a random variable, which has no value"):
        (MU / SIGMA).eval()
