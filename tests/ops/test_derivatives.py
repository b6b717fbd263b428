"""Rules of derivatives against central differences: both modes, and second derivatives."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
import pytensor.tensor.linalg as la
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.conditional import ifelse
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.type import TensorType

from dimtensor.errors import GraphError
from dimtensor.ops import linalg
from dimtensor.ops.along import RunningProduct, largest
from dimtensor.ops.derivatives import pull, push
from dimtensor.ops.derivatives.flow import number
from dimtensor.ops.interpret import Interpreter
from dimtensor.ops.loop import scan
from dimtensor.ops.loop.conditional import conditional

RNG = np.random.default_rng(1)
A = RNG.normal(size=(3, 3))
S = A @ A.T + 3 * np.eye(3)
B = RNG.normal(size=(3, 2))
T = RNG.normal(size=(5, 3))
v = RNG.normal(size=3)
ZEROS = np.array([2.0, 0.0, 3.0, 0.0])


def positive(x: Any) -> Any:
    return x @ x.T + 3 * pt.eye(3)


class Cube(Op):
    """An operation that has only a reverse rule, of PyTensor's kind."""

    __props__ = ()

    def make_node(self, x, y):
        return Apply(self, [x, y], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] ** 3 * inputs[1]

    def pullback(self, inputs, outputs, cotangents):
        (x, y), (c,) = inputs, cotangents
        return [c * 3 * x**2 * y, c * x**3]


def composite(x: Any, y: Any) -> Any:
    from pytensor.scalar import Composite, exp, float64

    a, b = float64("a"), float64("b")
    return Elemwise(Composite([a, b], [exp(a * b), a + b * b]))(x, y)


def graph_in_a_graph(x: Any, y: Any) -> Any:
    a, b = pt.dmatrix(), pt.dvector()
    return OpFromGraph([a, b], [pt.sin(a) * b, pt.exp(b)])(x, y)


