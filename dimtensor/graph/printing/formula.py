"""Formulas: expressions as a modeler would write them, abbreviated to a width."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from dimtensor.dims import Dim
from dimtensor.errors import plain_repr
from dimtensor.graph.dtypes import is_inexact
from dimtensor.graph.node import Node
from dimtensor.graph.optable import TABLE
from dimtensor.graph.printing.labels import late_labels_text, where_text
from dimtensor.graph.printing.shown import shown
from dimtensor.graph.printing.text import call_of, constant_text, label_text
from dimtensor.graph.printing.words import Words, words_of
from dimtensor.tuning import SHOWN_OPERANDS, SHOWN_TERMS

_ELLIPSIS = "…"
# the precedence of operators between two operands, and before one: as in Python
PRECEDENCE = {
    "==": 1, "!=": 1, "<": 1, "<=": 1, ">": 1, ">=": 1, "|": 2, "^": 3, "&": 4,
    "+": 5, "-": 5, "*": 6, "/": 6, "//": 6, "%": 6, "**": 8,
}  # fmt: skip
_ANY, _UNARY, _ATOM = 0, 7, 10


class Operand(NamedTuple):
    """Placeholder for a node in a text, in parentheses if it binds less tightly than `binding`."""

    node: Node
    binding: int


Parts = list["str | Operand"]


def formula(node: Node, width: int = 150) -> str:
    """Write the expression of a node in about `width` characters.

    Parameters
    ----------
    node : Node
    width : int
        Parts that do not fit become ``…``; every operand gets its share of the width.

    Examples
    --------
    >>> import dimtensor as dt
    >>> country = dt.Dim("country", coords=["Italy", "Kenya"])
    >>> wage, rise = dt.tensor("wage", dims=country), dt.scalar("rise")
    >>> x = wage.sel(country="Kenya") * (rise + 1)
    >>> formula(x.node)
    "wage[country='Kenya'] * (rise + 1)"
    >>> formula(x.node, width=22)
    '… * (rise + 1)'
    """
    return _whole(_shown(node), width)


def _shown(node: Node) -> Node:
    return shown([node])[0]


def formula_lines(node: Node, width: int = 76) -> list[str]:
    """Write the expression of a node in a few lines; a long sum gets a line per term."""
    node = _shown(node)
    if node.kind in ("rv", "named"):
        return [_whole(node, 2 * width)]
    whole = _full(node, 2 * width)
    terms = terms_of(node, "add") if node.kind == "elemwise" and node.attrs == "add" else [node]
    if whole is not None or len(terms) == 1:
        return [_short(node, 2 * width)[0]]
    lines = [_enclosed(*_short(term, width - 4), PRECEDENCE["+"]) for term in terms[:SHOWN_TERMS]]
    return [lines[0], *(f"+ {line}" for line in lines[1:])] + ["+ …"] * (len(terms) > SHOWN_TERMS)


def _whole(node: Node, width: int) -> str:
    """Write an expression, or the definition of a random variable or a deterministic."""
    if node.kind == "rv":
        return f"{node.name} ~ {node.attrs.spec.build(node.inputs)!r}"
    if node.kind == "named":
        return f"{node.name} = {_short(node.inputs[0], width)[0]}"
    return _short(node, width)[0]


def _full(node: Node, limit: int) -> tuple[str, int] | None:
    """Return the full text and its precedence, or None if it is longer than the limit."""
    parts, binding = parts_of(node)
    # every operand counts one character, so the remaining limit decreases with the depth
    left = limit - sum(len(part) if isinstance(part, str) else 1 for part in parts)
    text = ""
    for part in parts:
        if left < 0:
            return None
        if isinstance(part, Operand):
            inner = _full(part.node, left + 1)
            if inner is None:
                return None
            written = _enclosed(*inner, part.binding)
            text, left = text + written, left + 1 - len(written)
        else:
            text += part
    return None if left < 0 else (text, binding)


def _short(node: Node, budget: int) -> tuple[str, int]:
    """Return a text of about `budget` characters and its precedence."""
    whole = _full(node, budget)
    if whole is not None:
        return whole
    parts, binding = parts_of(node)
    places = [at for at, part in enumerate(parts) if isinstance(part, Operand)]
    left = budget - sum(len(part) for part in parts if isinstance(part, str))
    if left < len(places) or not places:
        return _ELLIPSIS, _ATOM
    texts = ["" if at in places else str(part) for at, part in enumerate(parts)]
    fitting = {at: _full(parts[at].node, left) for at in places}  # type: ignore[union-attr]
    # short operands first: long ones get the rest of their shares
    for count, at in enumerate(sorted(places, key=lambda at: _length(fitting[at]))):
        operand: Operand = parts[at]  # type: ignore[assignment]
        share = left // (len(places) - count)
        found = fitting[at]
        if found is None or len(found[0]) > share:
            found = _short(operand.node, share - 2 * _is_enclosed(operand))
        texts[at] = _enclosed(*found, operand.binding)
        left -= len(texts[at])
    return "".join(texts), binding


def text_within(node: Node, limit: int) -> float:
    """Return the length of a node's full text; infinite if it exceeds the limit."""
    return _length(_full(node, limit))


