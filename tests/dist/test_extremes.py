"""Where naive formulas are unstable, SciPy is wrong or has nothing: numbers of mpmath, 50 digits.

``python -m tests.dist.reference`` prints them anew, where mpmath is installed.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import dimtensor as dt
from dimtensor import dist
from tests.backend_names import COMPILED
from tests.dist.reference import REFERENCE


@pytest.mark.parametrize("case", REFERENCE, ids=lambda case: f"{case[0]} {case[1]} {case[2]}")
def test_numbers_of_mpmath(case):
    name, what, parameters, points, wanted, rtol = case
    d = getattr(dist, name)(**parameters)
    found = getattr(d, what)(dt.data(np.array(points), dims=dt.Dim("x"))).eval().values
    np.testing.assert_allclose(found, wanted, rtol=rtol)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "backend",
    [
        pytest.param(*backend.values, marks=[pytest.mark.slow] if "jax" in backend.values else [])
        for backend in COMPILED
    ],
)
def test_numbers_of_mpmath_compiled(backend):
    inputs, outputs, values = [], [], []
    for at, (name, what, parameters, points, *_) in enumerate(REFERENCE):
        x = dt.tensor(f"x{at}", dims=dt.Dim(f"at{at}"))
        inputs.append(x)
        values.append(np.array(points))
        given = {key: dt.scalar(f"{key}{at}") for key in parameters}
        inputs += given.values()
        values += parameters.values()
        outputs.append(getattr(getattr(dist, name)(**given), what)(x))
    results = dt.function(inputs, outputs, backend=backend)(*values)
    for case, found in zip(REFERENCE, results, strict=True):
        # what XLA has of gamma and beta functions is precise to fewer digits
        rtol = max(case[5], 1e-9)
        np.testing.assert_allclose(found.values, case[4], rtol=rtol, err_msg=str(case[:3]))


def test_logistic_far_out():
    x = dt.tensor("x", dims=dt.Dim("k", length=4))
    at = {x: np.array([-700.0, -1e5, 700.0, 1e300])}
    d = dist.Logistic(0.0, 1.0)
    np.testing.assert_allclose(d.logp(x).eval(at), -np.abs(at[x]))
    np.testing.assert_allclose(d.logcdf(x).eval(at)[:2], at[x][:2])
    np.testing.assert_allclose(d.logsf(x).eval(at)[2:], -at[x][2:])
    np.testing.assert_allclose(dt.grad(d.logp(x).sum(), x).eval(at), [1, 1, -1, -1])


def test_densities_at_any_log_odds():
    x = dt.tensor("x", dims=dt.Dim("k", length=5))
    odds = np.array([-800.0, -5.0, 0.0, 5.0, 800.0])
    wanted = -np.logaddexp(0, -odds)
    np.testing.assert_allclose(dist.Bernoulli(logit_p=x).logp(1).eval({x: odds}), wanted)
    slope = dt.grad(dist.Bernoulli(logit_p=x).logp(0).sum(), x).eval({x: odds})
    np.testing.assert_allclose(slope, -scipy.special.expit(odds))


def test_the_rice_density_is_smooth_where_nu_is_0():
    nu = dt.scalar("nu")
    gradient = dt.grad(dist.Rice(nu, 2.0).logp(1.5), nu)
    assert float(gradient.eval({nu: 0.0})) == 0.0
