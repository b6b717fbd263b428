"""An expression as a modeller would write it, with the parts that do not fit left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dimtensor.dims import Dim
from dimtensor.display.peek import late_labels_text, where_text
from dimtensor.errors import plain_repr
from dimtensor.graph import Node
from dimtensor.graph.dtypes import is_inexact
from dimtensor.graph.optable import TABLE
from dimtensor.graph.printing.shown import shown
from dimtensor.graph.printing.text import call_of, constant_text, label_text
from dimtensor.graph.printing.words import Words, words_of

_ELLIPSIS = "…"
# the precedence of operators between two operands, and before one: as in Python
_PRECEDENCE = {
    "==": 1, "!=": 1, "<": 1, "<=": 1, ">": 1, ">=": 1, "|": 2, "^": 3, "&": 4,
    "+": 5, "-": 5, "*": 6, "/": 6, "//": 6, "%": 6, "**": 8,
}  # fmt: skip
_ANY, _UNARY, _ATOM = 0, 7, 10
_TERMS = 8
_OPERANDS = 5


class _Operand(NamedTuple):
    """A place in a text for a node; what binds less tightly than this goes into parentheses."""

    node: Node
    binding: int


_Parts = list["str | _Operand"]


def formula(node: Node, width: int = 150) -> str:
    """The expression of a node in about `width` characters.

    Parameters
    ----------
    node : Node
    width : int
        What does not fit is ``…``; every operand gets its share of the width.

    Examples
    --------
    >>> import dimtensor as dt
    >>> country = dt.Dim("country", coords=["Italy", "Kenya"])
    >>> a, b = dt.tensor("a", dims=country), dt.scalar("b")
    >>> x = a.sel(country="Kenya") * (b + 1)
    >>> formula(x.node)
    "a[country='Kenya'] * (b + 1)"
    >>> formula(x.node, width=20)
    '… * (b + 1)'
    """
    return _short(_shown(node), width)[0]


def _shown(node: Node) -> Node:
    return shown([node])[0]


def formula_lines(node: Node, width: int = 76) -> list[str]:
    """The expression of a node in a few lines: of a long sum, one for each of its terms."""
    node = _shown(node)
    whole = _full(node, 2 * width)
    terms = _terms(node, "add") if node.kind == "elemwise" and node.attrs == "add" else [node]
    if whole is not None or len(terms) == 1:
        return [_short(node, 2 * width)[0]]
    lines = [_enclosed(*_short(term, width - 4), _PRECEDENCE["+"]) for term in terms[:_TERMS]]
    return [lines[0], *(f"+ {line}" for line in lines[1:])] + ["+ …"] * (len(terms) > _TERMS)


def _full(node: Node, limit: int) -> tuple[str, int] | None:
    """The whole text and how tightly it binds, None where it is longer than the limit."""
    parts, binding = _parts(node)
    text = ""
    for part in parts:
        if isinstance(part, _Operand):
            inner = _full(part.node, limit - len(text)) if len(text) < limit else None
            if inner is None:
                return None
            text += _enclosed(*inner, part.binding)
        else:
            text += part
    return None if len(text) > limit else (text, binding)


def _short(node: Node, budget: int) -> tuple[str, int]:
    """Text of at most about `budget` characters."""
    whole = _full(node, budget)
    if whole is not None:
        return whole
    parts, binding = _parts(node)
    places = [at for at, part in enumerate(parts) if isinstance(part, _Operand)]
    left = budget - sum(len(part) for part in parts if isinstance(part, str))
    if left < len(places) or not places:
        return _ELLIPSIS, _ATOM
    texts = ["" if at in places else str(part) for at, part in enumerate(parts)]
    fitting = {at: _full(parts[at].node, left) for at in places}  # type: ignore[union-attr]
    # short operands first: what they do not need is left for the long ones
    for count, at in enumerate(sorted(places, key=lambda at: _length(fitting[at]))):
        operand: _Operand = parts[at]  # type: ignore[assignment]
        share = left // (len(places) - count)
        found = fitting[at]
        if found is None or len(found[0]) > share:
            found = _short(operand.node, share)
        texts[at] = _enclosed(*found, operand.binding)
        left -= len(texts[at])
    return "".join(texts), binding


def _length(found: tuple[str, int] | None) -> float:
    return float("inf") if found is None else len(found[0])


def _enclosed(text: str, own: int, needed: int) -> str:
    return f"({text})" if own < needed else text


# -- the parts of each kind of node ----------------------------------------------------------------


def _parts(node: Node) -> tuple[_Parts, int]:
    if node.kind in ("input", "data", "shaped"):
        return [node.name or f"<{node.kind}>"], _ATOM
    if node.kind == "constant":
        return _number(node)
    words = words_of(node)
    if words is not None:
        return _written(words), _ATOM
    label = label_text(node)
    if label is not None:
        return [label], _ATOM
    if node.kind == "elemwise" and TABLE[node.attrs].operator:
        return _operation(node, TABLE[node.attrs].operator)
    if node.kind == "index":
        return _index(node.inputs[0], node.attrs.items, node.inputs[1:]), _ATOM
    if node.kind == "update":
        mode, items = node.attrs
        x, value, *indexers = node.inputs
        place = _index(x, items, indexers)
        return [f"{mode}(", *place, ", ", _Operand(value, _ANY), ")"], _ATOM
    if node.kind == "positions":
        return [f"arange({node.attrs.short})"], _ATOM
    if node.kind == "expand" and node.inputs[0].kind == "constant":
        return [_filled(node)], _ATOM
    if node.kind == "relabel" and all(old.short == new.short for old, new in node.attrs.pairs):
        return _parts(node.inputs[0])
    if node.kind == "shown" and node.attrs.name == "gradient":
        return _gradient(node), _ATOM
    return _function(node), _ATOM


def _written(words: Words) -> _Parts:
    """A call as it was written."""
    parts: _Parts = []
    for role, x in words.operands[:_OPERANDS]:
        parts += [f", {role}=" if role else ", ", _Operand(x, _ANY)]
    if len(words.operands) > _OPERANDS:
        parts.append(f", {_ELLIPSIS}")
    for key, value in words.options:
        if key == "over":  # without dims over all
            if value and not _over_all(value, words):
                parts.append(f", over={{{', '.join(dim.short for dim in value)}}}")
        else:
            parts.append(f", {key}={_option(value)}" if key else f", {_option(value)}")
    return _call(words.name, parts)


def _over_all(dims: Any, words: Words) -> bool:
    return set(dims) >= {dim for role, x in words.operands if role != "by" for dim in x.dims}


def _option(value: Any) -> str:
    if isinstance(value, Dim):
        return value.short
    if value is ...:
        return _ELLIPSIS
    if isinstance(value, (tuple, list)) and value and all(isinstance(x, Dim) for x in value):
        return "{" + ", ".join(dim.short for dim in value) + "}"
    return plain_repr(value)


def _call(name: str, parts: _Parts) -> _Parts:
    if not parts:
        return [f"{name}()"]
    assert isinstance(parts[0], str)
    return [f"{name}({parts[0][2:]}", *parts[1:], ")"]


def _number(node: Node) -> tuple[_Parts, int]:
    value = node.attrs.value.item()
    text = f"{value:.6g}" if isinstance(value, float) else constant_text(node)
    return [text], _UNARY if text.startswith("-") else _ATOM


def _operation(node: Node, sign: str) -> tuple[_Parts, int]:
    if len(node.inputs) == 1:
        return [sign, _Operand(node.inputs[0], _UNARY)], _UNARY
    binding = _PRECEDENCE[sign]
    if node.attrs in ("add", "multiply"):
        parts: _Parts = []
        terms = _terms(node, node.attrs)
        for term in terms[:_TERMS]:
            parts += [f" {sign} ", _Operand(term, binding)]
        return parts[1:] + ([f" {sign} {_ELLIPSIS}"] if len(terms) > _TERMS else []), binding
    left, right = node.inputs
    if binding == 1:  # a < b < c means something else
        return [_Operand(left, 2), f" {sign} ", _Operand(right, 2)], binding
    if node.attrs == "power":
        return [_Operand(left, binding + 1), sign, _Operand(right, binding)], binding
    return [_Operand(left, binding), f" {sign} ", _Operand(right, binding + 1)], binding


def _terms(node: Node, name: str) -> list[Node]:
    """The terms of a sum of sums or the factors of a product, not many more than are shown."""
    found: list[Node] = []
    stack = [node]
    while stack and len(found) <= _TERMS:
        x = stack.pop()
        if x.kind == "elemwise" and x.attrs == name:
            stack += reversed(x.inputs)
        else:
            found.append(x)
    # numbers go before what they scale, and after what they are added to
    found.sort(key=lambda x: (x.kind == "constant") == (name == "add"))
    return found + stack


def _filled(node: Node) -> str:
    """One number along dims."""
    (number,) = node.inputs
    dims = "{" + ", ".join(dim.short for dim in node.attrs) + "}"
    value = number.attrs.value
    if value in (0, 1) and is_inexact(number.dtype):
        return f"{'ones' if value else 'zeros'}({dims})"
    text = _number(number)[0][0]
    return f"full({dims}, {text})"


def _index(x: Node, items: Sequence[Any], indexers: Sequence[Node]) -> _Parts:
    parts: _Parts = []
    for item in items:
        parts.append(f"{', ' if parts else '['}{item.dim.short}=")
        if item.kind in ("tensor", "mask"):
            indexer = indexers[item.payload]
            if indexer.kind == "label_position":  # a label whose position comes with the data
                parts.append(late_labels_text(indexer))
            else:
                parts.append(_Operand(indexer, _ANY))
        else:
            parts.append(where_text(item))
    return [_Operand(x, _ATOM), *parts, "]"]


def _gradient(node: Node) -> _Parts:
    parts: _Parts = ["grad("]
    for role, x in zip(node.attrs.roles, node.inputs, strict=True):
        if role != "cotangent":
            parts += [f"{role}=" if role not in ("", "wrt") else "", _Operand(x, _ANY), ", "]
    return [*parts[:-1], ")"]


def _function(node: Node) -> _Parts:
    call = call_of(node)
    parts: _Parts = []
    for role, x in call.operands[:_OPERANDS]:
        parts += [f", {role}=" if role else ", ", _Operand(x, _ANY)]
    if len(call.operands) > _OPERANDS:
        parts.append(f", {_ELLIPSIS}")
    options = call.options
    if node.kind == "reduce" and node.attrs.dims == node.inputs[0].dims:
        options = []
    if node.kind == "apply" and node.attrs.name:  # by its name one knows what it works on
        options = [option for option in options if option[0] != "core"]
    for key, text in options:
        parts.append(f", {key}={text}" if key else f", {text}")
    return _call(call.name, parts)
