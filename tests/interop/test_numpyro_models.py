"""Models of dims under NumPyro's and BlackJAX's own hands: as potentials, and inside of models."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from tests.optional import jax, jnp

pytestmark = [pytest.mark.slow, pytest.mark.compiled]
K = dt.Dim("k", coords=["a", "b", "c"])
# means with a normal prior of scale 2: conjugate
Y, SCALE = np.array([1.0, -2.0, 3.0]), np.array([1.0, 0.5, 2.0])
SD = 1 / np.sqrt(1 / 4 + 1 / SCALE**2)
MEAN = SD**2 * Y / SCALE**2


def density():
    theta = dt.rv("theta", dist.Normal(0.0, 2.0), dims=K)
    y = dt.rv("y", dist.Normal(theta, dt.data(SCALE, dims=K)))
    return dt.Model(y, backend="python").observe({y: Y}).log_density()


def run(kernel, **options):
    from numpyro.infer import MCMC

    sampler = MCMC(kernel, num_warmup=300, num_samples=500, num_chains=2, progress_bar=False,
                   chain_method="vectorized")  # fmt: skip
    sampler.run(jax.random.key(1), **options)
    return sampler.get_samples(group_by_chain=True)


def check(theta):
    """A labeled posterior is the known one."""
    assert theta.dims == ("chain", "draw", "k")
    assert list(theta["k"].values) == ["a", "b", "c"]
    error = abs(theta.mean(["chain", "draw"]).values - MEAN)
    np.testing.assert_array_less(error, 4.5 * SD / np.sqrt(300))
    np.testing.assert_allclose(theta.std(["chain", "draw"]), SD, rtol=0.2)


@pytest.mark.parametrize("wide", [True, False])
def test_a_model_is_a_potential_of_numpyro(wide):
    pytest.importorskip("numpyro")
    from numpyro.infer import NUTS

    fit = density()
    with jax.enable_x64(wide):
        logp = fit.to_blackjax()
        draws = run(NUTS(potential_fn=lambda x: -logp(x)), init_params=jnp.zeros((2, fit.size)))
    check(fit.constrain(np.asarray(draws))["theta"])


def test_an_expression_is_a_factor_of_a_model_of_numpyro():
    numpyro = pytest.importorskip("numpyro")
    from numpyro.infer import NUTS

    theta = dt.tensor("theta", dims=K)
    terms = dist.Normal(theta, dt.data(SCALE, dims=K)).logp(dt.data(Y, dims=K))
    likelihood = dt.function([theta], terms.sum(), backend="jax")

    def model():
        values = numpyro.sample("theta", numpyro.distributions.Normal(0.0, 2.0).expand([3]))
        (value,) = jax.tree.leaves(likelihood.jax(values))
        numpyro.factor("likelihood", value)

    with jax.enable_x64(True):
        draws = run(NUTS(model))["theta"]
    labeled = dt.function([theta], theta, backend="python")
    check(labeled((("chain", "draw", "k"), np.asarray(draws))).transpose("chain", "draw", "k"))


def test_a_model_is_a_log_density_of_blackjax():
    blackjax = pytest.importorskip("blackjax")
    fit = density()
    with jax.enable_x64(True):
        logp = fit.to_blackjax()

        def chain(key):
            first, second = jax.random.split(key)
            warmup = blackjax.window_adaptation(blackjax.nuts, logp)
            (state, parameters), _ = warmup.run(first, jnp.zeros(fit.size), num_steps=300)
            kernel = blackjax.nuts(logp, **parameters)

            def step(state, key):
                state, _ = kernel.step(key, state)
                return state, state.position

            return jax.lax.scan(step, state, jax.random.split(second, 500))[1]

        draws = jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(1), 2))
    check(fit.constrain(np.asarray(draws))["theta"])
