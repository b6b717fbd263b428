"""Log densities of jointly normal variables as quadratic polynomials.

A term is read as the coefficients of monomials in its slots. A coefficient is a factor with one or
two slots, and power 2 for a square.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from dimtensor.dims import Dim, Dims
from dimtensor.errors import GraphError
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.printing.formula import formula
from dimtensor.graph.rebuilding.substitute import expand_node
from dimtensor.marginal.factors import FactorReader, apply_movement, slot_after
from dimtensor.marginal.unknowns import Factor, FactorSlot, Origins, Unknown, own_slot
from dimtensor.tensor.handle import constant, wrap

Key = tuple[FactorSlot, ...]
Polynomial = dict[Key, Node]
ONE: Key = ()


class Square(NamedTuple):
    """Scaled square of an affine expression, divided by a node, and 0 outside a mask."""

    factor: float
    below: Node | None
    affine: Polynomial
    mask: Node | None = None

    def expanded(self, dtype: str) -> Polynomial:
        """Multiply out the square."""
        found = _product(self.affine, self.affine)
        number = constant(self.factor, dtype)
        found = {key: make("elemwise", (x, number), "multiply") for key, x in found.items()}
        if self.below is not None:
            found = _over(found, self.below)
        if self.mask is not None:
            zero = constant(0.0, dtype)
            found = {
                key: make("elemwise", (self.mask, x, zero), "where") for key, x in found.items()
            }
        return found


class Quadratic(NamedTuple):
    """Sum of squares and a polynomial, which is divided by a node if there are no squares."""

    rest: Polynomial
    squares: tuple[Square, ...] = ()
    below: Node | None = None

    @property
    def known(self) -> Node | None:
        """Value of an expression that does not depend on unknowns, else None."""
        return self.rest[ONE] if set(self.rest) == {ONE} and not self.squares else None

    @property
    def affine(self) -> bool:
        """True if the degree is at most one."""
        return not self.squares and all(len(key) < 2 for key in self.rest)

    def plain(self) -> Polynomial:
        """Multiply out all squares and divisions."""
        found = self.rest if self.below is None else _over(self.rest, self.below)
        for square in self.squares:
            found = _sum(found, square.expanded("float64"))
        return found


class QuadraticReader(FactorReader):
    """Reader of terms as quadratic polynomials in jointly normal unknowns."""

    def monomials(self, terms: Sequence[tuple[Origins, Node]]) -> list[Factor]:
        """Return the coefficients of terms, each of which is summed over its dims.

        Raises
        ------
        GraphError
            If a term is not quadratic in the unknowns, or mixes their elements.
        """
        found = []
        for origins, part, quadratic in self._parts(terms):
            if quadratic is None:
                found.append(Factor(part, part.dims, (), origins, part))
                continue
            for key, node in quadratic.plain().items():
                slots = tuple((self.states[slot], slot) for slot in dict.fromkeys(key))
                power = 2 if len(key) == 2 and len(slots) == 1 else 1
                found.append(Factor(node, part.dims, slots, origins, part, power))
        return found

    def residuals(
        self, terms: Sequence[tuple[Origins, Node]]
    ) -> tuple[list[Factor], list[ResidualFactor]] | None:
        """Return factors without unknowns, and residuals; None if the terms have another form.

        Raises
        ------
        GraphError
            As :meth:`monomials` does.
        """
        known: list[Factor] = []
        residuals: list[ResidualFactor] = []
        for origins, part, quadratic in self._parts(terms):
            if quadratic is None:
                known.append(Factor(part, part.dims, (), origins, part))
                continue
            rest = quadratic.rest if quadratic.below is None else quadratic.plain()
            if set(rest) - {ONE} or any(square.factor >= 0 for square in quadratic.squares):
                return None
            known += [Factor(x, part.dims, (), origins, part) for x in rest.values()]
            for square in quadratic.squares:
                residuals.append(self._residual(square, Factor(part, part.dims, (), origins, part)))
        return known, residuals

    def _residual(self, square: Square, part: Factor) -> ResidualFactor:
        dtype, affine, mask = part.node.dtype, dict(square.affine), square.mask
        zero, one = constant(0.0, dtype), constant(1.0, dtype)
        offset = affine.pop(ONE, zero)
        spread = constant(-0.5 / square.factor, dtype)
        if square.below is not None:
            spread = _multiplied(spread, square.below)
        if mask is not None:  # a masked value may be NaN
            spread = make("elemwise", (one, spread), "divide")
            offset, spread = (make("elemwise", (mask, x, zero), "where") for x in (offset, spread))
            affine = {
                key: x if number_of(x) is not None else make("elemwise", (mask, x, zero), "where")
                for key, x in affine.items()
            }
        slots = tuple((self.states[slot], slot) for (slot,) in affine)
        like = replace(part, slots=slots)
        return ResidualFactor(like, offset, spread, tuple(affine.values()), mask is None)

    def _parts(
        self, terms: Sequence[tuple[Origins, Node]]
    ) -> Iterator[tuple[Origins, Node, Quadratic | None]]:
        for origins, term in terms:
            for part in self.summands(term):
                yield origins, part, self._quadratic(part) if self.depends(part) else None

    def _quadratic(self, part: Node) -> Quadratic:
        done: dict[Node, Quadratic] = {}
        for node in toposort([part]):
            if not self.depends(node):
                done[node] = Quadratic({ONE: node})
            elif node in self._unknowns:
                slot = own_slot(self._unknowns[node])
                done[node] = Quadratic({(slot,): constant(1.0, node.dtype)})
            else:
                done[node] = self._of(node, [done[x] for x in node.inputs])
        return done[part]

    def _of(self, node: Node, operands: Sequence[Quadratic]) -> Quadratic:
        if node.kind in ("check", "expand"):
            return operands[0]
        if node.kind == "cast":
            plain = operands[0].plain()
            return Quadratic({key: make("cast", (x,), node.attrs) for key, x in plain.items()})
        if node.kind in ("index", "relabel") and all(p.known is not None for p in operands[1:]):
            return _moved(node, operands[0])
        if node.kind == "reduce" and node.attrs.name == "sum":
            return self._summed(node, operands[0].plain(), tuple(node.attrs.dims))
        if node.kind == "dot":
            product = operands[0].plain()
            for operand in operands[1:]:
                product = _product(product, operand.plain())
            if all(len(key) <= 2 for key in product):
                return self._summed(node, product, tuple(node.attrs))
        if node.kind == "elemwise":
            found = _arithmetic(node, operands)
            if found is not None and all(len(key) <= 2 for key in found.rest):
                return found
        raise not_normal_error(
            node, next(slot for p in operands for key in p.plain() for slot in key)
        )

    def _summed(self, node: Node, operand: Polynomial, dims: Dims) -> Quadratic:
        for key in operand:
            for slot in key:
                mixed = [dim for dim in slot.dims if dim in dims]
                if mixed:
                    raise self.mixing_error(node, slot, mixed)
        return Quadratic(
            {key: wrap(expand_node(x, dims)).sum(dims).node for key, x in operand.items()}
        )


class ResidualFactor(NamedTuple):
    """Affine expression in unknowns that is normal with mean 0, with its factor.

    Attributes
    ----------
    like : Factor
        Dims and origins; its slots are those of the coefficients.
    offset, spread : Node
        The spread is the variance if the density is `proper`, and else the precision, which may
        be 0.
    coefficients : tuple of Node
    proper : bool
    """

    like: Factor
    offset: Node
    spread: Node
    coefficients: tuple[Node, ...]
    proper: bool


def _moved(node: Node, x: Quadratic) -> Quadratic:
    def of(inner: Node) -> Node:
        return apply_movement(node, inner, node.inputs[1:])

    def affine(polynomial: Polynomial) -> Polynomial:
        return {
            tuple(slot_after(node, 0, slot) for slot in key): of(inner)
            for key, inner in polynomial.items()
        }

    def optional(inner: Node | None) -> Node | None:
        return None if inner is None else of(inner)

    squares = tuple(
        Square(s.factor, optional(s.below), affine(s.affine), optional(s.mask)) for s in x.squares
    )
    return Quadratic(affine(x.rest), squares, optional(x.below))


def _arithmetic(node: Node, operands: Sequence[Quadratic]) -> Quadratic | None:
    name = node.attrs
    if name in ("add", "subtract"):
        one, other = operands
        if name == "subtract":
            other = _negative(other)
        if one.below is None and other.below is None:
            return Quadratic(_sum(one.rest, other.rest), one.squares + other.squares)
        rest = _sum(*(q.rest if q.below is None else q._replace(squares=()).plain()
                      for q in (one, other)))  # fmt: skip
        return Quadratic(rest, one.squares + other.squares)
    if name == "negative":
        return _negative(operands[0])
    if name == "square" or (name == "power" and number_of(operands[1].known) == 2.0):
        return _squared(operands[0])
    if name == "multiply":
        if node.inputs[0] is node.inputs[1]:
            return _squared(operands[0])
        for one, other in (operands, operands[::-1]):
            if number_of(one.known) is not None:
                return _times(other, number_of(one.known) or 0.0, node.dtype)
        return Quadratic(_product(operands[0].plain(), operands[1].plain()))
    if name == "divide" and operands[1].known is not None:
        return _divided(operands[0], operands[1].known)
    if name == "where" and operands[0].known is not None:
        return _chosen(node, operands[0].known, *operands[1:])
    return None


def _squared(x: Quadratic) -> Quadratic:
    if not x.affine:
        plain = x.plain()
        return Quadratic(_product(plain, plain))
    below = None if x.below is None else make("elemwise", (x.below,), "square")
    return Quadratic({}, (Square(1.0, below, x.rest),))


def _negative(x: Quadratic) -> Quadratic:
    squares = tuple(s._replace(factor=-s.factor) for s in x.squares)
    return Quadratic({key: _negated(inner) for key, inner in x.rest.items()}, squares, x.below)


def _negated(x: Node) -> Node:
    number = number_of(x)
    if number is not None:
        return constant(-number, x.dtype)
    return make("elemwise", (x,), "negative")


def _times(x: Quadratic, number: float, dtype: str) -> Quadratic:
    squares = tuple(s._replace(factor=s.factor * number) for s in x.squares)
    rest = {key: _multiplied(inner, constant(number, dtype)) for key, inner in x.rest.items()}
    return Quadratic(rest, squares, x.below)


def _divided(x: Quadratic, below: Node) -> Quadratic:
    number = number_of(below)
    if number:
        return _times(x, 1.0 / number, below.dtype) if x.squares else Quadratic(
            x.rest, (), _together(x.below, below)
        )  # fmt: skip
    if not x.squares:
        return Quadratic(x.rest, (), _together(x.below, below))
    squares = tuple(s._replace(below=_together(s.below, below)) for s in x.squares)
    return Quadratic(_over(x.rest, below), squares)


def _together(one: Node | None, other: Node) -> Node:
    return other if one is None else _multiplied(one, other)


def _chosen(node: Node, condition: Node, yes: Quadratic, no: Quadratic) -> Quadratic:
    zero = constant(0.0, node.dtype)
    left, right = (q.rest if q.below is None else q._replace(squares=()).plain() for q in (yes, no))
    rest = {
        key: make("elemwise", (condition, left.get(key, zero), right.get(key, zero)), "where")
        for key in dict.fromkeys((*left, *right))
    }
    squares: list[Square] = []
    for q, holds in ((yes, condition), (no, make("elemwise", (condition,), "logical_not"))):
        for s in q.squares:
            mask = holds if s.mask is None else make("elemwise", (s.mask, holds), "logical_and")
            squares.append(s._replace(mask=mask))
    return Quadratic(rest, tuple(squares))


def number_of(x: Node | None) -> float | None:
    """Return the number that a node is, or None."""
    return float(x.attrs.value) if x is not None and x.kind == "constant" else None


def _multiplied(one: Node, other: Node) -> Node:
    for x, beside in ((one, other), (other, one)):
        if number_of(x) == 1.0:
            return beside
    numbers = number_of(one), number_of(other)
    if numbers[0] is not None and numbers[1] is not None:
        return constant(numbers[0] * numbers[1], one.dtype)
    return make("elemwise", (one, other), "multiply")


def _over(x: Polynomial, below: Node) -> Polynomial:
    return {key: make("elemwise", (inner, below), "divide") for key, inner in x.items()}


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
            found = _sum(found, {key: _multiplied(x, y)})
    return found


def not_normal_error(node: Node, slot: FactorSlot) -> GraphError:
    """Return the error for a term that is not a normal log density."""
    return GraphError(
        f"marginalize: {slot.unknown.name!r} is continuous, but a term is not a normal density "
        "with a mean affine in it",
        [("expression", formula(node, 80)), ("reads", slot)],
        "sample the variable, or write its terms with dist.Normal",
    )


def normal_unknown(node: Node, name: str) -> Unknown:
    """Return a continuous variable as an unknown."""
    return Unknown(node, name, Dim("value", length=1), continuous=True)
