"""Log densities of jointly normal variables as polynomials of degree two.

A term is read as coefficients of products of what its slots read. A coefficient is a factor with
one or two slots, and a power of two for a square.
"""

from __future__ import annotations

from collections.abc import Sequence

from dimtensor.dims import Dim
from dimtensor.errors import GraphError, build_message
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.marginal.reading import Factor, Origins, Reader, apply_movement, mixing, slot_after
from dimtensor.marginal.unknowns import Slot, Unknown, own_slot
from dimtensor.tensor.handle import constant, wrap

Key = tuple[Slot, ...]
Polynomial = dict[Key, Node]
ONE: Key = ()


class NormalReader(Reader):
    """Reads terms as polynomials in unknowns that are normal given each other."""

    def monomials(self, terms: Sequence[tuple[Origins, Node]]) -> list[Factor]:
        """The coefficients of terms, each of which is summed over its dims.

        Raises
        ------
        GraphError
            If a term is no polynomial of degree two in the unknowns, or mixes their elements.
        """
        found = []
        for origins, term in terms:
            for part in self._summands(term):
                if not self.depends(part):
                    found.append(Factor(part, part.dims, (), origins, part))
                    continue
                for key, node in self._polynomial(part).items():
                    slots = tuple((self.states[slot], slot) for slot in dict.fromkeys(key))
                    power = 2 if len(key) == 2 and len(slots) == 1 else 1
                    found.append(Factor(node, part.dims, slots, origins, part, power))
        return found

    def _polynomial(self, part: Node) -> Polynomial:
        done: dict[Node, Polynomial] = {}
        for node in toposort([part]):
            if not self.depends(node):
                done[node] = {ONE: node}
            elif node in self._unknowns:
                slot = own_slot(self._unknowns[node])
                done[node] = {(slot,): constant(1.0, node.dtype)}
            else:
                done[node] = self._of(node, [done[x] for x in node.inputs])
        return done[part]

    def _of(self, node: Node, operands: Sequence[Polynomial]) -> Polynomial:
        if node.kind in ("check", "expand"):
            return operands[0]
        if node.kind == "cast":
            return {key: make("cast", (x,), node.attrs) for key, x in operands[0].items()}
        if node.kind in ("index", "relabel") and all(set(p) == {ONE} for p in operands[1:]):
            return {
                tuple(slot_after(node, 0, slot) for slot in key): apply_movement(
                    node, x, node.inputs[1:]
                )
                for key, x in operands[0].items()
            }
        if node.kind == "reduce" and node.attrs.name == "sum":
            self._check_summed(node, operands[0])
            dims = tuple(node.attrs.dims)
            return {
                key: wrap(expand_node(x, dims)).sum(dims).node for key, x in operands[0].items()
            }
        if node.kind == "elemwise":
            found = _arithmetic(node, operands)
            if found is not None and all(len(key) <= 2 for key in found):
                return found
        raise not_normal(node, next(slot for p in operands for key in p for slot in key))

    def _check_summed(self, node: Node, operand: Polynomial) -> None:
        for key in operand:
            for slot in key:
                mixed = [dim for dim in slot.dims if dim in node.attrs.dims]
                if mixed:
                    raise mixing(node, slot, mixed)


def _arithmetic(node: Node, operands: Sequence[Polynomial]) -> Polynomial | None:
    name = node.attrs
    if name in ("add", "subtract"):
        minus = {key: make("elemwise", (x,), "negative") for key, x in operands[1].items()}
        return _sum(operands[0], minus if name == "subtract" else operands[1])
    if name == "negative":
        return {key: make("elemwise", (x,), name) for key, x in operands[0].items()}
    if name == "multiply":
        return _product(*operands)
    if name == "square":
        return _product(operands[0], operands[0])
    if name == "power" and _is_two(operands[1]):
        return _product(operands[0], operands[0])
    if name == "divide" and set(operands[1]) == {ONE}:
        below = operands[1][ONE]
        return {key: make("elemwise", (x, below), name) for key, x in operands[0].items()}
    if name == "where" and set(operands[0]) == {ONE}:
        condition, zero = operands[0][ONE], constant(0.0, node.dtype)
        keys = dict.fromkeys((*operands[1], *operands[2]))
        return {
            key: make("elemwise", (condition, operands[1].get(key, zero),
                                   operands[2].get(key, zero)), name)
            for key in keys
        }  # fmt: skip
    return None


def _is_two(x: Polynomial) -> bool:
    node = x.get(ONE)
    return len(x) == 1 and node is not None and node.kind == "constant" and node.attrs.value == 2


def _sum(one: Polynomial, other: Polynomial) -> Polynomial:
    found = dict(one)
    for key, node in other.items():
        found[key] = make("elemwise", (found[key], node), "add") if key in found else node
    return found


def _product(one: Polynomial, other: Polynomial) -> Polynomial:
    found: Polynomial = {}
    for left, x in one.items():
        for right, y in other.items():
            key = tuple(
                sorted(
                    (*left, *right),
                    key=lambda slot: (slot.unknown.name, str(slot), id(slot.unknown)),
                )
            )
            found = _sum(found, {key: make("elemwise", (x, y), "multiply")})
    return found


def not_normal(node: Node, slot: Slot) -> GraphError:
    """The error of a term that is no normal log density."""
    from dimtensor.display.formula import formula

    return GraphError(
        build_message(
            f"marginalize: {slot.unknown.name!r} is continuous, and a term is no normal density "
            "whose mean is affine in it",
            [("expression", formula(node, 80)), ("reads", slot)],
            "sample the variable, or write what depends on it with dist.Normal",
        )
    )


def normal_unknown(node: Node, name: str) -> Unknown:
    """A continuous variable as an unknown."""
    return Unknown(node, name, Dim("value", length=1), continuous=True)
