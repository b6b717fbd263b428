"""Samplers of PyMC run models of dimtensor, and agree with ours."""

from __future__ import annotations

import warnings
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist

pm = pytest.importorskip("pymc")
az = pytest.importorskip("arviz")

from tests.interop.with_pymc.agreement import mode_of_kernels  # noqa: E402

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:RandomVariable Ops will stop:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Calling a RandomVariable without:DeprecationWarning"),
]

OBS = dt.Dim("obs")
KIND = dt.Dim("kind", coords=["low", "high"])


def mixture():
    """Classes summed out by hand, as one distribution."""
    mu, share, s, seen = _of_two_kinds()
    weights = dt.stack([1 - share, share], KIND)
    y = dt.rv("y", dist.mixture(weights, dist.Normal(mu, s), dim=KIND), dims=OBS)
    return dt.Model(y).observe({y: seen})


def discrete():
    """The same classes as discrete variables."""
    mu, share, s, seen = _of_two_kinds()
    z = dt.rv("z", dist.Categorical(dt.stack([1 - share, share], KIND), dim=KIND), dims=OBS)
    y = dt.rv("y", dist.Normal(mu.sel(kind=z), s))
    return dt.Model(y).observe({y: seen})


def summed():
    return discrete().marginalize("z")


def _of_two_kinds():
    rng = np.random.default_rng(3)
    seen = np.concatenate([rng.normal(0.0, 1.0, 12), rng.normal(4.0, 1.0, 8)])
    mu = dt.rv("mu", dist.Normal(dt.data([0.0, 4.0], dims=KIND), 1.0))
    return mu, dt.rv("share", dist.Beta(2.0, 2.0)), dt.rv("s", dist.Gamma(4.0, 4.0)), seen


def missing():
    """A regression on what is not known of all."""
    rng = np.random.default_rng(4)
    at = rng.normal(1.0, 1.0, 15)
    seen = 0.5 + 2.0 * at + rng.normal(0.0, 0.5, 15)
    at[[2, 5]], seen[[7]] = np.nan, np.nan
    m, b, s = (
        dt.rv("m", dist.Normal(0, 2)),
        dt.rv("b", dist.Normal(0, 2)),
        dt.rv("s", dist.Gamma(4.0, 6.0)),
    )
    x = dt.rv("x", dist.Normal(m, 1.0), dims=OBS)
    y = dt.rv("y", dist.Normal(b * x, s))
    return dt.Model(y).observe({x: at, y: seen}, missing="infer")


def counts():
    """A count without a bound beside parameters that are numbers."""
    n, p = dt.rv("n", dist.Poisson(8.0)), dt.rv("p", dist.Beta(4.0, 4.0))
    y = dt.rv("y", dist.Binomial(n, p), dims=OBS)
    return dt.Model(y).observe({y: [3, 4, 2, 4]})


def _sampled(model, sampler, draws, tune):
    options: dict[str, Any] = {}
    if sampler == "pymc":
        options["compile_kwargs"] = mode_of_kernels()
    if sampler == "blackjax":  # chains on several devices fail there with JAX 0.12
        options["nuts_sampler_kwargs"] = {"chain_method": "vectorized"}
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of JAX's devices, and of few draws
        return pm.sample(
            draws, tune=tune, chains=2, cores=1, random_seed=1, nuts_sampler=sampler,
            progressbar=False, **options,
        )  # fmt: skip


def _check_means(found, expected, names):
    """Means differ by what draws make them differ by."""
    for name in names:
        one, other = found["posterior"][name], expected["posterior"][name]
        errors = [az.mcse(x.to_dataset(name="x"))["x"] for x in (one, other)]
        error = np.sqrt(sum(np.asarray(x) ** 2 for x in errors))
        apart = one.mean(["chain", "draw"]) - other.mean(["chain", "draw"])
        assert (np.abs(np.asarray(apart)) < 4.5 * error).all(), name


def _ours(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dt.SamplingWarning)
        return model.sample(1500, tune=1000, chains=2, seed=1, progress_bar=False, report=False)


_KNOWN = {}


def ours(build):
    """Our own draws, once for all samplers."""
    if build not in _KNOWN:
        _KNOWN[build] = _ours(build())
    return _KNOWN[build]


def _version_of(library):
    try:
        return [int(part) for part in version(library).split(".")[:2]]
    except PackageNotFoundError:
        return []


# PyMC calls what later versions have not; the extra asks for an earlier one
BLACKJAX = pytest.param(
    "blackjax",
    marks=pytest.mark.xfail(
        _version_of("blackjax") >= [1, 6],
        raises=(TypeError, ValueError),  # the second where there are fewer devices
        strict=True,
        reason="this BlackJAX is newer than the extra asks for",
    ),
)


@pytest.mark.parametrize("sampler", ["pymc", "nutpie", "numpyro", BLACKJAX])
@pytest.mark.parametrize("build", [mixture, summed, missing])
def test_samplers_agree_with_ours(build, sampler):
    pytest.importorskip(sampler)
    model = build()
    found = _sampled(dt.to_pymc(model), sampler, 800, 800)
    expected = ours(mixture if build is summed else build)
    _check_means(found, expected, ["m", "b", "s"] if build is missing else ["mu", "share", "s"])
    if build is missing:
        for name in ("x", "y"):
            mean = found["posterior"][f"{name}_unobserved"].mean(["chain", "draw"])
            wanted = expected["posterior"][f"{name}_missing"]
            np.testing.assert_allclose(mean, wanted.mean(["chain", "draw"]), atol=0.15)


def test_what_is_summed_out_is_recovered_from_draws_of_pymc():
    model = summed()
    found = _sampled(dt.to_pymc(model), "nutpie", 400, 400)
    assert "z" not in found["posterior"]
    chances = model.recover(found, "z", how="probabilities")["posterior"]["z_probability"]
    post = found["posterior"]
    mu, share, s = (post[name] for name in ("mu", "share", "s"))
    seen = model.observed["y"]
    logs = -0.5 * ((seen - mu) / s) ** 2
    odds = np.exp(logs.sel(kind="high") - logs.sel(kind="low")) * share / (1 - share)
    np.testing.assert_allclose(
        chances.sel(kind="high").transpose("chain", "draw", "obs"),
        (odds / (1 + odds)).transpose("chain", "draw", "obs"),
        rtol=1e-9,
    )
    drawn = model.recover(found, "z", seed=1)["posterior"]["z"]
    assert set(np.unique(drawn)) == {"low", "high"}
    predicted = model.predict(model.recover(found, "z", seed=1), seed=1)
    assert predicted["posterior_predictive"]["y"].sizes == {"chain": 2, "draw": 400, "obs": 20}


@pytest.mark.parametrize("build", [discrete, counts])
def test_pymc_moves_discrete_variables(build):
    """PyMC's own sampler alone takes them: others need a gradient."""
    model = build()
    theirs = dt.to_pymc(model)
    found = _sampled(theirs, "pymc", 3000, 1000)
    if build is discrete:
        _check_means(found, ours(mixture), ["mu", "share", "s"])
    else:
        _check_means(found, _ours(model.marginalize("n", states={"n": range(4, 40)})), ["p"])
    for sampler in ("nutpie", "numpyro", "blackjax"):
        with theirs, pytest.raises(ValueError, match="variables to be differentiable"):
            pm.sample(nuts_sampler=sampler, progressbar=False)
