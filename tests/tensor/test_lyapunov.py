"""Discrete Lyapunov equations, beside SciPy and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

import dimtensor as dt

S = dt.Dim("s", length=3)
TO = S.rename("to")
PAIR = [S, S.rename()]
GROUP = dt.Dim("g", length=2)


def problem(seed, radius=0.9, lead=()):
    rng = np.random.default_rng(seed)
    a, root = rng.normal(size=(2, *lead, 3, 3))
    a *= radius / np.abs(np.linalg.eigvals(a)).max(-1)[..., None, None]
    return a, root @ root.swapaxes(-1, -2)


@pytest.mark.parametrize("backend", ["python", "native"])
@pytest.mark.parametrize("radius", [0.1, 0.9, 1 - 1e-8])
def test_values(radius, backend):
    a, q = problem(1, radius)
    x, y = dt.tensor("a", dims=[TO, S]), dt.tensor("q", dims=PAIR)
    f = dt.function([x, y], dt.linalg.solve_discrete_lyapunov(x, y, (TO, S)), backend=backend)
    found = f((("to", "s"), a), (("s", "s'"), q)).transpose("s", "s'").values
    expected = solve_discrete_lyapunov(a, q)
    np.testing.assert_allclose(found, expected, rtol=1e-7 if radius > 0.99 else 1e-12)


def test_rows_and_columns_of_groups():
    """Either dim may be the row dim; other dims are batch dims."""
    a, q = problem(2, lead=(2,))
    own, noise = dt.data(a, dims=[GROUP, S, TO]), dt.data(q[0], dims=PAIR)
    found = dt.linalg.solve_discrete_lyapunov(own, noise, (S, TO)).eval()
    expected = [solve_discrete_lyapunov(one, q[0]) for one in a]
    np.testing.assert_allclose(found.transpose("g", "s", "s'"), expected, rtol=1e-12)


def test_gradients():
    a, q = problem(3)
    weights = np.random.default_rng(4).normal(size=(3, 3))
    x, y = dt.tensor("a", dims=[TO, S]), dt.tensor("q", dims=PAIR)
    total = (dt.linalg.solve_discrete_lyapunov(x, y, (TO, S)) * dt.data(weights, dims=PAIR)).sum()
    f = dt.function([x, y], dt.grad(total, [x, y]), backend="python")
    found = f((("to", "s"), a), (("s", "s'"), q))

    def value(a, q):
        return (solve_discrete_lyapunov(a, q) * weights).sum()

    for at, (slope, names) in enumerate(zip(found, [("to", "s"), ("s", "s'")], strict=True)):
        for where in np.ndindex(3, 3):
            h = np.zeros((2, 3, 3))
            h[(at, *where)] = 1e-5
            expected = (value(a + h[0], q + h[1]) - value(a - h[0], q - h[1])) / 2e-5
            assert slope.transpose(*names).values[where] == pytest.approx(expected, rel=1e-5)


def test_no_solution():
    """An autoregression that is not stationary has none, and lengths agree."""
    a, q = problem(5, radius=1.2)
    matrix, noise = dt.data(a, dims=[TO, S]), dt.data(q, dims=PAIR)
    found = dt.linalg.solve_discrete_lyapunov(matrix, noise, (TO, S)).eval()
    assert not np.isfinite(found.values).any()
    short = dt.Dim("short", length=2)
    with pytest.raises(dt.DimError, match="the matrix and the covariance are not known to have"):
        dt.linalg.solve_discrete_lyapunov(matrix, dt.eye(short, short.rename()), (TO, S))


@pytest.mark.parametrize("eigenvalue", [1.0, -1.0, 1.0 + 1e-13, 1.1])
def test_an_autoregression_without_a_stationary_covariance_is_nan(eigenvalue):
    s = dt.Dim("s", length=2)
    to = s.rename("to")
    a = dt.data([[eigenvalue, 0.0], [0.0, 0.5]], dims=[to, s])
    x = dt.linalg.solve_discrete_lyapunov(a, dt.eye(s, s.rename()), (to, s))
    assert np.isnan(x.eval().values).all()
