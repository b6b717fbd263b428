"""DimTensor, the tensor of users, made of its mixins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from dimtensor.errors import ArgumentError, named_after
from dimtensor.renderers import Rendered, latex
from dimtensor.tensor.along.calculus import CalculusMixin
from dimtensor.tensor.along.labels import LabelMixin
from dimtensor.tensor.along.methods import WindowMixin
from dimtensor.tensor.along.missing import MissingMixin
from dimtensor.tensor.along.statistics import StatisticsMixin
from dimtensor.tensor.arithmetic import ArithmeticMixin
from dimtensor.tensor.changes.complex_parts import of_parts
from dimtensor.tensor.changes.dims import ShapeMixin
from dimtensor.tensor.changes.elements import ElementMixin
from dimtensor.tensor.changes.movement import MovementMixin
from dimtensor.tensor.changes.new_dims import NewDimsMixin
from dimtensor.tensor.changes.padding import PaddingMixin
from dimtensor.tensor.evaluate import EvaluationMixin
from dimtensor.tensor.handle import TensorHandle, function_of_parts
from dimtensor.tensor.numpy_style import no_attribute
from dimtensor.tensor.reductions.cumulative import CumulativeMixin
from dimtensor.tensor.reductions.exponentials import ExponentialMixin
from dimtensor.tensor.reductions.order_statistics import OrderMixin
from dimtensor.tensor.reductions.polynomials import PolynomialMixin
from dimtensor.tensor.reductions.quantiles import QuantileMixin
from dimtensor.tensor.reductions.weighted import WeightedMixin
from dimtensor.tensor.selection.indexing import IndexingMixin
from dimtensor.tensor.selection.reindex import ReindexMixin
from dimtensor.tensor.values import ValuesMixin


class DimTensor(
    ArithmeticMixin,
    CumulativeMixin,
    ExponentialMixin,
    OrderMixin,
    QuantileMixin,
    IndexingMixin,
    ReindexMixin,
    ElementMixin,
    ShapeMixin,
    NewDimsMixin,
    MovementMixin,
    PaddingMixin,
    WindowMixin,
    MissingMixin,
    LabelMixin,
    CalculusMixin,
    StatisticsMixin,
    PolynomialMixin,
    WeightedMixin,
    EvaluationMixin,
    ValuesMixin,
    Rendered,
    TensorHandle,
):
    """Symbolic tensor with named, unordered dims.

    Made by :func:`dimtensor.tensor`, :func:`dimtensor.data` and the other constructors, and by all
    operations on tensors. Structurally equal tensors are one object.

    Examples
    --------
    >>> import dimtensor as dt
    >>> a = dt.tensor("a", dims=dt.Dim("country", coords=["Italy", "Kenya"]))
    >>> b = dt.tensor("b", dims=dt.Dim("age", length=5))
    >>> (a + b).sizes
    {'age': 5, 'country': 2}
    >>> a + b is b + a
    True
    """

    __slots__ = ()

    def __init__(self, *args: Any, **kwargs: Any):
        raise ArgumentError("make tensors with dt.tensor, dt.data, dt.zeros, dt.from_shaped, ...")

    __hash__ = ArithmeticMixin.__hash__

    if not TYPE_CHECKING:  # a type checker knows which attributes there are

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute(self, name)

    def _repr_latex_(self) -> str | None:
        typeset = latex.find(self)
        return None if typeset is None else typeset(self)


TensorHandle._class = named_after(DimTensor)
function_of_parts.provides()(of_parts)
