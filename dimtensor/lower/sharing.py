"""Equal computations made one, as those of a value and of its derivative are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import io_toposort

_LARGEST = 64


def shared(outputs: Sequence[Variable]) -> list[Variable]:
    """The outputs, computed by a graph of which no two nodes do the same with the same inputs.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x = pt.dscalar("x")
    >>> one, two = shared([pt.exp(x), pt.exp(x)])
    >>> one is two
    True
    """
    known: dict[tuple, list[Variable]] = {}
    found: dict[Variable, Variable] = {}
    for node in io_toposort([], list(outputs)):
        inputs = [found.get(x, x) for x in node.inputs]
        key = (node.op, *map(_key, inputs))
        made = known.get(key)
        if made is None or any(a.type != b.type for a, b in zip(made, node.outputs, strict=True)):
            changed = any(new is not old for new, old in zip(inputs, node.inputs, strict=True))
            made = node.clone_with_new_inputs(inputs).outputs if changed else node.outputs
            known[key] = made
        for old, new in zip(node.outputs, made, strict=True):
            if old is not new:
                found[old] = new
    return [found.get(x, x) for x in outputs]


def _key(variable: Variable) -> Hashable:
    """What tells a variable apart: of a small constant, its value."""
    if not isinstance(variable, Constant):
        return variable
    data: Any = variable.data
    if getattr(data, "size", _LARGEST) >= _LARGEST or data.dtype.hasobject:
        return variable
    return (variable.type, data.tobytes())
