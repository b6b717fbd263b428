"""Arrays of other lengths with the same elements: views, because all arrays are contiguous."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.tensor.shape import Reshape

from dimtensor.kernels.calls import CallRule, finish, set_length
from dimtensor.kernels.elements import ZERO, Place, Term

if TYPE_CHECKING:
    from dimtensor.kernels.emit import Emitter

_RESHAPED = "a reshape keeps the number of elements"


def _reshape(e: Emitter, node: Apply) -> None:
    """A view: all arrays are contiguous."""
    (x, shape), (out,) = node.inputs, node.outputs
    total = e.fresh("n")
    size = " * ".join(e.length(x, axis) for axis in range(x.type.ndim)) or "1"
    e.lines.append(f"{total} = {size}")
    lengths = _asked_lengths(e, shape, out, total)
    if any(length is None for length in (*x.type.shape, *out.type.shape)):
        e.lines.append(f"if {total} != {' * '.join(lengths) or '1'}:")
        e.lines.append(f"    raise ValueError('{_RESHAPED}')")
    if x.type.ndim == 0 or out.type.ndim == 0:
        _reshape_number(e, x, out)
        return
    name = e.fresh("v")
    e.lines.append(f"{name} = {e.place(x).whole}.reshape(({', '.join(lengths)},))")
    finish(e, out, Place(name, early=False))


def _reshape_number(e: Emitter, x: Variable, out: Variable) -> None:
    value = e.element(x, (ZERO,) * x.type.ndim, e.top)
    if out.type.ndim == 0:
        e.scalars[out] = value
        return
    place = e.allocate(out)
    e.lines.append(f"{place.at([ZERO] * out.type.ndim)} = {value.text}")
    finish(e, out, place)


def _asked_lengths(e: Emitter, shape: Variable, out: Variable, total: str) -> list[str]:
    """Lengths that a reshape asks for; one of -1 is what is left."""
    asked = [
        str(static) if static is not None else e.element(shape, (Term(str(axis)),), e.top).text
        for axis, static in enumerate(out.type.shape)
    ]
    is_open = [text in ("(-1)", "-1") for text in asked]
    if not e.trusting and not all(e.is_known_length(text) for text in asked):
        asked = _resolved_lengths(e, asked, total)
        is_open = [False] * len(asked)
    elif isinstance(shape, Constant):
        is_open = [static is None for static in out.type.shape]
    known = " * ".join(text for text, left in zip(asked, is_open, strict=True) if not left) or "1"
    return [
        set_length(e, out, axis, f"{total} // max({known}, 1)" if left else text)
        for axis, (text, left) in enumerate(zip(asked, is_open, strict=True))
    ]


def _resolved_lengths(e: Emitter, asked: list[str], total: str) -> list[str]:
    """Lengths of a reshape where each may be -1 at run time."""
    found = []
    for at, text in enumerate(asked):
        if e.is_known_length(text):
            found.append(text)
            continue
        others = [other for k, other in enumerate(asked) if k != at] or ["1"]
        least = f"min({', '.join(others)})" if len(others) > 1 else others[0]
        # what is left is known if the others are positive, so there is at most one
        e.lines.append(f"if {text} < -1 or ({text} == -1 and {least} < 1):")
        e.lines.append(f"    raise ValueError('{_RESHAPED}')")
        name = e.fresh("n")
        left = f"{total} // max({' * '.join(others)}, 1)"
        e.lines.append(f"{name} = ({left} if {text} == -1 else {text})")
        found.append(name)
    return found


RULES: list[tuple[Any, CallRule]] = [(Reshape, _reshape)]
