"""Boxes and arrows of a graph's picture, before layout.

To keep the picture simple, constants are written into the operations that use them, and nested sums
or products are merged into one box.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dimtensor.errors import GraphError
from dimtensor.graph import Node
from dimtensor.graph.optable import TABLE
from dimtensor.graph.printing.labels import where_text
from dimtensor.graph.printing.printer import References
from dimtensor.graph.printing.shown import shown
from dimtensor.graph.printing.text import call_of, label_text

_MOST_NODES = 1000
_LONGEST = 36

# signs of binary operators
_SIGNS = {
    "+": "+", "-": "−", "*": "×", "/": "÷", "//": "÷ floor", "==": "=", "!=": "≠", "<": "<",
    "<=": "≤", ">": ">", ">=": "≥", "&": "and", "|": "or", "**": "^",
}  # fmt: skip
_TITLES = {
    "power": "xʸ", "negative": "−x", "logical_not": "not", "square": "x²", "sqrt": "√x",
    "sum": "Σ sum", "prod": "Π prod", "gradient": "∇ gradient",
}  # fmt: skip
# labels at the arrows of operations that are not symmetric
_SIDES = {
    "subtract": ("", "minus"), "divide": ("", "by"), "power": ("", "exponent"),
    "floor_divide": ("", "by"), "mod": ("", "by"), "less": ("left", "right"),
    "less_equal": ("left", "right"), "greater": ("left", "right"),
    "greater_equal": ("left", "right"), "arctan2": ("y", "x"), "where": ("if", "then", "else"),
}  # fmt: skip
_CHAINS = ("add", "multiply", "logical_and", "logical_or")


@dataclass(frozen=True)
class Box:
    """Box with a title, a detail, and a kind (a key of ``canvas.STYLES``)."""

    title: str
    detail: str
    kind: str


@dataclass(frozen=True)
class Arrow:
    """Arrow between two boxes, by number, with a label."""

    source: int
    target: int
    label: str = ""


def scene_of(outputs: Sequence[Node] | Mapping[str, Node]) -> tuple[list[Box], list[Arrow]]:
    """Make the boxes and arrows of a graph, sources before targets.

    Raises
    ------
    GraphError
        If there are too many nodes for a picture.
    """
    named = dict(outputs) if isinstance(outputs, Mapping) else {}
    roots = shown(list(named.values()) if named else list(outputs))  # type: ignore[arg-type]
    named = dict(zip(named, roots, strict=False))
    builder = _Builder(roots)
    for node in builder.names.printed:
        if node not in builder.absorbed:
            builder.add(node)
    for name, root in named.items():
        source = builder.source(root)
        builder.arrows.append(Arrow(source, builder.box(Box(_short(name), "", "output"))))
    return builder.boxes, _merged(builder.arrows)


class _Builder:
    def __init__(self, roots: list[Node]):
        self.names = References(roots)
        printed = self.names.printed
        if len(printed) > _MOST_NODES:
            raise GraphError(
                f"a picture of {len(printed)} nodes is unreadable; dt.dprint prints them, and "
                "parts of the expression can be drawn"
            )
        self.boxes: list[Box] = []
        self.arrows: list[Arrow] = []
        self.number: dict[Node, int] = {}
        self._shown = set(printed)
        users = Counter(x for node in printed for x in node.inputs)
        users.update(roots)
        # inner nodes of nested sums or products, drawn as one operation with many operands
        self.absorbed = {
            x
            for node in printed
            if _is_link(node)
            for x in node.inputs
            if _is_link(x) and x.attrs == node.attrs and users[x] == 1
        }

    def box(self, box: Box) -> int:
        self.boxes.append(box)
        return len(self.boxes) - 1

    def source(self, node: Node) -> int:
        """Return the box of an operand; a constant gets a new one at every use."""
        if node in self.number:
            return self.number[node]
        return self.box(Box(self._inline(node), "", "constant"))

    def add(self, node: Node) -> None:
        """Add the box of a node and the arrows to it."""
        operands = self._operands(node)
        title = None
        numbers = [x for _, x in operands if x not in self._shown]
        if node.kind == "elemwise" and len(numbers) == 1 and len(operands) > 1:
            title = self._title_with_number(node, operands, numbers[0])
            if title is not None:
                operands = [(label, x) for label, x in operands if x is not numbers[0]]
        sources = [(self.source(x), label) for label, x in operands]
        target = self.number[node] = self.box(self._box(node, title))
        self.arrows += [Arrow(source, target, label) for source, label in sources]

    def _operands(self, node: Node) -> list[tuple[str, Node]]:
        found = []
        for at, (role, x) in enumerate(self.names.operands(node)):
            if x in self.absorbed and _is_link(node) and x.attrs == node.attrs:
                found += self._operands(x)
            else:
                found.append((_side(node, at, role), x))
        return found

    def _inline(self, node: Node) -> str:
        if node.kind == "constant":
            value = node.attrs.value.item()
            if isinstance(value, float):
                return f"{value:.4g}".replace("-", "−")
        return _short(self.names.node(node))

    def _title_with_number(
        self, node: Node, operands: list[tuple[str, Node]], number: Node
    ) -> str | None:
        """Write an operation with its constant operand, such as ``− 0.5`` or ``1 ÷ x``."""
        text = self._inline(number)
        sign = _sign(node.attrs)
        if sign is None:
            return f"{node.attrs} {text}" if len(operands) == 2 else None
        if node.attrs == "power" and operands[0][1] is not number:
            return {"2": "x²", "3": "x³", "0.5": "√x"}.get(text, f"x ^ {text}")
        if operands[0][1] is number and node.attrs not in ("add", "multiply", "equal", "not_equal"):
            return f"{text} {sign} x"
        return f"{sign} {text}"

    def _box(self, node: Node, title: str | None) -> Box:
        sizes = ", ".join(
            f"{self.names.dim(dim)}: {'?' if dim.length is None else dim.length}"
            for dim in node.dims
        )
        if node.kind in ("input", "data", "shaped"):
            kind = "data" if node.kind == "data" else "input"
            if node.categories is not None:
                sizes += f" → {self.names.dim(node.categories)}"
            return Box(_short(node.name or f"unnamed {node.kind}"), _short(sizes), kind)
        return Box(_short(title or self._title(node)), _short(sizes), _kind(node))

    def _title(self, node: Node) -> str:
        call = call_of(node, self.names.dim)
        title = _TITLES.get(call.name) or _sign(call.name) or call.name
        if node.kind == "index":
            fixed = [
                f"{self.names.dim(item.dim)}={where_text(item)}"
                for item in node.attrs.items
                if item.kind in ("int", "select")
            ]
            verbs = {"tensor": "look up", "mask": "keep where"}
            verb = [verbs[item.kind] for item in node.attrs.items if item.kind in verbs][:1]
            return " ".join([*verb, f"[{', '.join(fixed)}]" if fixed else ""]).strip()
        if call.name == "gradient" or (
            node.kind == "reduce" and node.attrs.dims == node.inputs[0].dims
        ):
            return title
        words = {"dim": "along", "": ""}
        options = [f"{words.get(key, key)} {text}".strip() for key, text in call.options]
        return " ".join([title, *options])


def _sign(name: str) -> str | None:
    """Return the sign of a binary operation, if it has one."""
    row = TABLE.get(name)
    return _SIGNS.get(row.operator) if row is not None and row.arity == 2 else None


def _is_link(node: Node) -> bool:
    return node.kind == "elemwise" and node.attrs in _CHAINS


def _merged(arrows: list[Arrow]) -> list[Arrow]:
    """Merge arrows between the same boxes, as in x * x."""
    found: dict[tuple[int, int], Arrow] = {}
    for arrow in arrows:
        key = (arrow.source, arrow.target)
        other = found.get(key)
        label = arrow.label
        if other is not None:
            label = ", ".join(dict.fromkeys(part for part in (other.label, label) if part))
            label = label or "twice"
        found[key] = replace(arrow, label=label)
    return list(found.values())


def _side(node: Node, at: int, role: str) -> str:
    if role:
        return _short(role)
    sides = _SIDES.get(node.attrs) if node.kind == "elemwise" else None
    return sides[at] if sides is not None and at < len(sides) else ""


def _kind(node: Node) -> str:
    if node.kind in ("reduce", "dot", "arg_reduce", "cumulate"):
        return "reduction"
    if node.kind in ("index", "update", "group_position"):
        return "lookup"
    if node.kind == "shown":
        return "gradient"
    if label_text(node) is not None or node.kind == "constant":
        return "constant"
    return "operation"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
