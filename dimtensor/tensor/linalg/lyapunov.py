"""Discrete Lyapunov equations: covariances of stationary vector autoregressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim
from dimtensor.errors import DimError
from dimtensor.graph.rebuilding.substitute import relabel_node
from dimtensor.tensor.control.while_loops import fori_loop
from dimtensor.tensor.elementwise import where
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.linalg.matrices import DimPair, square, symmetric

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike

# doublings: 2 ** 40 terms of the series, enough for eigenvalues up to 1 - 1e-10
DOUBLINGS = 40


def solve_discrete_lyapunov(a: TensorLike, q: TensorLike, dims: DimPair | None = None) -> DimTensor:
    """Solve ``x = a x aᵀ + q`` for x: the covariance of a stationary vector autoregression.

    The series `q + a q aᵀ + a² q aᵀ² + …` is summed by doubling the number of its terms 40 times,
    which loses no digits: nothing is subtracted.

    Parameters
    ----------
    a : DimTensor
        Square: the transition matrix.
    q : DimTensor
        Over a dim and its renamed copy, as long as the dims of `a`: the covariance of the noise.
    dims : pair of Dim or str, optional
        Row and column dim of `a`: the next state is ``dt.dot(a, state, dim=column)``.

    Returns
    -------
    DimTensor
        Over the dims of q, and batch dims. NaN where the autoregression is not stationary, or too
        close to it: where an eigenvalue of `a` is not below 1 in absolute value, by at least 1e-10.

    Raises
    ------
    DimError
        If the dims are not there, or are not known to have the same length.

    Examples
    --------
    >>> import dimtensor as dt
    >>> s = dt.Dim("s", length=2)
    >>> to = s.rename("to")
    >>> a = dt.data([[0.6, 0.0], [0.0, 0.8]], dims=[to, s])
    >>> q = dt.eye(s, s.rename())
    >>> x = dt.linalg.solve_discrete_lyapunov(a, q, (to, s))
    >>> dt.linalg.diagonal(x).eval().round(4).values.tolist()
    [1.5625, 2.7778]
    """
    node, row, col = square(a, dims, "solve_discrete_lyapunov")
    noise, own, other = symmetric(q, None, "solve_discrete_lyapunov, covariance")
    if row.length != own.length:
        raise DimError(
            "solve_discrete_lyapunov: the matrix and the covariance are not known to have the same "
            "length",
            [("matrix", repr(row)), ("covariance", repr(own))],
        )
    first, second = Dim("first", length=own.length), Dim("second", length=own.length)
    start = _relabeled(wrap(noise), (own, first), (other, second))
    moves = _relabeled(wrap(node), (row, first), (col, second))
    inner = Dim("inner", length=own.length)

    def product(one: Any, two: Any) -> Any:
        return dot(one.relabel(second, inner), two.relabel(first, inner), dim=inner)

    def double(step: Any, state: Any) -> Any:
        total, power = state
        turned = _relabeled(power, (first, second), (second, first))
        return total + product(product(power, total), turned), product(power, power)

    total, power = fori_loop(0, DOUBLINGS, double, (start + 0.0 * moves, moves))
    # the last power is what the series still lacks
    is_complete = (power**2).sum([first, second]) < 1e-16
    return _relabeled(where(is_complete, total, np.nan), (first, own), (second, other))


def _relabeled(x: Any, *pairs: tuple[Dim, Dim]) -> Any:
    return wrap(relabel_node(x.node, *pairs))
