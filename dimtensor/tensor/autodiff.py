"""Derivatives, which have the dims of the tensors they are taken with respect to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from dimtensor.errors import ArgumentError, OptionError
from dimtensor.graph import Node, derivatives
from dimtensor.graph.checking.differentiable import check_differentiable
from dimtensor.tensor.handle import as_node, cast, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


def _many(wrt: Any) -> tuple[list[Node], bool]:
    if isinstance(wrt, (list, tuple)):
        if not wrt:
            raise OptionError("a derivative is taken with respect to at least one tensor")
        return [_variable(x) for x in wrt], False
    return [_variable(wrt)], True


def _variable(x: Any) -> Node:
    """Return what to differentiate by as a node.

    Raises
    ------
    ArgumentError
        If it is a name.
    """
    if isinstance(x, str):
        raise ArgumentError(f"a derivative is taken by a tensor, and {x!r} is a name")
    return as_node(x, what="what to differentiate by")


def _gradients(y: Node, wrt: Sequence[Node], cotangent: Node | None) -> list[DimTensor]:
    check_differentiable(y, wrt)
    return [wrap(node) for node in derivatives.gradients(y, wrt, cotangent)]


@overload
def grad(y: DimTensor, wrt: DimTensor) -> DimTensor: ...
@overload
def grad(y: DimTensor, wrt: Sequence[DimTensor]) -> list[DimTensor]: ...
@overload
def grad(y: DimTensor, wrt: DimTensor | Sequence[DimTensor]) -> DimTensor | list[DimTensor]: ...


def grad(y: DimTensor, wrt: DimTensor | Sequence[DimTensor]) -> Any:
    """Compute the gradient of a scalar.

    Parameters
    ----------
    y : DimTensor
        Without dims.
    wrt : DimTensor or list of DimTensor
        Inputs or intermediates of the expression. Where y does not depend on one, its gradient is
        zero.

    Returns
    -------
    DimTensor or list of DimTensor
        With the dims of `wrt`.

    Raises
    ------
    DimError
        If y has dims.
    DtypeError
        If y or `wrt` are not of a float dtype.
    GraphError
        If y depends on `wrt` through an operand without a known derivative.
    ArgumentError
        If something is no tensor.

    Examples
    --------
    >>> import numpy as np, dimtensor as dt
    >>> x = dt.tensor("x", dims=dt.Dim("k", coords=["a", "b"]))
    >>> dt.grad((x**2).sum(), x).eval({x: np.array([1.0, 2.0])}).values.tolist()
    [2.0, 4.0]
    """
    nodes, single = _many(wrt)
    gradients = _gradients(as_node(y), nodes, None)
    return gradients[0] if single else gradients


def grad_by_pieces(y: DimTensor, x: DimTensor, pieces: Sequence[DimTensor]) -> DimTensor:
    """Compute the gradient of a scalar by a vector that is cut into pieces.

    Parameters
    ----------
    y : DimTensor
        Without dims.
    x : DimTensor
        A vector.
    pieces : sequence of DimTensor
        The elements of x in order, selected along its dim, each of them in one piece.

    Returns
    -------
    DimTensor
        With the dim of x.

    Examples
    --------
    >>> import numpy as np, dimtensor as dt
    >>> x = dt.tensor("x", dims=dt.Dim("k", length=3))
    >>> first, others = x.isel(k=0), x.isel(k=slice(1, 3))
    >>> gradient = grad_by_pieces(first * (others**2).sum(), x, [first, others])
    >>> gradient.eval({x: np.array([2.0, 3.0, 4.0])}).values.tolist()
    [25.0, 12.0, 16.0]
    """
    check_differentiable(y.node, [x.node])
    nodes = [piece.node for piece in pieces]
    return wrap(derivatives.gradient_by_pieces(y.node, x.node, nodes))


@overload
def value_and_grad(y: DimTensor, wrt: DimTensor) -> tuple[DimTensor, DimTensor]: ...
@overload
def value_and_grad(y: DimTensor, wrt: Sequence[DimTensor]) -> tuple[DimTensor, list[DimTensor]]: ...


def value_and_grad(y: DimTensor, wrt: DimTensor | Sequence[DimTensor]) -> tuple[DimTensor, Any]:
    """Return a scalar and its gradient; see :func:`grad`.

    Parameters
    ----------
    y : DimTensor
        Without dims.
    wrt : DimTensor or sequence of DimTensor

    Returns
    -------
    DimTensor, and DimTensor or list of DimTensor
        `y`, and its gradient.

    Raises
    ------
    DtypeError
        If an expression or a tensor to differentiate by is not of real floats.
    DimError
        If the expression is no scalar.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.scalar("x")
    >>> value, gradient = dt.value_and_grad(x**2, x)
    >>> float(gradient.eval({x: 3.0}))
    6.0
    """
    return y, grad(y, wrt)


@overload
def vjp(y: DimTensor, wrt: DimTensor, cotangent: Any) -> DimTensor: ...
@overload
def vjp(y: DimTensor, wrt: Sequence[DimTensor], cotangent: Any) -> list[DimTensor]: ...


def vjp(y: DimTensor, wrt: DimTensor | Sequence[DimTensor], cotangent: TensorLike) -> Any:
    """Compute the vector-Jacobian product: the gradient of the sum of ``y * cotangent``.

    Parameters
    ----------
    y : DimTensor
    wrt : DimTensor or list of DimTensor
    cotangent : DimTensor
        With the dims of y; it is held constant.

    Returns
    -------
    DimTensor or list of DimTensor
        With the dims of `wrt`.

    Raises
    ------
    DimError
        If the cotangent has other dims than y.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.scalar("x")
    >>> float(dt.vjp(x**2, x, dt.full([], 2.0)).eval({x: 3.0}))
    12.0
    """
    nodes, single = _many(wrt)
    target = as_node(y)
    weights = as_node(cotangent, [target], "the cotangent")
    products = _gradients(target, nodes, cast(weights, target.dtype))
    return products[0] if single else products


def jvp(
    y: DimTensor, wrt: DimTensor | Sequence[DimTensor], tangents: TensorLike | Sequence[TensorLike]
) -> DimTensor:
    """Compute the Jacobian-vector product: the directional derivative of y along tangents.

    Parameters
    ----------
    y : DimTensor
    wrt : DimTensor or list of DimTensor
    tangents : DimTensor or list of DimTensor
        With the dims of `wrt`.

    Returns
    -------
    DimTensor
        With the dims of y.

    Raises
    ------
    DimError
        If a tangent has other dims than its input.
    OptionError
        If the numbers of tangents and inputs differ.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.scalar("x")
    >>> float(dt.jvp(x**2, x, 1.0).eval({x: 3.0}))
    6.0
    """
    nodes, _ = _many(wrt)
    given = list(tangents) if isinstance(tangents, (list, tuple)) else [tangents]
    if len(given) != len(nodes):
        raise OptionError(f"jvp: {len(given)} tangents for {len(nodes)} inputs")
    directions = [
        cast(as_node(tangent, [node], "the tangent"), node.dtype)
        for tangent, node in zip(given, nodes, strict=True)
    ]
    check_differentiable(as_node(y), nodes, backward=False)
    return wrap(derivatives.pushforward(as_node(y), nodes, directions))


@overload
def jacobian(y: DimTensor, wrt: DimTensor) -> DimTensor: ...
@overload
def jacobian(y: DimTensor, wrt: Sequence[DimTensor]) -> list[DimTensor]: ...


def jacobian(y: DimTensor, wrt: DimTensor | Sequence[DimTensor]) -> Any:
    """Compute the Jacobian: the derivative of each element of y by each element of `wrt`.

    Parameters
    ----------
    y : DimTensor
    wrt : DimTensor or list of DimTensor

    Returns
    -------
    DimTensor or list of DimTensor
        With the dims of y and those of `wrt`, renamed with a prime where y has a dim of that name.

    Raises
    ------
    DtypeError
        If an expression or a tensor to differentiate by is not of real floats.

    Examples
    --------
    >>> import numpy as np, dimtensor as dt
    >>> x = dt.tensor("x", dims=dt.Dim("k", length=2))
    >>> dt.jacobian(x**2, x).eval({x: np.array([1.0, 2.0])}).values.tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    nodes, single = _many(wrt)
    check_differentiable(as_node(y), nodes)
    results = [wrap(derivatives.jacobian(as_node(y), node)) for node in nodes]
    return results[0] if single else results


def hessian(y: DimTensor, wrt: DimTensor) -> DimTensor:
    """Compute the Hessian of a scalar: the Jacobian of its gradient.

    Parameters
    ----------
    y : DimTensor
        Without dims.
    wrt : DimTensor

    Returns
    -------
    DimTensor
        With the dims of `wrt` twice, the second ones renamed with a prime.

    Raises
    ------
    DtypeError
        If an expression or a tensor to differentiate by is not of real floats.
    DimError
        If the expression is no scalar.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.scalar("x")
    >>> float(dt.hessian(x**3, x).eval({x: 2.0}))
    12.0
    """
    return jacobian(grad(y, wrt), wrt)
