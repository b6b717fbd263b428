"""Grouping along a dim by labels: the adjoint of a pointwise selection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Never, NoReturn

import numpy as np

from dimtensor.arrays import check_function
from dimtensor.dims import Coords, Dim, ProductDim, ancestors, dim_labels, dim_set, find_dim
from dimtensor.dims.calendar import tensor_of_labels
from dimtensor.dims.dates import PARTS, among_found, time_index
from dimtensor.dims.product import check_combinations
from dimtensor.errors import (
    DimError,
    GraphError,
    InputError,
    LabelError,
    NoAttributeError,
    OptionError,
    RaggedDimError,
    did_you_mean,
    listing,
    named_after,
    printable,
)
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import DataAttrs
from dimtensor.graph.infer import describe
from dimtensor.tensor.constructors import length
from dimtensor.tensor.handle import TensorHandle, as_node, wrap
from dimtensor.tensor.inputs import data_beside
from dimtensor.tensor.numpy_style import with_named_dims
from dimtensor.tensor.selection.group_arithmetic import GroupArithmetic
from dimtensor.tensor.selection.lookup import label_indexer, translated
from dimtensor.values.labeled import is_dataarray, is_pandas

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

REDUCTIONS = (
    "sum", "prod", "mean", "min", "max", "std", "var", "count", "any", "all", "first", "last",
    "median",
)  # fmt: skip

_FILLED = "x.reindex(day=dates) or x.interp(day=dates) puts x on more dates, and ffill fills in"
_INSTEAD = {
    "agg": "groupby(labels).mean(), .sum() and the like, one by one",
    "apply": "groupby(labels).map(function) calls it with the groups",
    "reduce": "groupby(labels).map(function) calls it with the groups",
    **dict.fromkeys(("ffill", "bfill", "pad", "nearest", "interpolate", "asfreq"), _FILLED),
}


@with_named_dims
class GroupBy(GroupArithmetic):
    """Elements of a tensor grouped along one dim, made by :meth:`DimTensor.groupby`.

    Reductions have the dim of the groups. For an empty group the sum and the count are 0, the
    product is 1, and other reductions are NaN. Cumulative sums and products, and arithmetic with a
    tensor on the dim of the groups, keep the grouped dim: ``x.groupby(month) - means``.

    Examples
    --------
    >>> import dimtensor as dt
    >>> shop, obs = dt.Dim("shop", coords=["north", "south", "west"]), dt.Dim("obs")
    >>> where = dt.data(["north", "south", "north"], dims=obs, categories=shop)
    >>> sold = dt.data([1.0, 2.0, 4.0], dims=obs).groupby(where)
    >>> sold.sum().values.tolist(), sold.count().values.tolist()
    ([5.0, 2.0, 0.0], [2, 1, 0])
    >>> sold.max().sel(shop="north").item()
    4.0
    >>> (sold / sold.sum()).values.tolist()
    [0.2, 1.0, 0.8]
    """

    @classmethod
    def _from(
        cls, x: DimTensor, labels: Any, categories: Dim | Sequence[Dim | None] | None
    ) -> GroupBy:
        """Check the labels and find the dims.

        Raises
        ------
        LabelError
            If the labels belong to no dim and are not data.
        DimError
            If the labels do not have exactly one dim of the tensor, or those of several tensors
            not the same.
        InputError
            If the labels are a list or an array, which have no dim.
        """
        if isinstance(labels, (list, tuple)) and any(map(_is_key, labels)):
            return cls._of_several(x, labels, categories)
        node = _label_node(x, labels, categories)
        return cls(x, wrap(node), node.dims[0], node.categories)  # type: ignore[arg-type]

    @classmethod
    def _of_several(cls, x: DimTensor, labels: Sequence[Any], categories: Any) -> GroupBy:
        """Group by several tensors of labels: each combination of labels is a group."""
        dims = categories if isinstance(categories, (list, tuple)) else [categories] * len(labels)
        if len(dims) != len(labels):
            raise DimError(f"groupby: {len(labels)} tensors of labels, {len(dims)} categories")
        nodes = [_label_node(x, *pair) for pair in zip(labels, dims, strict=True)]
        along = {node.dims for node in nodes}
        if len(along) > 1:
            raise DimError(
                "groupby takes several tensors of labels along one dim",
                [("labels", " and ".join(sorted(dim_set(found) for found in along)))],
                "group by one of them after the other, or expand the labels and ravel all",
            )
        by = {node.categories: wrap(node) for node in nodes}
        groups = ProductDim([node.categories for node in nodes])  # type: ignore[misc]
        if not isinstance(groups, ProductDim):
            return cls._from(x, labels[0], dims[0])
        check_combinations(groups.factors, "groupby", _by_combinations(x, nodes))
        several = [by[dim] for dim in groups.factors]
        codes: Any = 0
        for dim, each in zip(groups.factors, several, strict=True):
            codes = codes * length(dim) + each.codes
        return cls(x, codes.as_labels(groups), nodes[0].dims[0], groups, several)

    def map(self, function: Callable[[GroupBy], Any] | str | DimTensor) -> DimTensor:
        """Broadcast a result per group to the elements.

        Parameters
        ----------
        function : callable, str or DimTensor
            Called with this GroupBy, or the name of one of its reductions, or a tensor on the dim
            of the groups.

        Returns
        -------
        DimTensor
            On the grouped dim: each element has the value of its group.

        Raises
        ------
        ArgumentError
            If it is no function.
        OptionError
            If there is no reduction of this name.
        DimError
            If the result is not on the dim of the groups.

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs = dt.Dim("obs")
        >>> key = dt.data(["b", "a", "b"], dims=obs, categories=dt.Dim("key", coords=["a", "b"]))
        >>> x = dt.data([1.0, 2.0, 3.0], dims=obs)
        >>> (x - x.groupby(key).map("mean")).eval().values.tolist()
        [-1.0, 0.0, 1.0]
        """
        if isinstance(function, TensorHandle):
            result: Any = function
        elif isinstance(function, str):
            if function not in REDUCTIONS:
                raise OptionError(
                    f"map: groups have no reduction {function!r}"
                    f"{did_you_mean(function, REDUCTIONS)}",
                    [("reductions", listing(REDUCTIONS))],
                )
            result = getattr(self, function)()
        else:
            hint = "it is called with the groups: lambda groups: groups.mean()"
            check_function("map of groups", function, hint)
            result = function(self)
        if any(dim not in result.dims for dim in self._result_dims):
            titles = " and ".join(dim._title for dim in self._result_dims)
            raise DimError(
                f"map brings a result on {titles} back to the elements",
                [("result", dim_set(result.dims))],
            )
        return self._back(result)

    def __iter__(self) -> Never:
        raise _no_groups()

    def __getitem__(self, _: object) -> Never:
        raise _no_groups()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            hint = _INSTEAD.get(name)
            text = f"groups have no {name!r}" + did_you_mean(name, REDUCTIONS)
            raise NoAttributeError(text, hint=hint or "", name=name, obj=self)

    @printable
    def __repr__(self) -> str:
        groups = ", ".join(map(repr, self._result_dims))
        return f"<GroupBy along {self._along!r} to {groups}>"


def _no_groups() -> GraphError:
    return GraphError(
        "groups are reduced together, and not taken one by one",
        hint="x.groupby(labels).mean() has a value for each group, which sel selects; elements of "
        "one group are x.where(labels == 'a')",
    )


def _by_combinations(x: DimTensor, nodes: Sequence[Node]) -> str:
    """Suggest how to group by the combinations that occur, with the tensors' names."""
    named = [name for node in nodes if (name := node.name) and name.isidentifier()]
    names = named if len(named) == len(nodes) else [f"labels_{k + 1}" for k in range(len(nodes))]
    arrays = ", ".join(f"{name}.values" for name in names)
    own = x.name if x.name and x.name.isidentifier() else "x"
    return (
        f"group by those that occur: codes, found = pd.MultiIndex.from_arrays([{arrays}])"
        f".factorize(); {own}.groupby(dt.data(codes, dims={names[0]}.dims).as_labels("
        f"dt.Dim({'_'.join(names)!r}, coords=found)))"
    )


