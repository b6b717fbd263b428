"""Values of expressions of data alone, which need no inputs."""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dimtensor.compile.function import CompiledFunction, function
from dimtensor.dims import Binding, Dim
from dimtensor.errors import (
    ArgumentError,
    DimError,
    DtypeError,
    GraphError,
    LabelError,
    build_message,
    listing,
)
from dimtensor.extras import check_installed
from dimtensor.graph import Node, toposort
from dimtensor.graph.beside import Beside
from dimtensor.graph.dtypes import is_integer
from dimtensor.graph.walk import LEAF_KINDS
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.tensor.inputs import attributes
from dimtensor.traversal import reached
from dimtensor.values.data import bind_data, title_of
from dimtensor.values.labeled import with_attributes

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from xarray.plot.accessor import DataArrayPlotAccessor

# number of elements in all nodes up to which interpreting is faster than compiling
_INTERPRETED = 10_000_000
# limits of what a repr computes: elements in all nodes, and nodes
_GLANCE, _GLANCE_NODES = 200_000, 100
# a loop runs its body once a step, and the number of steps may be unknown
_LOOPS = {"loop": 1_000}

_seen: Beside[xr.DataArray] = Beside()


class ValuesMixin(TensorHandle):
    """Values of data, and of expressions of nothing but data."""

    __slots__ = ()

    @property
    def values(self) -> np.ndarray:
        """Values of data, or of an expression of data alone.

        Returns
        -------
        ndarray
            Its axes are the dims in the order of :attr:`dims`, which is that of their names. The
            elements of a tensor of labels are labels. They are computed at each access.

        Raises
        ------
        GraphError
            If there are inputs without values.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 3.0], dims=dt.Dim("k", coords=["a", "b"]))
        >>> (x - x.mean()).values.tolist()
        [-1.0, 1.0]
        """
        return _array(self.node, "values")

    @property
    def plot(self) -> DataArrayPlotAccessor:
        """Plots of the values by xarray: ``x.plot()``, ``x.plot.line(x="time")``, and others.

        Returns
        -------
        DataArrayPlotAccessor
            Calling it makes the plot that suits the number of dims. The axes of data have the
            units of the DataArray that they were made of.

        Raises
        ------
        GraphError
            If there are inputs without values.
        MissingExtraError
            If matplotlib is not installed.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 3.0, 2.0], dims=dt.Dim("day", coords=[1, 2, 3]), name="rain")
        >>> (line,) = x.plot()
        >>> line.get_ydata().tolist(), line.axes.get_xlabel(), line.axes.get_ylabel()
        ([1.0, 3.0, 2.0], 'day', 'rain')
        """
        check_installed("matplotlib", "viz", "x.plot")
        found, like = _computed(self.node, "a plot"), attributes.get(self.node)
        found = found if like is None else with_attributes(found, like)
        return found.rename(self.node.name).plot

    @overload
    def item(self) -> float: ...
    @overload
    def item[T](self, kind: type[T]) -> T: ...
    def item(self, kind: type[Any] | None = None) -> Any:
        """Return the value of an expression of one element as a Python number.

        Parameters
        ----------
        kind : type, optional
            Required type: ``int``, ``float``, ``complex``, ``bool``, or the type of a label, such
            as ``str``. It is checked, and type checkers take it for that of the result; without it
            they assume a float.

        Returns
        -------
        int, float, complex, bool or label

        Raises
        ------
        GraphError
            If there are inputs without values.
        DimError
            If there is not exactly one element.
        DtypeError
            If the value is of another kind.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.data([1.0, 2.0], dims=dt.Dim("k", coords=["a", "b"]))
        >>> x.sum().item(), x.idxmax().item(str)
        (3.0, 'b')
        """
        value = _computed(self.node, "a value")
        if value.size != 1:
            raise DimError(
                f"item takes the only element, there are {value.size}",
                [("dims", dict(value.sizes))],
                "select one with sel or isel, or reduce, first",
            )
        found = value.item()
        if kind is not None and not (isinstance(found, kind) or _is_wider(kind, found)):
            raise DtypeError(
                f"item: the value is of {type(found).__name__}, not of {kind.__name__}",
                [("value", repr(found))],
            )
        return found if kind not in (float, complex) else kind(found)

    def to_dataframe(self, name: str | None = None) -> pd.DataFrame:
        """Convert the values to a DataFrame of pandas: one column, with the labels as index.

        Parameters
        ----------
        name : str, optional
            Of the column; by default that of the data, or ``value``.

        Returns
        -------
        DataFrame

        Raises
        ------
        GraphError
            If there are inputs without values.

        Examples
        --------
        >>> import dimtensor as dt
        >>> country = dt.Dim("country", coords=["Italy", "Kenya"])
        >>> dt.data([1.0, 2.0], dims=country).to_dataframe("x")["x"].to_dict()
        {'Italy': 1.0, 'Kenya': 2.0}
        """
        import pandas as pd

        value = _computed(self.node, "values")
        name = name or self.node.name or "value"
        return value.to_dataframe(name) if value.dims else pd.DataFrame({name: [value.item()]})

    def to_series(self) -> pd.Series:
        """Convert the values to a Series of pandas, with the labels as index.

        Returns
        -------
        Series

        Raises
        ------
        GraphError
            If there are inputs without values.
        DimError
            If there are no dims.

        Examples
        --------
        >>> import dimtensor as dt
        >>> country = dt.Dim("country", coords=["Italy", "Kenya"])
        >>> dt.data([1.0, 2.0], dims=country).to_series().to_dict()
        {'Italy': 1.0, 'Kenya': 2.0}
        """
        if not self.node.dims:
            raise DimError("to_series: there are no dims to make an index of; .item() is the value")
        return _computed(self.node, "values").rename(self.node.name).to_series()

    def known_values(self) -> xr.DataArray | None:
        """Return the values as :meth:`eval` does; None if the expression has inputs.

        Returns
        -------
        DataArray or None

        Examples
        --------
        >>> import dimtensor as dt
        >>> dt.data([1.0, 2.0], dims=dt.Dim("k")).known_values().values.tolist()
        [1.0, 2.0]
        >>> dt.scalar("x").known_values() is None
        True
        """
        return _computed(self.node, "values") if has_values(self.node) else None

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if _unknown(self.node):
            raise GraphError(_lacking(self.node, "values"))
        held = _function_of(self.node).held()[0]
        if held.axes_with_labels:
            name = self.name if self.name and self.name.isidentifier() else "x"
            raise LabelError(
                "an array would lose the labels of these values, and pandas would number them",
                [("labels along", listing(held.axes_with_labels))],
                f"{name}.to_dataframe() keeps the labels; {name}.values has the values alone, "
                "axes in the order of .dims",
            )
        return held.values if dtype is None else held.values.astype(dtype, copy=False)

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __index__(self) -> int:
        if not is_integer(self.node.dtype):
            raise DtypeError(f"a position is an integer, this is of {self.node.dtype}")
        return int(self._number())

    def __complex__(self) -> complex:
        return complex(self._number())

    def __format__(self, spec: str) -> str:
        """Format a tensor without dims as a number, and others as ``str`` does.

        Examples
        --------
        >>> import dimtensor as dt
        >>> f"{dt.data([1.0, 2.5], dims=dt.Dim('k')).mean():.3f}"
        '1.750'
        """
        return format(self._number(), spec) if spec else str(self)

    def _number(self) -> Any:
        if self.node.dims and has_values(self.node):
            names = ", ".join(dim._short for dim in self.node.dims)
            raise ArgumentError(
                "a number is made of one element, and this tensor has dims",
                [("dims", f"{{{names}}}")],
                "select one with sel or isel, or reduce, first",
            )
        return _array(self.node, "a number").item()


