"""Objects of all kinds, to be pickled, and what is computed of them afterwards.

A process that loads one imports this module before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import dimtensor as dt
from dimtensor import dist
from dimtensor.compile.function import CompiledFunction
from dimtensor.compile.stateful import StateHolder

K = dt.Dim("k", coords=["a", "b", "c"])
C = dt.Dim("c", coords=["u", "v", "w"])
T = dt.Dim("t", length=4)
X = dt.data([0.2, 0.3, 0.5], dims=K)
MATRIX = dt.data(np.eye(3), dims=[K, K.rename()])


def shifted(x: Any) -> Any:
    return -0.5 * (x - 1.0) ** 2


def drawn(rng: Any, dims: Any) -> Any:
    return rng.normal(1.0, 1.0, dims=dims)


def sde(x: Any) -> Any:
    return -0.5 * x, 1.0


def step(x: Any) -> Any:
    return dist.Normal(0.9 * x, 1.0), lambda value: value


def tables() -> dict[str, dist.Distribution]:
    """All distributions of the table, with the parameters of their examples."""
    return {name: getattr(dist, name)(**row.example) for name, row in dist.TABLE.items()}


def joint() -> dict[str, dist.Distribution]:
    """Distributions of elements that belong together, and of derived ones."""
    p, normal, half = X, dist.Normal(0.0, 1.0), dist.HalfNormal(1.0)
    other = K.rename()
    cut = dt.data([0.0, 1.0], dims=dt.Dim("cut", length=2))
    points = dt.data([0.0, 1.0, 2.0], dims=dt.Dim("point", length=3))
    lag = dt.Dim("lag", length=1)
    ring = dt.data([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]], dims=[K, other])
    return {
        "Categorical": dist.Categorical(p, dim=K),
        "Dirichlet": dist.Dirichlet(10.0 * p, K),
        "Multinomial": dist.Multinomial(5, p, K),
        "DirichletMultinomial": dist.DirichletMultinomial(5, 10.0 * p, K),
        "OrderedLogistic": dist.OrderedLogistic(0.3, cut, C),
        "OrderedProbit": dist.OrderedProbit(0.3, cut, C),
        "OrderedMultinomial": dist.OrderedMultinomial(5, 0.3, cut, C),
        "StickBreaking": dist.StickBreaking(1.0, K),
        "MvNormal": dist.MvNormal(p, cov=MATRIX),
        "MvStudentT": dist.MvStudentT(4.0, p, cov=MATRIX),
        "ZeroSumNormal": dist.ZeroSumNormal(1.0, K),
        "CAR": dist.CAR(0.0, ring, 0.5),
        "ICAR": dist.ICAR(ring),
        "LKJCorr": dist.LKJCorr(K, other, 2.0),
        "LKJCholesky": dist.LKJCholesky(K, other, 2.0),
        "LKJCholeskyCov": dist.LKJCholeskyCov(K, other, 2.0, half),
        "Wishart": dist.Wishart(5.0, MATRIX),
        "InverseWishart": dist.InverseWishart(5.0, MATRIX),
        "GaussianRandomWalk": dist.GaussianRandomWalk(0.0, 1.0, dim=T, start=normal),
        "RandomWalk": dist.RandomWalk(normal, T, normal),
        "AR": dist.AR(dt.data([0.5], dims=lag), 1.0, dim=T, start=normal, lag=lag),
        "GARCH11": dist.GARCH11(0.1, 0.2, 0.3, 1.0, dim=T),
        "MarkovChain": dist.MarkovChain(p, dt.softmax(ring, other), T),
        "EulerMaruyama": dist.EulerMaruyama(sde, 0.1, dim=T, start=normal),
        "Interpolated": dist.Interpolated(points, dt.exp(-points)),
        "DiracDelta": dist.DiracDelta(1.0),
        "truncated": dist.truncated(normal, 0.0, 2.0),
        "censored": dist.censored(normal, 0.0, 2.0),
        "zero_inflated": dist.zero_inflated(dist.Poisson(3.0), 0.2),
        "hurdle": dist.hurdle(dist.Poisson(3.0), 0.2),
        "mixture": dist.mixture(p, dist.Normal(p, 1.0), K),
        "mixture of several": dist.mixture(p, [normal, half, normal], K),
        "transformed": dist.transformed(normal, dt.exp, dt.log, dt.positive),
        "transformed by lambdas": dist.transformed(
            normal, lambda x: 2.0 * x, lambda y: 0.5 * y, dt.real
        ),
        "weighted": dist.weighted(normal, 2.0),
        "ordered": dist.ordered(normal, T),
        "custom": dist.custom(shifted, dt.real, drawn),
        "custom by lambdas": dist.custom(lambda x, mu: -0.5 * (x - mu) ** 2, dt.real, mu=1.0),
        "parameters that are tensors": dist.Normal(X, 1.0 + X),
        "Series": dist.Series(step, 0.0, dim=T),
    }


def model() -> dt.Model:
    mu = dt.rv("mu", dist.Normal(0.0, 10.0))
    sigma = dt.rv("sigma", dist.LogNormal(0.0, 0.1))
    effect = dt.rv("effect", dist.Normal(mu, sigma), dims=K)
    where = dt.data(["a", "c", "b", "a"], dims=dt.Dim("obs"), categories=K, name="where")
    y = dt.rv("y", dist.Normal(effect.sel(k=where), 1.0))
    return dt.Model(y, backend="python")


Y = [0.5, 1.5, -0.5, 0.1]


def others() -> dict[str, Any]:
    """Dims, tensors, expressions, functions, models and what is made of them."""
    x, total = dt.tensor("x", dims=K), dt.scalar("total")
    made = model()
    fit = made.observe(y=Y)
    return {
        "a dim": K,
        "an anonymous dim": dt.Dim(length=3),
        "a selection": K[["a", "c"]],
        "a product": dt.ProductDim([K, C]),
        "a tensor": x,
        "data": X,
        "an expression": (X * 2.0 + 1.0).sum(),
        "a function": dt.function([x], x * 2.0, backend="python"),
        "a function with a state": dt.function(
            [], total * 2.0, backend="python", updates={total: total + 1.0}
        ).start(total=1.0),
        "a support": dt.supports.bounded(0.0, 1.0),
        "a generator": dt.random.generator(1),
        "a model": made,
        "a fit": fit,
        "a log density": fit.log_density(),
        "a posterior": fit.laplace(2, seed=1),
    }


def computed(one: Any) -> np.ndarray:
    """Numbers that an object gives, or letters of its repr where it gives none."""
    if isinstance(one, dist.Distribution):
        if one.discrete or one.event_dims:
            return _letters(one)
        return np.asarray(one.logp(0.3).known_values())
    if isinstance(one, dt.DimTensor):
        known = one.known_values()
        return _letters(one) if known is None else np.asarray(known)
    if isinstance(one, dt.LogDensity):
        return one.logp_and_grad(np.full(one.size, 0.1))[1]
    if isinstance(one, dt.Model):
        return np.asarray(one.draw(2, seed=1)["prior"]["mu"])
    if isinstance(one, CompiledFunction):
        return np.asarray(one([1.0, 2.0, 3.0]))
    return np.asarray(one.state["total"]) if isinstance(one, StateHolder) else _letters(one)


def _letters(one: Any) -> np.ndarray:
    return np.array(list(repr(one).partition(" at 0x")[0]))


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Return True for equal numbers or letters; NaN is equal to itself."""
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
