"""Kinds of elementwise nodes: operations of the op table, casts, labels, checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dimtensor.dims import Dim, union
from dimtensor.errors import ArgumentError, DtypeError, LabelError
from dimtensor.graph.dtypes import (
    is_complex,
    is_inexact,
    is_integer,
    promote,
    require_castable,
    result_dtype,
)
from dimtensor.graph.forms import Entry, Parsed, Reader, Unordered
from dimtensor.graph.infer import describe, require_label_op
from dimtensor.graph.kind import Call, DimMap, DimRef, Kind, by_position, kind, wrong_count
from dimtensor.graph.node import Node, NodeType
from dimtensor.graph.optable import TABLE, OpRow

# prefix of messages of checks in rebuilt graphs; a number follows
CHECK = "check "


class _Elementwise[A](Kind[A]):
    """Base class of elementwise nodes."""

    broadcasts = True

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        return True


@kind("elemwise")
class Elemwise(_Elementwise[str]):
    """Operation of the op table; the attribute is its name."""

    attrs = str

    def infer(self, inputs: tuple[Node, ...], attrs: str) -> NodeType:
        row = TABLE[attrs]
        if len(inputs) != row.arity:
            raise ArgumentError(f"{attrs} takes {row.arity} operands, not {len(inputs)}")
        sets = [x.dims for x in inputs if x.dims]
        if all(dims == sets[0] for dims in sets[1:]):
            dims = sets[0] if sets else ()
        else:
            dims = union([x.dims for x in inputs], attrs, lambda: list(map(describe, inputs)))
        _check_numbers(row, inputs)
        dtype = result_dtype(row.dtype, tuple(x.dtype for x in inputs), attrs)
        return NodeType(dims, dtype, _categories(inputs, attrs))

    def complaint(self, node: Node) -> str | None:
        return None

    def call(self, node: Node, ref: DimRef) -> Call:
        return Call(node.attrs, by_position(node.inputs), [])

    def mentions(self, node: Node, numbers: Mapping[Node, int]) -> Iterator[tuple[Dim, str]]:
        yield from ()

    def linear(self, node: Node) -> Sequence[Sequence[int]]:
        return TABLE[node.attrs].linear

    def passes_derivatives(self, node: Node) -> bool:
        return not TABLE[node.attrs].stops_gradient

    def title(self, node: Node) -> str:
        return node.attrs

    def messages(self, node: Node) -> dict[Dim | None, str]:
        if node.attrs == "power":
            return {None: "power: integers have no negative powers; cast them to float"}
        return {}

    def commutes(self, attrs: str) -> bool:
        return TABLE[attrs].commutative

    def form(self, node: Node) -> tuple:
        inputs = Unordered(node.inputs) if self.commutes(node.attrs) else node.inputs
        return (self.name, node.attrs, inputs)


def _check_numbers(row: OpRow, inputs: tuple[Node, ...]) -> None:
    for x in inputs:
        if not row.complex and is_complex(x.dtype):
            raise DtypeError(
                f"{row.name} is not defined for complex numbers: {describe(x)} is of {x.dtype}"
            )
    if row.name == "power" and all(is_integer(x.dtype) for x in inputs):
        exponent = inputs[1]
        if exponent.kind == "constant" and exponent.attrs.value < 0:
            raise DtypeError(
                f"a negative power ({exponent.attrs.value}) of the integers {describe(inputs[0])} "
                "is no integer; use astype(float) on the base"
            )


def _categories(inputs: Sequence[Node], name: str) -> Dim | None:
    for x in inputs:
        if x.categories is not None:
            break
    else:
        return None
    require_label_op(name, inputs)
    operands = inputs[1:] if name == "where" else inputs
    kinds = [x.categories for x in operands]
    if any(one is not kinds[0] for one in kinds):
        raise LabelError(
            f"{name}: labels of different dims do not compare",
            [(f"operand {i + 1}", describe(x)) for i, x in enumerate(operands)],
        )
    return None if name in ("equal", "not_equal") else kinds[0]


@kind("cast")
class Cast(_Elementwise[str]):
    """Cast to the dtype in the attribute."""

    attrs = str

    def infer(self, inputs: tuple[Node, ...], attrs: str) -> NodeType:
        (x,) = inputs
        require_castable(x.dtype, attrs, lambda: describe(x))
        return NodeType(x.dims, attrs)

    def complaint(self, node: Node) -> str | None:
        return wrong_count(node, 1)

    def call(self, node: Node, ref: DimRef) -> Call:
        return Call("cast", by_position(node.inputs), [("", node.attrs)])

    def linear(self, node: Node) -> Sequence[Sequence[int]]:
        # others truncate, wrap around or drop the imaginary part
        old, new = node.inputs[0].dtype, node.dtype
        widens = promote((old, new)) == new or (is_integer(old) and is_inexact(new))
        return ((0,),) if widens else ()

    def mentions(self, node: Node, numbers: Mapping[Node, int]) -> Iterator[tuple[Dim, str]]:
        yield from ()


@kind("codes")
class Codes(_Elementwise[Dim | None]):
    """Conversion of labels to positions (attribute None), or of positions to labels of a dim."""

    attrs = (Dim, type(None))

    def infer(self, inputs: tuple[Node, ...], attrs: Dim | None) -> NodeType:
        if attrs is not None and not is_integer(inputs[0].dtype):
            raise DtypeError(
                f"labels of {attrs._title} are given by integers, not {inputs[0].dtype}"
            )
        return NodeType(inputs[0].dims, inputs[0].dtype, attrs)

    def complaint(self, node: Node) -> str | None:
        return wrong_count(node, 1)

    def call(self, node: Node, ref: DimRef) -> Call:
        if node.attrs is None:
            return Call("codes", by_position(node.inputs), [])
        return Call("labels", by_position(node.inputs), [("of", ref(node.attrs))])

    def map_dims(self, attrs: Dim | None, f: DimMap) -> Dim | None:
        return None if attrs is None else f(attrs)

    def values_of(self, node: Node) -> tuple[Node, ...]:
        return node.inputs


@kind("check")
class Check(_Elementwise[str]):
    """User's check: returns the first input if all elements of the second are true.

    The attribute is the message; see :mod:`dimtensor.graph.checking.checks`.
    """

    attrs = str

    def infer(self, inputs: tuple[Node, ...], attrs: Any) -> NodeType:
        x, condition = inputs
        if condition.dtype != "bool":
            raise DtypeError(
                f"the condition of a check is boolean, {describe(condition)} is of "
                f"{condition.dtype}",
                [("message", attrs)],
                "compare it with something, as in x > 0",
            )
        return NodeType(x.dims, x.dtype, x.categories)

    def complaint(self, node: Node) -> str | None:
        if type(node.attrs) is not str:
            return f"{node.attrs!r} is the attribute of a check"
        return wrong_count(node, 2)

    def call(self, node: Node, ref: DimRef) -> Call:
        x, *conditions = node.inputs
        operands = [("", x), *(("condition", condition) for condition in conditions)]
        return Call("check", operands, [("", repr(node.attrs))])

    def linear(self, node: Node) -> Sequence[Sequence[int]]:
        return ((0,),)

    def values_of(self, node: Node) -> tuple[Node, ...]:
        return node.inputs[:1]

    def messages(self, node: Node) -> dict[Dim | None, str]:
        return {None: node.attrs}

    def form(self, node: Node) -> tuple:
        return (self.name, node.inputs)

    def parse(self, entry: Entry, reader: Reader) -> Parsed:
        """Read a check, whose message is replaced by a number that identifies it."""
        return Parsed(reader.value(entry.parts[0]), f"{CHECK}{entry.number}")
