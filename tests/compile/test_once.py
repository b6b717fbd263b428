"""What follows from data alone is computed once for them, and not at every call."""

import pickle

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.graph.fg import FunctionGraph
from scipy.special import gammaln, logsumexp

import dimtensor as dt
from dimtensor.compile.caching import cache
from dimtensor.errors import CheckError
from dimtensor.optimize.once import split_once

pytestmark = pytest.mark.compiled
COUNTS = np.array([0, 1, 4, 2, 7])
EXPOSED = np.array([1.0, 2.0, 0.5, 3.0, 1.5])


@pytest.fixture
def poisson():
    """A Poisson regression with exposures, its inputs, and its value and slope at some rate."""
    obs, rate = dt.Dim("obs"), dt.scalar("rate")
    k, exposed = dt.data(COUNTS, dims=obs, name="k"), dt.data(EXPOSED, dims=obs, name="exposed")
    eta = rate + dt.log(exposed - exposed.mean() / 4)
    logp = (k * eta - dt.exp(eta) - dt.special.gammaln(k + 1.0)).sum()

    def expected(at, counts=COUNTS):
        eta = at + np.log(EXPOSED - EXPOSED.mean() / 4)
        value = counts * eta - np.exp(eta) - gammaln(counts + 1.0)
        return value.sum(), (counts - np.exp(eta)).sum()

    return [rate], [logp, dt.grad(logp, rate)], expected


def times_called(f, monkeypatch):
    """A list that gets longer whenever what is computed once is computed."""
    calls = []
    kind = type(f.positional.executable)
    settled = kind.settled

    def counted(self, fixed):
        calls.append(self)
        return settled(self, fixed)

    monkeypatch.setattr(kind, "settled", counted)
    return calls


@pytest.mark.parametrize("backend", ["numba", "jax"])
def test_poisson(poisson, backend, monkeypatch):
    inputs, outputs, expected = poisson
    f = dt.function(inputs, outputs, backend=backend)
    assert f.positional.executable.once is not None
    for at in (0.3, -1.2):
        np.testing.assert_allclose([float(x) for x in f(at)], expected(at), rtol=1e-12)
        np.testing.assert_allclose(f.positional(np.array(at)), expected(at), rtol=1e-12)
    calls = times_called(f, monkeypatch)
    f(0.4), f(0.5), f.positional(np.array(0.1))
    assert not calls
    other = f.with_data(k=COUNTS[::-1])
    for at in (0.3, -1.2):
        np.testing.assert_allclose(
            [float(x) for x in other(at)], expected(at, COUNTS[::-1]), rtol=1e-12
        )
    assert len(calls) == 1
    again = pickle.loads(pickle.dumps(other))
    np.testing.assert_allclose([float(x) for x in again(0.2)], expected(0.2, COUNTS[::-1]))


@pytest.mark.parametrize("backend", ["numba", "jax"])
def test_two_inputs_and_one_array_of_data(backend):
    obs = dt.Dim("obs", length=3)
    x, y = dt.tensor("x", dims=obs), dt.scalar("y")
    counts = np.array([1.0, 4.0, 9.0])
    f = dt.function(
        [x, y], y * (x - dt.special.gammaln(dt.data(counts, dims=obs))), backend=backend
    )
    assert f.positional.executable.once is not None
    at = np.array([0.5, 1.5, 2.5])
    for _ in range(2):
        np.testing.assert_allclose(f(at, 2.0).values, 2 * (at - gammaln(counts)), rtol=1e-12)
        (found,) = f.positional(at, np.array(2.0))
        np.testing.assert_allclose(found, 2 * (at - gammaln(counts)), rtol=1e-12)


def test_no_function_of_data_is_in_the_loop_of_a_call(poisson):
    inputs, outputs, _ = poisson
    f = dt.function(inputs, outputs)
    assert "np.log(" in f.once_source
    assert "np.log(" not in f.source
    assert "gammaln(" in f.once_source
    assert "gammaln(" not in f.source
    assert f.source.count(".exp(") == 1