def _length(found: tuple[str, int] | None) -> float:
    return float("inf") if found is None else len(found[0])


def _is_enclosed(operand: Operand) -> bool:
    return parts_of(operand.node)[1] < operand.binding


def _enclosed(text: str, own: int, needed: int) -> str:
    return f"({text})" if own < needed else text


# -- the parts of each kind of node ----------------------------------------------------------------


def parts_of(node: Node) -> tuple[Parts, int]:
    """Return the texts and operands that form an expression, and its precedence."""
    if node.kind in ("input", "data", "shaped", "rv", "named"):
        return [leaf_name(node)], _ATOM
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
        return [f"{mode}(", *place, ", ", Operand(value, _ANY), ")"], _ATOM
    if node.kind == "positions":
        return [f"arange({node.attrs._short})"], _ATOM
    if node.kind == "expand" and node.inputs[0].kind == "constant":
        return [_filled(node)], _ATOM
    if node.kind == "relabel" and all(old._short == new._short for old, new in node.attrs.pairs):
        return parts_of(node.inputs[0])
    if node.kind == "shown" and node.attrs.name == "gradient":
        return _gradient(node), _ATOM
    return _function(node), _ATOM


def leaf_name(node: Node) -> str:
    """Return the name of an input or data; unnamed labels have the name of their dim."""
    dim = node.categories if node.kind == "data" else None
    return node.name or f"<{dim._short if dim is not None else node.kind}>"


def _written(words: Words) -> Parts:
    """Write a call as the user wrote it, with operands of one role as a list: ``by=[a, b]``."""
    parts: Parts = []
    for role, together in groupby(words.operands[:SHOWN_OPERANDS], key=lambda operand: operand[0]):
        operands = [Operand(x, _ANY) for _, x in together]
        listed = [part for operand in operands for part in (", ", operand)][1:]
        if role:
            listed = [f"{role}=[", *listed, "]"] if len(operands) > 1 else [f"{role}=", *listed]
        parts += [", ", *listed]
    if len(words.operands) > SHOWN_OPERANDS:
        parts.append(f", {_ELLIPSIS}")
    for key, value in words.options:
        if key == "dim" and not isinstance(value, Dim):  # without dims over all
            if value and not _over_all(value, words):
                parts.append(f", dim={{{', '.join(dim._short for dim in value)}}}")
        else:
            parts.append(f", {key}={_option(value)}" if key else f", {_option(value)}")
    return _call(words.name, parts)


def _over_all(dims: Any, words: Words) -> bool:
    return set(dims) >= {dim for role, x in words.operands if role != "by" for dim in x.dims}


def _option(value: Any) -> str:
    if isinstance(value, Dim):
        return value._short
    if value is ...:
        return _ELLIPSIS
    if isinstance(value, (tuple, list)) and value and all(isinstance(x, Dim) for x in value):
        return "{" + ", ".join(dim._short for dim in value) + "}"
    return plain_repr(value)


