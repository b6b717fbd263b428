"""Loop states that hold the last elements of a sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.dims import Dim, find_dim
from dimtensor.graph.printing.words import say

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


def push(past: DimTensor, value: TensorLike, lag: Dim | str) -> DimTensor:
    """Add a value to a state of lags: the newest value comes first, the oldest one is dropped.

    Parameters
    ----------
    past : DimTensor
        Earlier values along the dim of lags, the most recent one first.
    value : DimTensor or number
        The new value, without the dim of lags.
    lag : Dim or str

    Returns
    -------
    DimTensor
        With the dims of `past`.

    Raises
    ------
    UnknownDimError
        If the state lacks the dim of the lags.

    Examples
    --------
    >>> import dimtensor as dt
    >>> lag, time = dt.Dim("lag", coords=[1, 2]), dt.Dim("time", length=4)
    >>> phi = dt.data([0.5, 0.25], dims=lag)
    >>> def step(past, noise):
    ...     new = (phi * past).sum(lag) + noise
    ...     return dt.push(past, new, lag), new
    >>> noise = dt.data([1.0, 0.0, 0.0, 0.0], dims=time)
    >>> dt.scan(step, dt.zeros(lag), noise, dim=time)[1].eval().values.tolist()
    [1.0, 0.5, 0.5, 0.375]
    """
    pushed = past.shift({lag: 1}, fill_value=value)
    return say(pushed, "push", past, value=value, dim=find_dim(past.dims, lag, "push"))