named_after(GroupBy)


def _is_key(value: Any) -> bool:
    """Return whether a value can group elements, rather than be one of many labels."""
    return isinstance(value, (TensorHandle, Dim)) or is_dataarray(value) or is_pandas(value)


def _label_node(x: DimTensor, labels: Any, categories: Any) -> Node:
    """Convert labels to a node along one dim of a tensor, with the dim they belong to."""
    if isinstance(labels, str) and "." in labels:
        labels = _part_of_dates(x, *labels.split(".", 1))
    if isinstance(labels, (Dim, str)):
        raise _no_labels(x, labels)
    if categories is not None and not isinstance(categories, Dim):
        several = isinstance(categories, TensorHandle)
        shown = "a tensor" if several else repr(categories)
        raise DimError(
            f"groupby: categories are a Dim, the one of the groups, not {shown}",
            hint="to group by both, a list: x.groupby([y, z])"
            if several
            else "make one: dt.Dim(name, coords=[...])",
        )
    nameless = is_pandas(labels) and not hasattr(labels, "name")  # an array of pandas
    if nameless or isinstance(labels, (np.ndarray, list, tuple)):
        dim = x.dims[0]._short if len(x.dims) == 1 else "dim"
        items = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
        given = repr(items) if len(items) <= 8 else "labels"
        raise InputError(
            f"groupby: nothing says along which dim this {type(labels).__name__} of labels is",
            [("dims of x", dim_set(x.dims))],
            f"pd.Series({given}, name='group').rename_axis({dim!r}) says it",
        )
    if categories is None and (is_dataarray(labels) or is_pandas(labels)):
        name = labels.name if isinstance(labels.name, str) else "group"
        categories = Dim(name, coords=_labels_found(labels))
        node = data_beside(labels, [x.node], categories, "the labels of groupby").node
    else:
        node = as_node(labels, [x.node], "the labels of groupby")
    if node.categories is None:
        node = _as_categories(node, categories)
    elif categories is not None and node.categories is not categories:
        node = translated(node, node.categories, categories)
    if len(node.dims) != 1 or node.dims[0] not in x.dims:
        below = [dim for dim in x.dims if set(node.dims) & set(ancestors(dim))]
        if len(node.dims) == 1 and below:
            raise _labels_of_parents(below[0], node.dims[0])
        raise DimError(
            "the labels of groupby have one dim, which the tensor has, too",
            [
                ("tensor", dim_set(x.dims)),
                ("labels", dim_set(node.dims)),
            ],
            "ravel both to group over several dims",
        )
    return node


