"""Posteriors as arguments: DataTrees and Datasets give the values of the inputs that they have."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt

K = dt.Dim("k", coords=["a", "b", "c"])
J = dt.Dim("j", coords=[10, 20])
PAIRS = dt.ProductDim([K, J])
mu, z = dt.scalar("mu"), dt.tensor("z", dims=K)
part = dt.tensor("part", dims=z[1:].dims)
pairs = dt.tensor("pairs", dims=PAIRS)
DRAWS = 5


@pytest.fixture
def drawn():
    """What dt.sample gives, of a model with a dim and a selection of it and a product of dims."""
    logp = {x.name: -(x**2) for x in (mu, z, part, pairs)}
    model = dt.LogDensity(logp, dict.fromkeys((mu, z, part, pairs), dt.real), "python")
    tree = dt.sample(
        model, draws=DRAWS, tune=5, chains=2, seed=1, progress_bar=False, report=False,
        unconstrained=True,
    )  # fmt: skip
    return model, tree


@pytest.mark.filterwarnings("ignore:the draws may not be:dimtensor.SamplingWarning")
def test_a_posterior_is_an_argument(drawn):
    pytest.importorskip("nutpie")
    model, tree = drawn
    posterior = tree["posterior"].to_dataset()
    expected = posterior["mu"] + posterior["z"] * 2 + posterior["part"].sum("k_part")
    f = dt.function([mu, z, part], mu + z * 2 + part.sum(), backend="python")
    for given in (tree, posterior, tree["posterior"]):
        np.testing.assert_allclose(f(given).transpose(*expected.dims), expected)
        found = dt.evaluate(mu + z * 2 + part.sum(), given)
        np.testing.assert_allclose(found.transpose(*expected.dims), expected)
        assert found.coords["k"].values.tolist() == ["a", "b", "c"]
    without = f(tree, mu=0.0)
    np.testing.assert_allclose(without.transpose(*expected.dims), expected - posterior["mu"])
    # labels that are tuples are texts in a posterior, and belong to the same elements
    last = pairs.sel({PAIRS: ("c", 10)}) if PAIRS.factors[0] is K else pairs.sel({PAIRS: (10, "c")})
    flat = posterior["pairs"]
    text = "c,10" if "c,10" in flat[PAIRS._short].values else "10,c"
    turned = posterior.isel({PAIRS._short: slice(None, None, -1)})
    for given in (posterior, turned):
        np.testing.assert_array_equal(last.eval(given), flat.sel({PAIRS._short: text}))
    # all supports are the real line: the vector has the values in the order of the supports
    parts = tree["unconstrained_posterior"].to_dataset()
    vectors = np.concatenate([x.values.reshape(2, DRAWS, -1) for x in parts.values()], axis=2)
    assert vectors.shape[2] == model.size
    np.testing.assert_allclose(model.unconstrain(tree), vectors, rtol=1e-12)


def test_a_point_is_an_argument(rng):
    model = dt.LogDensity({"z": -(z**2), "mu": -(mu**2)}, {z: dt.real, mu: dt.real}, "python")
    x = rng.normal(size=4)
    point = model.constrain(x)
    assert dt.evaluate(z.sum() * mu, point).item() == pytest.approx(x[:3].sum() * x[3])
    turned = point.isel(k=[2, 0, 1])
    np.testing.assert_array_equal(z.eval(turned), x[:3])


def test_lengths_and_labels_of_dims_come_with_a_dataset():
    late = dt.Dim("late")
    dataset = xr.Dataset({"mu": 1.0}, coords={"late": ["p", "q"]})
    found = dt.evaluate(mu + dt.arange(late), dataset)
    assert found.values.tolist() == [1.0, 2.0]
    assert found.coords["late"].values.tolist() == ["p", "q"]
    f = dt.function([mu, late], mu + dt.arange(late), backend="python")
    assert f(dataset).values.tolist() == [1.0, 2.0]
    without = dataset.drop_indexes("late")
    xr.testing.assert_identical(f(without), f(dataset))
    bare = xr.Dataset({"mu": 1.0, "other": ("late", [1.0, 2.0, 3.0])})
    assert f(bare).values.tolist() == [1.0, 2.0, 3.0]


def test_what_a_dataset_lacks_is_named():
    f = dt.function([mu, z], mu + z, backend="python")
    dataset = xr.Dataset({"mu": 1.0, "more": 2.0})
    with pytest.raises(dt.InputError, match="called without input 'z'"):
        f(dataset)
    assert f(dataset, z=np.ones(3)).values.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(dt.InputError, match=r"a Dataset gives the values of inputs by name"):
        f(dataset, np.ones(3))
    with pytest.raises(dt.InputError, match="inputs that are not given: input 'z'"):
        dt.evaluate(mu + z, dataset)
    tree = xr.DataTree.from_dict({"prior": dataset})
    with pytest.raises(dt.InputError, match=r"which this one lacks\n  groups: 'prior'"):
        f(tree)
    assert f(tree["prior"], z=np.zeros(3)).values.tolist() == [1.0, 1.0, 1.0]
    other = xr.Dataset({"mu": 1.0, "z": ("k", np.zeros(3))}, coords={"k": ["a", "b", "d"]})
    with pytest.raises(dt.LabelError, match="'d'"):
        f(other)
