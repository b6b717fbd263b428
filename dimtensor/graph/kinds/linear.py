"""Kinds of nodes with core dims: contractions, and lifted positional functions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from dimtensor.dims import Dim, Dims, refuse_ragged, union, without
from dimtensor.errors import DimError
from dimtensor.graph.attrs import ApplyAttrs
from dimtensor.graph.checking.lengths import Requirement
from dimtensor.graph.dtypes import promote, result_dtype
from dimtensor.graph.forms import Entry, FormlessError, Parsed, Reader, Unordered, plain
from dimtensor.graph.functions import BatchedFunction
from dimtensor.graph.infer import describe, require_no_labels
from dimtensor.graph.kind import (
    Call,
    DimMap,
    DimRef,
    Kind,
    by_position,
    kind,
    lacking,
    mapped,
    set_text,
)
from dimtensor.graph.node import Node, NodeType, make
from dimtensor.graph.printing.printer import node_text
from dimtensor.graph.printing.text import function_name
from dimtensor.graph.rebuilding.substitute import map_dim


@kind("dot")
class Dot(Kind[Dims]):
    """Contraction: the product of all inputs, summed over the dims in the attribute."""

    attrs = tuple
    broadcasts = True

    def infer(self, inputs: tuple[Node, ...], attrs: Dims) -> NodeType:
        for dim in attrs:
            refuse_ragged(dim, "dot")
        for x in inputs:
            require_no_labels(x, "dot")
        joint = union([x.dims for x in inputs], "dot", lambda: list(map(describe, inputs)))
        dtype = promote(tuple(x.dtype for x in inputs))
        return NodeType(without(joint, attrs), result_dtype("accumulate", (dtype,), "dot"))

    def complaint(self, node: Node) -> str | None:
        joint = tuple(dim for x in node.inputs for dim in x.dims)
        return lacking(node.attrs, joint, "every operand")

    def call(self, node: Node, ref: DimRef) -> Call:
        return Call("dot", by_position(node.inputs), [("dim", set_text(node.attrs, ref))])

    def map_dims(self, attrs: Dims, f: DimMap) -> Dims:
        return mapped(attrs, f)

    def mentions(self, node: Node, numbers: Mapping[Node, int]) -> Iterator[tuple[Dim, str]]:
        for dim in node.attrs:
            yield dim, "any"

    def commutes(self, attrs: Dims) -> bool:
        return True

    def combined_by(self, node: Node, dim: Dim, varying: Collection[int]) -> str | None:
        return "add"

    def linear(self, node: Node) -> Sequence[Sequence[int]]:
        return [(at,) for at in range(len(node.inputs))]

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        return True

    def form(self, node: Node) -> tuple:
        return (self.name, Unordered(node.attrs), Unordered(node.inputs))


@kind("apply")
class Apply(Kind[ApplyAttrs]):
    """Positional function with core dims, batched over other dims."""

    attrs = ApplyAttrs
    broadcasts = True

    def infer(self, inputs: tuple[Node, ...], attrs: ApplyAttrs) -> NodeType:
        name = attrs.name or "apply"
        for core in (*attrs.core_in, attrs.core_out):
            for dim in core:
                refuse_ragged(dim, name)
        batches = [without(x.dims, core) for x, core in zip(inputs, attrs.core_in, strict=True)]
        for cores, what in [(attrs.core_in, "of an input"), ((attrs.core_out,), "of the output")]:
            for dim in dict.fromkeys(dim for core in cores for dim in core):
                for x, batch in zip(inputs, batches, strict=True):
                    if dim in batch:
                        raise _both(name, dim, what, x)
        return NodeType(union([*batches, attrs.core_out], name), attrs.dtype)

    def complaint(self, node: Node) -> str | None:
        if len(node.attrs.core_in) != len(node.inputs):
            return f"{len(node.inputs)} inputs have {len(node.attrs.core_in)} sets of core dims"
        for x, core in zip(node.inputs, node.attrs.core_in, strict=True):
            wrong = lacking(core, x.dims, node_text(x))
            if wrong is not None:
                return wrong
        return None

    def call(self, node: Node, ref: DimRef) -> Call:
        attrs: ApplyAttrs = node.attrs
        cores = [f"({', '.join(map(ref, core))})" for core in (*attrs.core_in, attrs.core_out)]
        options = [("core", f"{' '.join(cores[:-1])} -> {cores[-1]}")]
        if attrs.output:
            options.append(("output", str(attrs.output)))
        return Call(attrs.name or function_name(attrs.function), by_position(node.inputs), options)

    def map_dims(self, attrs: ApplyAttrs, f: DimMap) -> ApplyAttrs:
        core_in = tuple(mapped(core, f) for core in attrs.core_in)
        return attrs._replace(core_in=core_in, core_out=mapped(attrs.core_out, f))

    def keeps_apart(self, node: Node, at: int, dim: Dim) -> bool:
        if dim not in node.attrs.core_in[at]:
            return True
        return at == 1 and _has_columns(node.attrs)

    def with_inputs(self, node: Node, inputs: tuple[Node, ...], mapping: dict[Dim, Dim]) -> Node:
        """Rebuild the call; if a matrix gets the dim of its right-hand sides, that is batched."""
        attrs: ApplyAttrs = self.map_dims(node.attrs, lambda dim: map_dim(dim, mapping))
        if _has_columns(attrs):
            (row, col), columns = attrs.core_in[0], attrs.core_in[1][1:]
            kept = without(columns, inputs[0].dims)
            if len(kept) < len(columns):
                options = {**attrs.function.options, "b_ndim": 1 + len(kept)}
                attrs = attrs._replace(
                    function=BatchedFunction(attrs.function.path, **options),
                    core_in=((row, col), (row, *kept)),
                    core_out=(col, *kept),
                )
        return make(self.name, inputs, attrs)

    def messages(self, node: Node) -> dict[Dim | None, str]:
        name = node.attrs.name or "apply"
        return {
            dim: f"{name}: {dim._title} differs in length from the function's result"
            for dim in node.attrs.core_out
        }

    def requirements(self, node: Node) -> Iterator[Requirement]:
        """Require that both dims of a matrix are at least as long as a thin decomposition's dim."""
        attrs: ApplyAttrs = node.attrs
        if not (isinstance(attrs.function, BatchedFunction) and attrs.function.checked_lengths):
            return
        matrix = attrs.core_in[0]
        for new in attrs.core_out:
            if new in matrix or new.length is None:
                continue
            for dim in matrix:
                promise = f"{new._title} of length {new.length}"
                what = f"{attrs.name}: {dim._title} is shorter than {promise}"
                yield Requirement(dim, new.length, what, DimError)

    def form(self, node: Node) -> tuple:
        function, *rest = node.attrs
        if not isinstance(function, BatchedFunction):
            raise FormlessError(f"{function!r} is known in this process only")
        options = plain(tuple(sorted(function.options.items())))
        known = (function.path, function.checked_lengths, options, *rest)
        return (self.name, known, node.inputs)

    def parse(self, entry: Entry, reader: Reader) -> Parsed:
        (path, checked, options, *rest), inputs = reader.value(entry.parts)
        function = BatchedFunction(path, checked, **dict(options))
        return Parsed(inputs, ApplyAttrs(function, *rest))


def _both(name: str, dim: Dim, what: str, x: Node) -> DimError:
    """Make the error of a dim that is a core dim of one input and a batch dim of another."""
    return DimError(
        f"{name}: {dim._title} is a core dim {what} and a batch dim of another",
        [("core dim", repr(dim)), ("batch dim of", describe(x))],
        "rename one of them with rename_dim",
    )


def _has_columns(attrs: ApplyAttrs) -> bool:
    """Return True if the function solves for several right-hand sides, its second input."""
    return isinstance(attrs.function, BatchedFunction) and "b_ndim" in attrs.function.options
