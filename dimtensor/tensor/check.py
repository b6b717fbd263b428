"""Checks: conditions that are evaluated with the tensors they are attached to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dimtensor.errors import ArgumentError
from dimtensor.graph import make
from dimtensor.tensor.handle import as_node, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


def check(condition: TensorLike, message: str, value: TensorLike | None = None) -> DimTensor:
    """Attach a condition to a tensor, which must be true wherever the tensor is used.

    A check is an effect, not a part of the value: a function whose outputs depend on the checked
    tensor evaluates it, even where the value itself is not needed (multiplied by zero, say), on
    every backend, in gradients, and for every position of a batched call.

    Parameters
    ----------
    condition : DimTensor of bool
        All its elements must be true. Its dims need not be those of `value`.
    message : str
        Text of the error. Where the condition has dims, the labels of false elements are added.
    value : DimTensor, optional
        The tensor that the check is attached to; by default the condition itself.

    Returns
    -------
    DimTensor
        `value`: same dims, dtype, labels and derivatives.

    Raises
    ------
    DtypeError
        If the condition is not of bool.
    ArgumentError
        If the message is no text.

    See Also
    --------
    dimtensor.function : ``checks=`` drops checks, and adds those that no output depends on.

    Notes
    -----
    A function whose check fails raises :class:`dimtensor.CheckError`, and so does a log density; a
    sampler takes such a point for one of probability zero.

    Examples
    --------
    >>> import dimtensor as dt
    >>> country = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
    >>> rate = dt.tensor("rate", dims=country)
    >>> safe = dt.check(rate > 0, "rates are positive", rate)
    >>> float(dt.log(safe).sum().eval({rate: [1.0, 1.0, 1.0]}))
    0.0
    >>> dt.log(safe).sum().eval({rate: [1.0, 0.0, -1.0]})
    Traceback (most recent call last):
    dimtensor.errors.CheckError: rates are positive
      false: 2 of 3 elements
      at: country='Kenya'; country='USA'
    """
    if not isinstance(message, str) or not message.strip():
        text = f"the message of a check is a text that is not empty, not {message!r}"
        raise ArgumentError(text)
    given = None if value is None else as_node(value, what="the value of a check")
    # a labeled array takes the dims of the value, a number never its dtype
    beside = [] if given is None or isinstance(condition, (bool, np.bool_)) else [given]
    asked = as_node(condition, beside, "the condition of a check")
    return wrap(make("check", (asked if given is None else given, asked), message))
