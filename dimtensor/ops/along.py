"""Operations along axes: maxima, products, log-sum-exp, Fourier, convolution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.tensor.extra_ops import CumOp
from pytensor.tensor.math import Max
from pytensor.tensor.type import TensorType

from dimtensor.ops.differentiable import WithRules
from dimtensor.upstream.pytensor import vectorize_node


class Largest(WithRules, Max):
    """Maximum over axes.

    PyTensor's own passes the whole derivative to every element that ties for the maximum, so that
    the derivative of ``max(x, x)`` is 2. Here each gets an equal share, as in JAX: a subgradient,
    and the derivative where tied elements are copies of one.
    """


def largest(x: Variable, axis: list[int]) -> Variable:
    """Maximum over axes."""
    return Largest(axis=axis)(x)


def smallest(x: Variable, axis: list[int]) -> Variable:
    """Minimum over axes."""
    return -Largest(axis=axis)(-x)


class RunningProduct(WithRules, CumOp):
    """PyTensor's ``CumOp`` of products, whose gradient divides by zero where an element is zero.

    Parameters
    ----------
    axis : int

    Examples
    --------
    >>> import numpy as np, pytensor, pytensor.tensor as pt
    >>> x = pt.vector("x")
    >>> gradient = pytensor.grad(RunningProduct(0)(x).sum(), x)
    >>> gradient.eval({x: np.array([3.0, 0.0, 2.0])}).tolist()
    [1.0, 9.0, 0.0]
    """

    __props__ = ("axis", "mode")

    def __init__(self, axis: int, mode: str = "mul"):
        super().__init__(axis, "mul")

    def make_node(self, x: Any) -> Apply:
        return super().make_node(x)


def _vectors(name: str, *inputs: Any) -> list[Variable]:
    found = [pt.as_tensor_variable(x) for x in inputs]
    if any(x.type.ndim != 1 for x in found) or len({x.type.dtype for x in found}) != 1:
        raise TypeError(f"{name} takes vectors of one dtype")
    return found


class DFT(WithRules, Op):
    """The discrete Fourier transform of a vector, as real and imaginary parts.

    The matrix of the transform is symmetric. So the cotangent of the parts is the transform of the
    cotangents, with both exchanged before and after; and so is the inverse, but for the length.

    Examples
    --------
    >>> import numpy as np
    >>> real, imaginary = DFT()(np.array([1.0, 2.0, 4.0]), np.zeros(3))
    >>> real.eval().round(6).tolist(), imaginary.eval().round(6).tolist()
    ([7.0, -2.0, -2.0], [0.0, 1.732051, -1.732051])
    """

    __props__ = ()
    gufunc_signature = "(n),(n)->(n),(n)"

    def make_node(self, real: Any, imaginary: Any) -> Apply:
        inputs = _vectors("DFT", real, imaginary)
        return Apply(self, inputs, [inputs[0].type(), inputs[0].type()])

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        real, imaginary = inputs
        found = np.fft.fft(real + 1j * imaginary) if real.size else np.zeros(0, complex)
        for out, part in zip(outputs, (found.real, found.imag), strict=True):
            out[0] = np.ascontiguousarray(part, dtype=real.dtype)

    def infer_shape(self, node: Apply, shapes: Any) -> Any:
        return [shapes[0], shapes[0]]

    def push_rule(self, node: Any, tangents: Sequence[Any]) -> list[Variable]:
        return list(DFT()(*_all(node.inputs, tangents)))

    def pull_rule(
        self, node: Any, cotangents: Sequence[Any], wanted: Sequence[bool]
    ) -> list[Variable]:
        real, imaginary = _all(node.outputs, cotangents)
        return list(DFT()(imaginary, real))[::-1]


class RealDFT(WithRules, Op):
    """The transform of a real vector of n numbers: its first ``n // 2 + 1`` frequencies.

    Examples
    --------
    >>> import numpy as np
    >>> real, imaginary = RealDFT()(np.array([1.0, 2.0, 4.0]))
    >>> real.eval().round(6).tolist(), imaginary.eval().round(6).tolist()
    ([7.0, -2.0], [0.0, 1.732051])
    """

    __props__ = ()
    gufunc_signature = "(n)->(m),(m)"

    def make_node(self, x: Any) -> Apply:
        (x,) = _vectors("RealDFT", x)
        (n,) = x.type.shape
        shape = (None if n is None else n // 2 + 1,)
        return Apply(self, [x], [pt.tensor(dtype=x.type.dtype, shape=shape) for _ in range(2)])

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        (x,) = inputs
        found = np.fft.rfft(x) if x.size else np.zeros(1, complex)
        for out, part in zip(outputs, (found.real, found.imag), strict=True):
            out[0] = np.ascontiguousarray(part, dtype=x.dtype)

    def infer_shape(self, node: Apply, shapes: Any) -> Any:
        length = (shapes[0][0] // 2 + 1,)
        return [length, length]

    def push_rule(self, node: Any, tangents: Sequence[Any]) -> list[Variable]:
        return list(RealDFT()(tangents[0]))

    def pull_rule(
        self, node: Any, cotangents: Sequence[Any], wanted: Sequence[bool]
    ) -> list[Variable]:
        return [FromHalf()(*_all(node.outputs, cotangents), node.inputs[0])]


class FromHalf(WithRules, Op):
    r"""The sums :math:`\sum_k a_k \cos(2 \pi j k / n) - b_k \sin(2 \pi j k / n)`.

    Inputs are a and b, and any vector of length n. What is to the transform of a real vector as a
    matrix is to its transpose; with the weights of frequencies that stand for two, its inverse.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.array([7.0, -4.0]), np.array([0.0, 3.464102])
    >>> (FromHalf()(a, b, np.zeros(3)) / 3).eval().round(6).tolist()
    [1.0, 2.0, 4.0]
    """

    __props__ = ()
    gufunc_signature = "(m),(m),(n)->(n)"

    def make_node(self, a: Any, b: Any, like: Any) -> Apply:
        inputs = _vectors("FromHalf", a, b, like)
        return Apply(self, inputs, [inputs[2].type()])

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        a, b, like = inputs
        n = len(like)
        spectrum = (a - 1j * b)[:n]
        found = np.fft.fft(spectrum, n).real if n else np.zeros(0)
        outputs[0][0] = np.ascontiguousarray(found, dtype=a.dtype)

    def infer_shape(self, node: Apply, shapes: Any) -> Any:
        return [shapes[2]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [True], [False]]

    def push_rule(self, node: Any, tangents: Sequence[Any]) -> list[Variable]:
        return [FromHalf()(*_all(node.inputs[:2], tangents[:2]), node.inputs[2])]

    def pull_rule(
        self, node: Any, cotangents: Sequence[Any], wanted: Sequence[bool]
    ) -> list[Variable | None]:
        return [*RealDFT()(cotangents[0]), None]


class Convolve(WithRules, Op):
    """The convolution of two vectors.

    Parameters
    ----------
    full : bool
        Whether all positions are wanted, of which there are ``n + k - 1``. Otherwise those at which
        the second vector lies inside of the first, ``n - k + 1``.

    Examples
    --------
    >>> import numpy as np
    >>> x, weights = np.array([1.0, 2.0, 4.0]), np.array([1.0, 0.5])
    >>> Convolve(full=True)(x, weights).eval().tolist()
    [1.0, 2.5, 5.0, 2.0]
    >>> Convolve(full=False)(x, weights).eval().tolist()
    [2.5, 5.0]
    """

    __props__ = ("full",)
    gufunc_signature = "(n),(k)->(m)"

    def __init__(self, full: bool):
        self.full = full

    def make_node(self, x: Any, weights: Any) -> Apply:
        inputs = _vectors("Convolve", x, weights)
        (n,), (k,) = (v.type.shape for v in inputs)
        known = n is not None and k is not None
        length = self._length(n, k) if known else None
        return Apply(self, inputs, [pt.tensor(dtype=inputs[0].type.dtype, shape=(length,))])

    def _length(self, n: int, k: int) -> int:
        return max(n + k - 1 if self.full else n - k + 1, 0)

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        x, weights = inputs
        length = self._length(len(x), len(weights))
        found = np.zeros(length, dtype=x.dtype)
        if length and x.size and weights.size:
            found[:] = np.convolve(x, weights, mode="full" if self.full else "valid")
        outputs[0][0] = found

    def infer_shape(self, node: Apply, shapes: Any) -> Any:
        (n,), (k,) = shapes
        return [(pt.maximum(n + k - 1 if self.full else n - k + 1, 0),)]

    def push_rule(self, node: Any, tangents: Sequence[Any]) -> list[Variable]:
        (x, weights), (t, w) = node.inputs, tangents
        terms = ([] if t is None else [self(t, weights)]) + ([] if w is None else [self(x, w)])
        return [terms[0] if len(terms) == 1 else terms[0] + terms[1]]

    def pull_rule(
        self, node: Any, cotangents: Sequence[Any], wanted: Sequence[bool]
    ) -> list[Variable]:
        (x, weights), (c,) = node.inputs, cotangents
        inside = Convolve(full=False)
        if self.full:
            found = [inside(c, weights[::-1]), inside(c, x[::-1])]
        else:
            found = [Convolve(full=True)(c, weights[::-1]), inside(x, c[::-1])[::-1]]
        return [_of_length(v, like) for v, like in zip(found, node.inputs, strict=True)]


def _of_length(found: Variable, like: Variable) -> Variable:
    """Pad a vector with zeros, or cut it, to the length of another."""
    (n,), (m,) = found.type.shape, like.type.shape
    if n is not None and n == m:
        return found
    kept = found[: like.shape[0]]
    return pt.inc_subtensor(pt.zeros_like(like)[: kept.shape[0]], kept)


def _all(variables: Sequence[Variable], flows: Sequence[Any]) -> list[Variable]:
    """Replace missing derivatives by zeros."""
    pairs = zip(variables, flows, strict=True)
    return [pt.zeros_like(v) if flow is None else flow for v, flow in pairs]


class _OverExponentials(WithRules, Op):
    """Base class of operations on the exponentials of an array along axes.

    Parameters
    ----------
    axis : iterable of int
        At least one, not negative.
    """

    __props__: tuple[str, ...] = ("axis",)

    def __init__(self, axis: Iterable[int]):
        self.axis = tuple(sorted(axis))

    def _exponentials(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return exponentials less the largest one where it is finite, their sum, and the shift."""
        largest = np.max(x, axis=self.axis, keepdims=True, initial=-np.inf)
        shift = np.where(np.isfinite(largest), largest, x.dtype.type(0))
        parts = np.exp(x - shift)
        total = parts.sum(axis=self.axis, keepdims=True, dtype="float64").astype(x.dtype)
        return parts, total, shift


