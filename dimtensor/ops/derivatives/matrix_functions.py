r"""Functions of symmetric matrices, whose derivatives are finite at repeated eigenvalues.

Notes
-----
With :math:`A = V \mathrm{diag}(w) V^T`, the derivative of order m in the directions E₁ … Eₘ is
:math:`V S V^T` with

.. math:: S_{i j} = \sum_\pi \sum_{k \dots l} f[w_i, w_k, \dots, w_l, w_j] (V^T E_{\pi 1} V)_{ik}
          \cdots (V^T E_{\pi m} V)_{lj}

over all permutations π, where f[...] is a divided difference: it has a limit where its points
coincide. PyTensor's derivative of eigenvectors, which divides by differences of eigenvalues, has
none.

References
----------
Y. L. Daleckii and S. G. Krein, "Integration and differentiation of functions of Hermitian operators
and applications to the theory of perturbations", AMS Translations 47, 1965.

N. J. Higham, "Functions of Matrices: Theory and Computation", 2008, section 3.2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytensor.tensor as pt
from pytensor.compile.builders import OpFromGraph
from pytensor.graph.basic import Variable

from dimtensor.ops.derivatives.flow import number
from dimtensor.ops.derivatives.rules import Tangents
from dimtensor.ops.differentiable import WithRules
from dimtensor.ops.linalg import eigh
from dimtensor.upstream.pytensor import vectorize_node

_TERMS = 14  # of a series about the mean of points that are close to each other


class ScalarFunction(NamedTuple):
    """Function of eigenvalues.

    Attributes
    ----------
    value : callable
    first : callable
        Its divided difference of two points in ascending order, without cancellation.
    coefficients : callable
        Taylor coefficient ``f^(j)(x) / j!`` by j, at x = 1 of a relative series, else at x = 0.
    relative : bool
        Whether the series is in powers of relative distances of the points.
    near : float
        Greatest distance of points for which the series is taken.
    """

    value: Callable[[Variable], Variable]
    first: Callable[[Variable, Variable], Variable]
    coefficients: Callable[[int], float]
    relative: bool = True
    near: float = 0.1


def _binomial(power: float, j: int) -> float:
    return math.prod((power - i) / (i + 1) for i in range(j))


def _ratio(numerator: Variable, x: Variable, limit: float) -> Variable:
    """Return numerator / x, and the limit where x is 0."""
    zero = pt.eq(x, number(0, x))
    return pt.switch(zero, number(limit, x), numerator / pt.switch(zero, number(1, x), x))


def _log_difference(a: Variable, b: Variable) -> Variable:
    z = (b - a) / (b + a)
    return number(2, a) * _ratio(pt.arctanh(z), z, 1) / (b + a)


def _exp_difference(a: Variable, b: Variable) -> Variable:
    return pt.exp(b) * _ratio(pt.expm1(a - b), a - b, 1)


FUNCTIONS = {
    "sqrt": ScalarFunction(
        pt.sqrt, lambda a, b: number(1, a) / (pt.sqrt(a) + pt.sqrt(b)), lambda j: _binomial(0.5, j)
    ),
    "rsqrt": ScalarFunction(
        lambda x: number(1, x) / pt.sqrt(x),
        lambda a, b: number(-1, a) / (pt.sqrt(a) * pt.sqrt(b) * (pt.sqrt(a) + pt.sqrt(b))),
        lambda j: _binomial(-0.5, j),
    ),
    "log": ScalarFunction(pt.log, _log_difference, lambda j: (-1.0) ** (j - 1) / j),
    "exp": ScalarFunction(
        pt.exp, _exp_difference, lambda j: 1.0 / math.factorial(j), relative=False, near=1.0
    ),
}


def _ascending(points: Sequence[Variable]) -> list[Variable]:
    """Sort each element of tensors among the tensors."""
    found = list(points)
    for end in range(len(found) - 1, 0, -1):
        for at in range(end):
            one, other = found[at], found[at + 1]
            found[at : at + 2] = [pt.minimum(one, other), pt.maximum(one, other)]
    return found


def _divided_difference(name: str, points: Sequence[Variable]) -> Variable:
    """Return the divided difference of a function at ascending points."""
    function, order = FUNCTIONS[name], len(points) - 1
    if order == 0:
        return function.value(points[0])
    if order == 1:
        return function.first(*points)
    upper, lower = (_divided_difference(name, p) for p in (points[1:], points[:-1]))
    first, *_, last = points
    center = number(1.0 / (order + 1), first) * sum(points[1:], first)
    scale = center if function.relative else number(1, first)
    near = pt.le(last - first, number(function.near, first) * scale)
    apart = pt.switch(near, number(1, first), last - first)
    return pt.switch(near, _series(name, points, center, scale), (upper - lower) / apart)


def _series(name: str, points: Sequence[Variable], center: Any, scale: Any) -> Variable:
    """Sum Taylor coefficients times complete homogeneous symmetric polynomials of the distances."""
    function, order = FUNCTIONS[name], len(points) - 1
    symmetric: list[Any] = [number(1, center), *[None] * (_TERMS - 1)]
    for point in points:
        step = (point - center) / scale
        for k in range(1, _TERMS):
            before = step * symmetric[k - 1]
            symmetric[k] = before if symmetric[k] is None else symmetric[k] + before
    total: Any = number(0, center)
    for k in reversed(range(_TERMS)):
        total = total + number(function.coefficients(order + k), center) * symmetric[k]
    factor = number(1, center) if name == "log" else function.value(center)
    return factor * total / scale**order


def _along(w: Variable, at: int, order: int) -> Variable:
    """Put eigenvalues along one of order + 1 axes after those of the batch."""
    batch = w.type.ndim - 1
    others = [batch + i for i in range(order + 1) if i != at]
    return pt.expand_dims(w, others) if others else w


def _derivative(name: str, a: Variable, directions: Sequence[Variable]) -> Variable:
    """Build the graph of a derivative; the function itself has no directions."""
    w, v = eigh(a)
    order = len(directions)
    if order == 0:
        return pt.matmul(v * _divided_difference(name, [w])[..., None, :], v.mT)
    differences = _divided_difference(
        name, _ascending([_along(w, at, order) for at in range(order + 1)])
    )
    turned = [pt.matmul(pt.matmul(v.mT, e), v) for e in directions]
    batch = a.type.ndim - 2
    total: Any = None
    for factors in itertools.permutations(turned):
        term = differences
        for at, factor in enumerate(factors):
            others = [batch + i for i in range(order + 1) if i not in (at, at + 1)]
            term = term * (pt.expand_dims(factor, others) if others else factor)
        total = term if total is None else total + term
    if order > 1:
        axes = list(range(batch + 1, batch + order))
        total = pt.sum(total, axis=axes, dtype=a.type.dtype, acc_dtype=a.type.dtype)
    return pt.matmul(pt.matmul(v, total), v.mT)


class MatrixFunction(WithRules, OpFromGraph):
    """Function of a symmetric matrix, or a derivative of it in symmetric directions.

    Inputs are matrices of one number of leading batch axes, which broadcast.
    """

    def __init__(self, inputs: Any, outputs: Any, *, function: str = "", **options: Any):
        self.function = function
        super().__init__(inputs, outputs, **{"inline": True, **options})

    def pull_rule(self, node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> list[Any]:
        (c,), inputs = cotangents, node.inputs
        if c is None:
            return [None] * len(inputs)
        c = number(0.5, c) * (c + c.mT)
        found = [
            matrix_function(self.function, *inputs, c)
            if at == 0
            else matrix_function(self.function, *inputs[:at], c, *inputs[at + 1 :])
            for at in range(len(inputs))
        ]
        pairs = zip(found, inputs, wanted, strict=True)
        return [_summed(v, x) if on else None for v, x, on in pairs]

    def push_rule(self, node: Any, tangents: Tangents) -> list[Any]:
        inputs, total = node.inputs, None
        for at, t in enumerate(tangents):
            if t is None:
                continue
            given = [*inputs, t] if at == 0 else [*inputs[:at], t, *inputs[at + 1 :]]
            moved = matrix_function(self.function, *given)
            total = moved if total is None else total + moved
        return [total]


def _summed(found: Variable, x: Variable) -> Variable:
    """Sum a cotangent over the batch axes along which an input was repeated."""
    pairs = zip(x.type.shape[:-2], found.type.shape[:-2], strict=True)
    axes = [at for at, (mine, its) in enumerate(pairs) if mine == 1 and its != 1]
    if not axes:
        return found
    return pt.sum(found, axis=axes, keepdims=True, dtype=x.type.dtype, acc_dtype=x.type.dtype)


def matrix_function(function: str, *matrices: Variable) -> Variable:
    """Apply a function to a symmetric matrix, or its derivative in the directions that follow.

    Parameters
    ----------
    function : str
        One of `FUNCTIONS`.
    *matrices : variable of shape (..., n, n)
    """
    ndim = max(x.type.ndim for x in matrices)
    wide = [x if (k := ndim - x.type.ndim) == 0 else pt.expand_dims(x, list(range(k)))
            for x in matrices]  # fmt: skip
    fresh = [x.type() for x in wide]
    made = _derivative(function, fresh[0], fresh[1:])
    op: Any = MatrixFunction(fresh, [made], function=function)
    return op(*wide)


@vectorize_node.register(MatrixFunction)
def _vectorize(op: MatrixFunction, node: Any, *inputs: Variable) -> Any:
    return matrix_function(op.function, *inputs).owner


def funm(x: Variable, function: str) -> Variable:
    """Apply a function to symmetric matrices, of which the lower triangle is read."""
    lower = pt.ge(pt.arange(x.shape[-2])[:, None], pt.arange(x.shape[-1])[None, :])
    return matrix_function(function, pt.switch(lower, x, x.mT))
