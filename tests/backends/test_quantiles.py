"""Quantiles of gamma and beta variables on JAX, against SciPy, and that nothing calls back."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import dimtensor as dt
from dimtensor import dist
from tests.dist.test_rows import make
from tests.optional import jax

pytestmark = pytest.mark.compiled
INSIDE = [1e-300, 1e-30, 1e-9, 0.01, 0.3, 0.5, 0.7, 0.95, 1 - 1e-9, 0.0, 1.0]
P = np.array([*INSIDE, -0.1, 1.1, np.nan])
K, N = dt.Dim("k"), dt.Dim("n")


def on_jax(function, *arrays):
    from dimtensor.backends.jax import quantiles

    make = {"gammaincinv": lambda: quantiles.gamma_inverse(upper=False),
            "gammainccinv": lambda: quantiles.gamma_inverse(upper=True),
            "betaincinv": quantiles.beta_inverse, "ndtri_exp": quantiles.ndtri_exp,
            "erfcx": quantiles.erfcx}  # fmt: skip
    with jax.enable_x64(True):
        return np.asarray(jax.jit(make[function]())(*arrays))


@pytest.mark.parametrize("name", ["gammaincinv", "gammainccinv"])
def test_of_gamma(name):
    k = np.array([1e-3, 0.05, 0.5, 1.0, 2.5, 40.0, 1e4])[:, None]
    found, wanted = on_jax(name, *np.broadcast_arrays(k, P)), getattr(sp, name)(k, P)
    wanted[:, len(INSIDE) :] = np.nan  # of tiny shapes SciPy has 0 there
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-290)


def test_of_beta():
    a, b = (
        x.ravel()[:, None] for x in np.meshgrid([0.01, 0.3, 1.0, 3.0, 50.0, 2e3], [0.01, 1, 80])
    )
    found, wanted = on_jax("betaincinv", *np.broadcast_arrays(a, b, P)), sp.betaincinv(a, b, P)
    # SciPy has none for the smallest of the probabilities now and then
    wanted = np.where(np.isnan(wanted) & (P == 1e-300), found, wanted)
    np.testing.assert_allclose(found, wanted, rtol=3e-8, atol=1e-290)


def test_of_logarithms_of_normal_probabilities():
    below = [-1e300, -1e20, -1e5, -800.0, -700.0, -30.0, -2.0, -1.999, -1.0, -0.5, -0.4, -1e-9]
    y = np.array([*below, -1e-30, -1e-300, 0.0, -np.inf, np.nan, 0.1])
    found, wanted = on_jax("ndtri_exp", y), sp.ndtri_exp(y)
    wanted[-1] = np.nan
    np.testing.assert_allclose(found, wanted, rtol=1e-11)
    single = np.float32([-1e38, -1e10, -200.0, -88.0, -3.0, -0.1, -1e-12, -1e-30])
    found, wanted = on_jax("ndtri_exp", single), sp.ndtri_exp(single.astype(float))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_derivative_of_a_quantile_as_jax_takes_it():
    from dimtensor.backends.jax.quantiles import ndtri_exp

    y = np.array([-1e10, -800.0, -3.0, -0.7, -0.01])
    with jax.enable_x64(True):
        found = np.asarray(jax.vmap(jax.grad(ndtri_exp()))(y))
    z = sp.ndtri_exp(y)
    wanted = np.sqrt(np.pi / 2) * sp.erfcx(-z / np.sqrt(2))
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


def test_truncated_quantiles_far_in_a_tail():
    import scipy.stats

    p = dt.tensor("p", dims=K)
    far = dist.TruncatedNormal(0.0, 1.0, 41.0, np.inf).icdf(p)
    at = np.array([0.1, 0.5, 0.9])
    found = dt.function([p], far, backend="jax")(at)
    np.testing.assert_allclose(found, scipy.stats.truncnorm(41.0, np.inf).ppf(at), rtol=1e-12)


@pytest.mark.slow
def test_of_single_precision():
    k, p = np.float32([0.3, 2.0, 90.0])[:, None], np.float32([1e-6, 0.2, 0.6, 0.99])
    for name, arrays in (("gammaincinv", (k, p)), ("betaincinv", (k, k[::-1], p))):
        found = on_jax(name, *np.broadcast_arrays(*arrays))
        assert found.dtype == np.float32
        wanted = getattr(sp, name)(*(x.astype(float) for x in arrays))
        np.testing.assert_allclose(found, wanted, rtol=2e-3)


def test_the_scaled_complement_without_that_of_jax(monkeypatch):
    from jax.scipy import special

    monkeypatch.delattr(special, "erfcx", raising=False)
    x = np.array([-20.0, -3.0, -0.1, 0.0, 1e-8, 0.5, 3.75, 20.0, 1e8, 1e200])
    np.testing.assert_allclose(on_jax("erfcx", x), sp.erfcx(x), rtol=1e-13)


@pytest.mark.slow
def test_derivatives():
    k, p = dt.tensor("k", dims=K), dt.tensor("p", dims=K)
    x = dt.special.gammaincinv(k, p)
    y = dt.special.betaincinv(k, 2.0, p)
    at = [np.array([0.4, 2.0, 30.0]), np.array([0.1, 0.5, 0.9])]
    f = dt.function([k, p], [*dt.grad(x.sum(), [k, p]), *dt.grad(y.sum(), [k, p])], backend="jax")
    step = 1e-5
    wanted = []
    for g in (sp.gammaincinv, lambda k, p: sp.betaincinv(k, 2.0, p)):
        wanted += [
            (g(at[0] * (1 + step), at[1]) - g(at[0] * (1 - step), at[1])) / (2 * step * at[0])
        ]
        wanted += [(g(at[0], at[1] + step) - g(at[0], at[1] - step)) / (2 * step)]
    for found, expected in zip(f(*at), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def elementwise_of(outputs):
    """Names of all elementwise operations that tensors are made of."""
    found, waiting, seen = set(), [output.node for output in outputs], set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        waiting += node.inputs
        if node.kind == "elemwise":
            found.add(node.attrs)
    return found


def test_no_distribution_calls_back():
    """What backends/jax/special.py leaves to SciPy is in no formula of the table."""
    from dimtensor.backends.jax.special import _host_functions

    names = set()
    for row in dist.TABLE.values():
        inputs = {
            p.name: dt.tensor(p.name, dims=K, dtype="int64" if p.range.whole else "float64")
            for p in row.params
        }
        x, d = dt.tensor("x", dims=N), make(row, inputs)
        outputs = [d.logp(x)]
        for what in ("logcdf", "logsf", "icdf"):
            if callable(getattr(row, what) if what == "icdf" else row.logcdf):
                outputs.append(getattr(d, what)(x))
        for what in ("mean", "variance"):
            if callable(getattr(row, what)):
                outputs.append(getattr(d, what)())
        names |= elementwise_of(outputs)
    assert {"gammaincinv", "betaincinv", "log_ndtr", "i0e"} <= names
    assert not names & {*_host_functions(), "iv", "kv"}