def _call(name: str, parts: Parts) -> Parts:
    if not parts:
        return [f"{name}()"]
    assert isinstance(parts[0], str)
    return [f"{name}({parts[0][2:]}", *parts[1:], ")"]


def _number(node: Node) -> tuple[Parts, int]:
    value = node.attrs.value.item()
    text = f"{value:.6g}" if isinstance(value, float) else constant_text(node)
    return [text], _UNARY if text.startswith("-") else _ATOM


def _operation(node: Node, sign: str) -> tuple[Parts, int]:
    if len(node.inputs) == 1:
        return [sign, Operand(node.inputs[0], _UNARY)], _UNARY
    binding = PRECEDENCE[sign]
    if node.attrs in ("add", "multiply"):
        parts: Parts = []
        terms = terms_of(node, node.attrs)
        for term in terms[:SHOWN_TERMS]:
            parts += [f" {sign} ", Operand(term, binding)]
        return parts[1:] + ([f" {sign} {_ELLIPSIS}"] if len(terms) > SHOWN_TERMS else []), binding
    left, right = node.inputs
    if binding == 1:  # a < b < c means something else
        return [Operand(left, 2), f" {sign} ", Operand(right, 2)], binding
    if node.attrs == "power":
        return [Operand(left, binding + 1), sign, Operand(right, binding)], binding
    return [Operand(left, binding), f" {sign} ", Operand(right, binding + 1)], binding


def terms_of(node: Node, name: str) -> list[Node]:
    """Return the terms of nested sums or the factors of nested products, up to a limit."""
    found: list[Node] = []
    stack = [node]
    while stack and len(found) <= SHOWN_TERMS:
        x = stack.pop()
        if x.kind == "elemwise" and x.attrs == name:
            stack += reversed(x.inputs)
        else:
            found.append(x)
    # numbers are the first factor and the last term
    found.sort(key=lambda x: (x.kind == "constant") == (name == "add"))
    return found + stack


def _filled(node: Node) -> str:
    """Write a tensor filled with one number."""
    (number,) = node.inputs
    dims = "{" + ", ".join(dim._short for dim in node.attrs) + "}"
    value = number.attrs.value
    if value in (0, 1) and is_inexact(number.dtype):
        return f"{'ones' if value else 'zeros'}({dims})"
    text = _number(number)[0][0]
    return f"full({dims}, {text})"


def _index(x: Node, items: Sequence[Any], indexers: Sequence[Node]) -> Parts:
    parts: Parts = []
    for item in items:
        parts.append(f"{', ' if parts else '['}{item.dim._short}=")
        if item.kind in ("tensor", "mask"):
            indexer = indexers[item.payload]
            if indexer.kind == "label_position":  # a label whose position comes with the data
                parts.append(late_labels_text(indexer))
            else:
                parts.append(Operand(indexer, _ANY))
        else:
            parts.append(where_text(item))
    return [Operand(x, _ATOM), *parts, "]"]


def _gradient(node: Node) -> Parts:
    parts: Parts = ["grad("]
    for role, x in zip(node.attrs.roles, node.inputs, strict=True):
        if role != "cotangent":
            parts += [f"{role}=" if role not in ("", "wrt") else "", Operand(x, _ANY), ", "]
    return [*parts[:-1], ")"]


def _function(node: Node) -> Parts:
    call = call_of(node)
    parts: Parts = []
    for role, x in call.operands[:SHOWN_OPERANDS]:
        parts += [f", {role}=" if role else ", ", Operand(x, _ANY)]
    if len(call.operands) > SHOWN_OPERANDS:
        parts.append(f", {_ELLIPSIS}")
    options = call.options
    if node.kind == "reduce" and node.attrs.dims == node.inputs[0].dims:
        options = []
    if node.kind == "apply" and node.attrs.name:  # by its name one knows what it works on
        options = [option for option in options if option[0] != "core"]
    for key, text in options:
        parts.append(f", {key}={text}" if key else f", {text}")
    return _call(call.name, parts)
