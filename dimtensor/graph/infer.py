"""Dims, dtype and category inference: one plain function per node kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dimtensor.dims import (
    Dim,
    Dims,
    SelDim,
    clash_error,
    dim_set,
    sort_dims,
    union,
    without,
)
from dimtensor.dims.selection import LateLabels, Mask
from dimtensor.errors import DimError, DtypeError, LabelError, build_message
from dimtensor.graph import attrs as at
from dimtensor.graph.dtypes import promote, result_dtype
from dimtensor.graph.node import Node, NodeType, infers
from dimtensor.graph.optable import TABLE, OpRow

_LABEL_OPS = frozenset({"equal", "not_equal", "where", "stop_gradient"})


@infers("input")
def _input(inputs: tuple[Node, ...], attrs: at.InputAttrs) -> NodeType:
    return NodeType(attrs.dims, attrs.dtype, attrs.categories)


@infers("data")
def _data(inputs: tuple[Node, ...], attrs: at.DataAttrs) -> NodeType:
    return NodeType(attrs.dims, attrs.values.dtype.name, attrs.categories)


@infers("constant")
def _constant(inputs: tuple[Node, ...], attrs: at.ConstantAttrs) -> NodeType:
    return NodeType((), attrs.dtype)


@infers("shaped")
def _shaped(inputs: tuple[Node, ...], attrs: at.ShapedAttrs) -> NodeType:
    return NodeType(sort_dims(attrs.dims), attrs.dtype, attrs.categories)


@infers("length")
def _length(inputs: tuple[Node, ...], attrs: Dim) -> NodeType:
    return NodeType((), "int64")


@infers("positions")
def _positions(inputs: tuple[Node, ...], attrs: Dim) -> NodeType:
    return NodeType((attrs,), "int64")


@infers("label_position")
def _label_position(inputs: tuple[Node, ...], attrs: at.LabelPosition) -> NodeType:
    if attrs.role == "many":
        return NodeType((SelDim.of(attrs.dim, LateLabels(attrs.labels)),), "int64")
    return NodeType((), "int64")


@infers("elemwise")
def _elemwise(inputs: tuple[Node, ...], attrs: str) -> NodeType:
    row = TABLE[attrs]
    if len(inputs) != row.arity:
        raise DimError(f"{attrs} takes {row.arity} operands, not {len(inputs)}")
    if len(inputs) == 1:
        (x,) = inputs
        dims = x.dims
    else:
        dims = union([x.dims for x in inputs], attrs, [describe(x) for x in inputs])
    _check_numbers(row, inputs)
    dtype = result_dtype(row.dtype, tuple(x.dtype for x in inputs), attrs)
    return NodeType(dims, dtype, _elemwise_categories(inputs, attrs))


def _check_numbers(row: OpRow, inputs: tuple[Node, ...]) -> None:
    for x in inputs:
        if not row.complex and x.dtype.startswith("complex"):
            raise DtypeError(
                f"{row.name} is not defined for complex numbers: {describe(x)} is of {x.dtype}"
            )
    if row.name == "power" and all(x.dtype[:3] in ("int", "uin") for x in inputs):
        exponent = inputs[1]
        if exponent.kind == "constant" and exponent.attrs.value < 0:
            raise DtypeError(
                f"a negative power ({exponent.attrs.value}) of the integers {describe(inputs[0])} "
                "is no integer; use astype(float) on the base"
            )


def require_label_op(name: str, operands: Sequence[Node]) -> None:
    """Check that an elementwise operation takes labels.

    Raises
    ------
    DtypeError
        If it does not, and an operand has them.
    """
    found = [x.categories for x in operands if x.categories is not None]
    if found and name not in _LABEL_OPS:
        raise DtypeError(
            build_message(
                f"{name} is not defined for labels of {found[0].title}",
                [("labels", describe(x)) for x in operands if x.categories is not None],
                "labels compare with ==; .codes gives their positions as integers",
            )
        )


def _elemwise_categories(inputs: tuple[Node, ...], name: str) -> Dim | None:
    if all(x.categories is None for x in inputs):
        return None
    require_label_op(name, inputs)
    operands = inputs[1:] if name == "where" else inputs
    kinds = [x.categories for x in operands]
    if any(kind is not kinds[0] for kind in kinds):
        raise LabelError(
            build_message(
                f"{name}: labels of different dims do not compare",
                [(f"operand {i + 1}", describe(x)) for i, x in enumerate(operands)],
            )
        )
    return None if name in ("equal", "not_equal") else kinds[0]


_SPOKEN = {
    "input": "an unnamed input",
    "data": "unnamed data",
    "shaped": "a positional variable",
    "index": "a selection",
    "update": "a selection set",
    "merge": "ravel",
    "split": "unravel",
    "relabel": "rename",
    "bound": "a value of a step",
    "loop": "the result of a loop",
    "cond": "the result of if_else",
}


def describe(x: Node) -> str:
    """How a message speaks of an operand."""
    if x.kind == "constant":
        return f"the number {x.attrs.value.item()!r}"
    if x.kind == "elemwise":
        name = x.attrs
    elif x.kind in ("reduce", "cumulate", "arg_reduce"):
        name = x.attrs[0]
    else:
        name = x.name or _SPOKEN.get(x.kind, x.kind)
    dims = f"with dims {dim_set(x.dims)}" if x.dims else "without dims"
    labels = f", labels of {x.categories.short}" if x.categories is not None else ""
    return f"{name} {dims}{labels}"


def _no_labels(x: Node, what: str) -> None:
    if x.categories is not None:
        raise DtypeError(
            f"{what} is not defined for labels of {x.categories.title}; "
            ".codes gives their positions as integers"
        )


@infers("cast")
def _cast(inputs: tuple[Node, ...], attrs: str) -> NodeType:
    return NodeType(inputs[0].dims, attrs)


@infers("codes")
def _codes(inputs: tuple[Node, ...], attrs: Dim | None) -> NodeType:
    """Turn labels into positions (attrs None) or positions into labels of the dim in attrs."""
    if attrs is not None and inputs[0].dtype[:3] not in ("int", "uin"):
        raise DtypeError(f"labels of {attrs.title} are given by integers, not {inputs[0].dtype}")
    return NodeType(inputs[0].dims, inputs[0].dtype, attrs)


@infers("reduce")
def _reduce(inputs: tuple[Node, ...], attrs: tuple[str, Dims]) -> NodeType:
    """A row of the table, or ``supremum``: the max of floats, -inf where there are none."""
    (x,) = inputs
    name, dims = attrs
    _no_labels(x, name)
    row = TABLE["max" if name == "supremum" else name]
    dtype = result_dtype(row.dtype, (x.dtype,), name)
    if x.dtype.startswith("complex") and not row.complex:
        raise DtypeError(f"{name} is not defined for {x.dtype}")
    for dim in dims if name in ("min", "max") else ():
        if dim.length == 0:
            raise DimError(f"{name} over {dim.title} of length 0 has no value")
    return NodeType(without(x.dims, dims), dtype)


@infers("cumulate")
def _cumulate(inputs: tuple[Node, ...], attrs: tuple[str, Dim]) -> NodeType:
    _no_labels(inputs[0], attrs[0])
    dtype = result_dtype(TABLE[attrs[0]].dtype, (inputs[0].dtype,), attrs[0])
    return NodeType(inputs[0].dims, dtype)


@infers("arg_reduce")
def _arg_reduce(inputs: tuple[Node, ...], attrs: tuple[str, Dim]) -> NodeType:
    if inputs[0].dtype.startswith("complex"):
        raise DtypeError(f"{attrs[0]} is not defined for {inputs[0].dtype}")
    if attrs[1].length == 0:
        raise DimError(f"{attrs[0]} over {attrs[1].title} of length 0 has no value")
    return NodeType(without(inputs[0].dims, [attrs[1]]), "int64")


@infers("sort")
def _sort(inputs: tuple[Node, ...], attrs: tuple[Dim, Dim]) -> NodeType:
    dim, ranks = attrs
    others = without(inputs[0].dims, [dim])
    return NodeType(sort_dims((*others, ranks)), inputs[0].dtype, inputs[0].categories)


@infers("argsort")
def _argsort(inputs: tuple[Node, ...], attrs: tuple[Dim, Dim]) -> NodeType:
    dim, ranks = attrs
    return NodeType(sort_dims((*without(inputs[0].dims, [dim]), ranks)), "int64")


@infers("expand")
def _expand(inputs: tuple[Node, ...], attrs: Dims) -> NodeType:
    (x,) = inputs
    return NodeType(union([x.dims, attrs], "expand"), x.dtype, x.categories)


@infers("relabel")
def _relabel(inputs: tuple[Node, ...], attrs: tuple[tuple[Dim, Dim], ...]) -> NodeType:
    """Exchange dims for others position by position."""
    (x,) = inputs
    mapping = dict(attrs)
    dims = [mapping.get(dim, dim) for dim in x.dims]
    seen: dict[Any, Dim] = {}
    for dim in dims:
        other = seen.setdefault(dim.namespace, dim)
        if sum(d is dim for d in dims) > 1 or other is not dim:
            raise clash_error(
                f"rename: the result has two dims named {dim.name!r}",
                other,
                dim,
                hint="rename the other one, too: x.rename(a=..., b=...)",
            )
    return NodeType(sort_dims(dims), x.dtype, x.categories)


def index_result(x: Node, indexers: tuple[Node, ...], items: tuple[at.IndexItem, ...]) -> Dims:
    """Dims of a selection; the dims of pointwise indexers replace the dims they index."""
    replaced = [item.dim for item in items]
    kept = without(x.dims, replaced)
    added: list[Dims] = []
    for item in items:
        if item.kind == "select":
            added.append((SelDim.of(item.dim, item.payload),))
        elif item.kind == "mask":
            mask = indexers[item.payload]
            if mask.dims != (item.dim,):
                raise _ragged(item.dim, mask)
            added.append((mask_dim(item.dim, mask),))
        elif item.kind == "tensor":
            added.append(indexers[item.payload].dims)
    return union([kept, *added], "selection")


def _ragged(dim: Dim, mask: Node) -> DimError:
    """The error of a mask with more dims, as it gets them where an expression is batched."""
    return DimError(
        build_message(
            f"a mask along {dim.title} has this dim and no other: along the others it would keep "
            "other positions, other numbers of them",
            [("mask", describe(mask))],
            "dt.where(mask, x, 0) keeps the dim and can be summed; over several dims x[mask] "
            "ravels them",
        )
    )


def mask_dim(dim: Dim, mask: Node) -> Dim:
    """The dim of the positions where a mask is true."""
    return SelDim.of(dim, Mask(mask))


@infers("index")
def _index(inputs: tuple[Node, ...], attrs: tuple[at.IndexItem, ...]) -> NodeType:
    x, *indexers = inputs
    dims = index_result(x, tuple(indexers), attrs)
    return NodeType(dims, x.dtype, x.categories)


@infers("update")
def _update(inputs: tuple[Node, ...], attrs: tuple[str, tuple[at.IndexItem, ...]]) -> NodeType:
    x, value, *indexers = inputs
    mode, items = attrs
    selected = index_result(x, tuple(indexers), items)
    foreign = without(value.dims, selected)
    for dim in foreign:
        namesake = [d for d in selected if d.namespace == dim.namespace]
        if namesake:
            raise clash_error(f"{mode}: the value has another dim than the selection", namesake[0],
                              dim, "selection", "value")  # fmt: skip
        raise DimError(
            build_message(
                f"{mode}: the value has {dim.title}, the selection has not",
                [
                    ("selection", dim_set(selected)),
                    ("value", dim_set(value.dims)),
                ],
                "expand the tensor over the dim first",
            )
        )
    if promote((x.dtype, value.dtype)) != x.dtype:
        raise DtypeError(
            f"{mode}: a value of {value.dtype} does not fit into a tensor of {x.dtype}"
        )
    if x.categories is not None and value.categories is not x.categories:
        raise LabelError(f"{mode}: {describe(value)} does not hold labels of {x.categories.title}")
    return NodeType(x.dims, x.dtype, x.categories)


@infers("merge")
def _merge(inputs: tuple[Node, ...], attrs: Any) -> NodeType:
    (x,) = inputs
    others = without(x.dims, attrs.factors)
    return NodeType(_with_new(others, (attrs,), "ravel"), x.dtype, x.categories)


@infers("split")
def _split(inputs: tuple[Node, ...], attrs: Any) -> NodeType:
    (x,) = inputs
    dims = _with_new(without(x.dims, [attrs]), attrs.factors, "unravel")
    return NodeType(dims, x.dtype, x.categories)


def _with_new(kept: Dims, new: Dims, operation: str) -> Dims:
    """Dims that are kept and dims that come in, none of which is there already."""
    for dim in new:
        if dim in kept:
            raise DimError(
                build_message(
                    f"{operation}: two dims of the result would be {dim.title}",
                    [("kept", [d.short for d in kept]), ("new", [d.short for d in new])],
                    "rename one of them with rename_dim first",
                )
            )
    return union([kept, new], operation)


@infers("concat")
def _concat(inputs: tuple[Node, ...], attrs: tuple[tuple[Dim, ...], Dim]) -> NodeType:
    parts, whole = attrs
    for x, part in zip(inputs, parts, strict=True):
        _with_new(without(x.dims, [part]), (whole,), "concat")
    others = [without(x.dims, [part]) for x, part in zip(inputs, parts, strict=True)]
    dims = union([*others, (whole,)], "concat", [*(describe(x) for x in inputs), "the result"])
    return NodeType(dims, promote(tuple(x.dtype for x in inputs)), _common_categories(inputs))


@infers("stack")
def _stack(inputs: tuple[Node, ...], attrs: Dim) -> NodeType:
    names = [*(describe(x) for x in inputs), "the new dim"]
    dims = union([*(x.dims for x in inputs), (attrs,)], "stack", names)
    return NodeType(dims, promote(tuple(x.dtype for x in inputs)), _common_categories(inputs))


def _common_categories(inputs: tuple[Node, ...]) -> Dim | None:
    kinds = {x.categories for x in inputs}
    if len(kinds) == 1:
        return kinds.pop()
    raise LabelError(
        build_message(
            "labels of different dims (or labels and numbers) do not join",
            [(f"operand {i + 1}", describe(x)) for i, x in enumerate(inputs)],
        )
    )


@infers("dot")
def _dot(inputs: tuple[Node, ...], attrs: Dims) -> NodeType:
    for x in inputs:
        _no_labels(x, "dot")
    joint = union([x.dims for x in inputs], "dot", [describe(x) for x in inputs])
    dtype = promote(tuple(x.dtype for x in inputs))
    return NodeType(without(joint, attrs), result_dtype("accumulate", (dtype,), "dot"))


@infers("apply")
def _apply(inputs: tuple[Node, ...], attrs: at.ApplyAttrs) -> NodeType:
    name = attrs.name or "apply"
    batches = [without(x.dims, core) for x, core in zip(inputs, attrs.core_in, strict=True)]
    for cores, what in [(attrs.core_in, "of an input"), ((attrs.core_out,), "of the output")]:
        for dim in dict.fromkeys(dim for core in cores for dim in core):
            for x, batch in zip(inputs, batches, strict=True):
                if dim in batch:
                    raise DimError(
                        build_message(
                            f"{name}: {dim.title} is a core dim {what} and a batch dim of another",
                            [("core dim", repr(dim)), ("batch dim of", describe(x))],
                            "rename one of them with rename_dim",
                        )
                    )
    dims = union([*batches, attrs.core_out], name)
    return NodeType(dims, attrs.dtype)


@infers("group_position")
def _group_position(inputs: tuple[Node, ...], attrs: tuple[str, Dim, Dim]) -> NodeType:
    """Position along a dim of the first, smallest or largest element of each group; -1: empty."""
    x, codes = inputs
    _, along, groups = attrs
    dims = union([without(x.dims, [along]), without(codes.dims, [along]), (groups,)], "groupby")
    return NodeType(dims, "int64")


def constant_attrs(value: Any, dtype: str) -> at.ConstantAttrs:
    """Attributes of a number."""
    return at.ConstantAttrs(dtype, np.asarray(value).astype(dtype).tobytes())