CASES: dict[str, tuple[Callable[..., Any], Sequence[np.ndarray]]] = {
    "elementwise": (lambda x, y: pt.exp(x) * y / (1 + x**2) + pt.tanh(x + y), [A, A + 1]),
    "broadcast": (lambda x, y: pt.log(y)[:, None] * x - y / x.sum(0), [A + 5, v**2 + 1]),
    "selections": (
        lambda x, y: pt.switch(x > 0, x * y, pt.sin(x)) + pt.maximum(x, y)
        + pt.minimum(x, y * y) + pt.clip(x, -0.5, y),
        [A, v],
    ),
    "powers": (lambda x, y: x**y + x**3 + x**2 + x**-1.5 + x**0.5, [A**2 + 0.1, v]),
    "slices": (lambda x: x[1:, ::2] * 2 + x[0, 0], [A]),
    "positions": (lambda x: x[[0, 0, 2]] ** 2, [A]),
    "put": (
        lambda x, y: pt.set_subtensor(x[0], y * x[1]) + pt.inc_subtensor(x[[1, 1], [0, 2]], y[0]),
        [A, v],
    ),
    "put where": (lambda x, y: pt.set_subtensor(x[[2, 0]], y * y), [A, v]),
    "join": (lambda x, y: pt.join(0, x, y[None], x * x), [A, v]),
    "split": (lambda x: pt.split(x * x, [1, 2], axis=0)[1], [A]),
    "reshape": (lambda x: (x * x).reshape((9,))[2:] * x.flatten()[:7], [A]),
    "diagonal": (lambda x: pt.diagonal(x) ** 2 + pt.diag(x[0])[0], [A]),
    "other diagonal": (lambda x: pt.diagonal(x, offset=-1) ** 2, [T]),
    "alloc": (
        lambda x: pt.alloc(x**2, 4, 3, 3) * pt.stack([x[0, 0], x[1, 1], x[2, 2]]), [A]
    ),
    "dot": (lambda x, y: pt.dot(x, y) ** 2, [A, B]),
    "batched dot": (lambda x, y: (x[None] @ (y[:, None, None] * x[None])) ** 2, [A, v]),
    "product along": (lambda x: x.prod(0), [A]),
    "product of zero": (lambda x: x.prod(), [np.array([2.0, 0.0, 3.0, 0.5])]),
    "product of zeros": (lambda x: x.prod(), [ZEROS]),
    "running product": (lambda x: RunningProduct(1)(x), [A]),
    "running product of zeros": (lambda x: RunningProduct(0)(x), [ZEROS]),
    "PyTensor's running product": (lambda x: pt.cumprod(x, axis=0), [ZEROS]),
    "running sum": (lambda x: pt.cumsum(x**2, axis=1), [A]),
    "extremes": (lambda x: pt.max(x**2, axis=1) + pt.min(x, axis=0) + largest(x, [1]), [A]),
    "sort": (lambda x: pt.sort(x**2, axis=0), [A]),
    "inverse": (lambda x: la.inv(x), [S]),
    "own inverse": (lambda x: linalg.inverse(x), [S]),
    "determinant": (lambda x: linalg.det(x), [S]),
    "logarithm of the determinant": (lambda x: linalg.slogdet(x)[1], [S]),
    "cholesky": (lambda x: la.cholesky(positive(x)), [A]),
    "upper cholesky": (lambda x: la.cholesky(positive(x), lower=False), [A]),
    "solve a vector": (lambda x, y: linalg.solve(x, y, 1), [S, v]),
    "solve a matrix": (lambda x, y: linalg.solve(x, y, 2), [S, B]),
    "solve a triangle": (lambda x, y: linalg.solve_triangular(x, y, 2, True, False), [S, B]),
    "solve an upper unit triangle": (
        lambda x, y: linalg.solve_triangular(x, y, 1, False, True), [S, v],
    ),
    "solve by a factor": (
        lambda x, y: la.cho_solve((la.cholesky(positive(x)), True), y, b_ndim=2), [A, B]
    ),
    "batched solve": (
        lambda x, y: linalg.solve(positive(x)[None] * pt.exp(y)[:, None, None], y[:, None] * y, 1),
        [A, v],
    ),
    "batched cholesky": (
        lambda x, y: la.cholesky(positive(x)[None] * pt.exp(y)[:, None, None]), [A, v]
    ),
    "eigh": (lambda x: [f(y) for f, y in zip((abs, pt.sqr), linalg.eigh(x + x.T))], [A]),  # noqa: B905
    "svd": (lambda x: [y * y for y in linalg.svd(x)], [T]),
    "wide svd": (lambda x: [y * y for y in linalg.svd(x)], [T.T]),
    "singular values": (lambda x: la.svd(x, compute_uv=False), [T]),
    "qr": (lambda x: linalg.qr(x, False), [T]),
    "wide qr": (lambda x: linalg.qr(x, True), [T.T]),
    "exponential": (lambda x: la.expm(x), [A]),
    "kronecker": (lambda x, y: la.kron(x, y), [A, B]),
    "norm": (lambda x: pt.sqrt((x**2).sum()), [A]),
    "ifelse": (lambda x, y: ifelse(pt.gt(y[0], 9), x * 2, x * y), [A, v]),
    "graph in a graph": (graph_in_a_graph, [A, v]),
    "composite": (composite, [A, v]),
    "another's": (lambda x, y: Cube()(x * y, y), [v, v + 1]),
    "special": (
        lambda x, y: pt.gammaln(x) * pt.erf(y) + pt.psi(x) + pt.gamma(y),
        [A**2 + 0.5, A**2 + 0.7],
    ),
}  # fmt: skip


def differences(f: Callable[..., list], arrays: Sequence, moves: Sequence, h: float = 1e-6) -> list:
    ahead = f(*[x + h * t for x, t in zip(arrays, moves, strict=True)])
    behind = f(*[x - h * t for x, t in zip(arrays, moves, strict=True)])
    return [(a - b) / (2 * h) for a, b in zip(ahead, behind, strict=True)]


def close(found: Sequence, wanted: Sequence, tolerance: float) -> None:
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def full(derivatives: Sequence[Variable | None], like: Sequence[Variable]) -> list[Variable]:
    return [pt.zeros_like(x) if d is None else d for d, x in zip(derivatives, like, strict=True)]