def test_binomial_coefficients():
    """The likelihood of capture and recapture: choose(n, k) of data, and one parameter."""
    animal, p, n = dt.Dim("animal"), dt.scalar("p"), 9
    k = dt.data(np.array([1.0, 3.0, 9.0]), dims=animal)
    choose = dt.special.gammaln(n + 1.0) - dt.special.gammaln(k + 1) - dt.special.gammaln(n - k + 1)
    logp = (choose + k * dt.log(p) + (n - k) * dt.log1p(-p)).sum()
    f = dt.function([p], [logp, dt.grad(logp, p)])
    assert "gammaln(" not in f.source
    assert "gammaln(" in f.once_source
    from scipy.stats import binom

    assert float(f(0.3)[0]) == pytest.approx(binom.logpmf([1, 3, 9], n, 0.3).sum(), rel=1e-12)
    assert float(f(0.3)[1]) == pytest.approx(13 / 0.3 - (27 - 13) / 0.7, rel=1e-12)


@pytest.mark.parametrize(
    ("values", "is_kept"),
    [(COUNTS, True), (COUNTS.astype("int32"), False), (COUNTS > 2, False)],
    ids=["long", "short", "bool"],
)
def test_long_integers_become_floats_once(values, is_kept):
    obs, slope = dt.Dim("obs"), dt.scalar("slope")
    k, y = dt.data(values, dims=obs, name="k"), dt.data(EXPOSED, dims=obs, name="y")
    loss = dt.exp(slope * k - y).sum()
    f = dt.function([slope], [loss, dt.grad(loss, slope)])
    assert ("float64(" in f.source) != is_kept
    terms = np.exp(0.2 * values - EXPOSED)
    np.testing.assert_allclose(f(0.2), [terms.sum(), (values * terms).sum()], rtol=1e-14)


def test_masks_that_become_floats_are_kept():
    obs, slope = dt.Dim("obs"), dt.scalar("slope")
    k, y = dt.data(COUNTS, dims=obs, name="k"), dt.data(EXPOSED, dims=obs, name="y")
    loss = dt.exp(slope * (k == 4).astype("float64") - y).sum()
    f = dt.function([slope], [loss])
    assert "float64(" not in f.source
    np.testing.assert_allclose(f(0.2), [np.exp(0.2 * (COUNTS == 4) - EXPOSED).sum()], rtol=1e-14)


def test_log_density(poisson):
    (rate,), (logp, _), expected = poisson
    model = dt.LogDensity(logp, {rate: dt.real})
    value, slope = model.logp_and_grad(np.array([0.3]))
    np.testing.assert_allclose([value, slope[0]], expected(0.3), rtol=1e-12)
    assert model.functions.get("logp_and_grad").once_source
    new = model.with_data(k=COUNTS + 1)
    value, slope = new.logp_and_grad(np.array([0.3]))
    np.testing.assert_allclose([value, slope[0]], expected(0.3, COUNTS + 1), rtol=1e-12)


def test_code_from_disk(poisson, monkeypatch, tmp_path):
    inputs, outputs, expected = poisson
    monkeypatch.setenv("DIMTENSOR_CACHE", "1")
    monkeypatch.setenv("DIMTENSOR_CACHE_DIR", str(tmp_path))
    cache.forget()
    first = dt.function(inputs, outputs)
    first(0.0)
    cache.forget()
    f = dt.function(inputs, outputs)
    np.testing.assert_allclose([float(x) for x in f(0.3)], expected(0.3), rtol=1e-12)
    assert set(f.stats) == {"cache"}
    assert f.once_source == first.once_source != ""
    other = f.with_data(k=COUNTS * 2)
    np.testing.assert_allclose([float(x) for x in other(0.3)], expected(0.3, COUNTS * 2))
    assert "kernel" in f.assembly
    cache.forget()


def test_lower_levels(poisson):
    inputs, outputs, expected = poisson
    f = dt.function(inputs, outputs)
    np.testing.assert_allclose(f.numba(np.array(0.3), *f.fixed), expected(0.3), rtol=1e-12)
    import ctypes

    compiled = f.c_function()
    call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    at, value, slope = np.array(0.3), np.empty(()), np.empty(())
    arrays = (ctypes.c_void_p * 1)(at.ctypes.data)
    results = (ctypes.c_void_p * 2)(value.ctypes.data, slope.ctypes.data)
    assert call(compiled.address)(arrays, results, compiled.closure) == 0
    np.testing.assert_allclose([value, slope], expected(0.3), rtol=1e-12)


