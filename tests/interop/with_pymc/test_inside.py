"""Expressions over dims inside of models of PyMC."""

from __future__ import annotations

import warnings
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pytest

import dimtensor as dt

pm = pytest.importorskip("pymc")

from dimtensor.interop.pymc.inside import deterministic, potential  # noqa: E402
from tests.interop.with_pymc.agreement import mode_of_kernels  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:RandomVariable Ops will stop:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Calling a RandomVariable without:DeprecationWarning"),
]


def version_of(library):
    """Major and minor numbers, none of what is not installed."""
    try:
        return [int(part) for part in version(library).split(".")[:2]]
    except PackageNotFoundError:
        return []


# PyMC calls what later versions have not; the extra asks for an earlier one
CALLED = pytest.mark.xfail(
    version_of("blackjax") >= [1, 6],
    raises=(TypeError, ValueError),  # the second where there are fewer devices
    strict=True,
    reason="this BlackJAX is newer than the extra asks for",
)
SEEN = np.array([0.5, 0.2, 0.9, 1.4])


def filtered():
    """An autoregression whose log density is a loop over named dims."""
    with pm.Model(coords={"time": [1, 2, 3, 4]}) as model:
        time = dt.dims_of(model)["time"]
        rho = dt.from_shaped(pm.Normal("rho", 0.0, 1.0))
        seen = dt.data(SEEN, dims=time)

        def step(last, x):
            return x, -0.5 * (x - rho * last) ** 2

        _, terms = dt.scan(step, dt.data(0.0), seen, dim=time)
        potential("noise", terms)
        deterministic("double", (2.0 * rho) * dt.ones(time))
    return model


def test_a_loop_is_a_potential_with_dims():
    model = filtered()
    assert model.named_vars_to_dims == {"noise": ("time",), "double": ("time",)}
    rho = 0.3
    before = np.concatenate([[0.0], SEEN[:-1]])
    expected = -0.5 * rho**2 - 0.5 * np.log(2 * np.pi) - 0.5 * ((SEEN - rho * before) ** 2).sum()
    logp = model.compile_logp(mode="FAST_COMPILE")
    np.testing.assert_allclose(logp({"rho": rho}), expected, rtol=1e-6)


def test_labels_that_the_model_has_not_are_refused():
    with pm.Model(coords={"k": ["a", "b", "c"]}) as model:
        k = dt.dims_of(model)["k"]
        x = dt.from_shaped(pm.Normal("x", dims="k"), dims=[k])
        later = x.isel(k=slice(1, None))
        with pytest.raises(dt.DimError, match=r"(?s)the dim 'k' with other labels.*\['b', 'c'\]"):
            deterministic("later", later)
        deterministic("later", later.rename_dim("k", "after"))
    assert model.coords["after"] == ("b", "c")
    assert model.named_vars_to_dims["later"] == ("after",)


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize(
    "sampler",
    [
        "pymc",
        "nutpie",
        "numpyro",
        pytest.param("blackjax", marks=CALLED),
    ],
)
def test_samplers_of_pymc_run_a_loop(sampler):
    pytest.importorskip(sampler)
    model = filtered()
    options = mode_of_kernels() if sampler == "pymc" else {}
    # chains on several devices fail there with JAX 0.12
    extra = {"chain_method": "vectorized"} if sampler == "blackjax" else {}
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few draws, and of JAX's devices
        post = pm.sample(
            200, tune=200, chains=2, cores=1, random_seed=1, nuts_sampler=sampler,
            progressbar=False, compile_kwargs=options, nuts_sampler_kwargs=extra,
        )  # fmt: skip
    check(post["posterior"]["rho"].values)


@pytest.mark.slow
def test_blackjax_takes_the_log_density_that_pymc_gives_it():
    """What is left where PyMC's own call of it fails."""
    blackjax, jax = pytest.importorskip("blackjax"), pytest.importorskip("jax")
    from pymc.sampling.jax import get_jaxified_logp

    with jax.enable_x64(True):
        density = get_jaxified_logp(filtered())
        warm, run = jax.random.split(jax.random.PRNGKey(1))
        warmup = blackjax.window_adaptation(blackjax.nuts, density)
        (state, tuned), _ = warmup.run(warm, [np.array(0.0)], num_steps=200)
        step = blackjax.nuts(density, **tuned).step

        def one(state, key):
            state, _ = step(key, state)
            return state, state.position[0]

        check(np.asarray(jax.lax.scan(one, state, jax.random.split(run, 400))[1]))


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["blackjax", "numpyro"])
def test_a_loop_in_a_model_of_pymc_is_sampled_by_jax(sampler):
    pytest.importorskip(sampler)
    ours = dt.from_pymc(filtered())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dt.SamplingWarning)  # of few draws
        post = ours.sample(200, tune=200, chains=2, seed=1, sampler=sampler, progress_bar=False)
    check(post["posterior"]["rho"].values)


def check(draws):
    """Draws of rho are those of its posterior, which is normal."""
    before = np.concatenate([[0.0], SEEN[:-1]])
    precision = 1.0 + (before**2).sum()
    assert abs(draws.mean() - (before * SEEN).sum() / precision) < 0.3
    assert 0.5 < draws.std() * np.sqrt(precision) < 1.6
