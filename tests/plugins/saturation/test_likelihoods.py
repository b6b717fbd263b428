"""Likelihoods as the distributions write them, with effects of groups, beside SciPy's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as st

import dimtensor as dt
from dimtensor import dist
from tests.plugins.saturation import models as m

counts = dt.data(m.K.astype(int), dims=m.HOUSE, name="counts")
trials = dt.data(m.LEVEL, dims=m.HOUSE, name="trials")
times = dt.data(m.K + 0.5, dims=m.HOUSE, name="times")
EFFECT = m.a.sel(county=m.where)


def at(a: np.ndarray) -> np.ndarray:
    return a[m.WHERE]


LIKELIHOODS: dict[str, tuple[dt.DimTensor, Callable[[np.ndarray], np.ndarray]]] = {
    "normal": (
        dist.Normal(EFFECT + m.g * m.uranium.sel(county=m.where), m.s).logp(m.y),
        lambda a: st.norm.logpdf(m.Y, at(a + m.G * m.U), m.S),
    ),
    "normal, a scale for each group": (
        dist.Normal(EFFECT, dt.exp(EFFECT)).logp(m.y),
        lambda a: st.norm.logpdf(m.Y, at(a), np.exp(at(a))),
    ),
    "poisson": (
        dist.Poisson(dt.exp(EFFECT)).logp(counts),
        lambda a: st.poisson.logpmf(m.K, np.exp(at(a))),
    ),
    "bernoulli": (
        dist.Bernoulli(dt.sigmoid(EFFECT)).logp(trials),
        lambda a: st.bernoulli.logpmf(m.LEVEL, sp.expit(at(a))),
    ),
    "binomial": (
        dist.Binomial(12, dt.sigmoid(EFFECT)).logp(counts),
        lambda a: st.binom.logpmf(m.K, 12, sp.expit(at(a))),
    ),
    "exponential": (
        dist.Exponential(dt.exp(EFFECT)).logp(times),
        lambda a: st.expon.logpdf(m.K + 0.5, scale=np.exp(-at(a))),
    ),
}


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_a_likelihood_costs_what_its_groups_cost(name: str):
    logp, expected = LIKELIHOODS[name]
    total = logp.sum()
    inputs = dt.inputs_of(total)
    values = {x: v for x, v in ((m.a, m.A), (m.g, m.G), (m.s, m.S)) if x in inputs}
    found = dt.simplify([total, dt.grad(total, m.a)])
    assert found.after < found.before / 15, found
    value, slope = dt.evaluate(found.result, values)
    np.testing.assert_allclose(float(value), expected(m.A).sum(), rtol=1e-10)
    step = 1e-5
    for county in (0, 3):
        moved = step * (np.arange(m.COUNTIES) == county)
        rise = expected(m.A + moved).sum() - expected(m.A - moved).sum()
        np.testing.assert_allclose(slope.values[county], rise / (2 * step), rtol=1e-6, atol=1e-6)
    assert slope.values[-1] == 0.0  # no house is there


def test_impossible_counts_stay_impossible():
    below = dt.data(np.where(np.arange(m.N) == 3, -1, m.K.astype(int)), dims=m.HOUSE)
    total = dist.Poisson(dt.exp(EFFECT)).logp(below).sum()
    found = dt.simplify(total)
    assert "logarithms by group" in found.rules
    assert float(found.result.eval({m.a: m.A})) == -np.inf


@pytest.mark.parametrize("rate", [0.0, 2.0])
def test_one_rate_for_all(rate: float):
    none = dt.data(np.zeros(50, int), dims=dt.Dim("obs"))
    total = dist.Poisson(m.s).logp(none).sum()
    found = dt.simplify(total)
    assert found.after < found.before / 10
    expected = st.poisson.logpmf(np.zeros(50), rate).sum() if rate else 0.0
    np.testing.assert_allclose(float(found.result.eval({m.s: rate})), expected, rtol=1e-12)


def test_a_choice_with_a_weight_and_an_arm_that_no_group_takes():
    weights = dt.data(m.K, dims=m.HOUSE)
    chosen = dt.data(m.LEVEL > 5, dims=m.HOUSE)  # nowhere
    total = (dt.where(chosen, dt.log(m.a).sel(county=m.where), m.s) * weights).sum()
    found = dt.simplify(total)
    assert "choices by group" in found.rules
    with np.errstate(invalid="ignore", divide="ignore"):
        result = float(found.result.eval({m.a: np.zeros(m.COUNTIES), m.s: 2.0}))
    assert result == pytest.approx(2.0 * m.K.sum(), rel=1e-12)
