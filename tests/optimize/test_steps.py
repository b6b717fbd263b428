"""Steps of loops on JAX: what goes with loops of numbers, products of matrices and pieces."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.subtensor import Subtensor

import dimtensor as dt
from dimtensor.backends import python as interpreter
from dimtensor.backends.jax import compile_positional
from dimtensor.ops.loop import Scan, scan
from dimtensor.optimize.loops.driver import rewrite_loops
from dimtensor.optimize.rules import rewrite
from dimtensor.optimize.steps import for_xla
from dimtensor.optimize.target import Target
from dimtensor.optimize.trace_sums import _pieces_first, absorb_sums
from dimtensor.testing.differences import gradient_by_differences
from tests.ops.loop.runs import loops_of
from tests.optional import jax

Y, A = pt.dvector("y"), pt.dscalar("a")
ONE = pt.as_tensor(np.float64(1.0))
XLA = Target(rewrites=True, costly_loops=True)


def variances():
    """A recursion over squares, and what is computed of its trace."""

    def step(states, xs):
        (h,) = states
        return [A + 0.8 * h + 0.1 * xs[0]], [h]

    squares = pt.sqr(Y - A)
    h = scan(step, [ONE], [squares]).traces[0]
    return pt.where(pt.gt(h, 1.2), pt.log(h), pt.exp(-h)) + squares / h, h


def expected(y, a):
    h, found, trace = 1.0, [], []
    for x in y:
        square = (x - a) ** 2
        found.append((np.log(h) if h > 1.2 else np.exp(-h)) + square / h)
        trace.append(h)
        h = a + 0.8 * h + 0.1 * square
    return np.array(found), np.array(trace)


def vectors(graph):
    """Operations on elements outside of loops, but for those that only tell a length."""
    rewrite(graph)
    nodes = (node for node in graph.apply_nodes if isinstance(node.op, Elemwise))
    return [node for node in nodes if node.outputs[0].type.ndim]


@pytest.mark.parametrize("n", [0, 1, 9])
def test_sums_and_elements_go_into_the_steps(n, rng):
    terms, _ = variances()
    graph = FunctionGraph([Y, A], [terms.sum(), terms.sum() * A], clone=True)
    assert absorb_sums(graph, XLA)
    assert vectors(graph) == []
    y = rng.normal(size=n)
    found = interpreter.compile_positional(graph.inputs, graph.outputs).call(y, np.asarray(0.4))
    total = expected(y, 0.4)[0].sum()
    np.testing.assert_allclose(found, [total, total * 0.4], rtol=1e-13)


def test_what_is_a_result_is_computed_once(rng):
    terms, h = variances()
    graph = FunctionGraph([Y, A], [terms, terms.sum(), h], clone=True)
    absorb_sums(graph, XLA)
    assert len([node for node in vectors(graph) if node.outputs[0] is graph.outputs[0]]) == 1
    y = rng.normal(size=6)
    found = interpreter.compile_positional(graph.inputs, graph.outputs).call(y, np.asarray(0.4))
    terms, trace = expected(y, 0.4)
    for one, other in zip(found, [terms, terms.sum(), trace], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def test_pieces_are_taken_of_what_is_not_repeated(rng):
    """An operand of length 1 is repeated for the piece, too."""
    one = pt.tensor("one", shape=(1,))
    graph = FunctionGraph([Y, one], [(pt.exp(Y) * one)[1:3]], clone=True)
    _pieces_first(graph)
    y, factor = rng.normal(size=5), np.array([0.7])
    (found,) = interpreter.compile_positional(graph.inputs, graph.outputs).call(y, factor)
    np.testing.assert_allclose(found, np.exp(y[1:3]) * 0.7, rtol=1e-14)
    assert isinstance(graph.outputs[0].owner.op, Elemwise)


def test_pieces_of_what_is_read_in_full_are_taken_of_that(rng):
    whole = pt.exp(Y)
    graph = FunctionGraph([Y], [whole[1:3], whole.sum()], clone=True)
    _pieces_first(graph)
    assert isinstance(graph.outputs[0].owner.op, Subtensor)
    y = rng.normal(size=5)
    found = interpreter.compile_positional(graph.inputs, graph.outputs).call(y)
    for each, wanted in zip(found, [np.exp(y[1:3]), np.exp(y).sum()], strict=True):
        np.testing.assert_allclose(each, wanted, rtol=1e-14)


def test_loops_of_arrays_stay_as_they_are():
    start = pt.zeros(3)
    trace = scan(lambda s, x: ([s[0] + x[0]], [s[0].sum()]), [start], [pt.exp(Y)]).traces[0]
    graph = FunctionGraph([Y], [pt.log(trace).sum()], clone=True)
    assert not absorb_sums(graph, XLA)


@pytest.mark.compiled
def test_a_series_with_lags_and_its_gradient(rng):
    """Its gradient by the mean has one by what stands before the first value."""
    time = dt.Dim("time", length=7)
    series = rng.normal(size=7)
    y = dt.data(series, dims=time, name="y")
    inputs = [dt.scalar(name) for name in ("mu", "phi", "theta")]
    mu, phi, theta = inputs
    apart = y - mu - phi * y.shift({time: 1}, fill_value=mu)
    noise = dt.cumulate(lambda noise, apart: apart - theta * noise, 0.0, apart, dim=time)
    total = (noise**2).sum() + dt.exp(-(noise**2)).sum()
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend="jax")

    def by_hand(values):
        m, p, t = values
        noise = found = 0.0
        for now, before in zip(series, [m, *series], strict=False):
            noise = now - m - p * before - t * noise
            found += noise**2 + np.exp(-(noise**2))
        return found

    at = np.array([0.3, 0.6, 0.4])
    value, *slopes = f.positional(*map(np.asarray, at))
    np.testing.assert_allclose(value, by_hand(at), rtol=1e-12)
    np.testing.assert_allclose(slopes, gradient_by_differences(by_hand, at), rtol=1e-6)
    with jax.enable_x64(True):  # what JAX makes of the same code
        plain = f.positional
        by_jax = jax.grad(lambda *v: plain.raw(*v, *plain.fixed)[0], (0, 1, 2))(*at)
    np.testing.assert_allclose(by_jax, slopes, rtol=1e-10)


def gated(levels=1):
    """Two gates of a recurrent network with sixteen units, and what they depend on."""
    weights, start = pt.tensor("weights", shape=(2, 16, 16)), pt.tensor("start", shape=(16,))
    xs = pt.tensor("xs", shape=(3, 16))

    def step(states, elements):
        (hidden,) = states
        gates = (weights * hidden[None, :, None]).sum(1)
        return [hidden * gates[0] + pt.tanh(gates[1]) * elements[0]], []

    if levels == 1:
        return [weights, start, xs], scan(step, [start], [xs]).states[0]
    outer = scan(lambda states, _: (scan(step, states, [xs]).states, []), [start], [xs])
    return [weights, start, xs], outer.states[0]


def by_hand(jax_numpy, weights, start, xs):
    for x in xs:
        gates = jax_numpy.einsum("gij,i->gj", weights, start)
        start = start * gates[0] + jax_numpy.tanh(gates[1]) * x
    return start


def kinds(op):
    return [type(node.op).__name__ for node in op.body.toposort()]


def test_steps_multiply_matrices_and_join_pieces():
    inputs, state = gated()
    graph = FunctionGraph(inputs, pytensor.grad(state.sum(), inputs), clone=True)
    rewrite_loops(graph)
    for_xla(graph)
    forward, back = loops_of(graph)
    for op in (forward, back):
        assert "Dot" in kinds(op)
        assert "Sum" not in kinds(op)
        # matrices are made before the loop
        assert {v.type.ndim for v in op.body.inputs} == {1, 2}
    assert kinds(back).count("Join") == 1
    assert "IncSubtensor" not in kinds(back)


def test_so_do_loops_in_steps(rng):
    inputs, state = gated(levels=2)
    graph = FunctionGraph(inputs, [state], clone=True)
    rewrite_loops(graph)
    for_xla(graph)
    (outer,) = loops_of(graph)
    (inner,) = (node.op for node in outer.body.toposort() if isinstance(node.op, Scan))
    assert "Dot" in kinds(inner)
    values = [rng.normal(size=v.type.shape) / 4 for v in inputs]
    (found,) = interpreter.compile_positional(graph.inputs, graph.outputs).call(*values)
    wanted = values[1]
    for _ in range(3):
        wanted = by_hand(np, values[0], wanted, values[2])
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.compiled
def test_gradients_of_steps_that_multiply_matrices(rng):
    import jax.numpy as jnp

    inputs, state = gated()
    outputs = [state, *pytensor.grad(state.sum(), inputs)]
    values = [rng.normal(size=v.type.shape) / 4 for v in inputs]
    found = compile_positional(inputs, outputs).call(*values)
    with jax.enable_x64(True):
        slopes = jax.grad(lambda *given: by_hand(jnp, *given).sum(), (0, 1, 2))(*values)
    for one, other in zip(found, [by_hand(np, *values), *slopes], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
