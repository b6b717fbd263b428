"""The interpreter of positional graphs, and constants that are folded by it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import mpmath
import numpy as np
import pytensor.link.c.basic
import pytensor.tensor as pt
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.maker import FunctionMaker
from pytensor.graph.basic import Apply, Constant
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.graph.replace import vectorize_graph
from pytensor.graph.traversal import ancestors, explicit_graph_inputs
from pytensor.scalar.math import Log1mexp, Softplus
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.subtensor import AdvancedIncSubtensor

from dimtensor.ops.interpret import Interpreter
from dimtensor.ops.special import vanishing
from dimtensor.optimize.rules import rewrite
from dimtensor.optimize.rules.known import with_known_values
from tests.steps import counted_calls

# of small ints NumPy's give an int, and a number of half precision
OF_INTS = {"reciprocal": lambda n: 1 / n, "log": np.log, "exp": np.exp, "sin": np.sin}


@pytest.mark.parametrize("name", OF_INTS)
def test_functions_of_small_ints_are_computed_in_the_dtype_of_the_result(name):
    expected = OF_INTS[name](np.array([2.0, 7.0]))
    for _ in range(2):  # PyTensor prepares an operation for its first node
        n = pt.vector("n", dtype="int8")
        (found,) = Interpreter([n], [getattr(pt, name)(n)])(np.array([2, 7], dtype="int8"))
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", OF_INTS)
def test_functions_of_small_ints_are_folded_in_the_dtype_of_the_result(name):
    expected = OF_INTS[name](np.array([2.0, 7.0]))
    for _ in range(2):
        n = pt.constant(np.array([2, 7], dtype="int8"))
        graph = FunctionGraph([], [getattr(pt, name)(n)], clone=True)
        rewrite(graph)
        np.testing.assert_allclose(graph.outputs[0].data, expected, rtol=1e-6)


def test_the_logarithm_of_gamma_is_folded():
    x = np.array([[0.5, 1.0, 1.5, 2.0], [7.0, 0.0, -0.5, np.inf]])
    half = 0.5 * np.log(np.pi)
    expected = [[half, 0.0, half - np.log(2), 0.0], [np.log(720), np.inf, half + np.log(2), np.inf]]
    for part, wanted in ((x, expected), (x[:1], expected[:1]), (np.array(7.0), np.log(720))):
        graph = FunctionGraph([], [pt.gammaln(pt.constant(part))], clone=True)
        rewrite(graph)
        np.testing.assert_allclose(graph.outputs[0].data, wanted, rtol=1e-15, atol=1e-16)
    graph = FunctionGraph([], [pt.gammaln(pt.constant(np.float32(2.5)))], clone=True)
    rewrite(graph)
    assert graph.outputs[0].dtype == "float32"
    np.testing.assert_allclose(graph.outputs[0].data, np.log(1.5) + half - np.log(2), rtol=1e-6)


def test_vanishing_products_are_zeros_made_at_once_and_not_one_by_one():
    """Gradients of chains of states are full of them: it was most of the time of `recover`."""
    x, y = pt.vector("x", dtype="float32"), pt.matrix("y")
    run = Interpreter([x, y], [vanishing(x, y)])
    few = np.ones(2, dtype="float32"), np.ones((3, 2))
    many = np.full(5000, np.inf, dtype="float32"), np.full((3, 5000), np.nan)
    with counted_calls() as of_few:
        (found,) = run(*few)
    np.testing.assert_array_equal(found, np.zeros((3, 2)), strict=True)
    with counted_calls() as of_many:
        run(*many)
    assert of_many.number == of_few.number


def test_a_negative_zero_is_repeated_with_its_sign():
    x = pt.scalar("x")
    (found,) = Interpreter([x], [pt.alloc(x, 2, 3)])(np.array(-0.0))
    np.testing.assert_array_equal(np.signbit(found), np.ones((2, 3), dtype=bool), strict=True)


CORE = pt.dvector("core")


def in_a_graph_of_its_own(x):
    y = x.type("y")
    return OpFromGraph([y], [pt.exp(y), pt.sort(y, axis=-1)])(x)[1]


BATCHED = {
    "dot": lambda x: x @ x.mT,
    "sort": lambda x: pt.sort(x, axis=-1),
    "cumulative sum": lambda x: vectorize_graph(CORE.cumsum(), {CORE: x[0]}),
    "diagonal": lambda x: vectorize_graph(pt.diag(CORE), {CORE: x[0]}),
    "inverse": lambda x: pt.linalg.inv(x @ x.mT + pt.eye(3)),
    "update": lambda x: vectorize_graph(CORE[:2].set(0.5), {CORE: x[0]}),
    "graph": in_a_graph_of_its_own,
}
EXPECTED = {
    "dot": lambda x: x @ x.transpose(0, 2, 1),
    "sort": lambda x: np.sort(x, axis=-1),
    "cumulative sum": lambda x: np.cumsum(x[0], axis=-1),
    "diagonal": lambda x: np.array([np.diag(row) for row in x[0]]),
    "inverse": lambda x: np.linalg.inv(x @ x.transpose(0, 2, 1) + np.eye(3)),
    "update": lambda x: np.concatenate([np.full((3, 2), 0.5), x[0, :, 2:]], axis=1),
    "graph": lambda x: np.sort(x, axis=-1),
}


@pytest.mark.parametrize("name", BATCHED)
def test_nothing_is_compiled(name, monkeypatch, rng):
    """PyTensor writes C code for what it performs over a batch, and compiles graphs in nodes."""
    x = pt.dtensor3("x")
    values = rng.normal(size=(2, 3, 4))
    run = Interpreter([x], [BATCHED[name](x)])
    for place, function in ((pytensor.link.c.basic, "get_module_cache"), (FunctionMaker, "create")):
        monkeypatch.setattr(place, function, lambda *given, **named: pytest.fail("compiled"))
    (found,) = run(values)
    np.testing.assert_allclose(found, EXPECTED[name](values), rtol=1e-12)


@pytest.mark.parametrize("name", sorted(set(BATCHED) - {"graph", "diagonal"}))
def test_nothing_is_compiled_where_constants_are_folded(name, monkeypatch, rng):
    values = rng.normal(size=(2, 3, 4))
    graph = FunctionGraph([], [BATCHED[name](pt.constant(values))], clone=True)
    monkeypatch.setattr(
        pytensor.link.c.basic, "get_module_cache", lambda *given: pytest.fail("compiled")
    )
    rewrite(graph)
    np.testing.assert_allclose(graph.outputs[0].data, EXPECTED[name](values), rtol=1e-12)


def test_lengths_that_follow_from_constants_are_known():
    x = pt.dmatrix("x")
    weights = pt.constant(np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    first, second = pt.triu(weights).nonzero()
    _, (found,) = with_known_values([x], [x[first, second]])
    assert found.type.shape == (2,)
    values = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(found.eval({found.owner.inputs[0]: values}), [1.0, 5.0])


def test_constants_of_more_elements_than_they_are_computed_from_are_left_out():
    x, column = pt.dmatrix("x"), pt.constant(np.arange(100.0)[:, None])
    _, (found,) = with_known_values([x], [x + column @ column.T])
    sizes = [v.data.size for v in ancestors([found]) if isinstance(v, Constant)]
    assert max(sizes) == 100


def test_masks_that_are_known_are_positions():
    x, mask = pt.dmatrix("x"), np.array([[True, False], [False, True]])
    put = AdvancedIncSubtensor((0,), set_instead_of_inc=True)
    _, (found,) = with_known_values([x], [put(x, pt.constant([[[7.0, 8.0]]]), pt.constant(mask))])
    assert not any(v.type.dtype == "bool" for v in ancestors([found]))
    result = found.eval({next(explicit_graph_inputs([found])): np.zeros((2, 2))})
    np.testing.assert_array_equal(result, [[7.0, 0.0], [0.0, 8.0]])


def test_functions_without_a_ufunc_are_computed_for_an_array_at_once(monkeypatch):
    def per_element(*_):
        raise AssertionError

    monkeypatch.setattr(Softplus, "impl", per_element)
    monkeypatch.setattr(Log1mexp, "impl", per_element)
    x = pt.vector("x")
    run = Interpreter([x], [pt.softplus(x), pt.log1mexp(x)])
    points = np.array([-800.0, -40.0, -37.0, -1.0, -0.5, -1e-9, 0.0, 1.0, 18.0, 33.4, 800.0])
    grown, left = run(points)
    below = points < 0
    with mpmath.workdps(400):
        sums = [float(mpmath.log1p(mpmath.exp(mpmath.mpf(v)))) for v in points]
        exact = [float(mpmath.log1p(-mpmath.exp(mpmath.mpf(v)))) for v in points[below]]
    np.testing.assert_allclose(grown, sums, rtol=1e-15)
    np.testing.assert_allclose(left[below], exact, rtol=1e-13)
    assert left[points == 0.0] == -np.inf
    grown, _ = run(np.array([np.nan, np.inf, -np.inf]))
    np.testing.assert_array_equal(grown, [np.nan, np.inf, 0.0])
    n = pt.vector("n", dtype="float32")
    assert Interpreter([n], [pt.softplus(n)])(np.float32([1.0]))[0].dtype == "float32"


class Meeting(Op):
    """The double of a vector, which two threads compute at the same time."""

    __props__ = ()
    gufunc_signature = "(k)->(k)"
    started = threading.Barrier(2, timeout=60)

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        self.started.wait()
        outputs[0][0] = 2.0 * inputs[0]
        self.started.wait()


def test_threads_that_run_one_graph_have_results_of_their_own():
    """PyTensor's Blockwise has one place for the results of all calls."""
    x = pt.matrix("x", shape=(3, 2))
    run = Interpreter([x], [Blockwise(Meeting())(x)])
    numbers = [np.full((3, 2), 1.0), np.full((3, 2), 5.0)]
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda values: run(values)[0], numbers)
    np.testing.assert_array_equal(first, 2.0 * numbers[0])
    np.testing.assert_array_equal(second, 2.0 * numbers[1])
