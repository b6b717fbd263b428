"""Real and imaginary parts of complex expressions as real expressions.

The parts of ``dt.complex(real, imaginary)``, and of sums, products and relabelings of such
expressions, are real expressions. So they have derivatives, and are compiled without complex
numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dimtensor.graph import Node, make
from dimtensor.graph.dtypes import is_complex
from dimtensor.graph.walk import toposort
from dimtensor.tensor.constructors import zeros_like
from dimtensor.tensor.handle import constant, elemwise, wrap
from dimtensor.tensor.inputs import data

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

Parts = tuple[Any, Any]
# operations that change dims alone: applied to a part with the same attributes
_MOVING = frozenset({"relabel", "index", "expand", "merge", "split"})
# larger graphs are not split into parts
_MOST = 200


def parts_of(node: Node) -> tuple[DimTensor, DimTensor] | None:
    """Return the parts of an expression; None if some complex number in it has no known parts."""
    order = toposort([node])
    if len(order) > _MOST:
        return None
    known: dict[Node, Parts] = {}
    for each in order:
        if not is_complex(each.dtype):
            continue
        found = _parts(each, [known.get(x, (wrap(x), None)) for x in each.inputs])
        if found is None:
            return None
        known[each] = found
    real, imaginary = known[node]
    return real, zeros_like(real) if imaginary is None else imaginary


def _parts(node: Node, inputs: list[Parts]) -> Parts | None:
    if node.kind == "elemwise":
        rule = _RULES.get(node.attrs)
        return None if rule is None or any(p is None for p in inputs) else rule(*inputs)
    if not node.inputs:
        return _given(node)
    if not is_complex(node.inputs[0].dtype):
        return None
    if node.kind in _MOVING or (node.kind == "reduce" and node.attrs.name == "sum"):
        real, imaginary = inputs[0]
        return _made(node, real), None if imaginary is None else _made(node, imaginary)
    return None


def _given(node: Node) -> Parts | None:
    """Return the parts of a constant or of data."""
    if node.kind == "constant":
        number = complex(node.attrs.value)
        return wrap(constant(number.real)), wrap(constant(number.imag))
    if node.kind == "data":
        values, dims = node.attrs.values, node.attrs.dims
        return data(values.real.copy(), dims=dims), data(values.imag.copy(), dims=dims)
    return None


def _made(node: Node, part: DimTensor) -> DimTensor:
    return wrap(make(node.kind, (part.node, *node.inputs[1:]), node.attrs))


def _add(x: Any, y: Any) -> Any:
    return y if x is None else x if y is None else x + y


def _minus(x: Any) -> Any:
    return None if x is None else -x


def _times(x: Any, y: Any) -> Any:
    return None if x is None or y is None else x * y


def _complex(real: Parts, imaginary: Parts) -> Parts:
    a, b = (x.astype("float64") if x.dtype[0] != "f" else x for x in (real[0], imaginary[0]))
    dims = {*a.dims, *b.dims}
    return tuple(  # type: ignore[return-value]
        x if {*x.dims} == dims else wrap(make("expand", (x.node,), tuple(dims - {*x.dims})))
        for x in (a, b)
    )


def _multiply(x: Parts, y: Parts) -> Parts:
    (a, b), (c, d) = x, y
    return _add(_times(a, c), _minus(_times(b, d))), _add(_times(a, d), _times(b, c))


def _divide(x: Parts, y: Parts) -> Parts | None:
    if y[1] is not None:
        return None
    return x[0] / y[0], None if x[1] is None else x[1] / y[0]


_RULES: dict[str, Callable[..., Parts | None]] = {
    "complex": _complex,
    "add": lambda x, y: (x[0] + y[0], _add(x[1], y[1])),
    "subtract": lambda x, y: (x[0] - y[0], _add(x[1], _minus(y[1]))),
    "negative": lambda x: (-x[0], _minus(x[1])),
    "conj": lambda x: (x[0], _minus(x[1])),
    "multiply": _multiply,
    "divide": _divide,
    "square": lambda x: _multiply(x, x),
}


def of_parts(name: str, node: Node) -> DimTensor | None:
    """Compute a real function of a complex expression from its parts; None without parts."""
    found = parts_of(node)
    if found is None:
        return None
    real, imaginary = found
    if name == "real":
        return real
    if name == "imag":
        return imaginary
    return elemwise("hypot" if name == "abs" else "arctan2", *found[:: 1 if name == "abs" else -1])
