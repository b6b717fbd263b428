"""What samplers do not take, and errors in the middle of sampling: what they name and keep."""

from __future__ import annotations

import inspect
import signal

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.interop.nutpie import _kept_chains
from dimtensor.model.inference import memory

pytest.importorskip("nutpie")
QUIET = {"progress_bar": False, "report": False, "seed": 1}


class Trap:
    """A positional operation that is its input, and raises an error from some call on."""

    def __new__(cls, calls):
        from pytensor.graph.basic import Apply
        from pytensor.graph.op import Op

        class Trapped(Op):
            left = calls

            def make_node(self, x):
                return Apply(self, [x], [x.type()])

            def perform(self, node, inputs, outputs):
                Trapped.left -= 1
                if Trapped.left < 0:
                    raise KeyError("the trap")
                outputs[0][0] = np.asarray(inputs[0])

            def pullback(self, inputs, outputs, cotangents):
                return cotangents

        return Trapped()


def trapped(calls, backend):
    x = dt.scalar("x")
    wrapped = dt.apply(Trap(calls), 2.0 * x)  # the line of the trap
    line = inspect.currentframe().f_lineno - 1
    return dt.LogDensity(-(wrapped**2), {x: dt.real}, backend=backend), line


@pytest.mark.parametrize(
    "backend", ["python", pytest.param("numba", marks=[pytest.mark.compiled, pytest.mark.slow])]
)
@pytest.mark.parametrize("calls", [0, 200])
def test_an_error_of_an_operation_names_it_and_keeps_the_draws(calls, backend, monkeypatch):
    monkeypatch.setenv("DIMTENSOR_NATIVE", "on")  # machine code that is numba's calls Python
    model, line = trapped(calls, backend)
    with pytest.raises(dt.ComputationError, match="operation of the log density") as found:
        dt.sample(model, 5000, tune=20, chains=2, cores=2, **QUIET)
    error = found.value
    assert isinstance(error.__cause__, KeyError)
    assert "it says: KeyError: 'the trap'" in str(error)
    assert "expression: Trapped(2 * x)" in str(error)
    assert f"line: test_sampler_errors.py:{line}  wrapped = dt.apply(Trap(calls)" in str(error)
    draws = getattr(error, "draws", None)
    assert (draws is not None) == (calls > 0)
    if draws is not None:
        x = draws["posterior"]["x"]
        assert 1 <= x.sizes["draw"] < 200
        assert np.isfinite(x).all()
        assert draws["sample_stats"].sizes == x.sizes


def test_an_interruption_keeps_the_draws():
    x = dt.scalar("x")
    model = dt.LogDensity(-(x**2), {x: dt.real}, backend="python")

    told = []

    def soon(chains):
        if min(chain.finished_draws for chain in chains) > 100 and not told:
            told.append(True)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as found:
        dt.sample(model, 10**6, tune=20, chains=2, cores=2, progress_callback=soon, **QUIET)
    draws = found.value.draws["posterior"]["x"]
    # a chain far behind the other is left out, as the operating system may have chosen
    assert draws.sizes["chain"] in (1, 2)
    assert draws.sizes["draw"] > 10
    assert abs(float(draws.mean())) < 1.0
    assert "`import sys; post = sys.last_value.draws`" in found.value.__notes__[0]


@pytest.mark.parametrize(
    ("lengths", "chains", "number"),
    [
        ([500, 500], [0, 1], 500),
        ([100, 51], [0, 1], 51),
        ([49, 100], [1], 100),
        ([0, 0], [0], 0),
        ([7, 0, 9, 8], [0, 2, 3], 7),
    ],
)
def test_most_of_the_draws_of_unequal_chains_are_kept(lengths, chains, number):
    assert _kept_chains(lengths) == (chains, number)


@pytest.mark.filterwarnings("ignore:the draws may not be:dimtensor.SamplingWarning")
def test_matrices_that_have_no_factor_are_refused():
    """NumPy raises an error for them, where machine code has NaN: neither ends the sampling."""
    row, col = dt.Dim("row", length=2), dt.Dim("col", length=2)
    x = dt.scalar("x")
    matrix = dt.where(x < 1.0, 1.0, -1.0) * dt.data(np.eye(2), dims=[row, col])
    logp = dt.linalg.cholesky(matrix, dims=(row, col)).sum() - (x - 0.5) ** 2
    model = dt.LogDensity(logp, {x: dt.real}, backend="python")
    post = dt.sample(model, 50, tune=50, chains=2, **QUIET)
    assert (post["posterior"]["x"] < 1.0).all()


