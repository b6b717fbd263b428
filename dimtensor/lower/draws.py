"""Lowering of random draws: dims of generators are the first axes, followed by those drawn."""

from __future__ import annotations

import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from dimtensor.dims import Dims, without
from dimtensor.graph import Node
from dimtensor.graph.attrs import DrawAttrs, StreamAttrs
from dimtensor.lower.context import Lowering, lowers


@lowers("seed")
def seed(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    from dimtensor.ops.random.draw import Seed

    return Seed()(inputs[0]), (*ctx.axes(node.inputs[0]), node.attrs)


@lowers("stream")
def stream(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    from dimtensor.ops.random.draw import Split

    attrs: StreamAttrs = node.attrs
    words, streams = _words(ctx, node, inputs)
    length = pt.as_tensor_variable(ctx.length(attrs.dim), dtype="int64")
    return Split()(words, length), (*streams, attrs.dim, attrs.word)


@lowers("draw")
def draw(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    attrs: DrawAttrs = node.attrs
    words, streams = _words(ctx, node, inputs)
    along = _along_stream(node)
    key = ("draw", attrs._replace(output=0), node.inputs)
    outputs = ctx.once(key, lambda: _drawn(ctx, node, words, inputs[1:], streams, along))
    event = () if attrs.event is None else (attrs.event,)
    dims = (*streams, attrs.word) if attrs.output == 0 else (*streams, *along, *event)
    return outputs[attrs.output], dims


def _words(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    """Return the state words of generators, with the dim of words last, and their other dims."""
    source, word = node.inputs[0], node.attrs.word
    streams = without(ctx.axes(source), (word,))
    return ctx.align(inputs[0], ctx.axes(source), (*streams, word)), streams


def _along_stream(node: Node) -> Dims:
    """Return the dims that are drawn from one stream; those not requested come first."""
    attrs: DrawAttrs = node.attrs
    words, *parameters = node.inputs
    given = tuple(dict.fromkeys(dim for x in parameters for dim in x.dims))
    event = () if attrs.event is None else (attrs.event,)
    unasked = without(given, (*words.dims, *attrs.order, *event))
    return (*unasked, *without(attrs.order, words.dims))


def _drawn(
    ctx: Lowering, node: Node, words: Variable, parameters: list[Variable], streams: Dims,
    along: Dims,
) -> list[Variable]:  # fmt: skip
    from dimtensor.ops.random.draw import Draw

    attrs: DrawAttrs = node.attrs
    event = () if attrs.event is None else (attrs.event,)
    op = Draw(attrs.name, len(streams), len(along))
    lengths = [pt.as_tensor_variable(ctx.length(d), dtype="int64") for d in (*along, *event)]
    aligned = []
    for name, x, own in zip(op.row.parameters, parameters, node.inputs[1:], strict=True):
        to = (*streams, *along, *(event if name in op.row.along else ()))
        aligned.append(ctx.align(x, ctx.axes(own), to))
    return op(words, *lengths, *aligned)
