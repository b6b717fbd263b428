"""Functions of what is looked up in a log density are computed before they are looked up."""

import numpy as np
import pytest
from scipy import stats

import dimtensor as dt
from dimtensor.graph import toposort

N, GROUPS = 200, 5
OBS, GROUP = dt.Dim("obs"), dt.Dim("group", length=GROUPS)


def looked_up(density):
    """Dims of the nodes of a kind that a log density has, as it is computed."""
    nodes = toposort([density.functions.computed.value.node])
    return {n.attrs: n.dims for n in nodes if n.kind == "elemwise"}


def sampled(rng, groups=GROUPS):
    return {"y": rng.normal(size=N), "g": rng.integers(groups, size=N)}


def by_group(values, group=GROUP, backend="python"):
    y = dt.data(values["y"], dims=OBS, name="y")
    g = dt.data(values["g"], dims=OBS, categories=group, name="g")
    a = dt.tensor("a", dims=group)
    scale = dt.exp(1 - a.sel({group.name: g}))
    logp = -0.5 * (y / scale) ** 2 - dt.log(scale)
    return dt.LogDensity({"y": logp, "a": -0.5 * a**2}, {a: dt.real}, backend=backend)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_value_and_gradient(rng, backend):
    values = sampled(rng)
    density = by_group(values, backend=backend)
    dims = looked_up(density)
    assert [dim.name for dim in dims["exp"]] == [dim.name for dim in dims["log"]] == ["group"]
    a = rng.normal(size=GROUPS)
    scale = np.exp(1 - a)[values["g"]]
    wanted = stats.norm.logpdf(values["y"] / scale).sum() + 0.5 * N * np.log(2 * np.pi)
    wanted += -np.log(scale).sum() - 0.5 * (a**2).sum()
    value, gradient = density.logp_and_grad(a)
    np.testing.assert_allclose(value, wanted, rtol=1e-13)
    slope = np.bincount(values["g"], 1 - (values["y"] / scale) ** 2, GROUPS) - a
    np.testing.assert_allclose(gradient, slope, rtol=1e-12)


def test_many_groups_and_few_observations_stay_as_they_are(rng):
    group = dt.Dim("group", length=N)
    density = by_group(sampled(rng, N), group)
    assert [dim.name for dim in looked_up(density)["exp"]] == ["obs"]
    assert density.functions.computed is density.functions.assembly


def test_other_data_need_no_other_code(rng):
    density = by_group(sampled(rng))
    other = density.with_data(y=np.arange(3.0), g=np.array([0, 0, 4]))
    assert other.functions.computed is density.functions.computed
    scale = np.exp([1.0, 1.0, 1.0])
    wanted = -0.5 * ((np.arange(3) / scale) ** 2).sum() - 3
    np.testing.assert_allclose(other.logp(np.zeros(GROUPS)), wanted, rtol=1e-14)


def test_what_only_some_look_ups_would_give(rng):
    """Where the logarithm is of a look-up and a datum for each observation, nothing moves."""
    values = sampled(rng)
    y = dt.data(np.exp(values["y"]), dims=OBS, name="y")
    g = dt.data(values["g"], dims=OBS, categories=GROUP, name="g")
    a = dt.tensor("a", dims=GROUP)
    density = dt.LogDensity({"y": dt.log(y + a.sel(group=g))}, {a: dt.real}, backend="python")
    assert [dim.name for dim in looked_up(density)["log"]] == ["obs"]
    wanted = np.log(np.exp(values["y"]) + 1.0).sum()
    np.testing.assert_allclose(density.logp(np.ones(GROUPS)), wanted, rtol=1e-13)


def test_what_is_not_finite(rng):
    """A group without observations may have no logarithm; one with some tells."""
    obs = dt.Dim("obs")
    g = dt.data(np.array([0, 1] * 50), dims=obs, categories=GROUP, name="g")
    a = dt.tensor("a", dims=GROUP)
    density = dt.LogDensity({"a": dt.log(a.sel(group=g))}, {a: dt.real}, backend="python")
    assert [dim.name for dim in looked_up(density)["log"]] == ["group"]
    with np.errstate(all="ignore"):
        value, gradient = density.logp_and_grad(np.array([1.0, 2.0, 0.0, -1.0, np.nan]))
        np.testing.assert_allclose(value, 50 * np.log(2.0), rtol=1e-14)
        np.testing.assert_array_equal(gradient, [50.0, 25.0, 0.0, 0.0, 0.0])
        assert density.logp(np.array([1.0, 0.0, 0.0, 0.0, 0.0])) == -np.inf
        assert np.isnan(density.logp(np.array([1.0, -1.0, 0.0, 0.0, 0.0])))


def weighted(values, function):
    """A density of a function of a table and of two look-ups by positions along one dim."""
    a = dt.tensor("a", dims=GROUP)
    g = [dt.data(values[n], dims=OBS, categories=GROUP, name=n) for n in ("g", "h")]
    y = dt.data(values["y"], dims=OBS, name="y")
    logp = y * function(a, *(a.sel(group=by) for by in g))
    return dt.LogDensity({"y": logp}, {a: dt.real}, backend="python")


def test_look_ups_at_other_positions(rng):
    """Each observation is of two groups, as a match is of two players."""
    values = {**sampled(rng), "h": rng.integers(GROUPS, size=N)}
    density = weighted(values, lambda a, x, y: dt.exp(x - y))
    assert [dim.name for dim in looked_up(density)["exp"]] == ["obs"]
    a = rng.normal(size=GROUPS)
    wanted = values["y"] * np.exp(a[values["g"]] - a[values["h"]])
    value, gradient = density.logp_and_grad(a)
    np.testing.assert_allclose(value, wanted.sum(), rtol=1e-12)
    slope = np.bincount(values["g"], wanted, GROUPS) - np.bincount(values["h"], wanted, GROUPS)
    np.testing.assert_allclose(gradient, slope, rtol=1e-11)


def test_look_ups_beside_their_table(rng):
    """A function of what is looked up and of all that it is looked up in has both dims."""
    values = {**sampled(rng), "h": rng.integers(GROUPS, size=N)}
    density = weighted(values, lambda a, x, _: dt.exp(x - a))
    assert {dim.name for dim in looked_up(density)["exp"]} == {"obs", "group"}
    a = rng.normal(size=GROUPS)
    wanted = (values["y"][:, None] * np.exp(a[values["g"]][:, None] - a)).sum()
    np.testing.assert_allclose(density.logp(a), wanted, rtol=1e-12)


def test_positions_along_a_dim_of_the_table(rng):
    """Each observation is looked up in its own row of the table: nothing moves."""
    obs = dt.Dim("obs", length=N)
    a = dt.tensor("a", dims=[GROUP, obs])
    where = rng.integers(GROUPS, size=N)
    g = dt.data(where, dims=obs, categories=GROUP, name="g")
    density = dt.LogDensity({"y": dt.exp(a.sel(group=g))}, {a: dt.real}, backend="python")
    assert [dim.name for dim in looked_up(density)["exp"]] == ["obs"]
    x = rng.normal(size=(GROUPS, N))
    wanted = np.exp(x[where, np.arange(N)]).sum()
    np.testing.assert_allclose(density.logp(x.ravel()), wanted, rtol=1e-13)
