"""Positional graphs: expressions replaced by others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytensor.graph.basic import Variable


def replaced(outputs: Sequence[Variable], replace: Mapping[Variable, Variable]) -> list[Variable]:
    """The outputs with variables replaced by others, all at once.

    What depends on none of the variables stays the same object, and so does what takes their place:
    a derivative with respect to it finds it. The time is that of one walk, whatever the depth.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x, y = pt.dscalars("x", "y")
    >>> same, new = replaced([pt.exp(y), x + pt.exp(y)], {x: y * 2})
    >>> float(new.eval({y: 0.0}, mode="FAST_COMPILE"))
    1.0
    """
    if not replace:
        return list(outputs)
    found: dict[Variable, Variable] = dict(replace)
    stack = [v for v in reversed(outputs) if v not in found]
    while stack:
        variable = stack[-1]
        if variable in found:
            stack.pop()
            continue
        node = variable.owner
        if node is None:
            found[variable] = variable
            stack.pop()
            continue
        missing = [v for v in node.inputs if v not in found]
        if missing:
            stack += reversed(missing)
            continue
        stack.pop()
        inputs = [found[v] for v in node.inputs]
        if all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
            made = node.outputs
        else:
            made = node.clone_with_new_inputs(inputs).outputs
        for old, new in zip(node.outputs, made, strict=True):
            found.setdefault(old, new)
    return [found[v] for v in outputs]
