"""Noncentered parametrizations: the same density of other unknowns."""

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from tests.backend_names import LONG_JAX_COMPILED

K, PAIR, TIME = dt.Dim("k", coords=["a", "b", "c"]), dt.Dim("pair", length=2), dt.Dim("t", length=4)
ROW, LAG = K.rename(), dt.Dim("lag", length=2)
COV = np.array([[1.0, 0.5, 0.1], [0.5, 2.0, 0.3], [0.1, 0.3, 1.5]])
RHO = dt.data([0.5, -0.2], dims=LAG)
PLACES = dt.data([0.0, 1.0, 2.5], dims=K)


def m():
    return dt.rv("m", dist.Normal(0.0, 1.0))


def s():
    return dt.rv("s", dist.HalfNormal(1.0))


def cov():
    return s() * dt.data(COV, dims=[K, ROW])


def chol():
    return s() * dt.data(np.linalg.cholesky(COV), dims=[K, ROW])


def kernel(one, other):
    return s() ** 2 * dt.exp(-0.5 * (one - other) ** 2)


START = dist.Normal(1.0, 2.0)
OF = {
    "Normal": lambda: dist.Normal(m(), s()),
    "LogNormal": lambda: dist.LogNormal(m(), s()),
    "LogitNormal": lambda: dist.LogitNormal(m(), s()),
    "HalfNormal": lambda: dist.HalfNormal(s()),
    "HalfStudentT": lambda: dist.HalfStudentT(4.0, s()),
    "HalfCauchy": lambda: dist.HalfCauchy(s()),
    "Exponential": lambda: dist.Exponential(s()),
    "MvNormal": lambda: dist.MvNormal(m(), cov()),
    "MvNormal tau": lambda: dist.MvNormal(m(), tau=cov()),
    "MvNormal chol": lambda: dist.MvNormal(m(), chol=chol()),
    "MvStudentT": lambda: dist.MvStudentT(5.0, m(), cov()),
    "GP": lambda: dist.GP(kernel, K, at=PLACES, mean=m()),
    "StateSpace": lambda: dist.GP(
        s() * dt.gp.Matern32(1.0), K, at=PLACES, mean=m(), approximation=dt.gp.StateSpace()
    ),
    "Vecchia": lambda: dist.GP(
        s() * dt.gp.Matern32(1.0), K, at=PLACES, mean=m(), approximation=dt.gp.Vecchia(1)
    ),
    "MatrixNormal": lambda: dist.MatrixNormal(m(), cov(), 2.0 * dt.eye(PAIR)),
    "RandomWalk": lambda: dist.RandomWalk(dist.Normal(m(), s()), TIME, START),
    "RandomWalk t": lambda: dist.RandomWalk(dist.StudentT(4.0, m(), s()), TIME, START),
    "a walk of vectors": lambda: dist.RandomWalk(
        dist.MvNormal(m(), cov()), PAIR, dist.MvNormal(0.0, dt.eye(K, ROW))
    ),
    "AR": lambda: dist.AR(RHO, s(), dim=TIME, start=dist.Normal(m(), 2.0), constant=0.3),
    "AR t": lambda: dist.AR(RHO, s(), dim=TIME, start=dist.StudentT(4.0, m(), 2.0)),
}


def both(name, backend="python"):
    scalar = OF[name]().dims == ()
    x = dt.rv("x", OF[name](), dims=K if scalar else None)
    model = dt.Model(x, backend=backend)
    return model.log_density(), model.noncentered(x).log_density()


@pytest.mark.parametrize("name", OF)
def test_densities_differ_by_the_jacobian(name):
    """Of the unknowns of the model as it is, by those of the noncentered one."""
    centered, density = both(name)
    names = [parameter.name for parameter in centered.parameters]
    assert "x" in names
    assert {parameter.name for parameter in density.parameters} == {*names} - {"x"} | {"x_raw"}

    def unknowns(vector):
        values = density.constrain(vector)
        return np.asarray(centered.unconstrain({n: values[n] for n in names}))

    v = 0.5 * np.random.default_rng(3).normal(size=density.size)
    steps = 1e-5 * np.eye(density.size)
    jacobian = np.array([(unknowns(v + h) - unknowns(v - h)) / 2e-5 for h in steps])
    expected = centered.logp(unknowns(v)) + np.linalg.slogdet(jacobian)[1]
    np.testing.assert_allclose(density.logp(v), expected, rtol=1e-7)


def test_a_vector_is_its_mean_and_a_factor_times_independent_elements():
    _, density = both("MvNormal")
    values = density.constrain(np.array([0.3, np.log(4.0), 1.0, -0.5, 2.0]))
    z = values["x_raw"].values
    np.testing.assert_allclose(values["x"], 0.3 + 2.0 * np.linalg.cholesky(COV) @ z)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", LONG_JAX_COMPILED)
@pytest.mark.parametrize("name", ["MvNormal", "RandomWalk t", "AR"])
def test_compiled(name, backend):
    _, density = both(name, backend)
    _, plain = both(name)
    v = 0.5 * np.random.default_rng(4).normal(size=density.size)
    value, slope = density.logp_and_grad(v)
    np.testing.assert_allclose(value, plain.logp(v))
    steps = 1e-5 * np.eye(density.size)
    expected = [(plain.logp(v + h) - plain.logp(v - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-8)


def test_what_has_no_standardized_variable():
    x = dt.rv("x", dist.Gamma(2.0, 1.0))
    with pytest.raises(dt.GraphError, match=r"'x' has no location and scale(.|\n)*'MvNormal'"):
        dt.Model(x).noncentered(x)
    walk = dt.rv("x", dist.RandomWalk(dist.Gamma(2.0, 1.0), TIME, START))
    with pytest.raises(dt.GraphError, match="'x' has no location and scale"):
        dt.Model(walk).noncentered(walk)
