"""Derivatives by finite differences, of functions of arrays and of dims-tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dimtensor.backends import BackendName

Function = Callable[..., Any]


def slope(function: Function, operands: Sequence[Any], at: int, step: float = 1e-4) -> np.ndarray:
    """Differentiate an elementwise function with respect to one operand.

    Parameters
    ----------
    function : callable
        Elementwise, of arrays.
    operands : sequence of array
        The point of the derivative; axes broadcast.
    at : int
        Index of the operand to vary.
    step : float

    Returns
    -------
    ndarray
        With the axes of the function's value.

    Notes
    -----
    The central formula of five points, 25.3.6 of Abramowitz and Stegun, "Handbook of Mathematical
    Functions": its error is of the order of ``step**4``.

    Examples
    --------
    >>> import numpy as np
    >>> slope(np.power, [np.array([1.0, 2.0]), 3.0], 0).round(6).tolist()
    [3.0, 12.0]
    """

    def shifted(by: float) -> np.ndarray:
        moved = list(operands)
        moved[at] = np.asarray(moved[at]) + by * step
        return np.asarray(function(*moved))

    return (8 * (shifted(1) - shifted(-1)) - (shifted(2) - shifted(-2))) / (12 * step)


def gradient_by_differences(
    function: Callable[[np.ndarray], Any], x: Any, step: float = 1e-4
) -> np.ndarray:
    """Gradient of a scalar function of an array, each element varied on its own.

    Parameters
    ----------
    function : callable
        Takes an array of the shape of x and returns a number.
    x : array
    step : float
        See :func:`slope` for the formula.

    Returns
    -------
    ndarray
        Of the shape of x.

    Examples
    --------
    >>> import numpy as np
    >>> gradient_by_differences(lambda x: (x**2).sum(), np.array([1.0, 2.0])).round(6).tolist()
    [2.0, 4.0]
    """
    x = np.asarray(x, dtype=float)
    gradient = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        unit = np.zeros(x.shape)
        unit[index] = 1.0

        def along(distance: float, unit: np.ndarray = unit) -> float:
            return float(function(x + distance * unit))

        gradient[index] = slope(along, [0.0], 0, step)
    return gradient


def assert_gradient(
    y: Any,
    wrt: Any,
    values: Mapping[Any, Any],
    *,
    oracle: Callable[[Any], Any] | None = None,
    backend: BackendName = "python",
    rtol: float = 1e-6,
    atol: float = 1e-8,
) -> None:
    """Check ``dt.grad(y, wrt)`` against finite differences.

    Parameters
    ----------
    y : DimTensor
        A scalar.
    wrt : DimTensor
        An input of y.
    values : mapping of DimTensor to DataArray, array or number
        Values of all inputs of y.
    oracle : callable, optional
        Computes y by another library: takes a DataArray, the value of `wrt`, and returns a number.
        By default y itself is evaluated at the shifted values, which checks the gradient but not y.
    backend : {"python", "native", "jax"}
        Backend of the gradient.
    rtol, atol : float

    Raises
    ------
    AssertionError
        If they differ.

    Examples
    --------
    >>> import numpy as np
    >>> import dimtensor as dt
    >>> x = dt.tensor("x", dims=dt.Dim("k", length=2))
    >>> assert_gradient((x**3).sum(), x, {x: np.array([1.0, 2.0])})
    """
    import dimtensor as dt

    point = dt.evaluate(+wrt, {wrt: values[wrt]})
    if oracle is None:
        inputs = dt.inputs_of(y)
        compiled = dt.function(inputs, y, backend="python")

        def oracle(x: Any) -> Any:
            return compiled(*[x if tensor is wrt else values[tensor] for tensor in inputs])

    def along(array: np.ndarray) -> float:
        return float(oracle(point.copy(data=array)))

    gradient = dt.grad(y, wrt)
    given = {tensor: values[tensor] for tensor in dt.inputs_of(gradient)}
    found = dt.evaluate(gradient, given, backend=backend).transpose(*point.dims)
    expected = gradient_by_differences(along, point.values)
    np.testing.assert_allclose(found.values, expected, rtol=rtol, atol=atol)