class LogSumExp(_OverExponentials):
    """Logarithm of the sum of exponentials over axes, without overflow.

    It is -inf where all elements are, and where there are none.

    Examples
    --------
    >>> x = pt.dmatrix("x")
    >>> LogSumExp([1])(x).eval({x: [[1000.0, 1000.0], [-np.inf, -np.inf]]}).round(4).tolist()
    [1000.6931, -inf]
    """

    has_pole = True

    def make_node(self, x: Any) -> Apply:
        x = pt.as_tensor_variable(x)
        kept = [n for at, n in enumerate(x.type.shape) if at not in self.axis]
        return Apply(self, [x], [TensorType(x.type.dtype, kept)()])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], outputs: list[list[Any]]) -> None:
        with np.errstate(all="ignore"):
            _, total, shift = self._exponentials(inputs[0])
            outputs[0][0] = np.squeeze(np.log(total) + shift, axis=self.axis)

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [tuple(n for at, n in enumerate(shapes[0]) if at not in self.axis)]


class ScaledSoftmax(_OverExponentials):
    """Softmax over axes times a factor: the cotangent of the operand of `LogSumExp`.

    Inputs are the operand and the factor, whose lengths are 1 along the axes. It is 0 where all
    elements of the operand are -inf.

    Examples
    --------
    >>> x, factor = pt.dmatrix("x"), pt.dcol("factor")
    >>> ScaledSoftmax([1])(x, factor).eval({x: [[5.0, 5.0]], factor: [[3.0]]}).tolist()
    [[1.5, 1.5]]
    """

    def make_node(self, x: Any, factor: Any) -> Apply:
        x, factor = pt.as_tensor_variable(x), pt.as_tensor_variable(factor)
        pairs = zip(x.type.shape, factor.type.shape, strict=True)
        shape = [m if n == 1 else n for n, m in pairs]
        return Apply(self, [x, factor], [TensorType(x.type.dtype, shape)()])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], outputs: list[list[Any]]) -> None:
        with np.errstate(all="ignore"):
            parts, total, _ = self._exponentials(inputs[0])
            quotient = np.where(total == 0, total.dtype.type(0), inputs[1] / total)
            outputs[0][0] = quotient * parts

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        lengths = [v.type.shape for v in node.inputs]
        pairs = zip(*shapes, *lengths, strict=True)
        return [tuple(other if n == 1 and m != 1 else own for own, other, n, m in pairs)]