def test_pure_function_of_jax(poisson):
    jax = pytest.importorskip("jax")
    inputs, outputs, expected = poisson
    f = dt.function(inputs, outputs)
    with jax.enable_x64(True):
        value, slope = jax.jit(f.jax)(0.3)
        slopes = jax.vmap(jax.grad(lambda x: f.jax(x)[0]))(np.array([0.3, 0.5]))
    np.testing.assert_allclose([value, slope], expected(0.3), rtol=1e-12)
    np.testing.assert_allclose(slopes, [expected(0.3)[1], expected(0.5)[1]], rtol=1e-12)


def kept(f):
    """Numbers of axes of the arrays that are computed once."""
    executable = f.positional.executable
    if executable.once is None:
        return []
    fixed = f.positional._held
    return [x.ndim for x in executable.settled(fixed)[len(fixed) :]]


def test_what_is_larger_than_data_is_computed_again():
    """Vectors of 10,000 numbers are not kept as a matrix that nobody stores."""
    i, j, a = dt.Dim("i"), dt.Dim("j"), dt.scalar("a")
    x, y = np.linspace(0, 1, 30), np.linspace(1, 2, 20)
    product = dt.sin(dt.data(x, dims=i) * dt.data(y, dims=j))
    f = dt.function([a], dt.exp(a * product).sum())
    assert 2 not in kept(f)
    assert float(f(0.5)) == pytest.approx(np.exp(0.5 * np.sin(x[:, None] * y)).sum(), rel=1e-12)


def test_a_matrix_is_kept_beside_one_that_calls_store():
    """The distances of places, in a covariance matrix that is factored at every call."""
    i, axis, scale = dt.Dim("i"), dt.Dim("axis"), dt.scalar("scale")
    places = np.random.default_rng(1).normal(size=(6, 2))
    at = dt.data(places, dims=[i, axis])
    there = at.rename({i: "j"})
    distance = dt.sqrt(((at - there) ** 2).sum(axis) + 1.0)
    (other,) = [dim for dim in distance.dims if dim is not i]
    matrix = dt.exp(-distance / scale)
    f = dt.function([scale], dt.linalg.slogdet(matrix, (i, other))[1])
    assert 2 in kept(f)
    found = np.sqrt(((places[:, None] - places) ** 2).sum(-1) + 1.0)
    expected = np.linalg.slogdet(np.exp(-found / 0.7))[1]
    assert float(f(0.7)) == pytest.approx(expected, rel=1e-10)


def test_few_products_are_computed_again():
    obs, a = dt.Dim("obs"), dt.scalar("a")
    x = dt.data(EXPOSED, dims=obs)
    f = dt.function([a], dt.exp(a * (2 * x + 1)).sum())
    assert f.once_source == ""


def test_results_are_nobody_elses():
    obs, a = dt.Dim("obs"), dt.scalar("a")
    x = dt.data(EXPOSED, dims=obs)
    logs = dt.log(x)
    f = dt.function([a], [(a * logs).sum(), logs])
    f(1.0)[1].values[:] = np.nan
    total, found = f(2.0)
    np.testing.assert_allclose(found.values, np.log(EXPOSED), rtol=1e-15)
    assert float(total) == pytest.approx(2 * np.log(EXPOSED).sum(), rel=1e-14)


def test_checks_of_data():
    obs, a = dt.Dim("obs"), dt.scalar("a")
    x = dt.data(EXPOSED, dims=obs, name="x")
    logs = dt.check((x > 0).all(), "x is positive", dt.log(x))
    f = dt.function([a], (a * logs).sum())
    assert float(f(1.0)) == pytest.approx(np.log(EXPOSED).sum(), rel=1e-14)
    bad = f.with_data(x=-EXPOSED)
    with pytest.raises(CheckError, match="x is positive"):
        bad(1.0)
    assert float(f.with_data(x=EXPOSED * 2)(1.0)) == pytest.approx(np.log(EXPOSED * 2).sum())


def test_loops_over_data():
    """A loop over data alone is run once, and its end read at every call."""
    time, a = dt.Dim("time"), dt.scalar("a")
    x = dt.data(EXPOSED, dims=time)
    smooth = dt.cumulate(lambda s, v: 0.5 * s + dt.tanh(v), 0.0, x, time)
    f = dt.function([a], dt.exp(a * smooth).sum())
    state, expected = 0.0, 0.0
    for v in EXPOSED:
        state = 0.5 * state + np.tanh(v)
        expected += np.exp(0.3 * state)
    assert float(f(0.3)) == pytest.approx(expected, rel=1e-13)
    assert "tanh" in f.once_source
    assert "tanh" not in f.source


