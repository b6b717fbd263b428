"""Log densities with checks: they raise, and samplers pass over the points where one fails."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.model.inference.starts import no_start
from tests.backend_names import BACKENDS

DOUBLES = ctypes.POINTER(ctypes.c_double)
COUNTRY = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
GOOD, BAD = np.array([1.0, 2.0, 3.0]), np.array([1.0, -2.0, 3.0])


def half_normal(backend, limit=1.0):
    x = dt.tensor("x", dims=COUNTRY)
    safe = dt.check(x < limit, "x is below the limit", x)
    return dt.LogDensity(-0.5 * (safe**2).sum(), {x: dt.real}, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_log_density_raises(backend):
    model = half_normal(backend)
    value, gradient = model.logp_and_grad(-GOOD)
    assert (value, gradient.tolist()) == (-7.0, [1.0, 2.0, 3.0])
    for function in (model.logp, model.logp_and_grad):
        with pytest.raises(dt.CheckError, match=r"x is below the limit"):
            function(BAD)
    with pytest.raises(dt.CheckError, match=r"x is below the limit"):
        model.logp(GOOD)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.filterwarnings("ignore:the draws may not be:dimtensor.SamplingWarning")
def test_nutpie_refuses_points_where_a_check_fails(backend):
    """A normal variable that is cut off at 1 has mean -phi(1) / Phi(1), here -0.2876."""
    pytest.importorskip("nutpie")
    options = {"progress_bar": False, "seed": 5, "chains": 2}
    model = half_normal(backend)
    draws = 500 if backend == "numba" else 50
    posterior = dt.sample(model, draws=draws, tune=200, **options)["posterior"]["x"]
    assert posterior.max() < 1
    if backend == "numba":
        assert abs(float(posterior.mean()) + 0.2876) < 0.1
    impossible = half_normal(backend, limit=-100.0)
    text = r"at 101 of 101 points tried around the point where the chains start\n  .*limit"
    with pytest.raises(dt.CheckError, match=rf"{text}(.|\n)*hint: the check holds nowhere near"):
        dt.sample(impossible, draws=5, tune=5, **options)


def test_a_check_that_holds_at_the_start_alone_is_not_mended_by_another_start():
    """expit(0) + expit(0) is 1, and nowhere around are such probabilities; half of the plane is."""
    k = dt.Dim("k", coords=["a", "b"])
    a = dt.rv("a", dist.Normal(0.0, 1.0), dims=k)
    y = dt.rv("y", dist.Categorical(p=dt.sigmoid(a), dim=k))
    never = dt.Model(y, backend="python").observe({y: "a"}).log_density()
    text = r"fails at 100 of 101 points(.|\n)*there: p of Categorical do not add up to 1 along k"
    error = no_start(never, np.zeros(2))
    assert re.search(text + r"(.|\n)*hint: the check holds nowhere near", str(error))
    x = dt.tensor("x", dims=k)
    half = dt.check(x.sum() > 0.0, "x adds up to nothing", -(x**2).sum())
    model = dt.LogDensity(half, {x: dt.real}, backend="python")
    assert "hint: start elsewhere with initial={...}" in str(no_start(model, np.zeros(2)))


@pytest.mark.compiled
def test_codes_of_callbacks():
    """What machine code returns to a sampler: 0, above it to go on elsewhere, below it to stop."""
    pytest.importorskip("nutpie")
    x = dt.tensor("x", dims=COUNTRY)
    recorded = {"twice": dt.check(x < 2.5, "small", 2 * x)}
    logp = -0.5 * (dt.check(x > 0, "positive", x) ** 2).sum()
    model = dt.LogDensity(logp, {x: dt.real}, deterministics=recorded)
    compiled = model.to_nutpie()
    gradient, value, expanded = np.zeros(3), np.zeros(1), np.zeros(6)
    table = compiled.user_data.ctypes.data

    def run(point):
        x = np.array(point)
        density = compiled.compiled_logp_func.ctypes(
            3, *(array.ctypes.data_as(DOUBLES) for array in (x, gradient, value)), table
        )
        record = compiled.compiled_expand_func.ctypes(
            3, 6, x.ctypes.data_as(DOUBLES), expanded.ctypes.data_as(DOUBLES), table
        )
        return density, record

    assert run([0.5, 1.0, 2.0]) == (0, 0)
    assert (value[0], gradient.tolist()) == (-2.625, [-0.5, -1.0, -2.0])
    assert expanded.tolist() == [0.5, 1.0, 2.0, 1.0, 2.0, 4.0]
    assert run([0.5, -1.0, 2.0]) == (2, 0)
    assert run([0.5, 1.0, 3.0]) == (0, -3)
    with pytest.raises(dt.CheckError, match=r"small\n  false: 1 of 3 .*\n  at: country='USA'"):
        model.constrain(np.array([0.5, 1.0, 3.0]))


@pytest.mark.parametrize("backend", ["python", pytest.param("numba", marks=pytest.mark.compiled)])
def test_samplers_never_see_a_slope_of_zero(backend):
    """nutpie panics where an element of a gradient is 0 when it looks at a point again."""
    pytest.importorskip("nutpie")
    from dimtensor.interop.nutpie_models import _refusing

    x = dt.tensor("x", dims=COUNTRY)
    model = dt.LogDensity(-0.5 * (dt.maximum(x, 0.0) ** 2).sum(), {x: dt.real}, backend=backend)
    point, gradient, value = np.array([2.0, -1.0, 1.0]), np.zeros(3), np.zeros(1)
    assert model.logp_and_grad(point)[1].tolist() == [-2.0, 0.0, -1.0]
    if backend == "python":
        value[0], gradient = _refusing(model)(point)
    else:
        compiled = model.to_nutpie()
        given = [array.ctypes.data_as(DOUBLES) for array in (point, gradient, value)]
        assert compiled.compiled_logp_func.ctypes(3, *given, compiled.user_data.ctypes.data) == 0
    assert value[0] == -2.5
    assert gradient.tolist() == [-2.0, 1e-100, -1.0]


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:the draws may not be:dimtensor.SamplingWarning")
def test_a_density_that_is_flat_in_places_is_sampled():
    """Of a Dirichlet distribution of a's with sum A, the squares add up to (a + 1) / (A + 1)."""
    pytest.importorskip("nutpie")
    k = dt.Dim("k", length=29)
    p = dt.rv("p", dt.dist.Dirichlet(dt.full(k, 0.01), dim=k))
    for seed in (6, 7):  # both stopped in nutpie
        post = dt.Model(p).sample(
            500, tune=500, chains=4, seed=seed, prior=True, progress_bar=False, report=False
        )
        # of a chain: one that starts in a corner may stay there, by the last bits of its density
        squares = (post["posterior"]["p"] ** 2).sum("k").mean("draw").median("chain")
        assert float(squares) == pytest.approx(1.01 / 1.29, abs=0.03)


def test_a_panic_of_nutpie_is_an_error_of_ours(monkeypatch):
    nutpie = pytest.importorskip("nutpie")

    class PanicException(BaseException):
        """As of PyO3."""

    class Running:
        def wait(self, timeout):
            raise PanicException("Poisoned sampler state mutex")

    monkeypatch.setattr(nutpie, "sample", lambda *_, **__: Running())
    x = dt.scalar("x")
    model = dt.LogDensity(-0.5 * x**2, {x: dt.real}, backend="python")
    with pytest.raises(dt.DimtensorError, match=r"error of its own(.|\n)*Poisoned(.|\n)*blackjax"):
        dt.sample(model, 5, tune=5, progress_bar=False)


@pytest.mark.compiled
def test_a_pure_jax_function_is_minus_infinity():
    jax = pytest.importorskip("jax")
    log_density = half_normal("python").to_blackjax()
    assert float(log_density(-GOOD.astype("float32"))) == -7.0
    for function in (log_density, jax.jit(log_density)):
        assert float(function(GOOD.astype("float32"))) == -np.inf
    points = np.stack([-GOOD, BAD]).astype("float32")
    assert jax.vmap(log_density)(points).tolist() == [-7.0, -np.inf]
