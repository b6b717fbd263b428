"""Costs of a kernel's loop nests, computed from their statements.

The trip count of a loop is a polynomial in the lengths of the arguments' axes, and so are its
operations, the bytes it reads and writes, and the arrays it allocates:

- operations on floats cost what :mod:`dimtensor.ops.facts` says, operations on positions nothing;
- an element is read once per loop nest, as loop-invariant loads stay in registers or caches. The
  iterations of a sequential loop (a scan) read it again;
- reads and writes of arrays that fit into the cache are free;
- of two branches the larger cost counts; code that only fills arrays after a failure is free;
- a while loop takes ``rounds`` iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dimtensor.cost.polynomial import ONE, ZERO, Count, Formula, Lengths, Polynomial
from dimtensor.cost.sums import substituted, summed
from dimtensor.explanation.subroutines import ACCESS, IN_PLACE, OPERATIONS
from dimtensor.kernels.ir import nodes as ir
from dimtensor.kernels.ir.walk import parts_of, statements_in
from dimtensor.ops.facts import facts_named
from dimtensor.tuning import CALL, DIVISION, QUICK

Shape = tuple[Polynomial, ...]
Sizes = dict[ir.Expression, Polynomial]

ROUNDS = Polynomial.of(Count("rounds"))
# arrays of static size up to this many bytes stay in the cache
_CACHED = 2**15
# and up to this many are allocated on the stack
_FRAME = 2048
_NO_FLOPS = frozenset({"and", "or", "not", "choice"})
_COSTS = {"/": DIVISION, "//": DIVISION}
_OPERATORS = frozenset({"+", "-", "*", "neg", "<", ">", "<=", ">=", "==", "!=", "min", "max",
                        "select", "cast", "abs", "&", "|", "^", "~"})  # fmt: skip


class Made(NamedTuple):
    """Array that a kernel allocates, and its size in bytes."""

    name: str
    size: Polynomial


@dataclass
class Totals:
    """Costs of statements; reads and writes in bytes, by expression."""

    flops: Polynomial = ZERO
    reads: Sizes = field(default_factory=dict)
    writes: Sizes = field(default_factory=dict)
    made: list[Made] = field(default_factory=list)

    def add(self, other: Totals) -> None:
        """Add the costs of subsequent statements."""
        self.flops = self.flops + other.flops
        for own, more in ((self.reads, other.reads), (self.writes, other.writes)):
            for key, size in more.items():
                own[key] = Polynomial.bound(own[key], size) if key in own else size
        self.made += other.made

    @property
    def read(self) -> Polynomial:
        return sum(self.reads.values(), ZERO)

    @property
    def written(self) -> Polynomial:
        return sum(self.writes.values(), ZERO)

    @property
    def memory(self) -> Polynomial:
        return sum((each.size for each in self.made), ZERO)


class NestReader:
    """Reader of a kernel's statements, in order.

    Parameters
    ----------
    shapes : mapping of str to tuple of Polynomial
        Lengths of the arguments, by name.
    numbers : mapping of str to Polynomial, optional
        Values of scalar arguments, by name.
    length : callable, optional
        Returns the length of an array's axis that does not follow from the arguments' lengths.
    """

    def __init__(
        self,
        shapes: Mapping[str, Shape],
        numbers: Mapping[str, Polynomial] | None = None,
        length: Callable[[str, int], Polynomial | None] = lambda name, axis: None,
    ):
        self.shapes: dict[str, Shape] = dict(shapes)
        self._numbers = dict(numbers or {})
        self._length = length
        self._integers: dict[str, Polynomial] = {}
        self._varies: dict[str, frozenset[str]] = {}
        self._loops: list[str] = []
        self._scratch: set[str] = set()

    # -- integers --------------------------------------------------------------------------------

    def integer(self, e: ir.Expression) -> Polynomial | None:
        """Evaluate an integer expression of lengths and loop counters; None for others."""
        match e:
            case ir.Const():
                return Polynomial.constant(e.value) if type(e.value) is int else None
            case ir.Var():
                return self._integers.get(e.name)
            case ir.Load(array, ()):
                return self._numbers.get(array.name)
            case ir.Length():
                shape = self.shapes.get(e.array.name)
                return None if shape is None else shape[e.axis]
            case ir.Op("select", (_, one, two)):
                found = [self.integer(each) for each in (one, two)]
                return _larger(found)
            case ir.Op("cast", (one,)):
                return self.integer(one)
            case ir.Op():
                found = [self.integer(each) for each in e.operands]
                known = [each for each in found if each is not None]
                if len(known) == len(found):
                    return self._combined(e.op, known)
                return _least_number(known) if e.op == "min" else None
        return None

    def _combined(self, name: str, operands: list[Polynomial]) -> Polynomial | None:
        if name == "neg":
            return -operands[0]
        if name == "+":
            return sum(operands, ZERO)
        if name == "-":
            return operands[0] - operands[1]
        if name == "*":
            product = ONE
            for each in operands:
                product = product * each
            return product
        if name == "//":
            divisor = operands[1].number
            return None if not divisor else operands[0] * Fraction(1, int(divisor))
        if name in ("min", "max"):
            return self._extreme(name, operands)
        return None

    def _extreme(self, name: str, operands: list[Polynomial]) -> Polynomial:
        """Evaluate a minimum or maximum: that of a strip's end and a length is the strip's end."""
        numbers = [each.number for each in operands]
        others = [each for each in operands if each.number is None]
        if not others:
            extreme = {"min": min, "max": max}[name]
            return Polynomial.constant(extreme(n for n in numbers if n is not None))
        if name == "max" and len(others) == 1:
            return others[0]
        if name == "min":
            ends = [each for each in others if self._ends_a_strip(each)]
            apart = [each for each in operands if not self._counted(each)]
            if len(apart) < len(operands):
                return (ends or apart or operands)[0]
        return Polynomial.of(Formula(name, tuple(operands)))

    def _counted(self, one: Polynomial) -> bool:
        return any(isinstance(v, Count) and v.name in self._varies for v in one.variables)

    def _ends_a_strip(self, one: Polynomial) -> bool:
        """Return True for a counter plus a constant: the end of a strip that starts there."""
        variables = [key for key in one.terms if key]
        plain = len(variables) == 1 and one.terms[variables[0]] == 1
        return plain and self._counted(one) and one.terms.get((), 0) > 0

    # -- statements ------------------------------------------------------------------------------

    def read(self, statements: Iterable[ir.Statement]) -> Totals:
        """Sum the costs of statements."""
        total = Totals()
        for each in statements:
            total.add(self._statement(each))
        return total

    def _statement(self, each: ir.Statement) -> Totals:
        match each:
            case ir.For():
                return self._for(each)
            case ir.While():
                return self._rounds(each.body, "while", self._expression(each.test))
            case ir.If():
                return self._if(each)
            case ir.Allocate():
                shape = tuple(self.integer(n) for n in each.shape)
                found = self._allocated(each.array, shape, each.shape)
                if each.start is not None:
                    self._whole(each.array, found.writes)
                return found
            case ir.Bind():
                return self._bound(each)
            case ir.Foreign():
                return self._foreign_call(each)
            case ir.Assign() | ir.Carry():
                return self._defined(each)
        total = Totals()
        for expression in each.reads:
            total.add(self._expression(expression))
        if isinstance(each, (ir.Store, ir.Accumulate)) and isinstance(each.target, ir.Load):
            self._element(each.target, total.writes)
            if isinstance(each, ir.Store):
                total.reads.pop(each.target, None)
                total.add(self._expression_reads(each.value))
        if isinstance(each, ir.Accumulate) and isinstance(each.target, ir.Var):
            self._integers.pop(each.target.name, None)
        if isinstance(each, ir.Accumulate) and each.target.dtype.startswith(("float", "complex")):
            total.flops = total.flops + QUICK
        if isinstance(each, ir.Fill):
            self._whole(each.target, total.writes)
            if each.value.rank:
                self._whole(each.value, total.reads)
        return total

    def _expression_reads(self, value: ir.Expression) -> Totals:
        return Totals(reads=self._expression(value).reads)

    def _defined(self, each: ir.Assign | ir.Carry) -> Totals:
        name = each.target.name
        value = self.integer(each.value) if each.target.dtype.startswith(("int", "uint")) else None
        varies = frozenset().union(*(self._varies.get(n, frozenset()) for n in each.value.uses))
        if isinstance(each, ir.Carry):
            value, varies = None, frozenset(self._loops)
        self._varies[name] = varies
        self._integers.pop(name, None)
        if value is not None:
            self._integers[name] = value
        return self._expression(each.value)

    def _for(self, each: ir.For) -> Totals:
        start, stop = self.integer(each.start), self.integer(each.stop)
        if start is None or stop is None:
            return self._rounds(each.body, each.counter.name, Totals())
        name = each.counter.name
        counter = Count(name)
        before = self._enter(name, each.body)
        self._integers[name] = Polynomial.of(counter)
        self._varies[name] |= frozenset().union(
            *(self._varies.get(n, frozenset()) for n in each.start.uses)
        )
        inside = self.read(each.body)
        self._leave(before)

        def over(one: Polynomial) -> Polynomial:
            return summed(one, counter, start, stop, each.step)

        return self._repeated(inside, name, over, each.is_scan, counter, stop)

    def _rounds(self, body: ir.Body, name: str, test: Totals) -> Totals:
        """Compute the costs of a loop with an unknown trip count."""
        before = self._enter(name, body)
        inside = self.read(body)
        inside.add(test)
        self._leave(before)

        def over(one: Polynomial) -> Polynomial:
            return one * ROUNDS

        return self._repeated(inside, name, over, True, Count(name), ROUNDS)

    def _enter(self, name: str, body: ir.Body) -> list[str]:
        """Enter a loop: its loop-carried variables vary with its counter."""
        before = list(self._loops)
        self._loops.append(name)
        self._varies[name] = frozenset({name})
        for each in statements_in(body):
            carried = isinstance(each, ir.Carry)
            if carried or (isinstance(each, ir.Accumulate) and isinstance(each.target, ir.Var)):
                target = each.target.name  # type: ignore[attr-defined]
                self._integers.pop(target, None)
                self._varies[target] = self._varies.get(target, frozenset()) | {name}
        return before

    def _leave(self, before: list[str]) -> None:
        self._loops = before

    def _repeated(
        self,
        inside: Totals,
        name: str,
        over: Callable[[Polynomial], Polynomial],
        again: bool,
        counter: Count,
        stop: Polynomial,
    ) -> Totals:
        def sizes(found: Sizes) -> Sizes:
            return {
                key: over(size) if again or self._varies_with(key, name)
                else substituted(size, counter, stop)
                for key, size in found.items()
            }  # fmt: skip

        made = [Made(one.name, substituted(one.size, counter, stop)) for one in inside.made]
        return Totals(over(inside.flops), sizes(inside.reads), sizes(inside.writes), made)

    def _varies_with(self, key: ir.Expression, name: str) -> bool:
        return any(name in self._varies.get(each, ()) for each in key.uses)

    def _if(self, each: ir.If) -> Totals:
        total = self._expression(each.test)
        if not each.orelse and _only_fills(each.body):
            return total
        branches = [self.read(body) for body in each.blocks]
        sized = Lengths(assumed=1000)
        larger = max(branches, key=lambda one: one.memory.at(sized))
        total.flops = total.flops + Polynomial.bound(*(one.flops for one in branches))
        for one in branches:
            total.add(Totals(ZERO, one.reads, one.writes))
        total.made += larger.made
        return total

    # -- arrays ----------------------------------------------------------------------------------

    def _allocated(
        self,
        array: ir.Array,
        shape: Sequence[Polynomial | None],
        lengths: Sequence[ir.Expression] = (),
    ) -> Totals:
        known = tuple(
            self._unknown(array.name, axis) if n is None else n for axis, n in enumerate(shape)
        )
        for one, number in zip(lengths, known, strict=False):
            if isinstance(one, ir.Var):
                self._integers.setdefault(one.name, number)
        self.shapes[array.name] = known
        size = bytes_in(known, array.dtype)
        if size.number is not None and size.number <= _CACHED:
            self._scratch.add(array.name)
        if size.number is not None and size.number <= _FRAME:
            return Totals()
        return Totals(made=[Made(array.name, size)])

    def _unknown(self, name: str, axis: int) -> Polynomial:
        found = self._length(name, axis)
        return Polynomial.of(Count("positions")) if found is None else found

    def _bound(self, each: ir.Bind) -> Totals:
        value = each.value
        if isinstance(value, ir.Wrapped) and value.how == "copy":
            shape = self.shape(value.source)
            found = self._allocated(each.array, shape)
            self._whole(value.source, found.reads)
            self._whole(each.array, found.writes)
            return found
        if isinstance(value, ir.Reshaped):
            self.shapes[each.array.name] = tuple(
                n if n is not None else ONE for n in map(self.integer, value.shape)
            )
        else:
            self.shapes[each.array.name] = self.shape(value)
        if value.uses & self._scratch:
            self._scratch.add(each.array.name)
        return Totals()

    def shape(self, e: ir.Expression) -> Shape:
        """Return the lengths of an array."""
        match e:
            case ir.Array():
                return self.shapes.get(e.name, ())
            case ir.Part():
                return self.shape(e.array)[len(e.index) :]
            case ir.Reshaped():
                return tuple(n if n is not None else ONE for n in map(self.integer, e.shape))
            case ir.Wrapped():
                return self.shape(e.source)
        return ()

    def _whole(self, e: ir.Expression, found: Sizes) -> None:
        """Record an access to all elements of an array."""
        if e.uses.isdisjoint(self._scratch):
            found[e] = bytes_in(self.shape(e), e.dtype)

    def _element(self, e: ir.Load, found: Sizes) -> None:
        if e.array.name not in self._scratch and e.array.rank:
            found[e] = Polynomial.constant(np.dtype(e.dtype).itemsize)

    def _foreign_call(self, each: ir.Foreign) -> Totals:
        total = Totals()
        for operand in each.operands:
            if operand.rank:
                self._whole(operand, total.reads)
        for result in each.results:
            if result.rank:
                total.add(self._allocated(result, [None] * result.rank))
                self._whole(result, total.writes)
        return total

    # -- expressions -----------------------------------------------------------------------------

    def _expression(self, e: ir.Expression) -> Totals:
        """Count the operations of an expression and the elements that it reads."""
        flops: Polynomial = ZERO
        reads: Sizes = {}
        writes: Sizes = {}
        pending = [e]
        while pending:
            one = pending.pop()
            if isinstance(one, ir.Load):
                self._element(one, reads)
                pending += one.index
                continue
            if isinstance(one, ir.Call) and any(each.rank for each in one.operands):
                flops = flops + self._routine(one, reads, writes)
                continue
            if isinstance(one, (ir.Op, ir.Call)):
                flops = flops + _flops(one)
            if not isinstance(one, ir.Wrapped) or one.rank == 0:
                pending += parts_of(one)
        return Totals(flops, reads, writes)

    def _routine(self, call: ir.Call, reads: Sizes, writes: Sizes) -> Polynomial:
        """Count the operations of a subroutine, and record its reads and writes."""
        name = call.function[1:]
        arrays = [each for each in call.operands if each.rank]
        read, written = ACCESS.get(name, IN_PLACE)
        for places, found in ((read, reads), (written, writes)):
            for at in places:
                if at < len(arrays):
                    self._whole(arrays[at], found)
        known = OPERATIONS.get(name)
        if known is None:
            return ZERO
        numbers = [self.integer(each) for each in call.operands if not each.rank]
        sides = [ZERO if n is None else n for n in numbers]
        return known(sides[0].number, *sides[1:]) if name == "trsm" else known(*sides)


def _flops(e: ir.Op | ir.Call) -> int:
    """Return the cost of an operation on numbers; integer operations are free."""
    if not any(each.dtype.startswith(("float", "complex")) for each in (e, *e.operands)):
        return 0
    if isinstance(e, ir.Call):
        row = facts_named(e.function)
        return CALL if row is None else row.cost
    if e.op in _NO_FLOPS:
        return 0
    if e.op in _COSTS:
        return _COSTS[e.op]
    if e.op in ("+", "*"):
        return (len(e.operands) - 1) * QUICK
    return QUICK if e.op in _OPERATORS else CALL


def bytes_in(shape: Shape, dtype: str) -> Polynomial:
    """Return the size of an array in bytes."""
    size = Polynomial.constant(np.dtype(dtype).itemsize)
    for n in shape:
        size = size * n
    return size


def _larger(found: Sequence[Polynomial | None]) -> Polynomial | None:
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    return max(known, key=lambda one: one.at(Lengths(assumed=1000)))


def _least_number(known: Sequence[Polynomial]) -> Polynomial | None:
    return next((each for each in known if each.number is not None), None)


def _only_fills(body: ir.Body) -> bool:
    """Return True if statements only fill arrays with a constant or raise, after a failure."""
    return all(
        isinstance(each, (ir.For, ir.Raise))
        or (isinstance(each, (ir.Store, ir.Fill)) and isinstance(each.value, ir.Const))
        for each in statements_in(body)
    )
