"""Quantiles of distributions without a formula for them: by bisection, as SciPy has them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import dimtensor as dt
from dimtensor import dist

LONG = ("Rice", "VonMises", "PolyaGamma", "Wald", "Binomial")
Q = dt.Dim("q", length=7)
AT = np.array([1e-9, 1e-3, 0.2, 0.5, 0.9, 0.999, 0.99999])
CASES = {
    "Rice": (dist.Rice(nu=1.5, sigma=0.8), stats.rice(1.5 / 0.8, scale=0.8)),
    "VonMises": (dist.VonMises(mu=0.5, kappa=2.0), None),
    "PolyaGamma": (dist.PolyaGamma(h=2.0, z=1.0), None),
    "SkewNormal": (dist.SkewNormal(mu=0.5, sigma=1.2, alpha=2.0), stats.skewnorm(2.0, 0.5, 1.2)),
    "Wald": (dist.Wald(mu=1.5, lam=2.0), stats.invgauss(0.75, scale=2.0)),
    "Poisson": (dist.Poisson(3.5), stats.poisson(3.5)),
    "Binomial": (dist.Binomial(n=12, p=0.3), stats.binom(12, 0.3)),
}


@pytest.mark.parametrize(
    ("d", "known"),
    [
        pytest.param(*case, id=name, marks=[pytest.mark.slow] if name in LONG else [])
        for name, case in CASES.items()
    ],
)
def test_quantiles_by_bisection(d: dist.Distribution, known):
    found = d.icdf(dt.data(AT, dims=Q)).eval(backend="python").values
    if known is not None:
        np.testing.assert_allclose(found, known.ppf(AT), rtol=1e-9)
    if not d.discrete:
        np.testing.assert_allclose(d.cdf(dt.data(found, dims=Q)).eval().values, AT, rtol=1e-9)


def test_the_ends_and_numbers_that_are_no_probabilities():
    q = dt.data([0.0, 1.0, -0.1, 1.5, np.nan], dims=dt.Dim("end", length=5))
    found = dist.Wald(mu=1.5, lam=2.0).icdf(q).eval(backend="python").values
    np.testing.assert_array_equal(found, [0.0, np.inf, np.nan, np.nan, np.nan])
