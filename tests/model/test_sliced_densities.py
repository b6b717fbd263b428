"""Log densities whose value and gradient are sums over slices, computed by an evaluator."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.model.logdensity import evaluated
from dimtensor.model.sliced.density import DensitySlices

OBS = dt.Dim("obs")
GROUP = dt.Dim("group", coords=["a", "b", "c"])
K = dt.Dim("k")


@dataclass(frozen=True)
class InTwo:
    """Evaluation in two slices, one after the other."""

    dim: dt.Dim
    rows: bool = False

    def __call__(self, functions: Any) -> InTwoEvaluator:
        return InTwoEvaluator(DensitySlices(functions, self.dim, rows=self.rows))


class InTwoEvaluator:
    def __init__(self, slices: DensitySlices):
        self.slices, held = slices, slices.held
        ends = [(0, held.length // 3), (held.length // 3, held.length)]
        self.shares = [slices.share(held.pieces(*pair), pair[0]) for pair in ends]
        self.calls = 0

    def logp_and_grad(self, x: np.ndarray) -> Any:
        self.calls += 1
        return self.slices.total([share(x) for share in self.shares], self.slices.rest(x))


def model_of(n: int = 40, seed: int = 0, backend: str = "python") -> dt.LogDensity:
    """Varying intercepts, a centered predictor, and as many slopes as the data have columns."""
    rng = np.random.default_rng(seed)
    theta, beta, sd = dt.tensor("theta", dims=GROUP), dt.tensor("beta", dims=K), dt.scalar("sd")
    labels = np.array(["a", "b", "c"])[rng.integers(0, 3, n)]
    who = dt.data(labels, dims=OBS, categories=GROUP, name="who")
    x = dt.data(rng.normal(size=n), dims=OBS, name="x")
    z = dt.data(rng.normal(size=(2, n)), dims=[K, OBS], name="z")
    y = dt.data(rng.normal(size=n), dims=OBS, name="y")
    mean = theta.sel(group=who) + (x - x.mean()) / x.std() + dt.dot(z, beta, dim=K)
    logp = {
        "y": dist.Normal(mean, sd).logp(y),
        "theta": dist.Normal(0.0, 2.0).logp(theta),
        "beta": dist.Normal(0.0, 1.0).logp(beta),
        "sd": dist.Exponential(1.0).logp(sd),
    }
    supports = {sd: dt.positive, theta: dt.real, beta: dt.real}
    return dt.LogDensity(logp, supports, backend=backend)


def test_shares_and_what_is_counted_once_make_the_density():
    whole = model_of()
    parts = evaluated(whole, InTwo(OBS))
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=whole.size)
        value, gradient = parts.logp_and_grad(x)
        expected, slope = whole.logp_and_grad(x)
        assert value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(gradient, slope, rtol=1e-10)
        assert parts.logp(x) == value
    assert parts.functions.evaluator.calls == 6


def test_other_data_have_their_own_evaluator_and_the_same_code():
    whole = model_of()
    parts = evaluated(whole, InTwo(OBS))
    rng = np.random.default_rng(9)
    new = {
        "x": rng.normal(size=7), "y": rng.normal(size=7), "who": np.array(list("abcabca")),
        "z": (("k", "obs"), rng.normal(size=(3, 7))),
    }  # fmt: skip
    other, expected = parts.with_data(new), whole.with_data(new)
    x = rng.normal(size=other.size)
    assert other.size == whole.size + 1
    value, gradient = expected.logp_and_grad(x)
    np.testing.assert_allclose(other.logp_and_grad(x)[0], value, rtol=1e-12)
    np.testing.assert_allclose(other.logp_and_grad(x)[1], gradient, rtol=1e-10)
    first = parts.functions.evaluator.slices.program
    assert other.functions.evaluator.slices.program is first


def test_distinct_rows_are_cut_along_their_own_dim():
    rng = np.random.default_rng(1)
    x = dt.data(rng.integers(0, 5, 2000), dims=OBS, name="x")
    y = dt.data(rng.integers(0, 4, 2000), dims=OBS, name="y")
    b = dt.scalar("b")
    logp = {"y": dist.Poisson(dt.exp(0.1 * x * b)).logp(y), "b": -(b**2)}
    whole = dt.LogDensity(logp, {b: dt.real}, backend="python")
    assert whole.functions.rows is not None
    (row,) = whole.functions.rows.lengths
    point = np.array([0.4])
    expected, slope = whole.logp_and_grad(point)
    for evaluation in (InTwo(row, rows=True), InTwo(OBS)):
        value, gradient = evaluated(whole, evaluation).logp_and_grad(point)
        assert value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(gradient, slope, rtol=1e-10)


def test_an_evaluation_is_pickled_with_its_density():
    parts = evaluated(model_of(), InTwo(OBS))
    again = pickle.loads(pickle.dumps(parts))
    x = np.linspace(-1.0, 1.0, parts.size)
    assert again.functions.evaluation == InTwo(OBS)
    assert again.logp(x) == parts.logp(x)


def test_other_sums_are_refused():
    y, b = dt.data([1.0, 2.0], dims=OBS), dt.scalar("b")
    density = dt.LogDensity(dt.log(dt.exp(y * b).sum()) ** 2, {b: dt.real}, backend="python")
    with pytest.raises(dt.PartitionError, match="slices of dim 'obs' cannot be computed"):
        DensitySlices(density.functions, OBS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the draws may not be")
def test_nutpie_draws_the_same_from_the_same_numbers():
    pytest.importorskip("nutpie")
    whole = model_of(backend="native")
    parts = evaluated(whole, InTwo(OBS))
    draws = {"draws": 50, "tune": 50, "chains": 2, "report": False, "seed": 1}
    found, expected = (dt.sample(one, **draws)["posterior"] for one in (parts, whole))
    assert parts.functions.evaluator.calls > 200
    for name in ("theta", "beta", "sd"):
        first, second = (tree[name].values[:, :5] for tree in (found, expected))
        np.testing.assert_allclose(first, second, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the draws may not be")
def test_samplers_on_jax_call_the_evaluator():
    jax = pytest.importorskip("jax")
    parts = evaluated(model_of(), InTwo(OBS))
    x = np.linspace(-1.0, 1.0, parts.size)
    with jax.enable_x64(True):
        value, gradient = jax.jit(jax.value_and_grad(parts.to_blackjax()))(x)
    np.testing.assert_array_equal(gradient, parts.logp_and_grad(x)[1])
    assert float(value) == parts.logp(x)
    before = parts.functions.evaluator.calls
    dt.sample(parts, sampler="blackjax", draws=10, tune=10, chains=2, report=False)
    assert parts.functions.evaluator.calls > before + 40
