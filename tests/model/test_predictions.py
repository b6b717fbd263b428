"""Predictions against closed forms of the normal hierarchy: other lengths, labels, groups."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.stats as st
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.model.predictive import drawing

GROUPS, EACH = ["a", "b", "c", "d"], 3
M0, S0, TAU, SIGMA = 1.0, 3.0, 1.5, 0.5
MEANS = np.array([0.0, 2.0, 5.0, 1.0])
GROUP, OBS = dt.Dim("group", coords=GROUPS), dt.Dim("obs")
GROUP_OF = dt.tensor("group_of", dims=OBS, categories=GROUP)


def model(backend="numba"):
    mu = dt.rv("mu", dist.Normal(M0, S0))
    alpha = dt.rv("alpha", dist.Normal(mu, TAU), dims=GROUP)
    y = dt.rv("y", dist.Normal(alpha.sel(group=GROUP_OF), SIGMA))
    return dt.Model(y, data={GROUP_OF: np.repeat(GROUPS, EACH)}, backend=backend)


def conditional():
    """Mean and covariance of (mu, alphas) given that the group means are MEANS.

    The joint normal has covariances S0² everywhere and TAU² more on the diagonal of the alphas.
    """
    prior = np.full((5, 5), S0**2)
    prior[1:, 1:] += TAU**2 * np.eye(4)
    design = np.eye(5)[1:]
    gain = prior @ design.T @ np.linalg.inv(design @ prior @ design.T + SIGMA**2 / EACH * np.eye(4))
    return M0 + gain @ (MEANS - M0), prior - gain @ design @ prior


@pytest.fixture(scope="module")
def posterior():
    """Draws from the posterior in closed form."""
    mean, cov = conditional()
    draws = np.random.default_rng(4).multivariate_normal(mean, cov, size=(2, 10_000))
    coords = {"group": GROUPS}
    leading = ["chain", "draw"]
    return xr.Dataset({"mu": (leading, draws[..., 0]),
                       "alpha": ([*leading, "group"], draws[..., 1:])}, coords)  # fmt: skip


def predictive():
    """Mean and covariance of (old group b, new group, the same new group, another new group)."""
    mean, cov = conditional()
    read = np.zeros((4, 5))
    read[0, 2] = read[1:, 0] = 1.0
    spread = np.zeros((4, 4))
    spread[1:3, 1:3], spread[3, 3] = TAU**2, TAU**2
    return read @ mean, read @ cov @ read.T + spread + SIGMA**2 * np.eye(4)


WIDER = dt.Dim("group", coords=["new", *GROUPS, "newer"])
NEW = {GROUP_OF: ["b", "new", "new", "newer"]}


@pytest.mark.parametrize("backend", ["python", pytest.param("numba", marks=pytest.mark.compiled)])
def test_new_groups_have_the_variance_of_the_normal_hierarchy(posterior, backend):
    tree = model().predict(posterior, NEW, dims={GROUP: WIDER}, seed=1, backend=backend)
    y = tree["predictions"]["y"].transpose("chain", "draw", "obs").values.reshape(-1, 4)
    (mean, cov), n = predictive(), len(y)
    # standard errors of means and covariances of normal draws; 5 of them
    np.testing.assert_array_less(abs(y.mean(axis=0) - mean) / np.sqrt(np.diag(cov) / n), 5.0)
    errors = np.sqrt((cov**2 + np.outer(np.diag(cov), np.diag(cov))) / n)
    np.testing.assert_array_less(abs(np.cov(y.T) - cov) / errors, 5.0)
    whitened = np.linalg.solve(np.linalg.cholesky(cov), (y - mean).T).ravel()
    assert st.kstest(whitened, "norm").pvalue > 1e-4


@pytest.mark.compiled
def test_the_sampler_gives_the_predictions_of_the_closed_form():
    noise = np.tile([-0.3, 0.0, 0.3], 4)
    fit = model().observe({"y": np.repeat(MEANS, EACH) + noise})
    post = fit.sample(2500, tune=500, chains=4, seed=1, progress_bar=False, report=False)
    found = fit.predict(post, NEW, dims={GROUP: WIDER}, seed=1)["predictions"]["y"]
    mean, cov = predictive()
    y = found.transpose("chain", "draw", "obs").values.reshape(-1, 4)
    # effective draws are a fourth and more of all
    np.testing.assert_array_less(abs(y.mean(axis=0) - mean), 5 * np.sqrt(np.diag(cov) / 2500))
    np.testing.assert_allclose(np.cov(y.T), cov, atol=5 * cov.max() * np.sqrt(2 / 2500))


@pytest.mark.compiled
def test_other_lengths_and_labels_need_no_other_machine_code(posterior):
    """The function is compiled once, and so is every specialization of its machine code."""
    asked = model()
    lengths, seen = (4, 1, 7), []
    for n in lengths:
        labels = np.resize(["c", "a"], n)
        found = asked.predict(posterior, {GROUP_OF: labels}, seed=1, backend="numba")
        y = found["predictions"]["y"]
        assert y.sizes["obs"] == n
        mean, _ = conditional()
        expected = np.where(labels == "c", mean[3], mean[1])
        np.testing.assert_allclose(y.mean(["chain", "draw"]), expected, atol=0.05)
        (function,) = asked.spec.graph.compiled.values()
        seen.append(dict(function.compiled.stats))
    assert seen[0] == seen[1] == seen[2]


def test_labels_of_new_data_are_kept(posterior):
    """Rows of new data have labels of their own, and so have predictions."""
    labels = pd.Series(["d", "a"], index=pd.Index(["x", "z"], name="obs"))
    found = model().predict(posterior, {GROUP_OF: labels}, seed=1)["predictions"]
    assert list(found["y"]["obs"].values) == ["x", "z"]


@pytest.mark.compiled
def test_many_numbers_are_drawn_by_machine_code_and_are_the_same(posterior, monkeypatch):
    from dimtensor.model.predictive import drawing

    asked, data = model(), {GROUP_OF: ["c", "a", "c"]}
    few = asked.predict(posterior, data, seed=1)["predictions"]["y"]
    monkeypatch.setattr(drawing, "MANY", 3 * 20_000)
    many = asked.predict(posterior, data, seed=1)["predictions"]["y"]
    backends = [function.compiled.backend for function in asked.spec.graph.compiled.values()]
    assert backends == ["python", "native"]
    np.testing.assert_allclose(many.transpose(*few.dims), few, rtol=1e-14)
    interpreted = model("python")
    interpreted.predict(posterior, data, seed=1)
    assert [f.compiled.backend for f in interpreted.spec.graph.compiled.values()] == ["python"]


@pytest.mark.parametrize("other", [{"length": 4}, {}])
def test_a_wider_dim_has_labels_where_the_dim_has_some(posterior, other):
    """Elements without labels would be taken for the first ones."""
    with pytest.raises(dt.DimError, match=r"cannot take the place of Dim\('group'"):
        model().predict(posterior, NEW, dims={GROUP: dt.Dim("group", **other)}, seed=1)


@pytest.mark.parametrize("labels", [
    pd.date_range("2020-01-01", periods=2, freq="D"),
    pd.to_datetime(["2020-01-01 06:00:00.0", "2020-01-02 00:00:00.5"]),
    pd.to_timedelta([1, 48], unit="h"),
], ids=["days", "times", "spans"])  # fmt: skip
def test_draws_over_a_product_with_dates_are_read_again(labels):
    """In a Dataset such labels are texts."""
    pairs = dt.ProductDim([GROUP, dt.Dim("when", coords=labels)])
    mu = dt.rv("mu", dist.Normal(0.0, 1.0), dims=pairs)
    y = dt.rv("y", dist.Normal(mu, 1e-9))
    made = dt.Model(y, backend="python")
    prior = made.draw(3, seed=1)["prior"].to_dataset()
    names = made.observe(y=np.zeros(8)).log_density().names
    assert names == [f"mu[{text}]" for text in prior.indexes["group_when"]]
    found = made.predict(prior, seed=1)["posterior_predictive"]["y"]
    np.testing.assert_allclose(found, prior["mu"], atol=1e-7)
    turned = made.predict(prior.isel(group_when=slice(None, None, -1)), seed=1)
    xr.testing.assert_identical(turned["posterior_predictive"]["y"], found)


def test_dims_are_given_by_name_too(posterior):
    wider = dt.Dim("group", coords=[*GROUPS, "new"])
    asked = {GROUP_OF: ["b", "new"]}
    expected = model("python").predict(posterior, asked, dims={GROUP: wider}, seed=1)
    found = model("python").predict(posterior, asked, dims={"group": wider}, seed=1)
    xr.testing.assert_identical(found["predictions"]["y"], expected["predictions"]["y"])
    drawn = dt.Model(dt.rv("z", dist.Normal(0.0, 1.0), dims=OBS), backend="python")
    assert drawn.draw(2, seed=1, dims={"obs": 4})["prior_predictive"]["z"].sizes["obs"] == 4


# -- a few draws at a time -------------------------------------------------------------------------


def matern(x, y, scale):
    r = np.sqrt(5.0) * np.abs(np.subtract.outer(x, y)) / scale[:, None, None]
    return (1.0 + r + r**2 / 3.0) * np.exp(-r)


def test_matrices_of_each_draw_are_of_a_few_draws_at_a_time(monkeypatch):
    """80 basis functions: a matrix of all draws takes 20 MB."""
    monkeypatch.setattr(drawing, "CHUNK", 2**21)
    at, new, draws = np.linspace(0.0, 6.0, 20), np.array([6.5, 7.0]), 401
    place = dt.Dim("place", coords=at)
    scale = dt.rv("scale", dist.InverseGamma(3.0, 3.0))
    basis = dt.gp.HSGP(basis=80, boundary=2.8, domain=(0.0, 7.0))
    height = dt.rv("height", dist.GP(dt.gp.Matern52(scale), place, approximation=basis))
    fit = dt.Model(height, backend="python")
    rng = np.random.default_rng(3)
    scales, labels = rng.uniform(1.0, 2.0, draws), np.arange(5, 5 + draws)
    known = np.sin(at) * rng.normal(size=(draws, 1))
    post = xr.Dataset(
        {"scale": (("chain", "draw"), scales[None]),
         "height": (("chain", "draw", "place"), known[None])},
        {"chain": [0], "draw": labels, "place": at},
    )  # fmt: skip
    wider = {place: dt.Dim("place", coords=[*at, *new])}
    tracemalloc.start()
    found = fit.predict(post, dims=wider, seed=1, names=["height"])["predictions"]["height"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 15e6
    assert found.sizes == {"chain": 1, "draw": draws, "place": 22}
    np.testing.assert_array_equal(found["draw"], labels)
    drawn = found.transpose("chain", "draw", "place").values[0]
    np.testing.assert_array_equal(drawn[:, :20], known)
    gain = matern(new, at, scales) @ np.linalg.inv(matern(at, at, scales) + 1e-6 * np.eye(20))
    cov = matern(new, new, scales) - gain @ matern(at, new, scales)
    cov += 1e-6 * np.eye(2)
    apart = drawn[:, 20:, None] - gain @ known[..., None]
    noise = np.linalg.solve(np.linalg.cholesky(cov), apart)[..., 0]
    np.testing.assert_allclose(noise.mean(0), 0.0, atol=0.1)
    np.testing.assert_allclose(np.cov(noise.T), np.eye(2), atol=0.15)
    assert np.unique(noise.round(9), axis=0).shape == noise.shape


STARTED = {
    "walk": lambda start: dist.GaussianRandomWalk(0.5, 2.0, dim=DAY, start=start),
    "autoregression": lambda start: dist.AR(0.5, 2.0, dim=DAY, start=start),
    "diffusion": lambda start: dist.EulerMaruyama(
        lambda x: (0.1 * x, 2.0), 1.0, dim=DAY, start=start
    ),
}
DAY = dt.Dim("day", coords=[1, 2, 3])


@pytest.mark.parametrize("name", STARTED)
def test_a_forecast_needs_no_draws_of_the_start(name):
    """A flat start is improper; elements after observed ones do not depend on it."""
    found = {}
    for start in (dist.Flat(), dist.Normal(50.0, 1.0)):
        x = dt.rv("x", STARTED[name](start))
        fit = dt.Model(x, backend="python").observe(x=[1.0, -1.0, 3.0])
        known = xr.Dataset(coords={"chain": [0], "draw": np.arange(4000)})
        drawn = fit.predict(known, dims={DAY: DAY.extend(1)}, seed=1)["predictions"]["x"]
        found[start.name] = drawn.sel(day=4)
    np.testing.assert_array_equal(*found.values())
    expected = {"walk": 3.5, "autoregression": 1.5, "diffusion": 3.3}[name]
    assert abs(float(drawn.sel(day=4).mean()) - expected) < 5 * 2.0 / np.sqrt(4000)
    assert abs(float(drawn.sel(day=4).std()) - 2.0) < 0.15
