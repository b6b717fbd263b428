"""Grouping along a dim by labels: the adjoint of a pointwise selection."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.compile.labelled import is_dataarray, is_pandas
from dimtensor.dims import Dim, dim_set
from dimtensor.errors import DimError, LabelError, build_message
from dimtensor.graph import make
from dimtensor.graph.attrs import DataAttrs
from dimtensor.graph.dtypes import result_dtype
from dimtensor.graph.infer import describe
from dimtensor.tensor.constructors import data_beside
from dimtensor.tensor.reductions import root_of_variance, with_an_element
from dimtensor.tensor.shell import TensorShell, as_node, elemwise, require_float, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class GroupBy:
    """Elements of a tensor grouped along one dim, made by :meth:`DimTensor.groupby`.

    Every reduction gives a tensor on the dim of the groups; of a group without elements the sum
    and count are 0, and mean, min, max, std, var and first are NaN.
    """

    def __init__(self, x: DimTensor, labels: DimTensor, along: Dim, groups: Dim):
        self._x = x
        self._labels = labels
        self._along = along
        self._groups = groups

    @classmethod
    def of(cls, x: DimTensor, labels: Any, categories: Dim | None) -> GroupBy:
        """Check the labels and find the dims.

        Raises
        ------
        LabelError
            If the labels belong to no dim and are not data.
        DimError
            If the labels do not have exactly one dim of the tensor.
        """
        if isinstance(labels, (Dim, str)):
            raise LabelError(f"groupby takes a tensor of labels, not the dim {labels!r}")
        if categories is None and (is_dataarray(labels) or is_pandas(labels)):
            categories = Dim(labels.name or "group", coords=np.unique(labels))
            node = data_beside(labels, [x.node], categories).node
        else:
            node = as_node(labels, [x.node], "the labels of groupby")
        if node.categories is None:
            node = _as_categories(node, categories)
        elif categories is not None and node.categories is not categories:
            from dimtensor.tensor.lookup import translated

            node = translated(node, node.categories, categories)
        shared = [dim for dim in node.dims if dim in x.dims]
        if len(node.dims) != 1 or not shared:
            raise DimError(
                build_message(
                    "the labels of groupby have one dim, which the tensor has, too",
                    [
                        ("tensor", dim_set(x.dims)),
                        ("labels", dim_set(node.dims)),
                    ],
                    "ravel both to group over several dims",
                )
            )
        return cls(x, wrap(node), node.dims[0], node.categories)  # type: ignore[arg-type]

    def sum(self) -> DimTensor:
        """Sum of each group; 0 for an empty one."""
        x = self._x
        rest = tuple(dim for dim in x.dims if dim is not self._along)
        from dimtensor.tensor.constructors import zeros

        dtype = result_dtype("accumulate", (x.dtype,), "groupby")
        start = zeros((*rest, self._groups), dtype=dtype)
        return start.sel({self._groups: self._labels}).inc(x.astype(dtype))

    def count(self) -> DimTensor:
        """Number of elements of each group that are not NaN."""
        from dimtensor.tensor.constructors import ones

        x = self._x
        if x.dtype[:5] in ("float", "compl"):
            present = elemwise("logical_not", elemwise("isnan", x)).astype("int64")
        else:
            present = ones(x.dims, "int64")
        return GroupBy(present, self._labels, self._along, self._groups).sum()

    def _size(self) -> DimTensor:
        """Number of elements of each group."""
        from dimtensor.tensor.constructors import ones

        return GroupBy(ones(self._along, "int64"), self._labels, self._along, self._groups).sum()

    def mean(self) -> DimTensor:
        """Mean of each group; NaN for an empty one."""
        x = wrap(require_float(self._x.node))
        total = GroupBy(x, self._labels, self._along, self._groups).sum()
        return _quotient(total, self._size())

    def var(self, ddof: int = 0) -> DimTensor:
        """Variance of each group, with ``count - ddof`` in the divisor."""
        x = wrap(require_float(self._x.node))
        grouped = GroupBy(x, self._labels, self._along, self._groups)
        gap = elemwise("subtract", x, grouped._back(grouped.mean()))
        squares = GroupBy(elemwise("square", gap), self._labels, self._along, self._groups).sum()
        quotient = _quotient(squares, elemwise("subtract", self._size(), ddof))
        if ddof <= 0:
            return quotient
        return elemwise("where", elemwise("isnan", quotient), _nothing_left(squares), quotient)

    def std(self, ddof: int = 0) -> DimTensor:
        """Standard deviation of each group."""
        return root_of_variance(self.var(ddof))

    def min(self) -> DimTensor:
        """Smallest element of each group; NaN for an empty one."""
        return self._pick("min")

    def max(self) -> DimTensor:
        """Largest element of each group; NaN for an empty one."""
        return self._pick("max")

    def first(self) -> DimTensor:
        """First element of each group, in the order of the dim; NaN for an empty one."""
        return self._pick("first")

    def _pick(self, which: str) -> DimTensor:
        codes = self._labels.codes.node
        x = self._x.node
        source = codes if which == "first" else x
        at = make("group_position", (source, codes), (which, self._along, self._groups))
        empty = elemwise("less", wrap(at), 0)
        elements, (along,) = with_an_element(wrap(require_float(x)), (self._along,), np.nan)
        value = elements.isel({along: elemwise("maximum", wrap(at), 0)})
        return elemwise("where", empty, np.nan, value)

    def _back(self, result: DimTensor) -> DimTensor:
        return result.sel({self._groups: self._labels})

    def map(self, function: Callable[[GroupBy], Any] | str | DimTensor) -> DimTensor:
        """Bring a result per group back to the elements.

        Parameters
        ----------
        function : callable, str or DimTensor
            Called with this GroupBy, or the name of one of its reductions, or a tensor on the dim
            of the groups.

        Returns
        -------
        DimTensor
            On the dim that was grouped, each element with the value of its group.

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs = dt.Dim("obs")
        >>> key = dt.data(["b", "a", "b"], dims=obs, categories=dt.Dim("key", coords=["a", "b"]))
        >>> x = dt.data([1.0, 2.0, 3.0], dims=obs)
        >>> (x - x.groupby(key).map("mean")).eval().values.tolist()
        [-1.0, 0.0, 1.0]
        """
        if isinstance(function, TensorShell):
            result: Any = function
        elif isinstance(function, str):
            result = getattr(self, function)()
        else:
            result = function(self)
        if self._groups not in result.dims:
            raise DimError(
                build_message(
                    f"map brings a result on {self._groups.title} back to the elements",
                    [("result", dim_set(result.dims))],
                )
            )
        return self._back(result)

    def __repr__(self) -> str:
        return f"<GroupBy along {self._along!r} to {self._groups!r}>"


def _nothing_left(squares: DimTensor) -> DimTensor:
    """A sum of squares divided by zero: infinite, or NaN if it is zero or NaN itself."""
    return elemwise("where", elemwise("greater", squares, 0), np.inf, np.nan)


def _quotient(total: DimTensor, count: DimTensor) -> DimTensor:
    """A total divided by a number of elements, NaN where there are none."""
    some = elemwise("greater", count, 0)
    divisor = elemwise("maximum", count, 1).astype(total.dtype)
    return elemwise("where", some, elemwise("divide", total, divisor), np.nan)


def _as_categories(node: Any, categories: Dim | None) -> Any:
    """Labels of a dim made of data: of the given one, or of a new one of the values found."""
    if categories is not None:
        from dimtensor.tensor.lookup import label_indexer

        positions = label_indexer(node, categories)
        return (
            make("codes", (positions,), categories) if positions.categories is None else positions
        )
    if node.kind != "data":
        raise LabelError(
            build_message(
                f"groupby: {describe(node)} does not hold labels of a dim, and its values are not "
                "known yet",
                hint="pass categories=dim, the dim of the groups",
            )
        )
    attrs = node.attrs
    found, codes = np.unique(attrs.values, return_inverse=True)
    groups = Dim(attrs.name or "group", coords=found)
    return make(
        "data",
        (),
        DataAttrs(attrs.name, attrs.dims, codes.reshape(attrs.values.shape), groups, attrs.labels),
    )