def _labels_found(values: Any) -> Coords:
    """Return the unique labels of values, sorted where they can be."""
    found = Coords(values.to_numpy().ravel() if is_dataarray(values) else values)
    index = found.index.unique()
    try:
        return Coords(index.sort_values())
    except TypeError:
        return Coords(index)


def _labels_of_parents(dim: Dim, above: Dim) -> RaggedDimError:
    """Return the error for grouping positions of a ragged dim by labels along its parent."""
    name, parent = dim._short, above._short
    return RaggedDimError(
        f"groupby: the labels are along {above._title}, and each has several positions along "
        f"{dim._title}",
        [("dim", repr(dim))],
        f"x.sum({name}).groupby(labels) groups results of each {parent}; to group all positions: "
        f"x.relabel({name}, {name}.flat).groupby("
        f"labels.sel({parent}={name}.owner).relabel({name}, {name}.flat))",
    )


def _no_labels(x: DimTensor, given: Dim | str) -> LabelError:
    """Return the error for grouping by a dim, or by its name."""
    name = given._short if isinstance(given, Dim) else given
    below = [dim for dim in x.dims if any(above.name == name for above in ancestors(dim))]
    if below:
        hint = f"x.mean({below[0]._short}) and other reductions are along {name}"
    elif any(dim.name == name for dim in x.dims):
        hint = (
            f"each label of dim {name!r} is a group of its own: a reduction over the other dims, "
            "such as x.mean(dim), gives one value for each"
        )
    else:
        hint = (
            f"{name} = dt.data(values, dims=..., categories=dim) has a label for each element; "
            f"x.groupby({name})"
        )
    return LabelError(
        f"groupby takes a tensor of labels, one for each element along a dim, not the name "
        f"{name!r}",
        [("dims of x", dim_set(x.dims))],
        hint,
    )


def _part_of_dates(x: DimTensor, name: str, part: str) -> Any:
    """Return a calendar part of a dim by name: ``"day.month"``."""
    dim = find_dim(x.dims, name, "groupby")
    labels = dim_labels(dim)
    if labels is not None and labels.family == "timedelta":
        return _part_of_durations(dim, part)
    if part not in PARTS:
        raise OptionError(
            f"groupby: dates have no part {part!r}{did_you_mean(part, PARTS)}",
            [("parts", listing(PARTS, len(PARTS)))],
        )
    return getattr(dim.dt, part)


_PARTS_OF_DURATIONS = ("days", "seconds", "microseconds", "nanoseconds")


def _part_of_durations(dim: Dim, part: str) -> DimTensor:
    if part not in _PARTS_OF_DURATIONS:
        raise OptionError(
            f"groupby: durations have no part {part!r}{did_you_mean(part, _PARTS_OF_DURATIONS)}",
            [("parts", listing(_PARTS_OF_DURATIONS))],
        )
    found = getattr(time_index(dim, part), part)
    return tensor_of_labels(dim, *among_found(part, found))


def _as_categories(node: Node, categories: Dim | None) -> Node:
    """Convert data to labels of a given dim, or of a new dim of the values found."""
    if categories is not None:
        positions = label_indexer(node, categories)
        return (
            make("codes", (positions,), categories) if positions.categories is None else positions
        )
    if node.kind != "data":
        raise LabelError(
            f"groupby: {describe(node)} does not hold labels of a dim, and its values are not "
            "known yet",
            hint="pass categories=dim, the dim of the groups",
        )
    attrs = node.attrs
    found, codes = np.unique(attrs.values, return_inverse=True)
    groups = Dim(attrs.name or "group", coords=found)
    return make(
        "data",
        (),
        DataAttrs(attrs.name, attrs.dims, codes.reshape(attrs.values.shape), groups, attrs.labels),
    )