def test_selections_of_data_by_data():
    obs, group, a = dt.Dim("obs"), dt.Dim("group", coords=["p", "q"]), dt.scalar("a")
    of = dt.data(["q", "p", "q", "q", "p"], dims=obs, categories=group, name="of")
    level = dt.data([1.0, 3.0], dims=group)
    shifted = (level.sel(group=of) - dt.data(EXPOSED, dims=obs)) ** 2
    f = dt.function([a], dt.logsumexp(a * shifted, obs))
    expected = (np.array([3.0, 1, 3, 3, 1]) - EXPOSED) ** 2
    assert float(f(0.3)) == pytest.approx(logsumexp(0.3 * expected), rel=1e-13)
    expected = (np.array([1.0, 1, 3, 3, 1]) - EXPOSED) ** 2
    other = f.with_data(of=["p", "p", "q", "q", "p"])
    assert float(other(0.3)) == pytest.approx(logsumexp(0.3 * expected), rel=1e-13)


@pytest.mark.parametrize("backend", ["numba", "jax"])
def test_lengths_that_data_have_are_theirs(backend):
    """Else what follows from data and their length would follow from the inputs of a call."""
    obs = dt.Dim("obs")
    x, k = dt.tensor("x", dims=obs), dt.data(EXPOSED, dims=obs, name="k")
    weight = dt.special.gammaln(k + dt.arange(obs) / dt.length(obs))
    f = dt.function([x], (weight * x).sum(), backend=backend)
    values = np.arange(5.0)
    expected = (gammaln(EXPOSED + values / 5) * values).sum()
    np.testing.assert_allclose(f(values), expected)
    (kept,) = f.positional.executable.settled([EXPOSED])[1:]
    np.testing.assert_allclose(kept, gammaln(EXPOSED + values / 5))
    other = f.with_data(k=EXPOSED[:2])
    np.testing.assert_allclose(
        other(values[:2]), (gammaln(EXPOSED[:2] + values[:2] / 2) * values[:2]).sum()
    )


@pytest.mark.parametrize("backend", ["numba", "jax"])
def test_what_a_mask_of_data_selects(backend):
    """Its length follows from data alone, so JAX compiles what reads it."""
    obs = dt.Dim("obs")
    x, k = dt.tensor("x", dims=obs), dt.data(EXPOSED, dims=obs, name="k")
    some = k > 1.0
    total = (k[some] * dt.exp(x[some])).sum()
    f = dt.function([x], [total, dt.grad(total, x)], backend=backend)
    values = np.linspace(-1.0, 1.0, 5)
    for data in (EXPOSED, EXPOSED[::-1] - 0.8):
        each = np.where(data > 1.0, data * np.exp(values), 0.0)
        value, slope = f.with_data(k=data)(values)
        np.testing.assert_allclose(value, each.sum())
        np.testing.assert_allclose(slope, each)
    once = f.positional.executable.once
    assert once is not None
    settled = [x.tolist() for x in f.positional.executable.settled([EXPOSED])[1:]]
    assert EXPOSED[EXPOSED > 1.0].tolist() in settled
    if backend == "jax":
        import jax

        assert "pure_callback" not in str(jax.make_jaxpr(f.jax)(values))


def test_a_length_that_follows_from_an_input_of_a_call_is_not_known():
    import pytensor.tensor as pt
    from pytensor.graph.fg import FunctionGraph

    from dimtensor.optimize.once import lengths_are_known

    x, i, mask = pt.dvector("x"), pt.lscalar("i"), pt.vector("mask", dtype="bool")
    at = pt.lvector("at")
    fine = [x[at].sum(), pt.zeros(x.shape[0] + 1) + 1.0, x[1:], x.reshape((2, -1))]
    assert lengths_are_known(FunctionGraph([x, at], fine, clone=False))
    for late in (x[:i], pt.zeros(i), pt.arange(i), x[mask], mask.nonzero()[0], x.reshape((i, -1))):
        assert not lengths_are_known(FunctionGraph(None, [late], clone=False))


def test_transposed_data_are_added_up_in_the_order_in_which_calls_read_them():
    """A table made by row that calls read by column is kept by column."""
    w, x, v = pt.dmatrix("w"), pt.dmatrix("x"), pt.dvector("v")
    for table, is_kept in ((x.T + v, True), (x + v, False)):
        graph = FunctionGraph([w, x, v], [pt.exp(w + table).sum()], clone=False)
        assert (split_once(graph, [x, v]) is not None) == is_kept