def _is_wider(kind: type, value: Any) -> bool:
    """Return whether a type of numbers includes another one."""
    narrow = (bool, int, float)
    return kind in (float, complex) and isinstance(value, narrow)


def has_values(node: Node) -> bool:
    """Return whether an expression depends on data and numbers alone."""
    return not any(x.kind == "rv" or _is_unknown(x) for x in reached([node], lambda x: x.inputs))


def _unknown(node: Node) -> list[Node]:
    return [x for x in toposort([node]) if _is_unknown(x)]


def _is_unknown(leaf: Node) -> bool:
    return leaf.kind in LEAF_KINDS and leaf.kind != "data"


def _lacking(node: Node, what: str) -> str:
    unknown = [title_of(x) for x in _unknown(node)]
    shown = ", ".join(unknown[:4]) + (", …" if len(unknown) > 4 else "")
    own = "an input has" if node.kind in LEAF_KINDS else f"this depends on {shown}, and has"
    return build_message(
        f"{own} no {what.removeprefix('a ')} before it is computed",
        hint="compute it with x.eval({tensor: value}), or compile it with dt.function",
    )


def _computed(node: Node, what: str) -> xr.DataArray:
    kept = _kept(node, what)
    return _function_of(node)() if kept is None else kept.copy()


def _array(node: Node, what: str) -> np.ndarray:
    """Compute the values as an ndarray, without importing xarray, which is slow."""
    kept = _kept(node, what)
    return _function_of(node).held()[0].values if kept is None else kept.values.copy()


def _kept(node: Node, what: str) -> xr.DataArray | None:
    if _unknown(node):
        raise GraphError(_lacking(node, what))
    return _seen.get(node)


def _function_of(node: Node) -> CompiledFunction[Any]:
    backend = "python" if _work(node) <= _INTERPRETED else "native"
    return function([], wrap(node), backend)


def glance(node: Node) -> xr.DataArray | None:
    """Return the values of a small expression of data for its repr; None for other expressions.

    They are cached with the expression.
    """
    kept = _seen.get(node)
    if kept is not None or node.kind == "data":
        return kept
    if not is_soon_computed(node):
        return None
    return _seen.add(node, function([], wrap(node), "python")())


def is_soon_computed(node: Node) -> bool:
    """Return whether an expression has values, few enough for a repr to compute them."""
    return _is_small(node) and has_values(node) and _work(node) <= _GLANCE


def too_long(node: Node) -> str | None:
    """Say why a repr does not compute an expression of data; None if it does, or has no values."""
    if not _is_small(node):
        return f"more than {_GLANCE_NODES} operations" if has_values(node) else None
    work = _work(node) if has_values(node) else 0
    return f"{work:,} elements" if work > _GLANCE else None


def _is_small(node: Node) -> bool:
    few = len(list(islice(reached([node], lambda x: x.inputs), _GLANCE_NODES + 1)))
    return few <= _GLANCE_NODES


def _work(node: Node) -> int:
    """Estimate the number of elements that are computed."""
    nodes = toposort([node])
    data = [x for x in nodes if x.kind == "data"]
    binding = bind_data(data, [x.dims for x in data], {})[0]
    return sum(_size(x, binding) * _LOOPS.get(x.kind, 1) for x in nodes if x.kind != "data")


def _size(node: Node, binding: Binding) -> int:
    return math.prod(_length(dim, binding) for dim in node.dims)


def _length(dim: Dim, binding: Binding) -> int:
    length = dim._bound_length(binding)
    if length is not None:
        return length
    # of a mask, for example: at most the length of the dim it selects from
    return math.prod(_length(parent, binding) for parent in dim.parents)
