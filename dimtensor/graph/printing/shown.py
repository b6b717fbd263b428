"""Printed form of graphs: derivatives become calls with the differentiated expression as operand.

A derivative node holds a function and the values of its variables. If the expression of these
values identifies the derivative, it is printed as the user wrote it. Otherwise, for instance if two
values coincide, the variables of the function get names of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from dimtensor.graph.attrs import InputAttrs, ShownAttrs
from dimtensor.graph.derivatives import opened
from dimtensor.graph.node import Node, make
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.graph.regions import DERIVATIVES, DerivativeAttrs, split_derivative
from dimtensor.graph.walk import toposort, with_regions


def shown(outputs: Sequence[Node]) -> list[Node]:
    """Replace derivatives in outputs by their printed form, which cannot be computed.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.scalar("x")
    >>> (node,) = shown([dt.grad(x**2, x).node])
    >>> node.attrs.name, [x.kind for x in node.inputs]
    ('gradient', ['elemwise', 'input'])
    """
    return _shown(outputs, {})


def _shown(outputs: Sequence[Node], calls: dict[Node, Node]) -> list[Node]:
    if not any(node.kind in DERIVATIVES for node in with_regions(toposort(outputs))):
        return list(outputs)

    def replace(node: Node, inputs: tuple[Node, ...]) -> Node | None:
        if node.kind not in DERIVATIVES:
            return None
        # nested derivatives occur in every outer one
        if node not in calls:
            calls[node] = _call(node, inputs, calls)
        return calls[node]

    return rebuild(outputs, {}, replace)


def _call(node: Node, inputs: tuple[Node, ...], calls: dict[Node, Node]) -> Node:
    attrs: DerivativeAttrs = node.attrs
    given = split_derivative(attrs, inputs)
    y = opened(node)
    variables, values = given.wrt, []
    if y is None:
        names = [f"v{at}" for at in range(attrs.n_wrt)]
        variables = tuple(
            make("input", (), InputAttrs(name, None, x.dims, x.dtype, None))
            for name, x in zip(names, node.inputs, strict=False)
        )
        values = list(zip(names, given.wrt, strict=True))
        leaves = (*variables, *split_derivative(attrs, node.inputs).captured)
        (y,) = rebuild(attrs.region.outputs[:1], dict(zip(attrs.region.bound, leaves, strict=True)))
    (y,) = _shown([y], calls)
    operands = [("", y)]
    options: list[tuple[str, str]] = []
    if node.kind == "pushforward":
        for x, tangent in zip(variables, given.directions, strict=True):
            operands += [("wrt", x), ("tangent", tangent)]
    else:
        operands += [("cotangent", x) for x in given.directions]
        operands.append(("wrt", variables[attrs.output]))
        if node.kind == "gradient" and attrs.n_wrt > 1:
            # variables are treated as independent of each other
            options.append(("of", f"{attrs.output + 1}/{attrs.n_wrt}"))
    operands += values
    name = "jvp" if node.kind == "pushforward" else node.kind
    roles = tuple(role for role, _ in operands)
    return make(
        "shown",
        tuple(x for _, x in operands),
        ShownAttrs(name, roles, tuple(options), node.dims, node.dtype),
    )
