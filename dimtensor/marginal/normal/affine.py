"""Log densities that are quadratic in a vector: weighted products of affine expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dimtensor.dims import Dim, Dims, union, without
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.node import KINDS
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.marginal.normal.quadratics import number_of
from dimtensor.tensor.constructors import zeros
from dimtensor.tensor.handle import constant, wrap

# linear operations
LINEAR = ("index", "relabel", "expand", "cast", "check", "concat", "dot", "merge", "split", "stack",
          "named")  # fmt: skip
# injective ones
KEEPING = ("relabel", "expand", "cast", "check", "merge", "split", "named")


class NotQuadratic(Exception):
    """Expression that is not quadratic in the vector."""

    def __init__(self, node: Node | None = None):
        super().__init__(node)
        self.node = node


@dataclass(frozen=True)
class Term:
    """Weighted affine expression, or product of two, summed over dims.

    Attributes
    ----------
    weight : DimTensor
    affine : Node
    dims : tuple of Dim
    other : Node, optional
        The second factor; for a square the same as `affine`.
    product : Node, optional
        The product in the log density.
    """

    weight: Any
    affine: Node
    dims: Dims
    other: Node | None = None
    product: Node | None = None


class AffineReader:
    """Reader of the quadratic terms of a log density.

    Parameters
    ----------
    white : Node
        The (whitened) vector.
    """

    def __init__(self, white: Node):
        self.white = white
        self._depends: dict[Node, bool] = {white: True}
        self._linear: dict[Node, Node] = {white: white}
        self._apart: dict[Node, frozenset[Dim]] = {white: frozenset(white.dims)}
        self._injective: set[Node] = {white}
        self._terms: dict[Node, list[Term]] = {}

    def is_affine(self, node: Node) -> bool:
        """Return whether an expression is affine in the vector, or does not depend on it."""
        self._visit(node)
        return node in self._linear or not self._depends[node]

    def linear(self, affine: Node) -> Node:
        """Return the linear part of an affine expression."""
        return self._linear[affine]

    def apart(self, affine: Node) -> frozenset[Dim]:
        """Return the dims along which an affine expression is elementwise."""
        return self._apart[affine]

    def is_injective(self, affine: Node) -> bool:
        """Return whether an affine expression is injective, so that its square is full rank."""
        return affine in self._injective

    def terms(self, node: Node) -> list[Term]:
        """Return the terms of a log density.

        Raises
        ------
        NotQuadratic
            If it is not quadratic in the vector.
        """
        self._visit(node)
        return self._summands(node)

    def _visit(self, node: Node) -> None:
        for x in toposort([node]):
            if x in self._depends:
                continue
            self._depends[x] = any(self._depends[i] for i in x.inputs)
            if not self._depends[x]:
                continue
            mine = [i for i in x.inputs if self._depends[i]]
            linear = self._linear_of(x) if all(i in self._linear for i in mine) else None
            if linear is not None:
                self._linear[x] = expand_node(linear, x.dims)
                self._apart[x] = self._separate_dims(x)
            else:
                self._terms[x] = self._terms_of(x)

    # -- affine expressions ----------------------------------------------------------------------

    def _linear_of(self, node: Node) -> Node | None:
        inputs = node.inputs
        on = [self._depends[x] for x in inputs]
        own = all(
            x in self._injective for x, dependent in zip(inputs, on, strict=True) if dependent
        )
        moved = tuple(self._linear.get(x, x) for x in inputs)
        if node.kind == "elemwise":
            found = self._elementwise(node, on, moved)
            if found is not None and own and sum(on) == 1 and node.attrs != "where":
                self._injective.add(node)
            return found
        if node.kind in ("concat", "stack"):
            moved = tuple(
                x if dependent else zeros(x.dims, dtype=x.dtype).node
                for x, dependent in zip(moved, on, strict=True)
            )
            if any(x in self._injective for x in inputs):  # it has all of an injective operand
                self._injective.add(node)
            return make(node.kind, moved, node.attrs)
        if node.kind in ("reduce", "cumulate"):
            adds = node.attrs.name in ("sum", "cumsum")
            return make(node.kind, moved, node.attrs) if adds else None
        if node.kind == "apply":
            if node.attrs.name not in ("solve", "solve_triangular") or on != [False, True]:
                return None
            if own:
                self._injective.add(node)
            return make(node.kind, moved, node.attrs)
        if node.kind not in LINEAR or sum(on) != 1 or (node.kind != "dot" and not on[0]):
            return None
        if own and (node.kind in KEEPING or _is_turned(node, on)):
            self._injective.add(node)
        return make(node.kind, moved, node.attrs)

    def _elementwise(self, node: Node, on: Sequence[bool], moved: tuple[Node, ...]) -> Node | None:
        name = node.attrs
        if name in ("add", "subtract"):
            if all(on):
                return make("elemwise", moved, name)
            if on[0] or name == "add":
                return moved[0] if on[0] else moved[1]
            return make("elemwise", (moved[1],), "negative")
        if name == "where" and not on[0]:
            zero = constant(0.0, node.dtype)
            branches = (x if here else zero for x, here in zip(moved[1:], on[1:], strict=True))
            return make("elemwise", (moved[0], *branches), name)
        linear = name == "negative" or (name == "multiply" and sum(on) == 1)
        if linear or (name == "divide" and not on[1]):
            return make("elemwise", moved, name)
        return None

    def _separate_dims(self, node: Node) -> frozenset[Dim]:
        kept = set(self.white.dims) & set(node.dims)
        for at, x in enumerate(node.inputs):
            if not self._depends[x]:
                continue
            kept &= self._apart[x]
            kept = {dim for dim in kept if KINDS[node.kind].keeps_apart(node, at, dim)}
        return frozenset(kept)

    # -- squares ---------------------------------------------------------------------------------

    def _summands(self, node: Node) -> list[Term]:
        if not self._depends[node]:
            return []
        if node in self._linear:
            return [Term(wrap(constant(1.0, "float64")), node, node.dims)]
        if node not in self._terms:  # already found by another term
            raise NotQuadratic(node)
        return self._terms[node]

    def _terms_of(self, node: Node) -> list[Term]:
        inputs, name = node.inputs, node.attrs
        on = [self._depends[x] for x in inputs]
        if node.kind in ("check", "cast", "named", "expand") or (
            node.kind == "reduce" and name.name == "sum"
        ):
            if any(on[1:]):
                raise NotQuadratic(node)
            return self._over(node, self._summands(inputs[0]), inputs[0])
        if node.kind == "dot":
            return self._product(node, on)
        if node.kind != "elemwise":
            raise NotQuadratic(node)
        square = name == "square" or (name == "power" and number_of(inputs[1]) == 2.0)
        pair = (inputs[0], inputs[0]) if square else inputs if name == "multiply" else ()
        if pair and all(x in self._linear for x in pair):
            return [Term(wrap(constant(1.0, "float64")), pair[0], node.dims, pair[1], node)]
        if name in ("add", "subtract", "negative"):
            found = []
            for at, x in enumerate(inputs):
                sign = -1.0 if name == "negative" or (name == "subtract" and at) else 1.0
                found += [
                    replace(t, weight=sign * t.weight)
                    for t in self._over(node, self._summands(x), x)
                ]
            return found
        if sum(on) == 1 and (name == "multiply" or (name == "divide" and on[0])):
            x, known = inputs if on[0] else inputs[::-1]
            by = 1.0 / wrap(known) if name == "divide" else wrap(known)
            terms = self._over(node, self._summands(x), x)
            return [replace(term, weight=term.weight * by) for term in terms]
        if name == "where" and not on[0]:
            return self._masked(node)
        raise NotQuadratic(node)

    def _product(self, node: Node, on: Sequence[bool]) -> list[Term]:
        """Read a contraction of two affine expressions and constants."""
        pair = [x for x, dependent in zip(node.inputs, on, strict=True) if dependent]
        if len(pair) != 2 or not all(x in self._linear for x in pair):
            raise NotQuadratic(node)
        weight: Any = wrap(constant(1.0, "float64"))
        for x, dependent in zip(node.inputs, on, strict=True):
            weight = weight if dependent else weight * wrap(x)
        dims = union([x.dims for x in node.inputs], "dot")
        return [Term(weight, pair[0], dims, pair[1], node)]

    def _over(self, node: Node, terms: Sequence[Term], operand: Node) -> list[Term]:
        """Broadcast the terms of an operand along the dims that it lacks."""
        more = without(node.dims, operand.dims)
        if any(dim in term.dims for term in terms for dim in more):
            raise NotQuadratic(node)  # already summed over
        return [replace(term, dims=(*term.dims, *more)) for term in terms]

    def _masked(self, node: Node) -> list[Term]:
        """Mask the terms of both branches of a `where`; masked-out coefficients may be NaN."""
        condition, *branches = node.inputs
        zero, found = constant(0.0, node.dtype), []
        for branch, holds in zip(
            branches, (condition, make("elemwise", (condition,), "logical_not")), strict=True
        ):
            for term in self._over(node, self._summands(branch), branch):
                self._depends[holds] = False
                affine = self._where(holds, term.affine, zero)
                other = None if term.other is None else self._where(holds, term.other, zero)
                weight = make("elemwise", (holds, term.weight.node, zero), "where")
                dims = (*term.dims, *without(affine.dims, term.dims))
                found.append(Term(wrap(weight), affine, dims, other, term.product))
        return found

    def _where(self, holds: Node, affine: Node, zero: Node) -> Node:
        found = make("elemwise", (holds, affine, zero), "where")
        self._visit(found)
        return found


def _is_turned(node: Node, on: Sequence[bool]) -> bool:
    """Return whether a vector is multiplied by a Cholesky factor."""
    others = [x for x, dependent in zip(node.inputs, on, strict=True) if not dependent]
    return (
        node.kind == "dot"
        and [x.kind for x in others] == ["apply"]
        and (others[0].attrs.name == "cholesky")
    )
