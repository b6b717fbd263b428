"""Sequences shifted along a dim, and states that hold the last elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, find_dim
from dimtensor.graph.printing.words import say

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def lag(x: DimTensor, over: Dim | str, n: int = 1, fill_value: Any = np.nan) -> DimTensor:
    """A sequence shifted so that each position has what was `n` positions before.

    It is ``x.shift({over: n}, fill_value)``, under the name that a loop's sequences have.

    Parameters
    ----------
    x : DimTensor
    over : Dim or str
    n : int
    fill_value : number or DimTensor
        The first `n` elements; NaN by default, with which integers become floats.

    Returns
    -------
    DimTensor
        With the same dims: it can be beside `x` among the sequences of a loop.

    Examples
    --------
    >>> import dimtensor as dt
    >>> time = dt.Dim("time", length=3)
    >>> x = dt.data([1.0, 2.0, 3.0], dims=time)
    >>> dt.lag(x, time).eval().values.tolist()
    [nan, 1.0, 2.0]
    >>> dt.lag(x, time, fill_value=0.0).eval().values.tolist()
    [0.0, 1.0, 2.0]
    """
    return _moved("lag", x, over, n, fill_value)


def lead(x: DimTensor, over: Dim | str, n: int = 1, fill_value: Any = np.nan) -> DimTensor:
    """A sequence shifted so that each position has what comes `n` positions later.

    It is ``x.shift({over: -n}, fill_value)``.

    Parameters
    ----------
    x : DimTensor
    over : Dim or str
    n : int
    fill_value : number or DimTensor
        The last `n` elements; NaN by default, with which integers become floats.

    Returns
    -------
    DimTensor
        With the dims of `x`.

    Examples
    --------
    >>> import dimtensor as dt
    >>> time = dt.Dim("time", length=3)
    >>> x = dt.data([1.0, 2.0, 3.0], dims=time)
    >>> dt.lead(x, time).eval().values.tolist()
    [2.0, 3.0, nan]
    """
    return _moved("lead", x, over, n, fill_value)


def _moved(name: str, x: DimTensor, over: Dim | str, n: int, fill_value: Any) -> DimTensor:
    moved = x.shift({over: n if name == "lag" else -n}, fill_value=fill_value)
    along = find_dim(x.dims, over, name)
    fill = None if fill_value is np.nan else fill_value
    return say(moved, name, x, along=along, n=n if n != 1 else None, fill_value=fill)


def push(past: DimTensor, value: Any, lag: Dim | str) -> DimTensor:
    """A state of several lags after a step: the newest value first, the oldest one dropped.

    Parameters
    ----------
    past : DimTensor
        Earlier values along the dim of lags: first the last one, then the one before, and so on.
    value : DimTensor or number
        The new value, without the dim of lags.
    lag : Dim or str

    Returns
    -------
    DimTensor
        With the dims of `past`.

    Examples
    --------
    >>> import dimtensor as dt
    >>> lag, time = dt.Dim("lag", coords=[1, 2]), dt.Dim("time", length=4)
    >>> phi = dt.data([0.5, 0.25], dims=lag)
    >>> def step(past, noise):
    ...     new = (phi * past).sum(lag) + noise
    ...     return dt.push(past, new, lag), new
    >>> noise = dt.data([1.0, 0.0, 0.0, 0.0], dims=time)
    >>> dt.scan(step, dt.zeros(lag), noise, over=time)[1].eval().values.tolist()
    [1.0, 0.5, 0.5, 0.375]
    """
    pushed = past.shift({lag: 1}, fill_value=value)
    return say(pushed, "push", past, value=value, along=find_dim(past.dims, lag, "push"))
