"""Models of many free scalars: what they cost grows with their number, and not with its square."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.stats as st
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.compile.binding_values import _aliases
from dimtensor.compile.caching.fingerprint import describe_graph
from dimtensor.graph import toposort
from dimtensor.model.inference.diagnostics import judge
from dimtensor.tensor.autodiff import grad_by_pieces
from dimtensor.values.datasets import arrays_of
from tests.steps import counted_calls

K = dt.Dim("k", length=3)


def model_of(n: int) -> dt.Model:
    """y ~ Normal(Σ x, 1), x_i ~ Normal(0, s): n + 1 free scalars."""
    s = dt.rv("s", dist.HalfNormal(1.0))
    total = dt.rv("x0", dist.Normal(0.0, s))
    for at in range(1, n):
        total = total + dt.rv(f"x{at}", dist.Normal(0.0, s))
    return dt.Model(dt.rv("y", dist.Normal(total, 1.0))).observe(y=1.0)


def test_the_description_of_a_gradient_is_linear_in_the_number_of_parameters():
    def size(n: int) -> int:
        density = model_of(n).log_density()
        parts = density.functions.assembly
        described = describe_graph([parts.flat.node], [parts.value.node, parts.gradient.node])
        return len(json.dumps(described.form))

    assert size(200) < 2.2 * size(100)


@pytest.mark.slow
@pytest.mark.compiled
def test_a_first_gradient_is_linear_in_the_number_of_parameters():
    def calls(n: int) -> int:
        with counted_calls() as counted:
            density = model_of(n).log_density()
            density.logp_and_grad(np.zeros(n + 1))
        return counted.number

    calls(10)
    few, more, most = calls(30), calls(60), calls(90)
    # the second difference: n² of each pair of parameters would add 2 · 30²
    assert most - 2 * more + few < 0.05 * (more - few)


def test_the_gradient_by_pieces_is_the_gradient(rng):
    flat = dt.tensor("flat", dims=dt.Dim("all", length=8))
    first, row = flat.isel(all=0), flat.isel(all=slice(1, 4))
    rest = flat.isel(all=slice(4, 8))
    y = (row.relabel(row.dims[0], K) * first).sum() ** 2 + (rest**3).sum()
    found = grad_by_pieces(y, flat, [first, row, rest])
    x = rng.normal(size=8)
    expected = np.zeros(8)
    total = x[0] * x[1:4].sum()
    expected[0] = 2 * total * x[1:4].sum()
    expected[1:4] = 2 * total * x[0]
    expected[4:] = 3 * x[4:] ** 2
    np.testing.assert_allclose(found.eval({flat: x}), expected, rtol=1e-13)
    # of several vectors at once, by the vector again, and as text
    draw = dt.Dim("draw", length=2)
    several = rng.normal(size=(2, 8))
    batched = dt.vectorize(found, {flat: draw})
    (vectors,) = dt.inputs_of([batched])
    values = batched.eval({vectors: xr.DataArray(several, dims=["draw", "all"])})
    assert [dim.name for dim in batched.dims] == ["all", "draw"]
    for at in range(2):
        one = found.eval({flat: several[at]}).values
        np.testing.assert_allclose(values.isel(draw=at).values, one, rtol=1e-13)
    hessian = dt.jacobian(found, flat).eval({flat: x}).values
    np.testing.assert_allclose(np.diag(hessian)[4:], 6 * x[4:], rtol=1e-13)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-13)
    assert hessian[0, 1] == pytest.approx(2 * (total + x[0] * x[1:4].sum()))
    assert "gradient" in dt.dprint(found, file="str")


def test_alike_terms_are_one(rng):
    """Priors, and a sum in the likelihood, of scalars whose positions are no slice."""
    n = 18
    mu = [dt.rv(f"mu{i}", dist.Normal(0.0, 2.0)) for i in range(n)]
    scale = dt.rv("scale", dist.HalfNormal(1.0))
    pairs = [dt.rv(f"pair{i}", dist.Normal(mu[i] * mu[0], scale)) for i in range(n)]
    squares = [dt.rv(f"square{i}", dist.Normal(mu[i] * mu[i], scale)) for i in range(n)]
    total = pairs[0] + squares[0]
    for at, one, other in zip(range(1, n), pairs[1:], squares[1:], strict=True):
        total = total + at * one * other
    y = dt.rv("y", dist.Normal(total * squares[3], 1.5))
    density = dt.Model(y, backend="python").observe(y=0.5).log_density()
    x = rng.normal(size=density.size) / 3

    def expected(x):
        at = {p.name: value for p, value in zip(density.parameters, x, strict=True)}
        m, p, s = (np.array([at[f"{k}{i}"] for i in range(n)]) for k in ("mu", "pair", "square"))
        scale = np.exp(at["scale"])
        mean = (p[0] + s[0] + (np.arange(1, n) * p[1:] * s[1:]).sum()) * s[3]
        return (
            st.norm(0, 2).logpdf(m).sum()
            + st.halfnorm.logpdf(scale)
            + at["scale"]
            + st.norm(m * m[0], scale).logpdf(p).sum()
            + st.norm(m * m, scale).logpdf(s).sum()
            + st.norm(mean, 1.5).logpdf(0.5)
        )

    value, gradient = density.logp_and_grad(x)
    assert value == pytest.approx(expected(x), rel=1e-12)
    steps = 1e-6 * np.eye(len(x))
    slopes = [(expected(x + step) - expected(x - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-7)
    # of the terms of pairs, that of the first differs: its mean is a square
    kinds = [node.kind for node in toposort([density.functions.computed.value.node])]
    assert kinds.count("reduce") == 4


def test_alike_terms_share_one_of_two_scalars():
    """Every other scalar has the one mean, the rest the other."""
    n = 20
    means = [dt.rv(f"mean{i}", dist.Normal(0.0, 3.0)) for i in range(2)]
    parts = [dt.rv(f"part{i}", dist.Normal(means[i % 2], 0.7)) for i in range(n)]
    density = dt.Model(*parts, backend="python").log_density()
    x = np.linspace(-1.0, 2.0, n + 2)
    at = {p.name: value for p, value in zip(density.parameters, x, strict=True)}
    m, z = (np.array([at[f"{k}{i}"] for i in range(c)]) for k, c in (("mean", 2), ("part", n)))
    value, gradient = density.logp_and_grad(x)
    expected = st.norm(0, 3).logpdf(m).sum() + st.norm(m[np.arange(n) % 2], 0.7).logpdf(z).sum()
    assert value == pytest.approx(expected, rel=1e-12)
    slopes = {f"part{i}": -(z[i] - m[i % 2]) / 0.49 for i in range(n)}
    slopes |= {f"mean{k}": -m[k] / 9 + ((z[k::2] - m[k]) / 0.49).sum() for k in range(2)}
    found = dict(zip((p.name for p in density.parameters), gradient, strict=True))
    np.testing.assert_allclose([found[k] for k in slopes], [*slopes.values()], rtol=1e-12)
    assert "reduce" in {x.kind for x in toposort([density.functions.computed.value.node])}


def test_a_gradient_of_alike_scalars_takes_no_longer_with_more_of_them():
    few, many = (model_of(n).log_density().functions.computed for n in (20, 40))
    for x, y in ((few.value, many.value), (few.gradient, many.gradient)):
        assert len(toposort([x.node])) == len(toposort([y.node]))


def test_results_of_many_variables_are_linear_in_their_number(rng):
    """Each is read, and judged, without a search through all others."""
    none = xr.DataArray(np.zeros((2, 8), bool))

    def calls(n: int) -> int:
        names = [f"x{at}" for at in range(n)]
        draws = xr.Dataset({x: (("chain", "draw"), rng.normal(size=(2, 8))) for x in names})
        values = arrays_of(draws)
        assert list(values) == names
        for name in names[:3] + names[-3:]:
            xr.testing.assert_identical(values[name], draws[name])
        with counted_calls() as counted:
            arrays_of(draws)
            judge(draws, none, 1.0)
        return counted.number

    calls(210)  # imports
    assert calls(1024) < 2 * calls(512)


def test_results_that_share_memory_are_found():
    x, y = np.zeros(10), np.zeros(4)
    results = [x[2:4], np.ones(3), y, np.zeros(0), x[8:]]
    assert _aliases(results, [x[:3], x[5:9], y[:0]]) == [True, False, False, False, True]
    assert _aliases([y, y[1:], x], []) == [False, True, False]
    assert _aliases([x[6:8]], [x[8:], x[:6]]) == [False]