class Softmax(_OverExponentials):
    """Exponentials over their sum along axes, without overflow, or the logarithm of that.

    Both are NaN where all elements are -inf.

    Parameters
    ----------
    axis : iterable of int
        At least one, not negative.
    log : bool

    Examples
    --------
    >>> x = pt.dmatrix("x")
    >>> Softmax([1])(x).eval({x: [[1000.0, 1000.0]]}).tolist()
    [[0.5, 0.5]]
    >>> Softmax([1], log=True)(x).eval({x: [[1000.0, 1000.0]]}).round(4).tolist()
    [[-0.6931, -0.6931]]
    """

    __props__ = ("axis", "log")

    def __init__(self, axis: Iterable[int], log: bool = False):
        super().__init__(axis)
        self.log = log

    def make_node(self, x: Any) -> Apply:
        x = pt.as_tensor_variable(x)
        return Apply(self, [x], [TensorType(x.type.dtype, x.type.shape)()])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], outputs: list[list[Any]]) -> None:
        with np.errstate(all="ignore"):
            parts, total, shift = self._exponentials(inputs[0])
            found = (inputs[0] - shift) - np.log(total) if self.log else parts / total
            outputs[0][0] = np.asarray(found)

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[0]]


@vectorize_node.register(_OverExponentials)
def _vectorized(op: _OverExponentials, node: Apply, *inputs: Variable) -> list[Variable]:
    """Apply the operation to inputs with leading batch axes, without a `Blockwise`."""
    ndim = max(v.type.ndim for v in inputs)
    batch = ndim - node.inputs[0].type.ndim
    operands = [v.dimshuffle(*["x"] * (ndim - v.type.ndim), *range(v.type.ndim)) for v in inputs]
    axes = [axis + batch for axis in op.axis]
    moved = Softmax(axes, op.log) if isinstance(op, Softmax) else type(op)(axes)
    return [moved(*operands)]
