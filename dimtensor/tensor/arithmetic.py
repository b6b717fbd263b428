"""Operators of tensors, and the functions of NumPy that take tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from dimtensor.dims import dim_set
from dimtensor.errors import DimtensorError, DtypeError, GraphError, plain_repr
from dimtensor.graph.dtypes import is_complex
from dimtensor.graph.optable import TABLE
from dimtensor.tensor import constructors, elementwise
from dimtensor.tensor.changes import elements
from dimtensor.tensor.handle import TensorHandle, elemwise
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.values import has_values

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

# the name of a ufunc → row of the op table
UFUNCS = {
    name: row.name
    for row in TABLE.values()
    if row.kind == "elemwise"
    for name in (row.numpy or row.name, *row.ufuncs.split())
}


type _Binary = Callable[[Any, Any], DimTensor]
type _Unary = Callable[[Any], DimTensor]


def _binary(name: str) -> _Binary:
    """Make the method of a binary operator, which is a row of the op table."""

    def operator(self: Any, other: Any) -> DimTensor:
        # NumPy's protocol: the other one has the operator
        if getattr(type(other), "__array_ufunc__", False) is None:
            return NotImplemented
        return elemwise(name, self, other)

    return operator


def _reflected(name: str) -> _Binary:
    """Make the method of a binary operator whose left operand is no tensor."""

    def operator(self: Any, other: Any) -> DimTensor:
        return elemwise(name, other, self)

    return operator


def _unary(name: str) -> _Unary:
    """Make the method of a unary operator."""

    def operator(self: Any) -> DimTensor:
        return elemwise(name, self)

    return operator


class ArithmeticMixin(TensorHandle):
    """Operators of tensors, which broadcast by dims."""

    __slots__ = ()
    __array_priority__ = 1000
    __pandas_priority__ = 5000  # series + tensor is computed by the tensor, which reads the index

    __add__: ClassVar[_Binary] = _binary("add")
    __radd__: ClassVar[_Binary] = _reflected("add")
    __sub__: ClassVar[_Binary] = _binary("subtract")
    __rsub__: ClassVar[_Binary] = _reflected("subtract")
    __mul__: ClassVar[_Binary] = _binary("multiply")
    __rmul__: ClassVar[_Binary] = _reflected("multiply")
    __truediv__: ClassVar[_Binary] = _binary("divide")
    __rtruediv__: ClassVar[_Binary] = _reflected("divide")
    __floordiv__: ClassVar[_Binary] = _binary("floor_divide")
    __rfloordiv__: ClassVar[_Binary] = _reflected("floor_divide")
    __mod__: ClassVar[_Binary] = _binary("mod")
    __rmod__: ClassVar[_Binary] = _reflected("mod")
    __and__: ClassVar[_Binary] = _binary("bitwise_and")
    __rand__: ClassVar[_Binary] = _reflected("bitwise_and")
    __or__: ClassVar[_Binary] = _binary("bitwise_or")
    __ror__: ClassVar[_Binary] = _reflected("bitwise_or")
    __xor__: ClassVar[_Binary] = _binary("bitwise_xor")
    __rxor__: ClassVar[_Binary] = _reflected("bitwise_xor")
    __rpow__: ClassVar[_Binary] = _reflected("power")
    __lt__: ClassVar[_Binary] = _binary("less")
    __le__: ClassVar[_Binary] = _binary("less_equal")
    __gt__: ClassVar[_Binary] = _binary("greater")
    __ge__: ClassVar[_Binary] = _binary("greater_equal")
    __eq__: ClassVar[_Binary] = _binary("equal")  # type: ignore[assignment]
    __ne__: ClassVar[_Binary] = _binary("not_equal")  # type: ignore[assignment]
    __hash__ = TensorHandle.__hash__
    __neg__: ClassVar[_Unary] = _unary("negative")
    __abs__: ClassVar[_Unary] = _unary("abs")
    __invert__: ClassVar[_Unary] = _unary("invert")
    __floor__: ClassVar[_Unary] = _unary("floor")
    __ceil__: ClassVar[_Unary] = _unary("ceil")
    __trunc__: ClassVar[_Unary] = _unary("trunc")

    def __pow__(self, other: Any) -> DimTensor:
        if type(other) is int and other in (2, 3) and is_complex(self.node.dtype):
            # as NumPy computes it; products have derivatives of complex numbers
            squared = elemwise("multiply", self, self)
            return squared if other == 2 else elemwise("multiply", self, squared)
        return elemwise("power", self, other)

    def __divmod__(self, other: Any) -> tuple[DimTensor, DimTensor]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[DimTensor, DimTensor]:
        return other // self, other % self

    def __matmul__(self, other: Any) -> DimTensor:
        return dot(self, other)

    def __rmatmul__(self, other: Any) -> DimTensor:
        return dot(other, self)

    def __pos__(self) -> DimTensor:
        return self  # type: ignore[return-value]

    def __round__(self, ndigits: int | None = None) -> DimTensor:
        return elements.round(self, ndigits or 0)

    # -- NumPy ----------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = UFUNCS.get(ufunc.__name__)
        if method != "__call__" or name is None or kwargs:
            what = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
            raise DtypeError(
                f"{what} is not defined for dims-tensors"
                + (f" with {', '.join(kwargs)}" if kwargs else ""),
                hint="lift a positional function over dims with dt.apply",
            )
        return elemwise(name, *inputs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        handler = _array_functions().get(func)
        if handler is None:
            raise DtypeError(
                f"np.{func.__name__} is not defined for dims-tensors",
                hint="dir(dt) lists the functions; dt.apply lifts a positional one",
            )
        return handler(*args, **kwargs)

    def __bool__(self) -> NoReturn:
        hint = (
            "select elementwise with dt.where; combine conditions with & and |; "
            "two expressions are the same one where `a is b`"
        )
        if has_values(self.node):
            number = "(…).all().item()" if self.dims else "(…).item()"
            hint = f"{number} computes it from data: if {number}: …; {hint}"
        raise GraphError(
            "a symbolic tensor is neither true nor false before it is computed", hint=hint
        )

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise _no_assignment(self, key, value)

    def __delitem__(self, key: Any) -> NoReturn:
        raise _no_assignment(self, key)

    def __iter__(self) -> NoReturn:
        raise GraphError("a dims-tensor has no order to iterate in; select with sel or isel")

    def __len__(self) -> int:
        if self.ndim == 1:
            whole = self.node.kind == "data"
            return len(self.node.attrs.values) if whole else len(self.dims[0])
        pandas = "; a pandas object of it is x.to_dataframe()" if self.ndim else ""
        raise DimtensorError(f"a tensor with {self.ndim} dims has no len; see x.sizes{pandas}")

    def __contains__(self, item: Any) -> NoReturn:
        raise GraphError("`in` needs values; write (x == item).any()")


def _no_assignment(x: TensorHandle, key: Any, value: Any = None) -> DtypeError:
    """Return the error of `x[key] = value` or `del x[key]`, with the expression to write."""
    first = x.dims[0]._short if x.dims else "dim"
    of_labels = isinstance(key[0] if isinstance(key, list) and key else key, str)
    at = plain_repr(key) if isinstance(key, (int, str, slice, list)) else "…"
    where, which = f"{first}={at}", "sel" if of_labels else "isel"
    if value is None:
        done, way = "deleted", f"x = x.drop_{which}({where})"
    elif isinstance(key, TensorHandle) and key.dtype == "bool":
        done, way = "assigned to", "x = dt.where(mask, value, x)"
    else:
        given = plain_repr(value) if isinstance(value, (int, float, complex)) else "value"
        done, way = "assigned to", f"x = x.{which}({where}).set({given})"
    text = f"elements are not {done}: a tensor does not change"
    return DtypeError(text, [("dims", dim_set(x.dims))], f"make another one: {way}")


def _clip(x: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Any:
    """Implement `numpy.clip`, whose bounds have two names each."""
    low = min if a_min is None else a_min
    high = max if a_max is None else a_max
    if low is not None and high is not None:
        return elemwise("clip", x, low, high)
    return x.clip(low, high)


@cache
def _array_functions() -> dict[Callable[..., Any], Callable[..., Any]]:
    def method(name: str) -> Callable[..., Any]:
        def call(x: Any, *args: Any, **kwargs: Any) -> Any:
            if "axis" in kwargs or args:
                raise DtypeError(f"np.{name} of a dims-tensor takes no axis; use x.{name}(dim)")
            return getattr(x, name)(**kwargs)

        return call

    reductions = ("sum", "prod", "mean", "std", "var", "min", "max", "all", "any", "median")
    handlers: dict[Callable[..., Any], Callable[..., Any]] = {
        getattr(np, name): method(name) for name in reductions
    }
    for name, row in UFUNCS.items():
        function = getattr(np, name, None)
        if function is not None and not isinstance(function, np.ufunc):
            handlers[function] = partial(elemwise, row)
    handlers |= {
        np.clip: _clip,
        np.isclose: elementwise.isclose,
        np.zeros_like: constructors.zeros_like,
        np.ones_like: constructors.ones_like,
        np.full_like: constructors.full_like,
        np.iscomplexobj: lambda x: is_complex(x.dtype),
        np.ndim: lambda x: x.ndim,
    }
    return handlers
