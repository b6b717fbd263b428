"""Lowering of operations that rearrange elements: expand, rename, ravel, concat, stack."""

from __future__ import annotations

import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from dimtensor.dims import Dim, Dims, ProductDim
from dimtensor.graph import Node
from dimtensor.lower.context import Lowering, lowers
from dimtensor.lower.layout.preferences import Estimates, Found, Preference, prefers, same_order
from dimtensor.ops.nodes import of_lengths, reshaped
from dimtensor.tuning import COPY


@lowers("expand")
def expand(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    axes = ctx.axes(node)
    return ctx.broadcast(inputs[0], ctx.axes(node.inputs[0]), axes), axes


@lowers("relabel")
def relabel(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    mapping = dict(node.attrs.pairs)
    axes = tuple(mapping.get(dim, dim) for dim in ctx.axes(node.inputs[0]))
    known = enumerate(zip(axes, inputs[0].type.shape, strict=True))
    lengths = {at: dim.length for at, (dim, n) in known if n is None and dim.length is not None}
    return of_lengths(inputs[0], lengths), axes


@prefers("relabel")
def relabel_order(node: Node, estimates: Estimates) -> Found:
    return same_order(node, node.inputs[0].dims, node.dims, dict(node.attrs.pairs), estimates)


def _product(
    node: Node, apart: Dims, together: Dims, product: ProductDim, estimates: Estimates
) -> Found:
    """Prefer the factors of a product adjacent, in its order and at its position."""
    factors = frozenset(product.factors)
    cost = COPY * estimates.elements(apart)
    joint = tuple(dict.fromkeys((*apart, *together)))
    one, two = frozenset(apart), frozenset(together)

    def differs(order: Dims) -> int:
        spread: list[Dim] = []
        for dim in order:
            if dim in two:
                spread += product.factors if dim is product else [dim]
        return 0 if spread == [dim for dim in order if dim in one] else cost

    assert factors <= one
    yield ("product", node), Preference(joint, differs)


@lowers("merge")
def merge(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    product = node.attrs
    axes = ctx.axes(node.inputs[0])
    target = ctx.axes(node)
    at = target.index(product)
    spread = (*target[:at], *product.factors, *target[at + 1 :])
    variable = ctx.align(inputs[0], axes, spread)
    return _reshape(ctx, variable, target), target


@prefers("merge")
def merge_order(node: Node, estimates: Estimates) -> Found:
    return _product(node, node.inputs[0].dims, node.dims, node.attrs, estimates)


@lowers("split")
def split(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    product = node.attrs
    axes = ctx.axes(node.inputs[0])
    at = axes.index(product)
    spread = (*axes[:at], *product.factors, *axes[at + 1 :])
    return _reshape(ctx, inputs[0], spread), spread


@prefers("split")
def split_order(node: Node, estimates: Estimates) -> Found:
    return _product(node, node.dims, node.inputs[0].dims, node.attrs, estimates)


def _reshape(ctx: Lowering, variable: Variable, dims: Dims) -> Variable:
    return reshaped(variable, ctx.shape(dims))


@lowers("concat")
def concat(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    parts, whole = node.attrs
    axes = ctx.axes(node)
    pieces = [
        ctx.broadcast(
            pt.cast(v, node.dtype),
            ctx.axes(i),
            tuple(part if dim is whole else dim for dim in axes),
        )
        for v, i, part in zip(inputs, node.inputs, parts, strict=True)
    ]
    return pt.concatenate(pieces, axis=axes.index(whole)), axes


@lowers("stack")
def stack(ctx: Lowering, node: Node, inputs: list[Variable]) -> tuple[Variable, Dims]:
    axes = ctx.axes(node)
    others = tuple(dim for dim in axes if dim is not node.attrs)
    pieces = [
        ctx.broadcast(pt.cast(v, node.dtype), ctx.axes(i), others)
        for v, i in zip(inputs, node.inputs, strict=True)
    ]
    return pt.stack(pieces, axis=axes.index(node.attrs)), axes
