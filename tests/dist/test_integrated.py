"""Probabilities that are computed by quadrature: derivatives, far ends and what is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist
from tests.backend_names import COMPILED
from tests.dist.oracles import ORACLES

NAMES = ("Rice", "VonMises", "WrappedCauchy", "PolyaGamma")
POINT = dt.Dim("point")


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_of_probabilities(name: str):
    """By the value the density over the probability, by parameters differences of the oracle."""
    row = dist.TABLE[name]
    inputs = {each: dt.scalar(each) for each in row.names}
    values = dict(row.example)
    frozen = ORACLES[name].frozen
    x = dt.tensor("x", dims=POINT)
    points = frozen(*values.values()).ppf(np.array([0.05, 0.4, 0.9]))
    d = getattr(dist, name)(**inputs)
    for what, sign in (("logcdf", 1.0), ("logsf", -1.0)):
        value = getattr(d, what)(x)
        slopes = dt.grad(value.sum(), [x, *inputs.values()])
        f = dt.function([x, *inputs.values()], [d.logp(x), value, *slopes], backend="python")
        logp, value, of_x, *found = (each.values for each in f(points, *values.values()))
        np.testing.assert_allclose(of_x, sign * np.exp(logp - value), rtol=1e-10)
        for parameter, slope in zip(inputs, found, strict=True):
            above, below = (
                getattr(frozen(*(values | {parameter: values[parameter] + step}).values()), what)(
                    points
                )
                for step in (1e-4, -1e-4)
            )
            np.testing.assert_allclose(slope, (above - below).sum() / 2e-4, rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_truncated_and_censored(name: str):
    example = dist.TABLE[name].example
    d, frozen = getattr(dist, name)(**example), ORACLES[name].frozen(*example.values())
    low, middle, high = frozen.ppf(np.array([0.3, 0.5, 0.8]))

    def density(t: Any) -> Any:
        return np.exp(frozen.logpdf(t))

    parts = [(frozen.support()[0], low), (low, high)]
    below, mass = (scipy.integrate.quad(density, *ends, epsabs=1e-13)[0] for ends in parts)
    outputs = {
        "truncated": (dist.truncated(d, low, high).logp(middle), np.log(density(middle) / mass)),
        "lower bound": (dist.censored(d, low, high).logp(low), np.log(below)),
        "upper bound": (dist.censored(d, low, high).logp(high), np.log1p(-below - mass)),
    }
    for what, (found, wanted) in outputs.items():
        np.testing.assert_allclose(found.eval(), wanted, rtol=1e-9, err_msg=what)


def test_a_truncated_mixture():
    k = dt.Dim("k", length=2)
    nu = dt.data([0.5, 3.0], dims=k)
    mixed = dist.mixture(dt.data([0.3, 0.7], dims=k), dist.Rice(nu, 1.0), dim=k)
    parts = [st.rice(0.5), st.rice(3.0)]

    def of_both(what: str, x: float) -> float:
        return float(np.dot([0.3, 0.7], [getattr(part, what)(x) for part in parts]))

    wanted = of_both("pdf", 2.0) / (of_both("cdf", 4.0) - of_both("cdf", 1.0))
    found = dist.truncated(mixed, 1.0, 4.0).logp(2.0)
    np.testing.assert_allclose(found.eval(), np.log(wanted), rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("backend", COMPILED)
def test_in_compiled_code(backend: str):
    """Values and derivatives are those of the interpreter."""
    outputs, given = [], {}
    for name in NAMES:
        row = dist.TABLE[name]
        x = dt.tensor(f"x of {name}", dims=dt.Dim(f"points of {name}"))
        inputs = {dt.scalar(f"{each} of {name}"): value for each, value in row.example.items()}
        d = getattr(dist, name)(**dict(zip(row.example, inputs, strict=True)))
        frozen = ORACLES[name].frozen(*row.example.values())
        given |= {x: frozen.ppf(np.array([0.01, 0.3, 0.7, 0.99])), **inputs}
        for value in (d.logcdf(x), d.logsf(x)):
            outputs += [value, *dt.grad(value.sum(), [x, *inputs])]
    found, wanted = (
        dt.function(list(given), outputs, backend=each)(*given.values())
        for each in (backend, "python")
    )
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