@pytest.mark.parametrize("sampler", ["nutpie", "numpyro", "blackjax"])
@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"draws": 10**12}, r"sample: 1,000,000,000,000 draws and 1,000 of tuning of 2 chains need "
            r"\d+ TB of memory or more, .* are there\n  a draw: 1 elements .*\nhint: draw fewer"),
        ({"draws": 10**30}, r"need 1\.\d+e\+14 EB"),
        ({"tune": 10**13}, r"5 draws and 10,000,000,000,000 of tuning(.|\n)*hint: .* tune=1000"),
        ({"chains": 10**9}, r"5 draws .* of 1,000,000,000 chains (.|\n)*hint: take fewer chains"),
    ],
)  # fmt: skip
def test_draws_that_do_not_fit_into_memory_are_an_error_before_anything_is_made(
    sampler, numbers, message
):
    pytest.importorskip(sampler)
    x = dt.scalar("x")
    model = dt.LogDensity(-(x**2), {x: dt.real}, backend="python")
    asked = {"draws": 5, "tune": 1000, "chains": 2, **numbers}
    with pytest.raises(dt.MemoryLimitError, match=message):
        dt.sample(model, sampler=sampler, **asked, **QUIET)
    assert not model.stats


def test_approximations_do_not_draw_more_than_fits_either():
    from dimtensor import dist

    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    fit = dt.Model(dt.rv("y", dist.Normal(mu, 1.0)), backend="python").observe(y=1.0)
    with pytest.raises(dt.MemoryLimitError, match="laplace: 1,000,000,000,000 draws need 88 TB"):
        fit.laplace(10**12, seed=1)
    with pytest.raises(dt.MemoryLimitError, match="pathfinder: 1,000,000,000,000 draws need 88 TB"):
        fit.pathfinder(10**12, seed=1)
    with pytest.raises(dt.MemoryLimitError, match="advi: 1,000,000,000,000 draws need 88 TB"):
        fit.advi(10**12, seed=1)


def test_the_memory_that_is_there():
    assert 2**20 < memory.available() < 2**47


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"draws": 0}, "draws=0 is below 1"),
        ({"draws": -3}, "draws=-3 is below 1"),
        ({"draws": True}, "draws is an integer, not True"),
        ({"draws": 10.0}, r"draws is an integer, not 10\.0"),
        ({"draws": "10"}, "draws is an integer, not '10'"),
        ({"draws": None}, "draws is an integer, not None"),
        ({"chains": None}, "chains is an integer, not None"),
        ({"chains": 0}, "chains=0 is below 1"),
        ({"tune": False}, "tune is an integer, not False"),
        ({"cores": 1.5}, r"cores is an integer, not 1\.5"),
        ({"seed": -1}, r"seed=-1 is not between 0 and 2\*\*63 - 1"),
        ({"seed": 2**70}, r"seed=1180591620717411303424 is not between 0 and 2\*\*63 - 1"),
        ({"seed": "x"}, "seed is an integer, not 'x'"),
    ],
)
def test_numbers_that_sample_does_not_take(numbers, message):
    x = dt.scalar("x")
    model = dt.LogDensity(-(x**2), {x: dt.real}, backend="python")
    with pytest.raises(dt.OptionError, match=f"sample: {message}"):
        dt.sample(model, **{"draws": 5, "tune": 5, **QUIET, **numbers})


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:the draws may not be:dimtensor.SamplingWarning")
@pytest.mark.parametrize("sampler", ["numpyro", "blackjax"])
def test_an_error_of_a_callback_on_jax_names_its_expression_and_keeps_the_draws(sampler):
    pytest.importorskip(sampler)
    import jax
    from pytensor.link.jax.dispatch import jax_funcify

    operation = Trap(10**9)
    left = [50]

    def on_host(x):
        left[0] -= 1
        if left[0] < 0:
            raise KeyError("the trap")
        return np.asarray(x, "float32")

    @jax_funcify.register(type(operation))
    def translate(op, **_):
        @jax.custom_jvp
        def call(x):
            # JAX may call back from a thread of its own, whose 64-bit mode is off
            shape = jax.ShapeDtypeStruct(x.shape, "float32")
            found = jax.pure_callback(on_host, shape, x, vmap_method="sequential")
            return found.astype(x.dtype)

        call.defjvp(lambda primals, tangents: (call(*primals), tangents[0]))
        return call

    x = dt.scalar("x")
    model = dt.LogDensity(-(dt.apply(operation, 2.0 * x) ** 2), {x: dt.real}, backend="jax")
    for tune in (100, 2):
        left[0] = 50 if tune == 100 else 2000
        with pytest.raises(dt.ComputationError, match=r"expression: Trapped\(2 \* x\)") as found:
            dt.sample(model, 10**5, tune=tune, chains=2, sampler=sampler, **QUIET)
        assert isinstance(found.value.__cause__, KeyError)
        assert hasattr(found.value, "draws") == (tune == 2)
    assert 1 <= found.value.draws["posterior"].sizes["draw"] < 2000