@pytest.mark.parametrize("name", CASES)
def test_rules(name: str):
    function, arrays = CASES[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    xs = [pt.tensor(dtype="float64", shape=(None,) * x.ndim) for x in arrays]
    outputs = function(*xs)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    run = Interpreter(xs, outputs)
    moves = [rng.normal(size=x.shape) for x in arrays]
    tangents = [x.type() for x in xs]
    change = differences(run, arrays, moves)
    close(Interpreter([*xs, *tangents], push(outputs, xs, tangents))(*arrays, *moves), change, 2e-5)

    cotangents = [y.type() for y in outputs]
    weights = [rng.normal(size=np.shape(y)) for y in run(*arrays)]
    slopes = full(pull(outputs, cotangents, xs), xs)
    back = Interpreter([*xs, *cotangents], slopes)
    pulled = back(*arrays, *weights)
    inner = sum(np.sum(p * t) for p, t in zip(pulled, moves, strict=True))
    wanted = sum(np.sum(w * c) for w, c in zip(weights, change, strict=True))
    np.testing.assert_allclose(inner, wanted, rtol=2e-5, atol=2e-5)

    second = differences(lambda *args: back(*args, *weights), arrays, moves)
    given = [*arrays, *weights, *moves]
    for derivative in (push, pull):  # a matrix of second derivatives is symmetric
        if derivative is push:
            found = push(slopes, xs, tangents)
        else:
            found = pull(slopes, tangents, xs)
        run_second = Interpreter([*xs, *cotangents, *tangents], full(found, xs))
        close(run_second(*given), second, 1e-3)


x, y = pt.dscalars("x", "y")


def at(variable: Variable | None, **values: float) -> float:
    assert variable is not None
    inputs = [x, y]
    arrays = [np.asarray(values.get(v.name, 0.5)) for v in inputs]
    return float(Interpreter(inputs, [variable])(*arrays)[0])


def test_outputs_that_are_one_another():
    """An output twice, one that is an ancestor of another, and one that is a variable."""
    q = x * x
    one = pt.constant(1.0)
    (slope,) = pull([q, q, pt.sin(q), x], [one, 2 * one, one, one], [x])
    assert at(slope, x=0.9) == pytest.approx(3 * 1.8 + np.cos(0.81) * 1.8 + 1)
    by_q, by_x = pull([pt.sin(q)], [one], [q, x])
    assert at(by_q, x=0.9) == pytest.approx(np.cos(0.81))
    assert at(by_x, x=0.9) == pytest.approx(np.cos(0.81) * 1.8)


def test_tangents_that_are_one_another():
    total = x + y
    assert at(push([total], [x, y], [x, x])[0], x=0.7) == pytest.approx(1.4)
    assert at(push([total], [x, y], [y, x])[0], x=0.7, y=0.2) == pytest.approx(0.9)
    assert at(push([x * y], [x, y], [x * y, x])[0], x=3.0, y=2.0) == 3 * 2 * 2 + 9
    assert at(push([x], [x], [x])[0], x=3.0) == 3
    assert push([y], [x], [x]) == [None]


def test_what_depends_on_nothing_has_no_derivative():
    assert pull([pt.floor(x) + pt.cast(x, "int64")], [pt.constant(1.0)], [x, y]) == [None, None]


SINGULAR: dict[str, tuple[Any, float, float]] = {
    # of x at a value: the derivative there
    "square root that underflows": (lambda x: pt.sqrt(pt.exp(-x)), 2000.0, 0.0),
    "square root at zero": (pt.sqrt, 0.0, 0.0),
    "norm at zero": (lambda x: pt.sqrt(x * x + (2 * x) ** 2), 0.0, 0.0),
    "half power at zero": (lambda x: x**0.5, 0.0, 0.0),
    "power one at zero": (lambda x: x ** pt.constant(1.0), 0.0, 1.0),
    "logarithm not taken": (lambda x: pt.switch(x > 0, pt.log(x), 0.0), 0.0, 0.0),
    "product not taken": (lambda x: pt.switch(x > 0, x * pt.log(x), x), 0.0, 1.0),
    "root not taken": (lambda x: pt.switch(x > 0, pt.sqrt(x), 2 * x), -1.0, 2.0),
    "quotient not taken": (lambda x: pt.switch(pt.neq(x, 0), pt.sin(x) / x, 1.0), 0.0, 0.0),
    "exponential not taken": (lambda x: pt.switch(x < 9, pt.exp(x * x), x), 1e3, 1.0),
    "sum not taken": (
        lambda x: pt.switch(x > 0, pt.log(pt.stack([x, 2 * x])).sum(), 3 * x), 0.0, 3.0
    ),
    "twice not taken": (
        lambda x: pt.switch(x > 0, pt.switch(x > 1, 1 / x, pt.log(x)), x), 0.0, 1.0
    ),
    "element not used": (lambda x: pt.log(pt.stack([x, x + 1]))[1], 0.0, 1.0),
}  # fmt: skip


@pytest.mark.parametrize("name", SINGULAR)
def test_derivatives_at_ends_of_domains(name: str):
    """Stan's conventions at the ends; what is not taken counts for nothing."""
    function, place, wanted = SINGULAR[name]
    result = function(x)
    (slope,) = pull([result], [pt.constant(1.0)], [x])
    (tangent,) = push([result], [x], [pt.constant(1.0)])
    assert at(slope, x=place) == pytest.approx(wanted, abs=1e-300)
    assert at(tangent, x=place) == pytest.approx(wanted, abs=1e-300)


def test_of_two_bounds_in_the_wrong_order_one_has_the_derivative():
    low, high = pt.dscalars("low", "high")
    slopes = pull([pt.clip(x, low, high)], [pt.constant(1.0)], [x, low, high])
    for place, wanted in ((0.0, [0, 1, 0]), (3.0, [0, 0, 1]), (-3.0, [0, 1, 0])):
        found = Interpreter([x, low, high], slopes)(np.array(place), np.array(2.0), np.array(-1.0))
        assert [float(f) for f in found] == wanted


def test_nan_stays_nan():
    for function in (pt.sqrt, pt.log, pt.exp, lambda x: 1 / x, lambda x: x**1.5):
        (slope,) = pull([function(x)], [pt.constant(1.0)], [x])
        assert np.isnan(at(slope, x=np.nan))


def test_second_derivatives_where_a_first_one_is_zero():
    """A derivative that happens to be zero has a derivative all the same."""
    w = pt.dvector("w")
    cases = [
        (pt.log(w)[0] ** 2, [1.0, 1.0], [[2.0, 0.0], [0.0, 0.0]]),
        (pt.log(w)[0] ** 2, [1.0, 0.0], [[2.0, 0.0], [0.0, 0.0]]),
        (pt.log(w)[0] * (w[1] - 1.0), [1.0, 1.0], [[0.0, 1.0], [1.0, 0.0]]),
        ((1.0 / w)[0] * (w[1] - 1.0), [2.0, 1.0], [[0.0, -0.25], [-0.25, 0.0]]),
        (pt.exp(w)[1] * w[0], [0.0, 0.0], [[0.0, 1.0], [1.0, 0.0]]),
        (pt.sqrt(w)[0] * (w[1] - 4.0), [4.0, 4.0], [[0.0, 0.25], [0.25, 0.0]]),
        ((w**1.5)[0] * (w[1] - 1.0), [4.0, 1.0], [[0.0, 3.0], [3.0, 0.0]]),
        # the slope of the gamma function at 1
        (pt.gamma(w)[0] * (w[1] - 2.0), [1.0, 2.0], -np.euler_gamma * (1 - np.eye(2))),
    ]
    for cost, point, wanted in cases:
        (slope,) = pull([cost], [pt.constant(1.0)], [w])
        rows = [pull([slope[k]], [pt.constant(1.0)], [w])[0] for k in range(2)]
        columns = [push([slope], [w], [pt.constant(np.eye(2)[k])])[0] for k in range(2)]
        once = [push([cost], [w], [pt.constant(np.eye(2)[k])])[0] for k in range(2)]
        mixed = [pull([t], [pt.constant(1.0)], [w])[0] for t in once]
        for found in (rows, columns, mixed):
            found = Interpreter([w], found)(np.array(point))
            np.testing.assert_allclose(found, wanted, atol=1e-15, err_msg=str(point))


l1 = float(np.log(1.3))
COLUMNS = np.arange(9.0).reshape(3, 3) + 1  # the second row sums to 15
UNUSED: dict[str, tuple[Any, list, list]] = {
    # of w at [0, 1.3, -1], where elements that are infinite or undefined are not used: the
    # gradient, and the Hessian's row of the second element, beyond which it is zero
    "product": (lambda w: (w * pt.log(w))[1], [0, l1 + 1, 0], [0, 1 / 1.3, 0]),
    "of an infinity": (
        lambda w: pt.sin(pt.log(w))[1], [0, np.cos(l1) / 1.3, 0],
        [0, -(np.sin(l1) + np.cos(l1)) / 1.69, 0],
    ),
    "square": (lambda w: (pt.log(w) ** 2)[1:2].sum(), [0, 2 * l1 / 1.3, 0],
               [0, 2 * (1 - l1) / 1.69, 0]),
    "quotient": (lambda w: (1 / w)[1] * w[2], [0, 1 / 1.69, 1 / 1.3], [0, -2 / 1.3**3, -1 / 1.69]),
    "each with each": (
        lambda w: (pt.log(w)[:, None] * w[None, :])[1].sum(), [l1, l1 + 0.3 / 1.3, l1],
        [1 / 1.3, 2 / 1.3 - 0.3 / 1.69, 1 / 1.3],
    ),
    "set": (lambda w: pt.set_subtensor((w * pt.log(w))[[0, 2]], w[2])[:2].sum(),
            [0, l1 + 1, 1], [0, 1 / 1.3, 0]),
    "products of products": (lambda w: (w * pt.log(w) * w)[1], [0, 1.3 * (2 * l1 + 1), 0],
                             [0, 2 * l1 + 3, 0]),
    "an exponent": (lambda w: pt.exp(w * pt.log(w))[1], [0, 1.3**1.3 * (l1 + 1), 0],
                    [0, 1.3**1.3 * ((l1 + 1) ** 2 + 1 / 1.3), 0]),
    "selected": (lambda w: (pt.log(w)[[0, 1]] ** 2)[1], [0, 2 * l1 / 1.3, 0],
                 [0, 2 * (1 - l1) / 1.69, 0]),
    "joined": (lambda w: (pt.concatenate([pt.log(w), w]) ** 2)[1], [0, 2 * l1 / 1.3, 0],
               [0, 2 * (1 - l1) / 1.69, 0]),
    "a sum": (lambda w: ((pt.log(w)[:, None] * COLUMNS).sum(1) ** 2)[1], [0, 450 * l1 / 1.3, 0],
              [0, 450 * (1 - l1) / 1.69, 0]),
    "a product with a vector": (
        lambda w: (pt.dot(pt.log(w)[:, None] * COLUMNS, w[1] * np.ones(3)) ** 2)[1],
        [0, 450 * l1 * 1.3 * (1 + l1), 0], [0, 450 * ((1 + l1) ** 2 + l1), 0],
    ),
    "a product of a vector": (
        lambda w: (pt.dot(w[1] * np.ones(3), COLUMNS.T * pt.log(w)) ** 2)[1],
        [0, 450 * l1 * 1.3 * (1 + l1), 0], [0, 450 * ((1 + l1) ** 2 + l1), 0],
    ),
    "a matrix times another": (
        lambda w: (pt.dot(pt.log(w)[:, None] * COLUMNS, w[1] * np.ones((3, 2)))[1] ** 2).sum(),
        [0, 900 * l1 * 1.3 * (1 + l1), 0], [0, 900 * ((1 + l1) ** 2 + l1), 0],
    ),
    "another times a matrix": (
        lambda w: (pt.dot(w[1] * np.ones((2, 3)), COLUMNS.T * pt.log(w))[:, 1] ** 2).sum(),
        [0, 900 * l1 * 1.3 * (1 + l1), 0], [0, 900 * ((1 + l1) ** 2 + l1), 0],
    ),
    "a batch of products": (
        lambda w: (
            pt.matmul(pt.log(w)[:, None] * np.stack([COLUMNS, 2 * COLUMNS]), w[1] * np.ones((3, 2)))
        )[1, 1, 0] ** 2,
        [0, 1800 * l1 * 1.3 * (1 + l1), 0], [0, 1800 * ((1 + l1) ** 2 + l1), 0],
    ),
    "one of a batch": (
        lambda w: (
            pt.matmul(w[1] * np.ones((1, 2, 3)), pt.log(w)[:, None, None] * COLUMNS)
        )[1, 0, 0] ** 2,
        [0, 288 * l1 * 1.3 * (1 + l1), 0], [0, 288 * ((1 + l1) ** 2 + l1), 0],
    ),
    "a running product": (
        lambda w: pt.cumprod(pt.concatenate([w[1:2], pt.log(w)[1:], pt.log(w)]))[1],
        [0, l1 + 1, 0], [0, 1 / 1.3, 0],
    ),
    "a whole product": (lambda w: pt.prod(pt.stack([pt.log(w), w]), axis=0)[1],
                        [0, l1 + 1, 0], [0, 1 / 1.3, 0]),
    "beside what comes a long way": (
        lambda w: ((pt.log(w) + functools.reduce(lambda s, _: s + 0.5, range(40), w) - 20) * w)[1],
        [0, l1 + 1 + 2 * 1.3, 0], [0, 1 / 1.3 + 2, 0],
    ),
    "a branch": (
        lambda w: conditional(w[1] > 0, lambda: [w * pt.log(w)], lambda: [w])[0][1],
        [0, l1 + 1, 0], [0, 1 / 1.3, 0],
    ),
    "a root": (lambda w: (pt.sqrt(w) * w)[[1, 1]].sum(), [0, 3 * 1.3**0.5, 0],
               [0, 1.5 / 1.3**0.5, 0]),
}  # fmt: skip
UNUSED_STATES: dict[str, tuple[Any, list, list]] = {
    # states that become infinite in the loop itself
    "a state": (
        # 1 / w, 1 / w**3
        lambda w: scan(lambda s, _: ([s[0] * s[0] / w], []), [pt.ones(3)], n_steps=2).states[0][1],
        [0, -3 / 1.3**4, 0], [0, 12 / 1.3**5, 0],
    ),
    "a state that another reads": (
        # w times w**-2 + 1 + w**2
        lambda w: scan(
            lambda s, _: ([s[0] / w, s[1] + s[0] ** -2 * w[1]], []),
            [w * pt.ones(3), pt.zeros(3)], n_steps=3,
        ).states[1][1] / w[1] - 1,
        [0, -2 / 1.3**3 + 2 * 1.3, 0], [0, 6 / 1.3**4 + 2, 0],
    ),
    "a path": (
        # -w / 2, w**2 / 2, infinite ones
        lambda w: scan(
            lambda s, e: ([s[0] * w / e[0]], [s[0] * w / e[0]]),
            [pt.ones(3)], [pt.constant([-2.0, -1.0, 0.0, 1.0])],
        ).traces[0][:2, 1].sum(),
        [0, 0.8, 0], [0, 1, 0],
    ),
    "a path of numbers": (
        lambda w: scan(
            lambda s, e: ([s[0] * w[1] / e[0]], [s[0] * w[1] / e[0]]),
            [pt.constant(1.0)], [pt.constant([-2.0, -1.0, 0.0, 1.0])],
        ).traces[0][:2].sum(),
        [0, 0.8, 0], [0, 1, 0],
    ),
    "a sum of products": (
        lambda w: scan(
            lambda s, e: (
                [s[0] + pt.dot(pt.log(w)[:, None] * COLUMNS * e[0], w[1] * np.ones((3, 2)))], []
            ),
            [pt.zeros((3, 2))], [pt.constant([0.3, 0.7])],
        ).states[0][1, 0] ** 2,
        [0, 450 * l1 * 1.3 * (1 + l1), 0], [0, 450 * ((1 + l1) ** 2 + l1), 0],
    ),
    "a sum of batches of products": (
        lambda w: scan(
            lambda s, e: (
                [s[0] + pt.matmul(w[1] * np.ones((1, 2, 3)), pt.log(w)[:, None, None] * COLUMNS)],
                [],
            ),
            [pt.zeros((3, 2, 3))], n_steps=2,
        ).states[0][1, 0, 0] ** 2,
        [0, 4 * 288 * l1 * 1.3 * (1 + l1), 0], [0, 4 * 288 * ((1 + l1) ** 2 + l1), 0],
    ),
    "a probability of zero": (
        # 2 log(1.5 w), by minus infinity: all of the state is used, but with a weight of zero
        lambda w: scan(
            lambda s, e: (
                [pt.log(pt.exp(s[0] + pt.log(w[1] * np.array([1.0, 0.0, 0.5]) * e[0])).sum())], []
            ),
            [pt.constant(0.0)], [pt.constant([1.0, 1.0])],
        ).states[0],
        [0, 2 / 1.3, 0], [0, -2 / 1.3**2, 0],
    ),
}  # fmt: skip


def _derivatives_of_unused(function: Any, gradient: list, row: list) -> None:
    """First derivatives, and second ones by each pair of modes."""
    w = pt.dvector("w")
    cost = function(w)
    units = [pt.constant(np.eye(3)[k]) for k in range(3)]
    one = pt.constant(1.0)
    (slope,) = pull([cost], [one], [w])
    once = [push([cost], [w], [u])[0] for u in units]
    hessian = {
        "forward over reverse": lambda: [push([slope], [w], [u])[0] for u in units],
        "reverse over forward": lambda: [pull([t], [one], [w])[0] for t in once],
        "forward over forward": lambda: [pt.stack([push([t], [w], [u])[0] for t in once])
                                         for u in units],
        "reverse over reverse": lambda: [pull([slope[k]], [one], [w])[0] for k in range(3)],
    }  # fmt: skip
    wanted = np.zeros((3, 3))
    wanted[1] = wanted[:, 1] = row
    for way, made in hessian.items():
        run = Interpreter([w], [slope, pt.stack(once), *made()])
        with np.errstate(invalid="ignore"):  # BLAS warns of what is not used
            found = run(np.array([0.0, 1.3, -1.0]))
        np.testing.assert_allclose(found[0], gradient, rtol=1e-12, err_msg=way)
        np.testing.assert_allclose(found[1], gradient, rtol=1e-12, err_msg=way)
        np.testing.assert_allclose(found[2:], wanted, rtol=1e-12, err_msg=way)


@pytest.mark.parametrize("name", UNUSED)
def test_derivatives_beside_infinities_that_are_not_used(name: str):
    _derivatives_of_unused(*UNUSED[name])


@pytest.mark.parametrize("name", UNUSED_STATES)
def test_derivatives_beside_states_that_are_infinite_and_not_used(name: str):
    _derivatives_of_unused(*UNUSED_STATES[name])


@pytest.mark.parametrize(
    "shape",
    [
        (2,),
        pytest.param(
            (2, 2),
            marks=pytest.mark.xfail(
                strict=True,
                raises=AssertionError,
                reason="the gradient is NaN: products of two matrices are not looked at where all "
                "of a state is used but in the last step",
            ),
        ),
    ],
)
def test_a_last_step_that_is_infinite_and_not_used(shape: tuple[int, ...]):
    """States x, x**2 / 2, x**3 / 2, and an infinite one that only the last step gives."""
    steps = pt.constant([2.0, 1.0, 0.0])
    found = scan(
        lambda s, e: ([pt.dot(x / e[0] * np.eye(2), s[0])], [s[0]]), [x * np.ones(shape)], [steps]
    ).traces[0]
    (slope,) = pull([found.sum() / np.prod(shape)], [pt.constant(1.0)], [x])
    with np.errstate(invalid="ignore"):  # BLAS warns
        assert at(slope, x=1.3) == pytest.approx(1 + 1.3 + 1.5 * 1.3**2)


def test_third_derivatives_of_products():
    v = pt.dvector("v")
    cost: Variable = v.prod()
    for k in range(3):
        (slope,) = pull([cost], [pt.constant(1.0)], [v])
        cost = slope[k]  # type: ignore[index]
    run = Interpreter([v], [cost])
    assert run(np.array([0.0, 0.0, 0.0, 7.0])) == [7.0]


class Odd(Op):
    """An operation without a derivative."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        raise AssertionError


def test_a_derivative_that_is_not_known():
    with pytest.raises(GraphError, match="a derivative in this expression is not known"):
        pull([Odd()(x) + y], [pt.constant(1.0)], [x])
    with pytest.raises(GraphError, match="a derivative in this expression is not known"):
        push([Odd()(x) + y], [x], [x])
    (slope,) = pull([Odd()(x) * 2 + y], [pt.constant(1.0)], [y])
    assert at(slope) == 1


def test_graphs_of_gradients_are_lean():
    """Nothing that only shapes are taken of, and no arrays of zeros."""
    m = pt.dmatrix("m")
    loss = (pt.exp(m) * pt.sin(m)[0]).sum() + pt.log(m).mean()
    (slope,) = pull([loss], [pt.constant(1.0)], [m])
    from pytensor.graph.traversal import ancestors

    names = [str(v.owner.op) for v in ancestors([slope]) if v.owner is not None]
    assert not any("Second" in name or "fill" in name for name in names)
    assert len(names) < 40


def test_pytensors_own_drivers_use_the_rules():
    import pytensor
    from pytensor.gradient import pushforward

    v = pt.dvector("v")
    slope = pytensor.grad(RunningProduct(0)(v).sum(), v)
    assert Interpreter([v], [slope])(np.array([3.0, 0.0, 2.0]))[0].tolist() == [1.0, 9.0, 0.0]
    (moved,) = pushforward([largest(v, [0])], [v], [v * 0 + 1], use_op_pushforward=True)
    assert Interpreter([v], [moved])(np.array([3.0, 0.0, 2.0]))[0] == 1.0


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (lambda x: -0.5 * x**2, -1.5),
        (lambda x: 0.5 * pt.sqr(x), 1.5),
        (lambda x: -(x**2 * 0.5), -1.5),
        (lambda x: 3.0 * x**2, 9.0),
        (lambda x: pt.exp(-0.5 * x**2), -1.5 * np.exp(-1.125)),
    ],
)
def test_the_2_of_a_square_and_numbers_before_it_are_one(formula, expected):
    from dimtensor.optimize.rules import rewrite

    x = pt.dscalar("x")
    (found,) = pull([formula(x)], [pt.constant(1.0)], [x])
    graph = FunctionGraph([x], [found], clone=True)
    rewrite(graph)
    assert not any(
        v.data == 2.0 for v in graph.variables if isinstance(v, Constant) and v.ndim == 0
    )
    products = [n for n in graph.apply_nodes if str(n.op) == "Mul"]
    assert len(products) <= (formula(x).owner.op == pt.exp) * 3 + (expected == 9.0)
    assert Interpreter([x], [found])(np.asarray(1.5))[0] == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "bool", "complex128"])
def test_numbers_beside_a_variable_are_told_apart_by_sign_dtype_and_axes(dtype):
    like = pt.tensor(dtype=dtype, shape=(None, 3))
    one, zero = number(1, like), number(0, like)
    assert number(1, like) is one
    for made, value in ((one, 1), (zero, 0)):
        assert made.type == TensorType(dtype, (1, 1))
        assert made.data == np.asarray(value, dtype)
    assert number(1, pt.tensor(dtype=dtype, shape=())).type == TensorType(dtype, ())
    if dtype.startswith("float"):
        assert np.signbit(number(-0.0, like).data).all()
        assert not np.signbit(zero.data).any()
