"""Functions that are methods of tensors, under NumPy's names: ``dt.sum(x, k)`` is ``x.sum(k)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate

from dimtensor.tensor.changes.elements import round as round
from dimtensor.tensor.changes.movement import MovementMixin
from dimtensor.tensor.handle import TensorLike, as_node, wrap
from dimtensor.tensor.reductions.basic import ReductionMixin
from dimtensor.tensor.reductions.cumulative import CumulativeMixin
from dimtensor.tensor.reductions.exponentials import ExponentialMixin
from dimtensor.tensor.reductions.order_statistics import OrderMixin
from dimtensor.tensor.reductions.quantiles import QuantileMixin

_TENSOR = inspect.Parameter("x", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="TensorLike")


def _function[**P, R](
    method: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[TensorLike, P], R]:
    """Make a function of a method, which takes DataArrays and numbers, too."""

    @wraps(method)
    def function(x: TensorLike, *args: P.args, **options: P.kwargs) -> R:
        return method(wrap(as_node(x)), *args, **options)

    signature = inspect.signature(method)
    _, *others = signature.parameters.values()
    made: Any = function
    del made.__wrapped__
    made.__signature__ = signature.replace(parameters=[_TENSOR, *others])
    made.__module__, made.__qualname__ = __name__, made.__name__
    heading, doc = "Parameters\n----------\n", inspect.getdoc(method) or ""
    made.__doc__ = doc.replace(heading, f"{heading}x : DimTensor, DataArray or number\n", 1)
    return made


sum = _function(ReductionMixin.sum)
prod = _function(ReductionMixin.prod)
mean = _function(ReductionMixin.mean)
var = _function(ReductionMixin.var)
std = _function(ReductionMixin.std)
max = _function(ReductionMixin.max)
min = _function(ReductionMixin.min)
all = _function(ReductionMixin.all)
any = _function(ReductionMixin.any)
count = _function(ReductionMixin.count)
median = _function(QuantileMixin.median)
quantile = _function(QuantileMixin.quantile)
cumsum = _function(CumulativeMixin.cumsum)
cumprod = _function(CumulativeMixin.cumprod)
logsumexp = _function(ExponentialMixin.logsumexp)
softmax = _function(ExponentialMixin.softmax)
log_softmax = _function(ExponentialMixin.log_softmax)
argmax = _function(OrderMixin.argmax)
argmin = _function(OrderMixin.argmin)
sort = _function(OrderMixin.sort)
argsort = _function(OrderMixin.argsort)
diff = _function(MovementMixin.diff)
